//! Tests of damage from outside that once broke promises: faults on all members, lost marks, stale intents, bare arrays.

use super::promises::{members_of, right, superblock, wipe};
use super::*;
use crate::finding::{FindingKind, Resolution};
use crate::index::{MemberIndex, RegionIndex, StripePosition};
use crate::units::VolumeOffset;
use crate::volume::format::assemble::AssembleError;
use crate::volume::format::geometry::{MetadataArea, SUPERBLOCK_BYTES};
use crate::volume::format::superblock::{FailureReason, MemberState};

pub(super) const STRIPE: u64 = 4 * CHUNK;

/// A 4+2 volume with this many stripes of sevens, stopped in order.
pub(super) fn filled(scheme: Scheme, stripes: u64) -> (Vec<Vec<u8>>, Geometry) {
    let mut rig = Rig::new(scheme, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; (stripes * STRIPE) as usize]);
    let geometry = rig.geometry;
    (rig.stop(), geometry)
}

pub(super) fn corrupt(rig: &mut Rig, stripe: u64, slot: usize) {
    let (member, at) = rig.place(stripe, slot);
    rig.members[member][at + 100..at + 700].fill(0xaa);
}

/// The data chunks of a stripe that cannot be read.
pub(super) fn lost(rig: &mut Rig, stripe: u64) -> Vec<u64> {
    let is_lost = |slot: &u64| {
        let bytes = rig.read(stripe * STRIPE + slot * CHUNK, CHUNK);
        assert!(bytes.iter().all(|byte| byte.is_none()) || bytes.iter().all(|byte| byte.is_some()));
        bytes[0].is_none()
    };
    (0..4).filter(is_lost).collect()
}

/// A read of the first sector of a stripe.
fn first_sector(stripe: u64) -> BlockRequest {
    BlockRequest::Read { offset: VolumeOffset(stripe * STRIPE), len: 512 }
}

pub(super) fn write_chunk(rig: &mut Rig, stripe: u64, slot: u64, byte: u8) -> BlockReply {
    let data = Buffer::copy_of(&vec![byte; CHUNK as usize]);
    rig.ask(BlockRequest::Write { offset: VolumeOffset(stripe * STRIPE + slot * CHUNK), data, is_durable: false })
}

pub(super) fn verify(rig: &mut Rig, stripes: std::ops::Range<u64>) -> BlockReply {
    let id = RequestId(rig.next);
    rig.next += 1;
    rig.volume.verify(Nanos(rig.now), id, StripeIndex(stripes.start)..StripeIndex(stripes.end));
    rig.pump();
    rig.volume.poll_reply().expect("it was answered").1
}

/// Kills the server and starts it again on the members as they are.
pub(super) fn killed(mut rig: Rig) -> Rig {
    let (members, geometry) = members_of(&mut rig);
    Rig::start(members, geometry)
}

#[test]
fn one_wrong_row_in_every_stripe_costs_no_member_and_no_data() {
    let stripes = 400;
    for (mode, step) in [(0, 1), (1, 1), (2, 1), (2, 20)] {
        let (members, geometry) = filled(Scheme::Stamp, stripes);
        let options = VolumeOptions { faults_max: 3, ..VolumeOptions::default() };
        let mut rig = Rig::start_as(members, geometry, options);
        for turn in 0..2 {
            let victims = (0..stripes).step_by(step as usize);
            victims.for_each(|stripe| corrupt(&mut rig, stripe, ((stripe / step + turn) % 6) as usize));
            match mode {
                0 => assert_eq!(verify(&mut rig, 0..stripes), BlockReply::Done),
                1 => (0..stripes)
                    .rev()
                    .for_each(|stripe| assert_eq!(verify(&mut rig, stripe..stripe + 1), BlockReply::Done)),
                _ => {}
            }
            assert!(rig.read(0, stripes * STRIPE) == right(7, stripes * STRIPE));
            let status = rig.volume.status();
            assert!(status.members.iter().all(|(state, _)| *state == MemberState::Active), "{status:?}");
            assert!(rig.kinds().iter().all(|&(.., end)| end == Resolution::Repaired));
        }
        assert!(step == 1 || !rig.volume.status().unreliable.is_empty(), "far apart, and many: that is said");
    }
}

