//! Tests of histories that once broke a promise: more members gone than can be, disks that return, flushes that fail.

use super::*;
use crate::index::MemberIndex;
use crate::units::{MemberOffset, VolumeOffset};
use crate::volume::format::geometry::{SUPERBLOCK_BYTES, TAIL_BYTES};
use crate::volume::format::superblock::{MemberState, newest};

pub(super) fn members_of(rig: &mut Rig) -> (Vec<Vec<u8>>, Geometry) {
    (std::mem::take(&mut rig.members), rig.geometry)
}

pub(super) fn right(byte: u8, len: u64) -> Vec<Option<u8>> {
    vec![Some(byte); len as usize]
}

pub(super) fn superblock(member: &[u8]) -> Superblock {
    let offsets = Superblock::offsets(MEMBER_BYTES).unwrap();
    newest(offsets.map(|at| &member[at.get() as usize..][..SUPERBLOCK_BYTES])).unwrap()
}

/// Makes all superblocks record this state of the member `slot`, as after a stop in order.
fn record_state(members: &mut [Vec<u8>], slot: usize, state: MemberState) {
    for member in members {
        let mut superblock = superblock(member);
        superblock.members[slot].state = state;
        let block = superblock.encode();
        for at in superblock.places(MEMBER_BYTES) {
            member[at.get() as usize..][..block.len()].copy_from_slice(&block);
        }
    }
}

/// Does to a disk what `volume replace` does before the volume gets it: its ends become zeros, its rows stay.
pub(super) fn wipe(member: &mut [u8], geometry: &Geometry) {
    member[..geometry.data_offset as usize].fill(0);
    let end = member.len() - TAIL_BYTES as usize;
    member[end..].fill(0);
}

fn write_of(stripe: u64, byte: u8, geometry: &Geometry) -> BlockRequest {
    let len = geometry.stripe_bytes() as usize;
    BlockRequest::Write {
        offset: VolumeOffset(stripe * len as u64),
        data: Buffer::copy_of(&vec![byte; len]),
        is_durable: true,
    }
}

#[test]
fn a_volume_that_lost_too_many_members_at_once_starts_when_they_are_back() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; 60 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    (0..3).for_each(|member| rig.is_gone[member] = true);
    let request = write_of(1, 8, &rig.geometry);
    assert!(matches!(rig.ask(request), BlockReply::Failed(_)));
    assert!(rig.volume.status().is_broken);
    let (members, geometry) = members_of(&mut rig);
    let mut again = Rig::start(members, geometry);
    assert!(again.read(0, 4 * CHUNK) == right(7, 4 * CHUNK));
    assert!(again.read(8 * CHUNK, 52 * CHUNK) == right(7, 52 * CHUNK));
}

#[test]
fn a_resync_overwrites_nothing_when_too_many_members_fail_meanwhile() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; 60 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (members, geometry) = members_of(&mut rig);
    let rows = geometry.data_offset as usize;
    let before: Vec<Vec<u8>> = members.iter().map(|member| member[rows..rows + (1 << 20)].to_vec()).collect();
    let mut rig = Rig::begin(members, geometry, VolumeOptions::default());
    (0..3).for_each(|member| rig.is_gone[member] = true);
    rig.pump();
    assert!(rig.volume.status().is_broken);
    for (member, before) in rig.members.iter().zip(&before) {
        assert!(member[rows..rows + (1 << 20)] == before[..], "nothing is written over what may come back");
    }
}

#[test]
fn a_write_is_not_acknowledged_where_fewer_rows_than_data_chunks_can_be_written() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &[1; 8192]);
    let geometry = rig.geometry;
    let mut members = rig.stop();
    record_state(&mut members, 0, MemberState::Rebuilding { stripes_done: 0 });
    members[1].clear();
    let mut rig = Rig::begin(members, geometry, VolumeOptions::default());
    // Far ahead of the rebuild: two of the stripe's three members do not hold it.
    let stripe = 300;
    if rig.ask(write_of(stripe, 5, &geometry)) == BlockReply::Done {
        let bytes = geometry.stripe_bytes();
        assert!(rig.read(stripe * bytes, bytes) == right(5, bytes));
    }
}

