//! Tests of what members refuse, lose or lack while others depend on it.
//!
//! Nothing is acknowledged before that is durably known, and nothing is destroyed that an absent member may still prove.

use super::promises::{members_of, right, superblock};
use super::*;
use crate::index::MemberIndex;
use crate::units::VolumeOffset;
use crate::volume::format::returns::ReturnRefusal;
use crate::volume::format::superblock::{FailureReason, MemberState};
use crate::volume::integrity::tag::{NUMBER_END, NUMBER_WRITABLE_END};

fn state(rig: &Rig, member: usize) -> MemberState {
    rig.volume.status().members[member].0
}

fn readd(rig: &mut Rig, member: usize) -> Result<(), ReturnRefusal> {
    let theirs = superblock(&rig.members[member]);
    rig.volume.readd(Nanos(rig.now), &theirs, Uuid([77; 16]), MEMBER_BYTES)
}

fn row_of(rig: &Rig, stripe: u64, slot: usize) -> (usize, std::ops::Range<usize>) {
    let (member, at) = rig.place(stripe, slot);
    (member, at..at + rig.geometry.row_bytes() as usize)
}

#[test]
fn no_durable_write_is_acknowledged_when_all_members_refuse_the_written_map() {
    for scheme in Scheme::ALL {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 2, 1);
        rig.write(0, &vec![7; 2 * CHUNK as usize]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        // The intents are there and the rows are written, but the written map is refused.
        rig.refuses_metadata = true;
        let data = Buffer::copy_of(&vec![8; 2 * CHUNK as usize]);
        let reply = rig.ask(BlockRequest::Write { offset: VolumeOffset(2 * CHUNK), data, is_durable: true });
        assert_eq!(reply, BlockReply::Failed(BlockFailure::Io), "{scheme}");
        assert!(rig.volume.status().is_broken, "{scheme}");
    }
}

#[test]
fn no_row_is_written_when_all_members_refuse_its_intent() {
    for scheme in Scheme::ALL {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 2, 1);
        rig.write(0, &vec![7; 2 * CHUNK as usize]);
        rig.wait(20_000_000_000);
        let rows = rig.geometry.data_offset as usize;
        let before: Vec<Vec<u8>> = rig.members.iter().map(|member| member[rows..].to_vec()).collect();
        rig.refuses_metadata = true;
        let data = Buffer::copy_of(&[8; 100]);
        let reply = rig.ask(BlockRequest::Write { offset: VolumeOffset(0), data, is_durable: false });
        assert_eq!(reply, BlockReply::Failed(BlockFailure::Io), "{scheme}");
        assert!(
            rig.members
                .iter()
                .zip(&before)
                .all(|(member, before)| member[rows..rows + before.len() - 32768] == before[..before.len() - 32768]),
            "{scheme}"
        );
    }
}

#[test]
fn a_failed_durable_write_amid_unflushed_writes_costs_its_member() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &vec![7; 2 * CHUNK as usize]);
    // The intents of another region, on the same page; the first writes are not flushed yet.
    rig.refuses = Some((1, rig.geometry.page_offset(MetadataArea::Intents, 0, 0).get()));
    let far = rig.geometry.region_stripes * 5 * 2 * CHUNK;
    rig.write(far, &vec![8; 2 * CHUNK as usize]);
    assert_eq!((rig.refuses, state(&rig, 1)), (None, MemberState::Failed(FailureReason::Refused)));
}

#[test]
fn a_rebuild_waits_for_an_absent_member_that_may_hold_the_lost_chunks() {
    for scheme in Scheme::ALL {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 2, 1);
        let size = rig.volume.size().min(200 * 2 * CHUNK);
        rig.write(0, &vec![7; size as usize]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        rig.wait(20_000_000_000);
        rig.volume.fail(Nanos(rig.now), MemberIndex(0));
        rig.pump();
        rig.members[0].fill(0);
        rig.volume.replace(Nanos(rig.now), MemberIndex(0), Uuid([9; 16]), MEMBER_BYTES);
        let first = row_of(&rig, 20, 0);
        rig.pump_until(|rig| {
            rig.members[0][first.1.clone()].iter().any(|byte| *byte != 0)
                || matches!(state(rig, 0), MemberState::Rebuilding { stripes_done: 64.. })
        });
        // Killed, and started while the cable of another member is loose.
        let (mut members, geometry) = members_of(&mut rig);
        let detached = std::mem::take(&mut members[1]);
        let rows = geometry.data_offset as usize..(MEMBER_BYTES - 32768) as usize;
        let before = members[2][rows.clone()].to_vec();
        let mut rig = Rig::start(members, geometry);
        rig.wait(60_000_000_000);
        assert!(matches!(state(&rig, 0), MemberState::Rebuilding { .. }), "{scheme}: {:?}", state(&rig, 0));
        assert!(rig.members[2][rows] == before, "{scheme}: something was written over");
        // That member is there again.
        rig.members[1] = detached;
        assert_eq!(readd(&mut rig, 1), Ok(()), "{scheme}");
        rig.pump();
        rig.wait(60_000_000_000);
        assert_eq!([0, 1, 2].map(|member| state(&rig, member)), [MemberState::Active; 3], "{scheme}");
        assert!(rig.read(0, size) == right(7, size), "{scheme}");
    }
}

