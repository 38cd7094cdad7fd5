//! Tests of what findings claim, whom they blame, and what counts as read and found right.

use super::attacks::{STRIPE, corrupt, filled, killed, lost, write_chunk};
use super::promises::{members_of, right, superblock};
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
    assert_eq!(rig.kinds(), [(3, 0, FindingKind::Corrupt, Resolution::Transient)]);
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

/// A 2+1 volume of sevens in which nothing is dirty, and the place of chunk 0 of stripe 3, whose row is then damaged.
fn with_torn_row(out: Option<usize>) -> (Rig, (usize, usize)) {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &vec![7; 40 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.wait(60_000_000_000);
    if let Some(position) = out {
        let member = rig.place(3, position).0;
        rig.volume.fail(Nanos(rig.now), MemberIndex(member));
        rig.pump();
        rig.wait(60_000_000_000);
    }
    let (torn, at) = rig.place(3, 0);
    rig.members[torn][at + 512..at + 1024].fill(0xaa);
    (rig, (torn, at))
}

/// Stripe 3 of a 2+1 volume begins here.
const LOST_AT: u64 = 3 * 2 * CHUNK;

/// A chunk was lost while a member was out, and its row overwritten by a mark; the member is back, and a crash has the stripe resynced.
#[test]
fn the_volumes_own_mark_is_no_fault_of_its_disk_in_a_resync_either() {
    let (mut rig, (torn, _)) = with_torn_row(Some(1));
    assert!(rig.read(LOST_AT, CHUNK) == vec![None; CHUNK as usize]);
    let out = rig.place(3, 1).0;
    let theirs = superblock(&rig.members[out]);
    rig.volume.readd(Nanos(rig.now), &theirs, Uuid([9; 16]), MEMBER_BYTES).unwrap();
    rig.pump();
    rig.write(0, &[8; CHUNK as usize]);
    let before = faults(&rig)[torn];
    let mut again = killed(rig);
    assert!(again.read(LOST_AT, 2 * CHUNK) == right(7, 2 * CHUNK));
    assert_eq!(faults(&again)[torn], before);
}

/// The row proves nothing, the member of the parity is out, and the one of the row refuses its overwriting, so that the volume is
/// broken. Nobody was writing the stripe: at the next start no resync may take the row for half written.
#[test]
fn a_loss_found_in_a_clean_region_stays_lost_when_the_volume_breaks_over_it() {
    let (mut rig, (torn, _)) = with_torn_row(Some(2));
    let out = rig.place(3, 2).0;
    rig.refuses_all = Some(torn);
    assert!(rig.read(LOST_AT, CHUNK) == vec![None; CHUNK as usize]);
    assert!(rig.volume.status().is_broken);
    let (mut members, geometry) = members_of(&mut rig);
    members[out].clear();
    assert!(Rig::start(members, geometry).read(LOST_AT, CHUNK) == vec![None; CHUNK as usize]);
}

/// Both data rows of a stripe are damaged, and the power fails while they are marked: what is not marked yet is as wrong as before.
#[test]
fn a_crash_before_the_marks_of_lost_chunks_gives_no_content_back() {
    let (mut rig, first) = with_torn_row(None);
    let second = rig.place(3, 1);
    rig.members[second.0][second.1 + 512..second.1 + 1024].fill(0xaa);
    for held in [first, second] {
        let (members, geometry) = (rig.members.clone(), rig.geometry);
        let mut again = Rig::start(members, geometry);
        again.wait(60_000_000_000);
        again.holds = Some((held.0, held.1 as u64));
        let read = BlockRequest::Read { offset: VolumeOffset(LOST_AT), len: CHUNK };
        again.volume.submit(Nanos(again.now), RequestId(500), read);
        again.pump();
        assert!(!again.under_way.is_empty() && again.volume.poll_reply().is_none());
        let (members, geometry) = members_of(&mut again);
        let mut again = Rig::start(members, geometry);
        assert!(again.read(LOST_AT, 2 * CHUNK) == vec![None; 2 * CHUNK as usize], "held {held:?}");
    }
}

/// With the member that is out, both rows could be rebuilt: a read in the meantime may not cost its proof.
#[test]
fn a_read_of_a_lost_chunk_leaves_a_member_that_is_out_what_it_can_prove() {
    let (mut rig, _) = with_torn_row(Some(1));
    let out = rig.place(3, 1).0;
    assert!(rig.read(LOST_AT, CHUNK) == vec![None; CHUNK as usize]);
    let theirs = superblock(&rig.members[out]);
    assert_eq!(rig.volume.readd(Nanos(rig.now), &theirs, Uuid([77; 16]), MEMBER_BYTES), Ok(()));
    rig.pump();
    assert!(rig.read(LOST_AT, 2 * CHUNK) == right(7, 2 * CHUNK));
}

#[test]
fn the_last_member_of_a_mirror_is_blamed_for_its_damage() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Raid1, 1, 1);
    rig.write(0, &vec![7; 40 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (parity, (member, at)) = (rig.place(3, 1).0, rig.place(3, 0));
    rig.volume.fail(Nanos(rig.now), MemberIndex(parity));
    rig.pump();
    rig.members[member][at + 512..at + 1024].fill(0xaa);
    assert!(rig.read(3 * CHUNK, CHUNK) == vec![None; CHUNK as usize]);
    assert_eq!(faults(&rig)[member], 1);
    // What lies there now is the volume's own mark, or what it discarded.
    (0..20).for_each(|_| assert!(rig.read(3 * CHUNK, CHUNK) == vec![None; CHUNK as usize]));
    assert_eq!(faults(&rig)[member], 1);
}

/// The maps of all members are lost in a crash. Stripes of a dirty region that were never written are resynced, and accuse no disk.
#[test]
fn a_resync_of_stripes_that_were_never_written_blames_nobody() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let mut rig = Rig::start(members, geometry);
    assert_eq!(write_chunk(&mut rig, 29, 0, 8), BlockReply::Done);
    let (mut members, geometry) = members_of(&mut rig);
    for member in &mut members {
        let map = geometry.page_offset(MetadataArea::WrittenMap, 0, 0).get() as usize;
        member[map..map + 8192].fill(0);
    }
    let mut rig = Rig::start(members, geometry);
    rig.wait(1_000_000_000);
    let of_rows: u64 = rig.kinds().iter().filter(|(.., kind, _)| *kind == FindingKind::Corrupt).count() as u64;
    assert_eq!((of_rows, faults(&rig).iter().sum()), (0, 0));
}

