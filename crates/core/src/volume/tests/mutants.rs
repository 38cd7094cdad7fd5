//! Promises that mistakes once broke unseen: each of these tests fails with one small change of the volume's code.

use super::promises::{members_of, right, wipe};
use super::*;
use crate::format::superblock::MemberState;
use crate::integrity::tag::{self, Entry};
use crate::volume::record::End;

const STRIPE: u64 = 4 * CHUNK;

fn filled(scheme: Scheme, stripes: u64) -> Rig {
    let mut rig = Rig::new(scheme, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; (stripes * STRIPE) as usize]);
    assert_eq!(rig.ask(Request::Flush), Reply::Done);
    rig
}

/// The bytes of all rows of a member.
fn rows(rig: &Rig, member: usize, stripes: u64) -> Vec<u8> {
    let end = rig.geometry.chunk_offset(stripes) as usize;
    rig.members[member][rig.geometry.data_offset as usize..end].to_vec()
}

/// Gives the parity P of a stripe another content, with a seal that fits it.
fn belie(rig: &mut Rig, stripe: u64) -> (usize, usize) {
    let geometry = rig.geometry;
    let (member, at) = rig.place(stripe, 4);
    let (chunk, end) = (CHUNK as usize, at + geometry.row_bytes() as usize);
    let place = geometry.layout.place(stripe, 4);
    let array = rig.volume.superblock().array.id();
    let identity = tag::Identity { array, member: place.disk, row: place.row, role: 4 };
    let row = &mut rig.members[member][at..end];
    let mut entries = vec![Entry::default(); 4];
    tag::open_parity(&row[chunk..], identity, None, &mut entries);
    row[50] ^= 1;
    let sum = scrubjay_code::crc32c(&row[..chunk]);
    tag::seal_parity(row, chunk, identity, sum, &entries);
    (member, at)
}

#[test]
fn a_row_that_a_new_disk_did_not_keep_is_written_again_before_it_is_called_complete() {
    let mut rig = filled(Scheme::Stamp, 60);
    let before = rows(&rig, 2, 60);
    rig.volume.fail(Nanos(rig.now), 2);
    rig.pump();
    let geometry = rig.geometry;
    wipe(&mut rig.members[2], &geometry);
    rig.members[2][geometry.data_offset as usize..].fill(0x11);
    rig.loses = Some((2, geometry.chunk_offset(31)));
    rig.volume.replace(Nanos(rig.now), 2, Uuid([99; 16]), MEMBER_BYTES);
    rig.pump();
    assert!(rig.loses.is_none() && rig.volume.status().members[2].0 == MemberState::Active);
    assert!(rows(&rig, 2, 60) == before);
}

#[test]
fn a_repair_that_did_not_come_to_the_medium_is_not_called_one() {
    let mut rig = filled(Scheme::Stamp, 10);
    let (member, at) = rig.place(3, 1);
    rig.members[member][at..at + 512].fill(0xaa);
    rig.loses = Some((member, at as u64));
    assert!(rig.read(3 * STRIPE, STRIPE) == right(7, STRIPE));
    assert!(rig.kinds().iter().all(|&(.., end)| end == End::Avoided));
    assert!(rig.read(3 * STRIPE, STRIPE) == right(7, STRIPE));
    assert!(rig.kinds().iter().any(|&(.., end)| end == End::Repaired));
}

#[test]
fn a_page_of_the_map_that_only_one_member_has_is_on_all_after_the_next_flush() {
    let mut rig = Rig::new(Scheme::Hybrid2, LayoutKind::Rotating, 4, 2);
    let stripes = rig.geometry.stripes_of_region(0).end;
    rig.write(0, &vec![7; (stripes * STRIPE) as usize]);
    let before = rig.members.clone();
    assert_eq!(rig.ask(Request::Flush), Reply::Done);
    let (mut members, geometry) = members_of(&mut rig);
    let map = geometry.written_offset as usize..geometry.data_offset as usize;
    for member in 1..6 {
        members[member][map.clone()].copy_from_slice(&before[member][map.clone()]);
    }
    let mut again = Rig::start(members, geometry);
    assert_eq!(again.ask(Request::Flush), Reply::Done);
    let mut members = members_of(&mut again).0;
    members[0].clear();
    let mut third = Rig::start(members, geometry);
    assert!(third.read(0, stripes * STRIPE) == right(7, stripes * STRIPE));
}