#[test]
fn reads_of_a_disk_prove_nothing_about_its_replacement() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; 4 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    assert!(rig.read(0, CHUNK) == right(7, CHUNK));
    let (member, row) = row_of(&rig, 0, 0);
    let old = rig.members[member][row.clone()].to_vec();
    rig.volume.fail(Nanos(rig.now), MemberIndex(member));
    rig.pump();
    rig.write(0, &vec![8; CHUNK as usize]);
    rig.volume.replace(Nanos(rig.now), MemberIndex(member), Uuid([9; 16]), MEMBER_BYTES);
    rig.pump();
    assert_eq!(state(&rig, member), MemberState::Active);
    // Its cache had shown what it never wrote: the same disk as before, with its old row, which is whole.
    rig.members[member][row].copy_from_slice(&old);
    assert!(rig.read(0, CHUNK) == right(8, CHUNK));
}

#[test]
fn a_chunk_with_contradicting_sums_is_read_once_the_deciding_list_is_back() {
    let mut rig = Rig::new(Scheme::Hybrid2, LayoutKind::Rotating, 4, 1);
    rig.write(0, &vec![7; 4 * CHUNK as usize]);
    let (member, row) = row_of(&rig, 0, 2);
    let old = rig.members[member][row.clone()].to_vec();
    rig.write(2 * CHUNK, &vec![8; CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.wait(20_000_000_000);
    rig.members[member][row].copy_from_slice(&old);
    let (parity, _) = row_of(&rig, 0, 4);
    rig.volume.fail(Nanos(rig.now), MemberIndex(parity));
    rig.pump();
    let chunk = 2 * CHUNK as usize..3 * CHUNK as usize;
    assert!(rig.read(0, 4 * CHUNK)[chunk] == vec![None; CHUNK as usize], "nobody can tell now");
    assert_eq!(readd(&mut rig, parity), Ok(()));
    rig.pump();
    assert!(rig.read(2 * CHUNK, CHUNK) == right(8, CHUNK));
    assert!(rig.read(0, 4 * CHUNK)[..2 * CHUNK as usize] == right(7, 2 * CHUNK));
}

#[test]
fn a_disk_that_claims_the_highest_write_number_leaves_room_for_later_ones() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Raid1, 1, 1);
    rig.volume.skip_write_numbers(u64::MAX);
    rig.write(0, &[7; 512]);
    assert!(rig.read(0, 512) == right(7, 512));
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    assert!(superblock(&rig.members[0]).write_mark > 1 << 60);
}