#[test]
fn a_returned_disks_old_rows_are_not_read_for_chunks_that_cannot_be_rebuilt() {
    for is_data in [true, false] {
        let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
        rig.write(0, &[1; 8192]);
        let (back, _) = rig.place(0, if is_data { 0 } else { 2 });
        let (hurt, at) = rig.place(0, if is_data { 2 } else { 0 });
        rig.is_gone[back] = true;
        rig.write(0, &[2; 4096]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        rig.members[hurt][at..at + 512].fill(0xaa);
        rig.is_gone[back] = false;
        let geometry = rig.geometry;
        wipe(&mut rig.members[back], &geometry);
        rig.volume.replace(Nanos(rig.now), MemberIndex(back), Uuid([9; 16]), MEMBER_BYTES);
        rig.pump();
        assert!(rig.read(0, 4096) == vec![None; 4096], "two of three rows are gone");
    }
}

#[test]
fn a_flush_that_failed_in_a_repair_is_not_forgotten() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; 60 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (member, at) = rig.place(0, 1);
    rig.members[member][at..at + 512].fill(0xaa);
    rig.is_unflushable = Some(member);
    assert!(rig.read(CHUNK, CHUNK) == right(7, CHUNK));
    assert_eq!((rig.is_unflushable, rig.ask(BlockRequest::Flush)), (None, BlockReply::Done));
    assert!(matches!(rig.volume.status().members[member].0, MemberState::Failed(_)), "what it held may be lost");
}

#[test]
fn a_row_written_by_a_resync_does_not_count_as_read_before_a_flush() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &[1; 4 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (member, at) = rig.place(0, 0);
    let old = rig.members[member][at..at + rig.geometry.row_bytes() as usize].to_vec();
    rig.write(0, &[2; CHUNK as usize]);
    let (mut members, geometry) = members_of(&mut rig);
    members[member][at..at + old.len()].copy_from_slice(&old);
    let mut again = Rig::start(members, geometry);
    assert!(again.read(0, CHUNK) == right(2, CHUNK), "it went forward");
    // The disk had the row in its cache, and loses it there.
    again.members[member][at..at + old.len()].copy_from_slice(&old);
    assert!(again.read(0, CHUNK) == right(2, CHUNK));
}

#[test]
fn a_broken_volume_does_not_return_a_chunk_that_a_list_shows_to_be_stale() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &[1; 4 * CHUNK as usize]);
    let (member, at) = rig.place(0, 2);
    let old = rig.members[member][at..at + rig.geometry.row_bytes() as usize].to_vec();
    rig.write(2 * CHUNK, &[2; CHUNK as usize]);
    rig.members[member][at..at + old.len()].copy_from_slice(&old);
    for slot in [0, 1, 4] {
        let (member, _) = rig.place(0, slot);
        rig.is_gone[member] = true;
        rig.volume.fail(Nanos(rig.now), MemberIndex(member));
        rig.pump();
    }
    let read = rig.read(0, 4 * CHUNK);
    assert!(read[3 * CHUNK as usize..] == right(1, CHUNK), "what is right is read");
    assert!(read[..3 * CHUNK as usize].iter().all(Option::is_none));
}

#[test]
fn two_unreliable_members_are_not_both_taken_out_when_only_one_can_be_spared() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &vec![1; 200 * 8192]);
    let (members, geometry) = members_of(&mut rig);
    let options = VolumeOptions { faults_max: 2, ..VolumeOptions::default() };
    let mut rig = Rig::start_as(members, geometry, options);
    // Far apart, and on the same two members: 0 and 90 are multiples of the layout's period.
    for stripe in [0, 90] {
        for slot in [0, 1] {
            let (member, at) = rig.place(stripe, slot);
            rig.members[member][at..at + 512].fill(0xaa);
        }
        rig.read(stripe * 8192, 8192);
    }
    assert!(!rig.volume.status().is_broken, "{:?}", rig.volume.status());
}