/// Of a stripe with two parities three rows are out, unreadable and torn; the torn row's member refuses to have it overwritten, and is
/// taken out. When it comes back it must not keep that row: in a region that a crash leaves dirty it would pass for half written.
#[test]
fn a_member_that_refused_a_discard_does_not_come_back_with_the_row() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 2);
    rig.write(0, &vec![7; 40 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.wait(60_000_000_000);
    let (out, (torn, at), (hurt, hurt_at)) = (rig.place(3, 1).0, rig.place(3, 0), rig.place(3, 2));
    rig.volume.fail(Nanos(rig.now), MemberIndex(out));
    rig.pump();
    rig.wait(60_000_000_000);
    rig.members[torn][at + 512..at + 1024].fill(0xaa);
    rig.unreadable = Some((hurt, hurt_at as u64));
    rig.refuses_all = Some(torn);
    assert!(rig.read(LOST_AT, CHUNK) == vec![None; CHUNK as usize]);
    rig.refuses_all = None;
    assert!(!rig.volume.status().is_broken && is_recorded_out(&rig, hurt, torn));
    let theirs = superblock(&rig.members[torn]);
    assert_eq!(rig.volume.readd(Nanos(rig.now), &theirs, Uuid([77; 16]), MEMBER_BYTES), Ok(()));
    rig.pump();
    rig.wait(60_000_000_000);
    // Another stripe of the region is being written when the power fails.
    rig.write(0, &[8; CHUNK as usize]);
    let (mut members, geometry) = members_of(&mut rig);
    members[out].clear();
    let mut again = Rig::begin(members, geometry, VolumeOptions::default());
    again.unreadable = Some((hurt, hurt_at as u64));
    again.pump();
    assert!(again.read(LOST_AT, CHUNK) == vec![None; CHUNK as usize]);
}

/// The disk drops the write that should replace a lost chunk's mark: what lies there is the mark, sound and old.
#[test]
fn a_write_lost_over_a_mark_is_a_fault_of_its_disk() {
    let (mut rig, (member, at)) = with_torn_row(None);
    let second = rig.place(3, 1);
    rig.members[second.0][second.1 + 512..second.1 + 1024].fill(0xaa);
    assert!(rig.read(LOST_AT, CHUNK) == vec![None; CHUNK as usize]);
    rig.wait(60_000_000_000);
    let before = faults(&rig)[member];
    // A fault in the same place would be counted with the first one.
    rig.volume.handle.with(|state| state.membership.members[MemberIndex(member)].fault_stretch = None);
    rig.loses = Some((member, at as u64));
    rig.write(LOST_AT, &[9; CHUNK as usize]);
    assert!(rig.loses.is_none());
    assert!(rig.read(LOST_AT, CHUNK) == right(9, CHUNK));
    assert!(rig.kinds().iter().any(|&(_, _, kind, _)| kind == FindingKind::LostWrite));
    assert_eq!(faults(&rig)[member], before + 1);
}