#[test]
fn a_member_with_old_or_neighbouring_faults_is_not_called_unreliable() {
    let (members, geometry) = filled(Scheme::Stamp, 150);
    let options = VolumeOptions { faults_max: 3, faults_window: Nanos::from_secs(10), ..VolumeOptions::default() };
    let mut rig = Rig::start_as(members, geometry, options);
    // Slot 0 of stripes that are a layout's period apart lies on one member.
    for stripe in [0, 60] {
        corrupt(&mut rig, stripe, 0);
        assert!(rig.read(stripe * STRIPE, STRIPE) == right(7, STRIPE));
    }
    rig.now += 11_000_000_000;
    corrupt(&mut rig, 120, 0);
    assert!(rig.read(120 * STRIPE, STRIPE) == right(7, STRIPE));
    assert_eq!(rig.volume.status().unreliable, [], "two of three were long ago");
    for stripe in [114, 108] {
        corrupt(&mut rig, stripe, 0);
        assert!(rig.read(stripe * STRIPE, STRIPE) == right(7, STRIPE));
    }
    assert_eq!(rig.volume.status().unreliable, [], "neighbours are one mishap");
    for stripe in [60, 6] {
        corrupt(&mut rig, stripe, 0);
        assert!(rig.read(stripe * STRIPE, STRIPE) == right(7, STRIPE));
    }
    let member = rig.place(0, 0).0;
    assert_eq!(rig.volume.status().unreliable, [MemberIndex(member)]);
}

#[test]
fn a_chunk_reported_lost_stays_lost_after_a_kill_amid_other_writes() {
    for scheme in [Scheme::Pure, Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Stamp] {
        let (members, geometry) = filled(scheme, 30);
        let mut rig = Rig::start(members, geometry);
        for slot in [0, 1, 4] {
            corrupt(&mut rig, 3, slot);
        }
        let before = lost(&mut rig, 3);
        assert!(before.starts_with(&[0, 1]), "{scheme}: {before:?}");
        (8..28).for_each(|stripe| assert_eq!(write_chunk(&mut rig, stripe, 1, 9), BlockReply::Done));
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        let mut again = killed(rig);
        assert_eq!(lost(&mut again, 3), before, "{scheme}");
        assert_eq!(verify(&mut again, 0..30), BlockReply::Failed(BlockFailure::Io));
        let found = again.kinds().into_iter().filter(|&(stripe, .., end)| stripe == 3 && end == Resolution::Lost);
        let mut found: Vec<u64> = found.map(|(_, slot, ..)| slot as u64).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, before, "{scheme}: a check lists what reads find");
    }
}

#[test]
fn a_stale_row_that_was_reported_lost_is_not_returned_after_a_kill() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let mut rig = Rig::start(members, geometry);
    let (member, at) = rig.place(3, 0);
    let old = rig.members[member][at..at + geometry.row_bytes() as usize].to_vec();
    assert_eq!(write_chunk(&mut rig, 3, 0, 8), BlockReply::Done);
    rig.members[member][at..at + old.len()].copy_from_slice(&old);
    corrupt(&mut rig, 3, 1);
    corrupt(&mut rig, 3, 4);
    assert_eq!(lost(&mut rig, 3), [0, 1]);
    assert_eq!(lost(&mut killed(rig), 3), [0, 1]);
}

#[test]
fn chunks_that_a_missing_member_may_restore_are_lost_but_their_parities_stay() {
    // A member is away, and two rows are corrupt: with the member they could be rebuilt, so the parities are not rewritten.
    let (mut members, geometry) = filled(Scheme::Stamp, 30);
    let missing = geometry.place(StripeIndex(3), StripePosition(5)).member.get();
    let kept = std::mem::take(&mut members[missing]);
    let mut rig = Rig::start(members, geometry);
    corrupt(&mut rig, 3, 0);
    corrupt(&mut rig, 3, 1);
    let parity = rig.place(3, 4);
    let before = rig.members[parity.0][parity.1..parity.1 + CHUNK as usize].to_vec();
    assert_eq!(lost(&mut rig, 3), [0, 1]);
    assert_eq!(write_chunk(&mut rig, 9, 0, 1), BlockReply::Done);
    assert!(rig.members[parity.0][parity.1..].starts_with(&before), "what a row that is missing would be judged by");
    assert!(!kept.is_empty());
    assert_eq!(lost(&mut killed(rig), 3), [0, 1], "and no garbage after a kill");
}