#[test]
fn a_verification_finds_chunks_lost_because_too_many_members_are_missing() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &[1; 8192]);
    let geometry = rig.geometry;
    let mut members = rig.stop();
    record_state(&mut members, 0, MemberState::Rebuilding { stripes_done: 0 });
    members[1].clear();
    let mut rig = Rig::start_as(members, geometry, VolumeOptions { is_read_only: true, ..VolumeOptions::default() });
    rig.volume.verify(Nanos(rig.now), RequestId(99), StripeIndex(0)..StripeIndex(1));
    rig.pump();
    assert!(matches!(rig.volume.poll_reply(), Some((RequestId(99), BlockReply::Failed(_)))), "content is missing");
    assert!(rig.read(0, 8192).iter().any(Option::is_none));
    assert!(rig.kinds().iter().any(|(_, _, _, end)| *end == Resolution::Lost), "not called clean");
}

#[test]
fn a_region_dirty_on_one_member_only_stays_dirty_when_that_member_is_gone() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    let clean = rig.members.clone();
    rig.write(0, &[1; 4 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (mut members, geometry) = members_of(&mut rig);
    let intents = geometry.intent_offset as usize..geometry.written_offset as usize;
    for (member, clean) in members.iter_mut().zip(&clean).skip(1) {
        member[intents.clone()].copy_from_slice(&clean[intents.clone()]);
    }
    let mut rig = Rig::start(members, geometry);
    rig.write(4 * CHUNK, &[2; 4 * CHUNK as usize]);
    // Killed, and that one member is gone.
    let (mut members, geometry) = members_of(&mut rig);
    members[0].clear();
    let mut again = Rig::start(members, geometry);
    assert!(again.read(4 * CHUNK, 4 * CHUNK) == right(2, 4 * CHUNK));
}

#[test]
fn writes_of_a_disk_started_alone_do_not_return_when_it_is_taken_in_again() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Raid1, 1, 1);
    rig.write(0, &[1; 4096]);
    let geometry = rig.geometry;
    let members = rig.stop();
    let [first_side, second_side] = [[members[0].clone(), Vec::new()], [Vec::new(), members[1].clone()]];
    let mut fork = Rig::start(second_side.into(), geometry);
    (0..20).for_each(|_| fork.write(5 * 4096, &[9; 4096]));
    let forked_disk = fork.stop().swap_remove(1);

    let mut rig = Rig::start(first_side.into(), geometry);
    rig.write(4096, &[2; 4096]);
    rig.members[1] = forked_disk;
    rig.volume.skip_write_numbers(superblock(&rig.members[1]).write_mark);
    wipe(&mut rig.members[1], &geometry);
    rig.volume.replace(Nanos(rig.now), MemberIndex(1), Uuid([9; 16]), MEMBER_BYTES);
    rig.pump();
    assert_eq!(rig.volume.status().members[1].0, MemberState::Active);
    rig.write(2 * 4096, &[3; 4096]);
    let (members, geometry) = members_of(&mut rig);
    let mut again = Rig::start(members, geometry);
    assert!(again.read(5 * 4096, 4096) == right(0, 4096), "it was never written here");
}

#[test]
fn an_array_of_many_large_members_is_opened() {
    let layout = Layout::new(LayoutKind::Rotating, Shape { data: 197, parity: 3 }, 200).unwrap();
    let parameters = ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: 512, block_bytes: 512 };
    let geometry = Geometry::fit(&parameters, 1 << 34, None).unwrap();
    let names: Vec<Uuid> = (0..200).map(|slot| Uuid([slot as u8; 16])).collect();
    let superblock = blank::superblock(geometry, Uuid([1; 16]), "rig", UnixSeconds(1), &names);
    let given = |slot: usize| GivenMember {
        label: slot.to_string(),
        bytes: 1 << 34,
        superblock: Ok(superblock.of_member(MemberIndex(slot))),
    };
    let assembly = assemble(&(0..200).map(given).collect::<Vec<_>>()).unwrap();
    let options = VolumeOptions { is_read_only: true, ..VolumeOptions::default() };
    let mut volume = Volume::start(assembly, options);
    // First the intents, which are all unreadable, then the map.
    loop {
        let op = volume.poll_op(Nanos(0)).expect("it reads its maps");
        let OpKind::Read { buffer, offset } = op.kind else { panic!("it is open for reading only") };
        if offset >= MemberOffset(geometry.written_offset) {
            break;
        }
        volume.handle(Nanos(0), MemberOpDone { id: op.id, buffer: Some(buffer), result: Err(DiskFault::Medium) });
    }
}

