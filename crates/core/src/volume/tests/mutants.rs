//! Promises that mistakes once broke unseen: each of these tests fails with one small change of the volume's code.

use super::promises::{members_of, right, superblock, wipe};
use super::*;
use crate::finding::Resolution;
use crate::index::{MemberIndex, RegionIndex, RowIndex, StripePosition};
use crate::units::VolumeOffset;
use crate::volume::format::geometry::{MetadataArea, SUPERBLOCK_BYTES};
use crate::volume::format::superblock::MemberState;
use crate::volume::integrity::tag::{self, ListEntry};

const STRIPE: u64 = 4 * CHUNK;

fn filled(scheme: Scheme, stripes: u64) -> Rig {
    let mut rig = Rig::new(scheme, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; (stripes * STRIPE) as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig
}

/// The bytes of a member's first `stripes` rows.
fn rows(rig: &Rig, member: usize, stripes: u64) -> Vec<u8> {
    let end = rig.geometry.chunk_offset(RowIndex(stripes)).get() as usize;
    rig.members[member][rig.geometry.data_offset as usize..end].to_vec()
}

/// Changes the content of a stripe's parity P, and seals it so that its checksums fit. Returns its member and byte offset.
fn falsify_parity(rig: &mut Rig, stripe: u64) -> (usize, usize) {
    let geometry = rig.geometry;
    let (member, at) = rig.place(stripe, 4);
    let (chunk, end) = (CHUNK as usize, at + geometry.row_bytes() as usize);
    let place = geometry.place(StripeIndex(stripe), StripePosition(4));
    let array = rig.volume.superblock().array.id();
    let identity = tag::RowIdentity { array, member: place.member, row: place.row, position: StripePosition(4) };
    let row = &mut rig.members[member][at..end];
    let mut entries = vec![ListEntry::default(); 4];
    tag::open_parity(&row[chunk..], identity, None, &mut entries);
    row[50] ^= 1;
    let sum = scrubjay_code::crc32c(&row[..chunk]);
    tag::seal_parity(row, chunk, identity, sum, &entries);
    (member, at)
}

#[test]
fn a_row_that_a_new_disk_lost_is_written_again_before_the_rebuild_completes() {
    let mut rig = filled(Scheme::Stamp, 60);
    let before = rows(&rig, 2, 60);
    rig.volume.fail(Nanos(rig.now), MemberIndex(2));
    rig.pump();
    let geometry = rig.geometry;
    wipe(&mut rig.members[2], &geometry);
    rig.members[2][geometry.data_offset as usize..].fill(0x11);
    rig.loses = Some((2, (geometry.chunk_offset(RowIndex(31))).get()));
    rig.volume.replace(Nanos(rig.now), MemberIndex(2), Uuid([99; 16]), MEMBER_BYTES);
    rig.pump();
    assert!(rig.loses.is_none() && rig.volume.status().members[2].0 == MemberState::Active);
    assert!(rows(&rig, 2, 60) == before);
}

#[test]
fn a_repair_that_did_not_reach_the_medium_is_not_reported_as_repaired() {
    let mut rig = filled(Scheme::Stamp, 10);
    let (member, at) = rig.place(3, 1);
    rig.members[member][at..at + 512].fill(0xaa);
    rig.loses = Some((member, at as u64));
    assert!(rig.read(3 * STRIPE, STRIPE) == right(7, STRIPE));
    assert!(rig.kinds().iter().all(|&(.., end)| end == Resolution::Reconstructed));
    assert!(rig.read(3 * STRIPE, STRIPE) == right(7, STRIPE));
    assert!(rig.kinds().iter().any(|&(.., end)| end == Resolution::Repaired));
}

#[test]
fn a_page_of_the_map_that_only_one_member_has_is_on_all_after_the_next_flush() {
    let mut rig = filled(Scheme::Hybrid2, 1);
    rig.write(STRIPE, &[7; 512]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done); // now both places of the page hold a version
    let before = rig.members.clone();
    let stripes = rig.geometry.stripes_of_region(RegionIndex(0)).end.get();
    rig.write(0, &vec![7; (stripes * STRIPE) as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (mut members, geometry) = members_of(&mut rig);
    let map = geometry.written_offset as usize..geometry.data_offset as usize;
    for member in 1..6 {
        members[member][map.clone()].copy_from_slice(&before[member][map.clone()]);
    }
    let mut again = Rig::start(members, geometry);
    assert_eq!(again.ask(BlockRequest::Flush), BlockReply::Done);
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
        let at = geometry.page_offset(MetadataArea::WrittenMap, 0, turn).get() as usize;
        rig.members[3][at..at + 4096].to_vec()
    };
    for stripe in 1..6 {
        let before = [place(&rig, 0), place(&rig, 1)];
        rig.write(stripe * STRIPE, &[7; 512]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        let changed: Vec<bool> = (0..2).map(|turn| place(&rig, turn) != before[turn as usize]).collect();
        assert_eq!(changed.iter().filter(|changed| **changed).count(), 1);
        let generation = |page: &[u8]| u64::from_le_bytes(page[24..32].try_into().unwrap());
        let newest = usize::from(generation(&before[1]) > generation(&before[0]));
        assert!(!changed[newest], "stripe {stripe}");
    }
}

#[test]
fn a_rebuild_ends_only_after_the_written_map_is_durable() {
    let mut rig = filled(Scheme::Stamp, 60);
    rig.volume.fail(Nanos(rig.now), MemberIndex(2));
    rig.pump();
    let geometry = rig.geometry;
    wipe(&mut rig.members[2], &geometry);
    rig.members[2][geometry.data_offset as usize..].fill(0x11);
    rig.volume.replace(Nanos(rig.now), MemberIndex(2), Uuid([99; 16]), MEMBER_BYTES);
    let start = rig.ops;
    rig.pump_until(|rig| rig.ops > start + 60);
    rig.volume.submit(
        Nanos(rig.now),
        RequestId(500),
        BlockRequest::Trim { offset: VolumeOffset(59 * STRIPE), len: STRIPE },
    );
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
    rig.volume.submit(
        Nanos(rig.now),
        RequestId(500),
        BlockRequest::Read { offset: VolumeOffset(3 * STRIPE), len: 512 },
    );
    rig.pump();
    let held = std::mem::take(&mut rig.held);
    rig.volume.fail(Nanos(rig.now), MemberIndex(member));
    rig.pump();
    rig.hangs = None;
    let geometry = rig.geometry;
    wipe(&mut rig.members[member], &geometry);
    rig.volume.replace(Nanos(rig.now), MemberIndex(member), Uuid([99; 16]), MEMBER_BYTES);
    for id in held {
        rig.volume.handle(Nanos(rig.now), MemberOpDone { id, buffer: None, result: Err(DiskFault::Gone) });
    }
    rig.pump();
    assert_eq!(rig.volume.status().members[member].0, MemberState::Active);
}

#[test]
fn a_chunk_from_a_parity_that_contradicts_the_lists_is_not_a_repair() {
    let mut rig = filled(Scheme::Stamp, 10);
    falsify_parity(&mut rig, 3);
    let (member, at) = rig.place(3, 0);
    rig.members[member][at..at + 512].fill(0xaa);
    let bytes = rig.read(3 * STRIPE, CHUNK);
    assert!(bytes.iter().all(|byte| byte.is_none_or(|byte| byte == 7)));
    assert!(rig.kinds().iter().all(|&(_, slot, _, end)| slot != 0 || end != Resolution::Repaired));
}

#[test]
fn a_parity_with_valid_checksums_and_wrong_content_is_repaired() {
    let mut rig = filled(Scheme::Stamp, 10);
    let before = rig.members.clone();
    let (member, at) = falsify_parity(&mut rig, 3);
    rig.volume.verify(Nanos(rig.now), RequestId(500), StripeIndex(3)..StripeIndex(4));
    rig.pump();
    assert!(rig.members[member][at..at + CHUNK as usize] == before[member][at..at + CHUNK as usize]);
    assert!(matches!(rig.kinds()[..], [(3, 4, _, Resolution::Repaired)]));
}

#[test]
fn a_start_overwrites_half_written_superblocks_and_not_the_last_whole_ones() {
    let mut rig = filled(Scheme::Stamp, 10);
    let before = superblock(&rig.members[0]).generation;
    rig.volume.fail(Nanos(rig.now), MemberIndex(5));
    rig.pump_until(|rig| superblock(&rig.members[0]).generation > before);
    let (mut members, geometry) = members_of(&mut rig);
    assert!((1..6).all(|member| superblock(&members[member]).generation == before));
    let cut_short = superblock(&std::mem::take(&mut members[0])).generation;
    let mut rig = Rig::begin(members, geometry, VolumeOptions::default());
    rig.pump_until(|rig| (1..6).all(|member| superblock(&rig.members[member]).generation > before));
    for member in 1..6 {
        let places = Superblock::offsets(MEMBER_BYTES).unwrap();
        let copies = places.map(|at| {
            let copy = &rig.members[member][at.get() as usize..][..SUPERBLOCK_BYTES];
            Superblock::decode(copy).ok().map(|superblock| superblock.generation)
        });
        assert_eq!(copies.iter().filter(|&&copy| copy == Some(before)).count(), 2, "{copies:?}");
        assert!(!copies.contains(&Some(cut_short)));
    }
}

#[test]
fn a_new_disk_has_no_superblock_before_all_others_know_it() {
    let mut rig = filled(Scheme::Stamp, 10);
    rig.volume.fail(Nanos(rig.now), MemberIndex(2));
    rig.pump();
    let geometry = rig.geometry;
    wipe(&mut rig.members[2], &geometry);
    rig.volume.replace(Nanos(rig.now), MemberIndex(2), Uuid([99; 16]), MEMBER_BYTES);
    let knows = |rig: &Rig, member: usize| superblock(&rig.members[member]).members[2].uuid == Uuid([99; 16]);
    rig.pump_until(|rig| knows(rig, 0));
    // One member hangs; the new disk would answer.
    rig.hangs = Some(5);
    rig.pump();
    assert!(knows(&rig, 4) && !knows(&rig, 5));
    let places = Superblock::offsets(MEMBER_BYTES).unwrap();
    let holds =
        |rig: &Rig| places.iter().any(|&at| rig.members[2][at.get() as usize..][..512].iter().any(|&byte| byte != 0));
    assert!(!holds(&rig));
}

#[test]
fn a_row_that_was_half_written_over_a_mark_stays_lost() {
    let mut rig = filled(Scheme::Stamp, 10);
    for slot in [0, 2, 3] {
        let (member, at) = rig.place(3, slot);
        rig.members[member][at..at + CHUNK as usize].fill(0xaa);
    }
    assert!(rig.read(3 * STRIPE, CHUNK).iter().all(Option::is_none));
    rig.write(3 * STRIPE + 2 * CHUNK, &vec![8; 2 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let missing = [rig.place(3, 2).0, rig.place(3, 3).0];
    missing.into_iter().for_each(|member| rig.volume.fail(Nanos(rig.now), MemberIndex(member)));
    rig.pump();
    let (member, at) = rig.place(3, 0);
    let marked = rig.members[member][at..at + CHUNK as usize].to_vec();
    rig.write(3 * STRIPE, &vec![9; CHUNK as usize]);
    let half = CHUNK as usize / 2;
    rig.members[member][at + half..at + CHUNK as usize].copy_from_slice(&marked[half..]);
    let (mut members, geometry) = members_of(&mut rig);
    missing.into_iter().for_each(|member| members[member].clear());
    let mut again = Rig::start(members, geometry);
    assert!(again.read(3 * STRIPE, CHUNK).iter().all(Option::is_none));
    assert!(again.read(3 * STRIPE + CHUNK, CHUNK) == right(7, CHUNK));
}

#[test]
fn a_first_write_older_than_its_map_page_is_acknowledged_only_once_mapped() {
    let mut rig = filled(Scheme::Stamp, 1);
    // The write has its number, and the write of its last row stays under way.
    let place = rig.place(1, 5);
    rig.holds = Some((place.0, place.1 as u64));
    let data = Buffer::copy_of(&vec![9; STRIPE as usize]);
    rig.volume.submit(
        Nanos(rig.now),
        RequestId(500),
        BlockRequest::Write { offset: VolumeOffset(STRIPE), data, is_durable: false },
    );
    rig.pump();
    // Meanwhile a page of the map is written.
    let trim = BlockRequest::Trim { offset: VolumeOffset(0), len: STRIPE };
    assert_eq!(rig.ask(trim), BlockReply::Done);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.release();
    assert_eq!(rig.volume.poll_reply().map(|(id, reply)| (id.0, reply)), Some((500, BlockReply::Done)));
    let (members, geometry) = members_of(&mut rig);
    let mut again = Rig::start(members, geometry);
    assert!(again.read(STRIPE, STRIPE) == right(9, STRIPE));
}