#[test]
fn each_lost_chunk_is_restored_by_writing_it_and_whole_chunks_stay_writable() {
    for scheme in [Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Stamp] {
        for victims in [&[0, 4, 5][..], &[0, 1, 5], &[0, 1, 2]] {
            let (members, geometry) = filled(scheme, 30);
            let mut rig = Rig::start(members, geometry);
            victims.iter().for_each(|&slot| corrupt(&mut rig, 3, slot));
            assert_eq!(write_chunk(&mut rig, 3, 3, 9), BlockReply::Done, "{scheme}: a whole one");
            let expected: Vec<u64> = victims.iter().map(|&slot| slot as u64).filter(|&slot| slot < 4).collect();
            assert_eq!(lost(&mut rig, 3), expected, "{scheme}");
            let partial = BlockRequest::Write {
                offset: VolumeOffset(3 * STRIPE),
                data: Buffer::copy_of(&[1; 512]),
                is_durable: false,
            };
            assert_eq!(rig.ask(partial), BlockReply::Failed(BlockFailure::Io), "a part of what is lost");
            for (restored, &slot) in expected.iter().enumerate() {
                assert_eq!(write_chunk(&mut rig, 3, slot, 10), BlockReply::Done, "{scheme}: chunk {slot} alone");
                assert_eq!(lost(&mut rig, 3), expected[restored + 1..], "{scheme}");
            }
            // The stripe is as safe as before: with two members gone everything can be read.
            let mut again = killed(rig);
            for slot in [3, 4] {
                let (member, _) = again.place(3, slot);
                again.is_gone[member] = true;
            }
            let bytes = again.read(3 * STRIPE, STRIPE);
            for (slot, chunk) in bytes.chunks(CHUNK as usize).enumerate() {
                let byte = if expected.contains(&(slot as u64)) { 10 } else { [7, 7, 7, 9][slot] };
                assert!(chunk == right(byte, CHUNK), "{scheme}: {slot}");
            }
        }
    }
}

#[test]
fn a_partial_write_of_a_lost_chunk_does_not_fail_the_writes_batched_with_it() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let mut rig = Rig::start(members, geometry);
    [0, 1, 2].into_iter().for_each(|slot| corrupt(&mut rig, 3, slot));
    // All of them wait for the stripe, and are done together.
    for (id, (slot, len)) in [(0, CHUNK), (0, 512), (3, 512), (1, 512)].into_iter().enumerate() {
        let data = Buffer::copy_of(&vec![9; len as usize]);
        let request = BlockRequest::Write { offset: VolumeOffset(3 * STRIPE + slot * CHUNK), data, is_durable: false };
        rig.volume.submit(Nanos(rig.now), RequestId(100 + id as u64), request);
    }
    rig.pump();
    let mut replies: Vec<_> = std::iter::from_fn(|| rig.volume.poll_reply()).collect();
    replies.sort_by_key(|(id, _)| id.0);
    let is_done: Vec<bool> = replies.iter().map(|(_, reply)| *reply == BlockReply::Done).collect();
    assert_eq!(is_done, [true, true, true, false]);
    assert_eq!(lost(&mut rig, 3), [1, 2]);
}

#[test]
fn after_an_orderly_stop_no_stripe_is_resynced_whatever_the_intents_hold() {
    // Two rows of a stripe are cut in two, as by a crash, and one is corrupt: more than the two parities make up for.
    let torn = |rig: &mut Rig| {
        for slot in [0, 1] {
            let (member, at) = rig.place(3, slot);
            rig.members[member][at..at + 512].fill(0);
        }
        corrupt(rig, 3, 4);
    };
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let mut rig = Rig::start(members, geometry);
    torn(&mut rig);
    let geometry = rig.geometry;
    let mut members = members_of(&mut rig).0;
    // The other copy was taken while it was served: its superblocks record "not in order".
    let mut other = Rig::start(filled(Scheme::Stamp, 30).0, geometry);
    assert_eq!(write_chunk(&mut other, 0, 0, 7), BlockReply::Done);
    let served = members_of(&mut other).0;
    let (at, len) = (geometry.page_offset(MetadataArea::Intents, 0, 0).get() as usize, geometry.block_bytes as usize);

    // First case: a page of the intents that no member has whole.
    let mut wiped = filled(Scheme::Stamp, 30).0;
    let mut rig = Rig::start(std::mem::take(&mut wiped), geometry);
    torn(&mut rig);
    let mut wiped = rig.stop();
    wiped.iter_mut().for_each(|member| member[at..at + len].fill(0));
    let mut again = Rig::start(wiped, geometry);
    assert_eq!(lost(&mut again, 3), [0, 1]);

    // Second case: a page that was put back on one member.
    for (member, old) in members.iter_mut().zip(&served) {
        assert!(!superblock(member).is_clean && !superblock(old).is_clean);
    }
    let mut rig = Rig::start(filled(Scheme::Stamp, 30).0, geometry);
    torn(&mut rig);
    let mut members = rig.stop();
    assert!(superblock(&members[0]).is_clean);
    members[5][at..at + len].copy_from_slice(&served[5][at..at + len]);
    let mut again = Rig::start(members, geometry);
    assert_eq!(lost(&mut again, 3), [0, 1]);
}