#[test]
fn a_write_that_omits_a_member_waits_until_the_others_record_it_as_out() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &[1; 8 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (out, _) = rig.place(0, 0);
    let other = (0..4).find(|&slot| rig.place(1, slot).0 == out).expect("it has data of the next stripe") as u64;
    (rig.is_gone[out], rig.holds_superblocks) = (true, true);
    let mut ask = |id, request| {
        rig.volume.submit(Nanos(rig.now), RequestId(id), request);
        rig.pump();
        rig.volume.poll_reply()
    };
    assert_eq!(
        ask(100, BlockRequest::Read { offset: VolumeOffset((4 + other) * CHUNK), len: CHUNK }),
        None,
        "it is being taken out"
    );
    let data = Buffer::copy_of(&[2; CHUNK as usize]);
    let reply = ask(101, BlockRequest::Write { offset: VolumeOffset(0), data, is_durable: true });

    // Power is lost in the middle of the next write of the stripe: a chunk and a parity are torn, the other parity is old.
    let old = rig.members.clone();
    let data = Buffer::copy_of(&[3; CHUNK as usize]);
    rig.volume.submit(
        Nanos(rig.now),
        RequestId(102),
        BlockRequest::Write { offset: VolumeOffset(CHUNK), data, is_durable: false },
    );
    rig.pump();
    let row_bytes = rig.geometry.row_bytes() as usize;
    for (slot, from) in [(1, 512), (4, 512), (5, 0)] {
        let (member, at) = rig.place(0, slot);
        rig.members[member][at + from..at + row_bytes].copy_from_slice(&old[member][at + from..at + row_bytes]);
    }
    let (members, geometry) = members_of(&mut rig);
    let read = Rig::start(members, geometry).read(0, CHUNK);
    assert!(reply.is_none() || read != right(1, CHUNK), "acknowledged as durable, and forgotten");
}

#[test]
fn rows_on_members_that_refuse_all_writes_can_still_be_read() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; 60 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.is_full = true;
    let request = write_of(1, 8, &rig.geometry);
    assert!(matches!(rig.ask(request), BlockReply::Failed(_)));
    assert!(rig.volume.status().is_broken);
    assert!(rig.read(0, 60 * CHUNK) == right(7, 60 * CHUNK), "no row is damaged");
}

#[test]
fn a_trim_that_a_crash_undoes_leaves_no_hole_on_a_disk_that_was_being_rebuilt() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    let stripe_bytes = rig.geometry.stripe_bytes();
    rig.write(0, &vec![7; 200 * stripe_bytes as usize]);
    let geometry = rig.geometry;
    let mut rig = Rig::start(rig.stop(), geometry);
    rig.volume.fail(Nanos(rig.now), MemberIndex(0));
    rig.pump();
    rig.members[0].fill(0);
    rig.volume.replace(Nanos(rig.now), MemberIndex(0), Uuid([9; 16]), MEMBER_BYTES);
    let is_past = |rig: &Rig, stripe: u64| match rig.volume.status().members[0].0 {
        MemberState::Rebuilding { stripes_done } => stripes_done >= stripe,
        _ => false,
    };
    rig.pump_until(|rig| is_past(rig, 64));
    // Trimmed before the rebuild gets there; then another member goes, for which superblocks are written.
    rig.volume.submit(
        Nanos(rig.now),
        RequestId(100),
        BlockRequest::Trim { offset: VolumeOffset(150 * stripe_bytes), len: stripe_bytes },
    );
    rig.pump_until(|rig| is_past(rig, 192));
    rig.volume.fail(Nanos(rig.now), MemberIndex(1));
    rig.pump_until(|rig| superblock(&rig.members[3]).members[1].state != MemberState::Active);
    rig.pump_until(|rig| superblock(&rig.members[0]).members[1].state != MemberState::Active);
    let (members, geometry) = members_of(&mut rig);
    let mut again = Rig::start(members, geometry);
    again.read(150 * stripe_bytes, stripe_bytes);
    assert_eq!(again.kinds(), [], "the new disk does not hold what it was never given");
}