#[test]
fn a_page_of_the_map_is_never_written_over_its_newest_version() {
    let mut rig = filled(Scheme::Stamp, 1);
    let geometry = rig.geometry;
    let place = |rig: &Rig, turn| {
        let at = geometry.written_page_offset(0, turn) as usize;
        rig.members[3][at..at + 4096].to_vec()
    };
    for stripe in 1..6 {
        let before = [place(&rig, 0), place(&rig, 1)];
        rig.write(stripe * STRIPE, &[7; 512]);
        assert_eq!(rig.ask(Request::Flush), Reply::Done);
        let changed: Vec<bool> = (0..2).map(|turn| place(&rig, turn) != before[turn as usize]).collect();
        assert_eq!(changed.iter().filter(|changed| **changed).count(), 1);
        let generation = |page: &[u8]| u64::from_le_bytes(page[24..32].try_into().unwrap());
        let newest = usize::from(generation(&before[1]) > generation(&before[0]));
        assert!(!changed[newest], "stripe {stripe}");
    }
}

#[test]
fn a_rebuild_that_ended_rests_on_a_map_that_is_durable() {
    let mut rig = filled(Scheme::Stamp, 60);
    rig.volume.fail(Nanos(rig.now), 2);
    rig.pump();
    let geometry = rig.geometry;
    wipe(&mut rig.members[2], &geometry);
    rig.members[2][geometry.data_offset as usize..].fill(0x11);
    rig.volume.replace(Nanos(rig.now), 2, Uuid([99; 16]), MEMBER_BYTES);
    let start = rig.ops;
    rig.pump_until(|rig| rig.ops > start + 60);
    rig.volume.submit(Nanos(rig.now), RequestId(500), Request::Trim { offset: 59 * STRIPE, len: STRIPE });
    rig.pump();
    assert_eq!(rig.volume.status().members[2].0, MemberState::Active);
    let members = members_of(&mut rig).0;
    let mut again = Rig::start(members, geometry);
    assert!(again.read(59 * STRIPE, STRIPE) == right(0, STRIPE));
    assert_eq!(again.kinds(), []);
}

#[test]
fn a_late_error_of_an_old_disk_does_not_take_the_new_one_out() {
    let mut rig = filled(Scheme::Stamp, 60);
    let (member, _) = rig.place(3, 0);
    rig.hangs = Some(member);
    rig.volume.submit(Nanos(rig.now), RequestId(500), Request::Read { offset: 3 * STRIPE, len: 512 });
    rig.pump();
    let held = std::mem::take(&mut rig.held);
    rig.volume.fail(Nanos(rig.now), member);
    rig.pump();
    rig.hangs = None;
    let geometry = rig.geometry;
    wipe(&mut rig.members[member], &geometry);
    rig.volume.replace(Nanos(rig.now), member, Uuid([99; 16]), MEMBER_BYTES);
    for id in held {
        rig.volume.handle(Nanos(rig.now), Done { id, buffer: None, result: Err(Fault::Gone) });
    }
    rig.pump();
    assert_eq!(rig.volume.status().members[member].0, MemberState::Active);
}

#[test]
fn what_a_parity_gives_that_the_lists_contradict_is_no_repair() {
    let mut rig = filled(Scheme::Stamp, 10);
    belie(&mut rig, 3);
    let (member, at) = rig.place(3, 0);
    rig.members[member][at..at + 512].fill(0xaa);
    let bytes = rig.read(3 * STRIPE, CHUNK);
    assert!(bytes.iter().all(|byte| byte.is_none_or(|byte| byte == 7)));
    assert!(rig.kinds().iter().all(|&(_, slot, _, end)| slot != 0 || end != End::Repaired));
}

#[test]
fn a_parity_whose_seal_is_right_and_whose_content_is_not_is_put_right() {
    let mut rig = filled(Scheme::Stamp, 10);
    let before = rig.members.clone();
    let (member, at) = belie(&mut rig, 3);
    rig.volume.verify(Nanos(rig.now), RequestId(500), 3..4);
    rig.pump();
    assert!(rig.members[member][at..at + CHUNK as usize] == before[member][at..at + CHUNK as usize]);
    assert!(matches!(rig.kinds()[..], [(3, 4, _, End::Repaired)]));
}