#[test]
fn a_requested_stripe_is_served_before_all_others_are_resynced() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; (40 * STRIPE) as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (members, geometry) = members_of(&mut rig);
    let mut again = Rig::begin(members, geometry, VolumeOptions::default());
    again.volume.submit(Nanos(again.now), RequestId(0), first_sector(39));
    let mut reply = None;
    let mut left = u64::MAX;
    for _ in 0..100_000 {
        let ops = again.ops;
        again.pump_until(|rig| rig.ops > ops);
        let now = again.volume.poll_reply();
        if now.is_some() {
            left = again.volume.status().regions_to_resync;
            reply = now;
            break;
        }
    }
    let Some((_, BlockReply::Read(parts))) = reply else { panic!("no reply: {reply:?}") };
    assert!(
        matches!(&parts[..], [ReadPart::Data(buffer, range)] if buffer[range.clone()].iter().all(|&byte| byte == 7))
    );
    assert!(left > 0, "all was resynced before anything was served");
    again.pump();
    assert_eq!(again.volume.status().regions_to_resync, 0);
    assert!(again.read(0, 40 * STRIPE) == right(7, 40 * STRIPE));
}

#[test]
fn after_a_crash_only_the_appendices_of_unwritten_stripes_are_read() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &[7; 512]);
    let (members, geometry) = members_of(&mut rig);
    let mut again = Rig::start(members, geometry);
    let stripes = geometry.stripes_of_region(RegionIndex(0));
    let superblocks = 6 * 4 * SUPERBLOCK_BYTES as u64;
    let most = superblocks + (stripes.end - stripes.start) * 2 * (6 * 512) + 100 * 1024; // two reads each
    assert!(again.bytes_read < most as usize, "{} bytes were read, of {} stripes", again.bytes_read, stripes.end);
    assert!(again.read(0, 512) == right(7, 512) && again.read(STRIPE, STRIPE) == right(0, STRIPE));
}

#[test]
fn a_resync_interrupted_by_a_stop_continues_at_the_next_start() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; (40 * STRIPE) as usize]);
    let (members, geometry) = members_of(&mut rig);
    let mut again = Rig::begin(members, geometry, VolumeOptions::default());
    again.pump_until(|rig| rig.volume.status().is_open);
    assert!(again.volume.status().regions_to_resync > 0);
    let members = again.stop();
    assert!(!superblock(&members[0]).is_clean);
    let mut third = Rig::start(members, geometry);
    assert_eq!(third.volume.status().regions_to_resync, 0);
    assert!(third.read(0, 40 * STRIPE) == right(7, 40 * STRIPE));
}

