//! Edge cases of the volume.
//!
//! Disks that refuse a write once, or hang where there is no room for operations; flushes among endless first writes;
//! stops while too many members go; starts that crashes cut short one after the other; large requests; read-only volumes.

use super::promises::members_of;
use super::*;
use crate::index::MemberIndex;
use crate::units::VolumeOffset;
use crate::volume::format::superblock::{FailureReason, MemberState};

fn states(rig: &Rig) -> Vec<MemberState> {
    rig.volume.status().members.iter().map(|(state, _)| *state).collect()
}

#[test]
fn a_metadata_or_row_write_that_a_disk_refuses_once_costs_no_member() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Raid1, 1, 1);
    let geometry = rig.geometry;
    rig.refuses = Some((0, geometry.page_offset(MetadataArea::Intents, 0, 0).get()));
    rig.write(0, &vec![7; CHUNK as usize]);
    assert_eq!((rig.refuses, states(&rig)), (None, vec![MemberState::Active; 2]));
    let before = rig.members.clone();
    rig.write(0, &vec![8; CHUNK as usize]);
    // Half written, the row is resynced.
    let mut members = members_of(&mut rig).0;
    let (member, at) = rig.place(0, 1);
    let row = at..at + geometry.row_bytes() as usize;
    members[member][row.clone()].copy_from_slice(&before[member][row]);
    let mut rig = Rig::begin(members, geometry, VolumeOptions::default());
    rig.refuses = Some((member, at as u64));
    rig.pump();
    assert_eq!((rig.refuses, states(&rig)), (None, vec![MemberState::Active; 2]));
    assert_eq!(rig.kinds(), []);
}

#[test]
fn a_flush_ends_however_many_first_writes_come_meanwhile() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Raid1, 1, 1);
    let first_write = |rig: &mut Rig, stripe: u64| {
        let data = Buffer::copy_of(&[1; 512]);
        let request = BlockRequest::Write { offset: VolumeOffset(stripe * CHUNK), data, is_durable: false };
        rig.volume.submit(Nanos(rig.now), RequestId(100 + stripe), request);
    };
    rig.write(0, &[1; 512]);
    rig.volume.submit(Nanos(rig.now), RequestId(99), BlockRequest::Flush);
    let (mut stripe, mut is_flushed) = (1, false);
    while !is_flushed && let Some(op) = rig.volume.poll_op(Nanos(rig.now)) {
        if matches!(op.kind, OpKind::Flush) && stripe < 50 {
            first_write(&mut rig, stripe);
            stripe += 1;
        }
        rig.end(op);
        is_flushed = std::iter::from_fn(|| rig.volume.poll_reply()).any(|(id, _)| id == RequestId(99));
    }
    assert!(is_flushed && stripe < 20, "{stripe} first writes were needed");
}

#[test]
fn a_stop_ends_although_too_many_members_fail_meanwhile() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Raid1, 1, 1);
    rig.write(0, &[7; 512]);
    rig.volume.fail(Nanos(rig.now), MemberIndex(1));
    rig.pump();
    rig.volume.stop(Nanos(rig.now));
    // The last superblocks are half written.
    rig.pump_until(|rig| super::promises::superblock(&rig.members[0]).is_clean);
    assert!(!rig.volume.is_stopped());
    rig.is_full = true;
    rig.pump();
    assert!(rig.volume.status().is_broken && rig.volume.is_stopped());
}

#[test]
fn all_members_count_as_up_to_date_after_several_starts_cut_short_by_crashes() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &[7; 512]);
    let geometry = rig.geometry;
    let generation = |members: &[Vec<u8>]| super::promises::superblock(&members[0]).generation;
    let is_ahead = |rig: &Rig, before: u64| generation(&rig.members) > before;
    // A crash in the middle of a round of superblocks ...
    let before = generation(&rig.members);
    rig.volume.fail(Nanos(rig.now), MemberIndex(2));
    rig.pump_until(|rig| is_ahead(rig, before));
    let mut members = rig.members;
    for start in 0..3 {
        let found = assemble(&given(&members)).unwrap();
        let is_in = |member: MemberIndex| {
            matches!(found.members[member], crate::volume::format::assemble::SlotState::Active(_))
        };
        let are_in: crate::position_set::MemberSet = MemberIndex::first(3).filter(|&member| is_in(member)).collect();
        assert_eq!(found.in_last_start, are_in, "after {start} starts");
        assert!(are_in.contains(MemberIndex(0)) && are_in.contains(MemberIndex(1)));
        // ... and in the first round of the next start, again and again: only one member has each generation.
        let before = generation(&members);
        let mut rig =
            Rig::begin(members, geometry, VolumeOptions { start_number: 100 + start, ..VolumeOptions::default() });
        rig.pump_until(|rig| is_ahead(rig, before));
        members = rig.members;
    }
}