#[test]
fn a_flush_that_failed_while_a_rebuild_waits_for_a_decision_is_not_forgotten() {
    let mut rig = Rig::new(Scheme::Pure, LayoutKind::Rotating, 2, 1);
    rig.write(0, &[1; 8192]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    // One of the other rows cannot be read, and cannot be marked.
    let ((gone, _), (hurt, at)) = (rig.place(0, 0), rig.place(0, 1));
    rig.unreadable = Some((hurt, at as u64));
    rig.volume.fail(Nanos(rig.now), MemberIndex(gone));
    rig.pump();
    rig.members[gone] = vec![0; MEMBER_BYTES as usize];
    rig.volume.replace(Nanos(rig.now), MemberIndex(gone), Uuid([9; 16]), MEMBER_BYTES);
    let has_superblock = |rig: &Rig| {
        let offsets = Superblock::offsets(MEMBER_BYTES).unwrap();
        newest(offsets.map(|at| &rig.members[gone][at.get() as usize..][..SUPERBLOCK_BYTES])).is_ok()
    };
    rig.pump_until(has_superblock);
    rig.is_unflushable = Some(gone);
    rig.pump();
    assert_eq!(rig.is_unflushable, None);
    assert!(matches!(rig.volume.status().members[gone].0, MemberState::Failed(_)), "what it held may be lost");
}

#[test]
fn zeros_filled_in_by_a_first_write_do_not_count_as_read_before_a_flush() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Raid5Ra, 3, 1);
    let stripe_bytes = rig.geometry.stripe_bytes();
    rig.write(0, &vec![1; stripe_bytes as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (member, at) = rig.place(0, 2);
    let row = at..at + (CHUNK + rig.geometry.appendix_bytes) as usize;
    let before = rig.members[member][row.clone()].to_vec();
    assert_eq!(rig.ask(BlockRequest::Trim { offset: VolumeOffset(0), len: stripe_bytes }), BlockReply::Done);
    rig.write(0, &[2; 100]);
    // The row is read, from the disk's cache, and then the disk turns out to have lost it.
    rig.volume.verify(Nanos(rig.now), RequestId(99), StripeIndex(0)..StripeIndex(1));
    rig.pump();
    assert!(matches!(rig.volume.poll_reply(), Some((RequestId(99), BlockReply::Done))));
    rig.members[member][row].copy_from_slice(&before);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    // Of this stripe only the third chunk is read, and taken into the parity.
    rig.write(0, &[3; 2 * CHUNK as usize]);
    assert!(rig.read(2 * CHUNK, CHUNK) == right(0, CHUNK), "what was lost is found, not believed");
}

#[test]
fn a_new_disk_is_not_read_for_the_row_that_its_predecessor_could_not_read() {
    for scheme in Scheme::ALL {
        let mut rig = Rig::new(scheme, LayoutKind::Raid1, 1, 1);
        rig.write(0, &[1; CHUNK as usize]);
        let (hurt, _) = rig.place(0, 0);
        rig.volume.submit(Nanos(rig.now), RequestId(99), BlockRequest::Read { offset: VolumeOffset(0), len: CHUNK });
        // One member cannot read the row, whenever it is asked; the other takes its time.
        let mut slow = None;
        while let Some(op) = rig.volume.poll_op(Nanos(rig.now)) {
            if op.member != MemberIndex(hurt) {
                assert!(slow.replace(op).is_none(), "{scheme}");
                continue;
            }
            let OpKind::Read { buffer, .. } = op.kind else { panic!("{scheme}: only reads are under way") };
            let done = MemberOpDone { id: op.id, buffer: Some(buffer), result: Err(DiskFault::Medium) };
            rig.volume.handle(Nanos(rig.now), done);
        }
        rig.volume.fail(Nanos(rig.now), MemberIndex(hurt));
        rig.pump();
        rig.members[hurt].fill(0xaa);
        rig.volume.replace(Nanos(rig.now), MemberIndex(hurt), Uuid([9; 16]), MEMBER_BYTES);
        rig.pump();
        assert!(matches!(rig.volume.status().members[hurt].0, MemberState::Rebuilding { .. }), "{scheme}");

        let slow = slow.expect("the other one is asked, too");
        let OpKind::Read { offset, mut buffer } = slow.kind else { panic!("{scheme}: it is a read") };
        let len = buffer.len();
        buffer.copy_from_slice(&rig.members[slow.member.get()][offset.get() as usize..][..len]);
        rig.volume.handle(Nanos(rig.now), MemberOpDone { id: slow.id, buffer: Some(buffer), result: Ok(()) });
        rig.pump();
        let Some((_, BlockReply::Read(parts))) = rig.volume.poll_reply() else { panic!("{scheme}: it is answered") };
        let [ReadPart::Data(buffer, range)] = &parts[..] else { panic!("{scheme}: {parts:?}") };
        assert!(buffer[range.clone()] == [1; CHUNK as usize], "{scheme}");
        assert_eq!(rig.volume.status().members[hurt].0, MemberState::Active, "{scheme}");
    }
}

/// A disk whose cache lost data reports that on one of the syncs under way, and ends the others well: no sync may be
/// answered before all of them have ended.
#[test]
fn a_flush_waits_for_overlapping_durable_writes_that_may_report_a_loss() {
    for is_failed_first in [true, false] {
        let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
        rig.write(0, &[7; CHUNK as usize]);
        rig.volume.submit(Nanos(rig.now), RequestId(1), BlockRequest::Flush);
        // In another region: its intents are written durably.
        let far = rig.geometry.size() - CHUNK;
        rig.volume.submit(
            Nanos(rig.now),
            RequestId(2),
            BlockRequest::Write {
                offset: VolumeOffset(far),
                data: Buffer::copy_of(&[8; CHUNK as usize]),
                is_durable: false,
            },
        );
        let mut ops = Vec::new();
        while let Some(op) = rig.volume.poll_op(Nanos(rig.now)) {
            ops.push(op);
        }
        let is_failing =
            |op: &MemberOp| matches!(op.kind, OpKind::Write { is_durable: true, .. }) && op.member.get() == 3;
        let (failing, rest): (Vec<_>, Vec<_>) = ops.into_iter().partition(is_failing);
        assert!(!failing.is_empty() && rest.iter().any(|op| matches!(op.kind, OpKind::Flush)));
        let fail_ops = |rig: &mut Rig, failing: Vec<MemberOp>| {
            for op in failing {
                let done = MemberOpDone { id: op.id, buffer: op.kind.buffer(), result: Err(DiskFault::Medium) };
                rig.volume.handle(Nanos(rig.now), done);
            }
        };
        if is_failed_first {
            fail_ops(&mut rig, failing);
            rest.into_iter().for_each(|op| rig.end(op));
        } else {
            rest.into_iter().for_each(|op| rig.end(op));
            let is_answered = std::iter::from_fn(|| rig.volume.poll_reply()).any(|(id, _)| id == RequestId(1));
            assert!(!is_answered, "the flush is answered before the other has ended");
            fail_ops(&mut rig, failing);
        }
        rig.pump();
        let replies: Vec<_> = std::iter::from_fn(|| rig.volume.poll_reply()).collect();
        assert!([1, 2].iter().all(|&id| replies.contains(&(RequestId(id), BlockReply::Done))), "{replies:?}");
        assert!(matches!(rig.volume.status().members[3].0, MemberState::Failed(_)), "what it held may be lost");
        assert!(rig.read(0, CHUNK) == right(7, CHUNK));
    }
}

#[test]
fn a_flush_that_failed_in_a_rebuild_is_not_forgotten_by_a_stop() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; 60 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.volume.fail(Nanos(rig.now), MemberIndex(3));
    rig.pump();
    let geometry = rig.geometry;
    wipe(&mut rig.members[3], &geometry);
    rig.volume.replace(Nanos(rig.now), MemberIndex(3), Uuid([9; 16]), MEMBER_BYTES);
    // Up to the flush of the rebuild's first window: that is a flush of this disk alone, while a round flushes all disks in order.
    let mut is_round = false;
    let flush = loop {
        let op = rig.volume.poll_op(Nanos(rig.now)).expect("the rebuild goes on");
        let is_flush = matches!(op.kind, OpKind::Flush);
        if is_flush && op.member.get() == 3 && !is_round {
            break op;
        }
        is_round = is_flush;
        rig.end(op);
    };
    rig.volume.stop(Nanos(rig.now));
    rig.volume.handle(Nanos(rig.now), MemberOpDone { id: flush.id, buffer: None, result: Err(DiskFault::Medium) });
    rig.pump();
    assert!(matches!(rig.volume.status().members[3].0, MemberState::Failed(_)), "what it held may be lost");
}