/// A bare volume that is killed while nothing is in flight and one of its members is being rebuilt.
fn bare(data: usize, parity: usize) -> (Vec<Vec<u8>>, Geometry) {
    let mut rig = Rig::new(Scheme::None, LayoutKind::Rotating, data, parity);
    let stripe = rig.geometry.stripe_bytes();
    rig.write(0, &vec![7; (80 * stripe) as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let geometry = rig.geometry;
    rig.volume.fail(Nanos(rig.now), MemberIndex(0));
    rig.pump();
    wipe(&mut rig.members[0], &geometry);
    rig.volume.replace(Nanos(rig.now), MemberIndex(0), Uuid([99; 16]), MEMBER_BYTES);
    let start = rig.ops;
    rig.pump_until(|rig| rig.ops > start + 100);
    (members_of(&mut rig).0, geometry)
}

#[test]
fn a_bare_array_is_rebuilt_when_the_remaining_parities_show_whole_stripes() {
    for (data, parity) in [(4, 2), (1, 3), (2, 3)] {
        let (members, geometry) = bare(data, parity);
        let mut rig = Rig::start(members, geometry);
        let len = 80 * geometry.stripe_bytes();
        assert!(rig.read(0, len) == right(7, len), "{data}+{parity}");
        assert_eq!(rig.volume.status().members[0].0, MemberState::Active, "{data}+{parity}");
        assert_eq!(rig.volume.status().stripes_undecided, 0);
        let members = rig.stop();
        assert!(superblock(&members[0]).is_clean);
    }
}

#[test]
fn a_bare_array_rebuild_ends_and_undecidable_chunks_stay_errors_until_written() {
    let (members, geometry) = bare(2, 1);
    let mut rig = Rig::start(members, geometry);
    assert_eq!(rig.volume.status().members[0].0, MemberState::Active);
    let len = 80 * geometry.stripe_bytes();
    let before = rig.read(0, len);
    assert!(before.iter().all(|byte| byte.is_none_or(|byte| byte == 7)) && before.contains(&None));
    let mut again = Rig::start(rig.stop(), geometry);
    assert!(again.read(0, len) == before, "after a stop in order");
    assert_eq!(verify(&mut again, 0..80), BlockReply::Failed(BlockFailure::Io));
    assert!(again.kinds().iter().all(|&(.., kind, end)| (kind, end) == (FindingKind::MarkedLost, Resolution::Lost)));
    let lost = before.iter().position(Option::is_none).unwrap() as u64 / CHUNK * CHUNK;
    again.write(lost, &vec![3; CHUNK as usize]);
    assert!(killed(again).read(lost, CHUNK) == right(3, CHUNK), "until it is written");
}

#[test]
fn the_newest_page_of_the_map_damaged_on_all_members_loses_nothing_after_a_stop_in_order() {
    let (members, geometry) = filled(Scheme::Stamp, 10);
    let mut rig = Rig::start(members, geometry);
    rig.write(10 * STRIPE, &vec![7; (20 * STRIPE) as usize]);
    let stopped = rig.stop();
    for place in [0, 1] {
        let mut members = stopped.clone();
        let at = geometry.page_offset(MetadataArea::WrittenMap, 0, place).get() as usize + 100;
        members.iter_mut().for_each(|member| member[at] ^= 1);
        let mut again = Rig::start(members, geometry);
        assert!(again.read(0, 30 * STRIPE) == right(7, 30 * STRIPE));
        assert!(again.read(30 * STRIPE, STRIPE) == right(0, STRIPE));
    }
}

#[test]
fn a_written_map_that_does_not_match_the_superblocks_map_sum_is_not_believed() {
    let (old, geometry) = filled(Scheme::Stamp, 10);
    let mut rig = Rig::start(old.clone(), geometry);
    rig.write(10 * STRIPE, &vec![7; (20 * STRIPE) as usize]);
    let mut members = rig.stop();
    let range = geometry.written_offset as usize..geometry.data_offset as usize;
    members.iter_mut().zip(&old).for_each(|(member, old)| member[range.clone()].copy_from_slice(&old[range.clone()]));
    let mut again = Rig::start(members, geometry);
    assert!(again.read(0, 30 * STRIPE) == right(7, 30 * STRIPE), "no zeros are invented");
    // Killed before a client flushed: the superblock no longer vouches for the map.
    let mut again = Rig::start(std::mem::take(&mut again.members), geometry);
    assert!(again.read(0, 30 * STRIPE) == right(7, 30 * STRIPE), "nor are they after a kill");
}

#[test]
fn two_histories_of_one_volume_are_never_assembled_together() {
    let (members, geometry) = filled(Scheme::Stamp, 10);
    let history = |number: u64, byte: u8, turns: usize| {
        let mut members = members.clone();
        for turn in 0..turns {
            let options = VolumeOptions { start_number: number + turn as u64, ..VolumeOptions::default() };
            let mut rig = Rig::start_as(members, geometry, options);
            assert_eq!(write_chunk(&mut rig, turn as u64, 0, byte), BlockReply::Done);
            members = rig.stop();
        }
        members
    };
    for (turns, copy_turns) in [(1, 1), (2, 1), (1, 2), (3, 3)] {
        let (original, copy) = (history(100, 8, turns), history(200, 9, copy_turns));
        for copied in 0..6 {
            let mut mixed = original.clone();
            mixed[copied] = copy[copied].clone();
            let error = assemble(&given(&mixed)).unwrap_err();
            assert!(matches!(error, AssembleError::SplitBrain { .. }), "{turns} {copy_turns}: {error}");
        }
        // A copy that was never served is merely behind.
        let mut mixed = original;
        mixed[3] = members[3].clone();
        let mut rig = Rig::start(mixed, geometry);
        assert!(rig.read(CHUNK, CHUNK) == right(7, CHUNK) && rig.read(0, CHUNK) == right(8, CHUNK));
    }
}

#[test]
fn a_hanging_member_is_taken_out_and_its_late_answers_are_ignored() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let mut rig = Rig::start(members, geometry);
    let deadline = VolumeOptions::default().op_deadline.0;
    let (hanging, _) = rig.place(3, 0);
    rig.hangs = Some(hanging);
    let id = RequestId(1000);
    let data = Buffer::copy_of(&vec![9; CHUNK as usize]);
    rig.volume.submit(
        Nanos(rig.now),
        id,
        BlockRequest::Write { offset: VolumeOffset(3 * STRIPE), data, is_durable: true },
    );
    rig.pump();
    assert!(rig.volume.poll_reply().is_none());
    rig.wait(deadline * 3 / 4);
    assert!(rig.volume.poll_reply().is_none() && rig.volume.status().hanging.is_empty(), "it may take so long");
    rig.wait(deadline / 2);
    assert_eq!(rig.volume.poll_reply(), Some((id, BlockReply::Done)));
    assert_eq!(rig.volume.status().members[hanging].0, MemberState::Failed(FailureReason::Hung));
    assert!(rig.read(3 * STRIPE, CHUNK) == right(9, CHUNK));
    let held = std::mem::take(&mut rig.held);
    assert!(!held.is_empty());
    for id in held {
        rig.volume.handle(Nanos(rig.now), MemberOpDone { id, buffer: None, result: Ok(()) });
    }
    rig.hangs = None;
    assert!(rig.read(0, 30 * STRIPE)[..CHUNK as usize] == right(7, CHUNK));
    rig.stop();
}

#[test]
fn taking_out_a_hanging_member_frees_the_requests_waiting_for_it() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let mut rig = Rig::start(members, geometry);
    let (hanging, _) = rig.place(3, 0);
    rig.hangs = Some(hanging);
    rig.volume.submit(Nanos(rig.now), RequestId(1000), first_sector(3));
    rig.pump();
    assert!(rig.volume.poll_reply().is_none());
    rig.volume.fail(Nanos(rig.now), MemberIndex(hanging));
    rig.pump();
    assert!(matches!(rig.volume.poll_reply(), Some((_, BlockReply::Read(_)))));
    rig.stop();
}