#[test]
fn a_hanging_member_is_taken_out_without_room_for_more_operations() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &vec![7; 2 * CHUNK as usize]);
    let deadline = VolumeOptions::default().op_deadline.0;
    rig.hangs = Some(rig.place(0, 0).0);
    rig.volume.submit(Nanos(rig.now), RequestId(99), BlockRequest::Read { offset: VolumeOffset(0), len: 512 });
    rig.pump();
    // From now on the volume is not polled for operations.
    for _ in 0..40 {
        rig.now += deadline / 20;
        rig.volume.tick(Nanos(rig.now));
    }
    let hung = rig.hangs.unwrap();
    assert_eq!(states(&rig)[hung], MemberState::Failed(FailureReason::Hung));
}

#[test]
fn a_read_only_volume_does_not_report_superblocks_that_it_may_not_update() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &[7; 512]);
    let geometry = rig.geometry;
    let options = VolumeOptions { is_read_only: true, ..VolumeOptions::default() };
    let mut rig = Rig::start_as(rig.stop(), geometry, options);
    rig.volume.fail(Nanos(rig.now), MemberIndex(1));
    rig.pump();
    assert!(matches!(states(&rig)[1], MemberState::Failed(_)));
    rig.volume.verify(Nanos(rig.now), RequestId(99), StripeIndex(0)..StripeIndex(1));
    rig.pump();
    assert_eq!(rig.volume.poll_finding(), None);
}

#[test]
fn the_reply_to_a_small_read_does_not_keep_the_whole_row_in_memory() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &vec![7; 2 * CHUNK as usize]);
    for member_gone in [false, true] {
        let BlockReply::Read(parts) = rig.ask(BlockRequest::Read { offset: VolumeOffset(9), len: 1 }) else {
            panic!("it is read")
        };
        let [ReadPart::Data(buffer, range)] = &parts[..] else { panic!("{parts:?}") };
        assert!(buffer.len() <= 512 && buffer[range.clone()] == [7], "member gone: {member_gone}");
        let (member, _) = rig.place(0, 0);
        rig.volume.fail(Nanos(rig.now), MemberIndex(member));
        rig.pump();
    }
}

#[test]
fn zeroing_an_unsynced_volume_writes_a_few_stripes_at_a_time() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    let stripes = 400;
    rig.write(0, &vec![7; (stripes * 2 * CHUNK) as usize]);
    let (members, geometry) = members_of(&mut rig);
    let mut rig = Rig::begin(members, geometry, VolumeOptions::default());
    let request = BlockRequest::Zero { offset: VolumeOffset(0), len: stripes * 2 * CHUNK, is_durable: false };
    rig.volume.submit(Nanos(rig.now), RequestId(99), request);
    let mut most = 0;
    let reply = loop {
        let ops: Vec<MemberOp> = std::iter::from_fn(|| rig.volume.poll_op(Nanos(rig.now))).collect();
        most = most.max(ops.len());
        ops.into_iter().for_each(|op| rig.end(op));
        if let Some((RequestId(99), reply)) = rig.volume.poll_reply() {
            break reply;
        }
    };
    rig.pump();
    assert!(reply == BlockReply::Done && most < 600, "{most} operations at once");
    assert!(rig.read(0, stripes * 2 * CHUNK).iter().all(|byte| *byte == Some(0)));
}

#[test]
fn a_hanging_member_is_taken_out_of_a_read_only_volume_too() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &vec![7; 2 * CHUNK as usize]);
    let geometry = rig.geometry;
    let mut rig = Rig::start_as(rig.stop(), geometry, VolumeOptions { is_read_only: true, ..VolumeOptions::default() });
    let before = rig.members.clone();
    rig.hangs = Some(rig.place(0, 0).0);
    rig.volume.submit(Nanos(rig.now), RequestId(99), BlockRequest::Read { offset: VolumeOffset(0), len: 512 });
    rig.pump();
    rig.wait(2 * VolumeOptions::default().op_deadline.0);
    assert!(matches!(rig.volume.poll_reply(), Some((RequestId(99), BlockReply::Read(_)))));
    assert!(rig.members == before, "it was written to");
}