/// A first write was acknowledged, not flushed, and is not in the map when the server is killed: a read-only volume
/// does not know what the stripe holds, and says so. The stripe is not taken for a hole.
#[test]
fn a_read_only_volume_does_not_read_an_unmapped_first_write_as_zeros() {
    // Schemes with versions; the others make the map durable before they acknowledge a first write.
    for scheme in [Scheme::Stamp, Scheme::Hybrid1] {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 4, 2);
        rig.write(0, &[7; 4 * CHUNK as usize]);
        let (members, geometry) = members_of(&mut rig);
        let options = VolumeOptions { is_read_only: true, ..VolumeOptions::default() };
        let mut rig = Rig::start_as(members, geometry, options);
        let read = rig.read(0, 4 * CHUNK);
        assert!(read.iter().all(|byte| *byte != Some(0)), "{scheme}: {:?}", &read[..4]);
        assert!(rig.volume.is_written(StripeIndex(0)), "{scheme}: no hole");
        // In the same region, never written.
        assert!(rig.read(4 * CHUNK, 4 * CHUNK) == right(0, 4 * CHUNK), "{scheme}");
        for (stripe, is_whole) in [(0, false), (1, true)] {
            rig.volume.verify(Nanos(rig.now), RequestId(99), StripeIndex(stripe)..StripeIndex(stripe + 1));
            rig.pump();
            let reply = rig.volume.poll_reply();
            let is_done = matches!(reply, Some((RequestId(99), BlockReply::Done)));
            assert_eq!(is_done, is_whole, "{scheme}: {reply:?}");
        }
    }
}

/// A scrub proved that a chunk and one list lost the same write, and could not repair the chunk: no later read may believe the chunk.
#[test]
fn a_chunk_proven_stale_is_not_read_as_right_afterwards() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &[1; 4 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let row = rig.geometry.row_bytes() as usize;
    let [(member, at), (parity, parity_at)] = [0, 4].map(|position| rig.place(0, position));
    let old = rig.members[member][at..at + row].to_vec();
    let old_parity = rig.members[parity][parity_at..parity_at + row].to_vec();
    rig.write(0, &[2; CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.members[member][at..at + row].copy_from_slice(&old);
    rig.members[parity][parity_at..parity_at + row].copy_from_slice(&old_parity);
    rig.read(0, CHUNK); // may agree with the parity that lost the same write
    for _ in 0..2 {
        rig.loses = Some((member, at as u64));
        rig.volume.verify(Nanos(rig.now), RequestId(99), StripeIndex(0)..StripeIndex(1));
        rig.pump();
        rig.volume.poll_reply();
    }
    assert!(rig.read(0, CHUNK) == right(2, CHUNK), "version 1 was proven to be old");
}