#[test]
fn members_restored_from_a_copy_are_left_out_while_the_others_hold_everything() {
    let old = |stale: &[usize]| {
        let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
        rig.write(0, &vec![7; 40 * CHUNK as usize]);
        let geometry = rig.geometry;
        let again = |members, start_number| {
            Rig::start_as(members, geometry, VolumeOptions { start_number, ..VolumeOptions::default() })
        };
        let copy = again(rig.stop(), 1).stop();
        let mut rig = again(copy.clone(), 2);
        rig.write(0, &vec![8; 16 * CHUNK as usize]);
        let mut members = rig.stop();
        stale.iter().for_each(|&member| members[member] = copy[member].clone());
        assert_eq!(assemble(&given(&members)).unwrap().old().count(), if stale.len() > 2 { stale.len() } else { 0 });
        again(members, 3)
    };
    let mut expected = right(8, 16 * CHUNK);
    expected.extend(right(7, 24 * CHUNK));
    for stale in [&[0][..], &[1, 5], &[2, 3]] {
        let mut rig = old(stale);
        assert_eq!(rig.kinds(), [], "{stale:?}");
        let read = rig.read(0, 40 * CHUNK);
        assert!(
            read == expected,
            "{stale:?} {:?}",
            read.iter().zip(&expected).position(|(a, b)| a != b).map(|at| (at, read[at], expected[at]))
        );
        assert_eq!(rig.kinds(), [], "{stale:?}");
        for &member in stale {
            assert_eq!(state(&rig, member), MemberState::Missing);
            assert_eq!(readd(&mut rig, member), Err(ReturnRefusal::Older));
            rig.volume.replace(Nanos(rig.now), MemberIndex(member), Uuid([9; 16]), MEMBER_BYTES);
            rig.pump();
            assert_eq!(state(&rig, member), MemberState::Active);
        }
        assert!(rig.read(0, 40 * CHUNK) == expected && rig.kinds().is_empty(), "{stale:?}");
    }
    // Too many: they stay, and a verification reports what it finds.
    let mut rig = old(&[0, 1, 2]);
    rig.volume.verify(Nanos(rig.now), RequestId(99), StripeIndex(0)..StripeIndex(4));
    rig.pump();
    assert!(!rig.kinds().is_empty());
}

#[test]
fn no_map_page_is_written_before_the_unflushed_member_is_recorded_as_out() {
    for scheme in [Scheme::Stamp, Scheme::Hybrid1] {
        let mut rig = Rig::new(scheme, LayoutKind::Raid1, 1, 1);
        rig.write(0, &vec![7; CHUNK as usize]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        rig.write(CHUNK, &vec![8; CHUNK as usize]);
        // A member is out that has the new row in its cache only, and that is not durably recorded yet.
        rig.holds_superblocks = true;
        rig.volume.fail(Nanos(rig.now), MemberIndex(0));
        let map = rig.geometry.page_offset(MetadataArea::WrittenMap, 0, 0).get() as usize;
        let before = rig.members[1][map..map + 8192].to_vec();
        rig.volume.submit(Nanos(rig.now), RequestId(99), BlockRequest::Flush);
        rig.pump();
        assert!(rig.members[1][map..map + 8192] == before, "{scheme}");
    }
}

/// A flush failed on a member that cannot be spared: the map vouches for what its disk may have dropped neither then nor later.
#[test]
fn no_map_page_is_written_after_a_flush_failed() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.volume.fail(Nanos(rig.now), MemberIndex(0));
    rig.pump();
    rig.write(0, &[7; CHUNK as usize]);
    let map = rig.geometry.written_offset as usize..rig.geometry.data_offset as usize;
    let before: Vec<Vec<u8>> = rig.members.iter().map(|member| member[map.clone()].to_vec()).collect();
    rig.is_unflushable = Some(1);
    for _ in 0..2 {
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Failed(BlockFailure::Io));
        let after: Vec<Vec<u8>> = rig.members.iter().map(|member| member[map.clone()].to_vec()).collect();
        assert!(before == after, "a page of the written map was written");
    }
}

/// Made-up numbers, at values that no real volume reaches: the volume serves, read-only where no numbers could follow
/// them, and never ends the program.
#[test]
fn a_volume_whose_numbers_leave_no_room_can_be_read_and_not_written() {
    for (is_mark, number) in [false, true].into_iter().flat_map(|is_mark| {
        [NUMBER_WRITABLE_END - 1, NUMBER_WRITABLE_END, NUMBER_END - 1].map(|number| (is_mark, number))
    }) {
        let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
        rig.write(0, &[7; CHUNK as usize]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        let (mut members, geometry) = members_of(&mut rig);
        for member in &mut members {
            let mut altered = superblock(member);
            if is_mark {
                altered.write_mark = number
            } else {
                altered.generation = number
            }
            let block = altered.encode();
            for offset in Superblock::offsets(MEMBER_BYTES).unwrap() {
                member[offset.get() as usize..][..block.len()].copy_from_slice(&block);
            }
        }
        let mut again = Rig::start(members, geometry);
        assert!(again.read(0, CHUNK) == right(7, CHUNK), "{number}");
        let data = Buffer::copy_of(&[8; CHUNK as usize]);
        let written = again.ask(BlockRequest::Write { offset: VolumeOffset(0), data, is_durable: false });
        let is_writable = number < NUMBER_WRITABLE_END;
        assert_eq!(written == BlockReply::Done, is_writable, "{is_mark} {number}: {written:?}");
    }
}