#[test]
fn no_member_is_taken_out_when_all_hang_or_the_program_itself_was_stopped() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let deadline = VolumeOptions::default().op_deadline.0;
    // The clock makes one step: the volume was not polled meanwhile.
    let mut rig = Rig::start(members.clone(), geometry);
    rig.hangs = Some(rig.place(3, 0).0);
    rig.volume.submit(Nanos(rig.now), RequestId(1000), first_sector(3));
    rig.pump();
    rig.now += 100 * deadline;
    rig.pump();
    assert!(rig.volume.status().members.iter().all(|(state, _)| *state == MemberState::Active));
    // More members hang than the two parities make up for.
    let mut rig = Rig::start(members, geometry);
    rig.all_hang = true;
    rig.volume.submit(Nanos(rig.now), RequestId(1000), BlockRequest::Read { offset: VolumeOffset(0), len: STRIPE });
    rig.pump();
    rig.wait(2 * deadline);
    assert!(rig.volume.status().members.iter().all(|(state, _)| *state == MemberState::Active));
    assert!(rig.volume.status().hanging.len() > 2);
}

#[test]
fn operations_for_an_old_disk_never_reach_its_replacement() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let mut rig = Rig::start(members, geometry);
    let (member, _) = rig.place(3, 0);
    rig.volume.submit(Nanos(rig.now), RequestId(1000), first_sector(3));
    rig.volume.fail(Nanos(rig.now), MemberIndex(member));
    while rig.volume.can_spare(MemberIndex(member)) && rig.volume.status().members[member].0 == MemberState::Active {
        rig.pump_until(|_| true);
    }
    rig.volume.replace(Nanos(rig.now), MemberIndex(member), Uuid([99; 16]), MEMBER_BYTES);
    let mut first = None;
    while let Some(op) = rig.volume.poll_op(Nanos(rig.now)) {
        if op.member == MemberIndex(member) && first.is_none() {
            first = Some(matches!(op.kind, OpKind::Read { .. }));
        }
    }
    assert_eq!(first, Some(false), "the first that it gets are its maps");
}