#[test]
fn zeroed_stripes_stay_zero_when_an_edge_of_the_range_could_not_be_written() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    let stripe_bytes = 2 * CHUNK;
    rig.write(0, &vec![7; 2 * stripe_bytes as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    for slot in [1, 2] {
        let (member, at) = rig.place(0, slot);
        rig.members[member][at..at + CHUNK as usize].fill(0xaa);
    }
    let (offset, len) = (stripe_bytes - 512, 512 + stripe_bytes);
    assert_eq!(
        rig.ask(BlockRequest::Zero { offset: VolumeOffset(offset), len, is_durable: false }),
        BlockReply::Failed(BlockFailure::Io)
    );
    let zeros = vec![Some(0); stripe_bytes as usize];
    assert!(rig.read(stripe_bytes, stripe_bytes) == zeros);
    let (members, geometry) = members_of(&mut rig);
    assert!(Rig::start(members, geometry).read(stripe_bytes, stripe_bytes) == zeros);
}

#[test]
fn damage_of_the_map_that_a_start_overwrites_is_reported_and_counted() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &vec![7; 20 * CHUNK as usize]);
    let geometry = rig.geometry;
    let restart = |members: Vec<Vec<u8>>| {
        let mut rig = Rig::start(members, geometry);
        let records: Vec<_> = std::iter::from_fn(|| rig.volume.poll_finding()).collect();
        let faults: Vec<_> = rig.volume.status().members.iter().map(|(_, faults)| *faults).collect();
        (records.iter().map(|record| (record.member.get(), record.offset)).collect::<Vec<_>>(), faults, rig.stop())
    };
    let (records, _, mut members) = restart(rig.stop());
    assert_eq!(records, []);
    let map = [0, 1].map(|turn| geometry.page_offset(MetadataArea::WrittenMap, 0, turn));
    let mut damaged = vec![(1, map[0]), (2, map[0]), (2, map[1])];
    for &(member, at) in &damaged {
        members[member][at.get() as usize + 8..at.get() as usize + 200].fill(0xaa);
    }
    let (mut records, faults, members) = restart(members);
    records.sort_unstable();
    damaged.sort_unstable();
    assert_eq!((records, faults), (damaged, vec![0, 1, 2]));
    assert_eq!(restart(members).0, []);
}

/// A newer version's volume, which this version may read and not write: its intents are left to the version that resyncs it.
#[test]
fn a_read_only_volume_writes_nothing_however_long_it_is_open() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &[1; 8 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.write(0, &[2; CHUNK as usize]);
    let (members, geometry) = (std::mem::take(&mut rig.members), rig.geometry);
    let before = members.clone();
    let mut reader = Rig::start_as(members, geometry, VolumeOptions { is_read_only: true, ..VolumeOptions::default() });
    for _ in 0..4 {
        reader.wait(60_000_000_000);
        assert_eq!(reader.volume.status().stripes_undecided, 2);
        assert_eq!(reader.read(0, CHUNK).len() as u64, CHUNK);
    }
    assert!(reader.members == before);
}

/// A drive lost a write that was flushed; then there was a crash, and the volume is read-only, without a resync. The
/// stripe is undecided, but a row that all its lists call outdated is not returned as what was written.
#[test]
fn in_an_undecided_stripe_a_row_that_all_lists_call_outdated_is_an_error() {
    for scheme in [Scheme::Stamp, Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Pure] {
        an_outdated_row_is_an_error(scheme);
    }
}

