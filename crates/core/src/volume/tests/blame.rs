//! Tests of what findings claim, whom they blame, and what counts as read and found right.

use super::attacks::{STRIPE, corrupt, filled, killed, lost, write_chunk};
use super::promises::{right, superblock};
use super::*;
use crate::index::MemberIndex;
use crate::volume::format::geometry::MetadataArea;
use crate::volume::format::superblock::MemberState;
use crate::volume::persist;

fn faults(rig: &Rig) -> Vec<u64> {
    rig.volume.status().members.iter().map(|&(_, faults)| u64::from(faults)).collect()
}

/// The member's newest superblock calls this member failed.
fn is_recorded_out(rig: &Rig, on: usize, member: usize) -> bool {
    matches!(superblock(&rig.members[on]).members[member].state, MemberState::Failed(_))
}

/// A chunk whose last write was lost is read while no list is there to compare it with. The member with the list returns before
/// the read has ended; then nobody may take the chunk for one that was found right.
#[test]
fn a_chunk_that_was_compared_with_nothing_is_not_noted_as_right() {
    for scheme in [Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Stamp] {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 2, 1);
        rig.write(0, &vec![7; 40 * CHUNK as usize]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        let (member, at) = rig.place(0, 0);
        let row = at..at + rig.geometry.row_bytes() as usize;
        let old = rig.members[member][row.clone()].to_vec();
        rig.write(0, &[8; CHUNK as usize]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        rig.wait(20_000_000_000);
        rig.members[member][row].copy_from_slice(&old);
        let parity = rig.place(0, 2).0;
        rig.volume.fail(Nanos(rig.now), MemberIndex(parity));
        rig.pump();
        rig.holds_reads = true;
        let read = BlockRequest::Read { offset: VolumeOffset(0), len: CHUNK };
        rig.volume.submit(Nanos(rig.now), RequestId(500), read);
        rig.pump();
        assert!(!rig.under_way.is_empty() && rig.volume.poll_reply().is_none(), "{scheme}");
        rig.holds_reads = false;
        let theirs = superblock(&rig.members[parity]);
        assert_eq!(rig.volume.readd(Nanos(rig.now), &theirs, Uuid([77; 16]), MEMBER_BYTES), Ok(()));
        rig.pump();
        assert_eq!(rig.volume.status().members[parity].0, MemberState::Active, "{scheme}");
        rig.release();
        assert!(rig.volume.poll_reply().is_some());
        assert!(rig.read(0, CHUNK) == right(8, CHUNK), "{scheme}: the list shows that the row is old");
    }
}

/// Two rows of a stripe cannot be read, and a torn one could pass for half written after a crash: it is overwritten before the
/// loss is reported. Here its member refuses that; so no one may learn of the loss before the member is recorded as out.
#[test]
fn a_loss_is_not_reported_before_a_member_that_keeps_a_torn_row_is_recorded_as_out() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &vec![7; 40 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (torn, at) = rig.place(3, 0);
    rig.members[torn][at + 512..at + 1024].fill(0xaa);
    let (hurt, hurt_at) = rig.place(3, 1);
    rig.unreadable = Some((hurt, hurt_at as u64));
    rig.refuses_all = Some(torn);
    rig.holds_superblocks = true;
    let read = BlockRequest::Read { offset: VolumeOffset(3 * 2 * CHUNK), len: CHUNK };
    rig.volume.submit(Nanos(rig.now), RequestId(500), read);
    rig.pump();
    let is_recorded = is_recorded_out(&rig, hurt, torn);
    assert!(rig.volume.poll_reply().is_none() || is_recorded, "it was told of a loss that a crash would take back");
}

#[test]
fn a_disk_that_is_bad_from_one_end_to_the_other_has_more_than_one_fault() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    let member = MemberIndex(1);
    let handle = rig.volume.handle.clone();
    (0..4000).for_each(|row| persist::blame(&handle, member, RowIndex(row)));
    rig.pump();
    assert_eq!(faults(&rig)[1], 4, "a stretch has 1,024 rows at most");
    // Out of order, as stripes are verified a few at a time.
    [5003, 5000, 5010, 5001, 5025].into_iter().for_each(|row| persist::blame(&handle, member, RowIndex(row)));
    assert_eq!(faults(&rig)[1], 5);
}

/// A read that gives other bytes once was wrong on its way, or came from another place: only a row that names one shows which.
#[test]
fn a_read_that_was_wrong_once_is_called_misdirected_only_if_it_gave_another_places_row() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let mut rig = Rig::start(members, geometry);
    let (member, at) = rig.place(3, 0);
    rig.misdirects = Some((member, at as u64));
    assert!(rig.read(3 * STRIPE, CHUNK) == right(7, CHUNK));
    assert_eq!(rig.kinds(), [(3, 0, CorruptionKind::Corrupt, Resolution::Transient)]);
}

/// Without a sound page of the map every stripe counts as written. What lies in those that never were accuses no disk.
#[test]
fn rows_of_stripes_that_were_never_written_are_no_faults_of_their_members() {
    let (mut members, geometry) = filled(Scheme::Stamp, 30);
    for member in &mut members {
        let map = geometry.page_offset(MetadataArea::WrittenMap, 0, 0).get() as usize;
        member[map..map + 8192].fill(0);
    }
    let mut rig = Rig::start(members, geometry);
    let before = faults(&rig);
    (40..60).for_each(|stripe| assert_eq!(lost(&mut rig, stripe), [0, 1, 2, 3]));
    assert_eq!(faults(&rig), before);
    // Where other rows prove themselves, a wrong row is a fault.
    corrupt(&mut rig, 3, 0);
    assert!(rig.read(3 * STRIPE, STRIPE) == right(7, STRIPE));
    assert_eq!(faults(&rig).iter().sum::<u64>(), before.iter().sum::<u64>() + 1);
    assert_eq!(write_chunk(&mut rig, 3, 1, 9), BlockReply::Done);
    assert!(rig.is_gone.iter().all(|gone| !gone) && lost(&mut killed(rig), 3).is_empty());
}