fn an_outdated_row_is_an_error(scheme: Scheme) {
    let mut rig = Rig::new(scheme, LayoutKind::Rotating, 4, 2);
    rig.write(0, &[1; 4 * CHUNK as usize]);
    let (member, at) = rig.place(0, 2);
    let row = rig.geometry.row_bytes() as usize;
    let old = rig.members[member][at..at + row].to_vec();
    rig.write(2 * CHUNK, &[2; CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.members[member][at..at + row].copy_from_slice(&old);
    let (members, geometry) = (std::mem::take(&mut rig.members), rig.geometry);
    let options = VolumeOptions { is_read_only: true, ..VolumeOptions::default() };
    let mut reader = Rig::start_as(members, geometry, options);
    assert_eq!(reader.volume.status().stripes_undecided, 1);
    assert_eq!(reader.read(2 * CHUNK, CHUNK), vec![None; CHUNK as usize], "{scheme}");
    assert!(reader.read(0, CHUNK) == vec![Some(1); CHUNK as usize], "{scheme}: what they agree on is given out");
}

/// A write that a crash cut short anywhere: in a stripe that stays undecided a chunk is judged alike whether it is read
/// alone or with others, and a verification finds lost what reads do.
#[test]
fn in_an_undecided_stripe_reads_of_any_length_and_a_verification_agree() {
    const CHUNKS: u64 = 4;
    for scheme in [Scheme::Stamp, Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Pure] {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, CHUNKS as usize, 2);
        rig.write(0, &[1; (CHUNKS * CHUNK) as usize]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        let (geometry, row) = (rig.geometry, rig.geometry.row_bytes() as usize);
        let places: Vec<(usize, usize)> = (0..CHUNKS as usize + 2).map(|slot| rig.place(0, slot)).collect();
        let old: Vec<Vec<u8>> = places.iter().map(|&(member, at)| rig.members[member][at..at + row].to_vec()).collect();
        rig.write(0, &[2; CHUNK as usize]);
        let written = rig.members.clone();
        // By bit: the rows that the write did not reach.
        for missed in 0u32..1 << places.len() {
            let mut members = written.clone();
            let missed_rows = (0..places.len()).filter(|slot| missed >> slot & 1 == 1);
            missed_rows.for_each(|slot| {
                let (member, at) = places[slot];
                members[member][at..at + row].copy_from_slice(&old[slot]);
            });
            let options = VolumeOptions { is_read_only: true, ..VolumeOptions::default() };
            let mut reader = Rig::start_as(members, geometry, options);
            let whole = reader.read(0, CHUNKS * CHUNK);
            for chunk in 0..CHUNKS {
                let alone = reader.read(chunk * CHUNK, CHUNK);
                let part = &whole[(chunk * CHUNK) as usize..][..CHUNK as usize];
                assert!(alone == part, "{scheme}, missed {missed:06b}, chunk {chunk}: {:?} {:?}", alone[0], part[0]);
                let allowed = if chunk == 0 { [None, Some(1), Some(2)] } else { [None, Some(1), Some(1)] };
                assert!(allowed.contains(&alone[0]), "{scheme}, missed {missed:06b}, chunk {chunk}: {:?}", alone[0]);
            }
            reader.volume.verify(Nanos(reader.now), RequestId(99), StripeIndex(0)..StripeIndex(1));
            reader.pump();
            let reply = reader.volume.poll_reply().expect("it was answered").1;
            assert_eq!(reply == BlockReply::Done, whole.iter().all(Option::is_some), "{scheme}, missed {missed:06b}");
        }
    }
}

/// Whatever lies on the members, and whatever is requested: a read-only volume writes nothing, and does not end the program.
#[test]
fn a_read_only_volume_writes_nothing_whatever_is_damaged() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let scheme = [Scheme::Stamp, Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Pure][rng.below(4) as usize];
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 4, 2);
        for _ in 0..1 + rng.below(6) {
            rig.write(rng.below(20) * CHUNK, &vec![seed as u8; (1 + rng.below(6 * CHUNK)) as usize]);
            if rng.below(3) == 0 {
                assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
            }
        }
        let geometry = rig.geometry;
        // Stopped in order, or killed.
        let mut members = if rng.below(2) == 0 { rig.stop() } else { members_of(&mut rig).0 };
        // Damages rows, maps, intents and superblocks at the start; those at the end stay whole, and identify the member.
        for _ in 0..1 + rng.below(8) {
            let member = rng.below(members.len() as u64) as usize;
            let at = 16384 + rng.below(members[member].len() as u64 - 65536) as usize;
            let len = 1 + rng.below(8192) as usize;
            members[member][at..at + len].iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
        }
        let before = members.clone();
        let options = VolumeOptions { is_read_only: true, ..VolumeOptions::default() };
        let mut reader = Rig::start_as(members, geometry, options);
        reader.read(0, 24 * CHUNK);
        reader.volume.verify(Nanos(reader.now), RequestId(99), StripeIndex(0)..StripeIndex(8));
        reader.pump();
        while reader.volume.poll_reply().is_some() {}
        reader.wait(60_000_000_000);
        reader.read(0, 24 * CHUNK);
        assert!(reader.members == before, "seed {seed}, {scheme}");
    }
}
