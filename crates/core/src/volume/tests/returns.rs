//! Tests of members that return with what they had after they were out for a while.

use super::promises::{members_of, right, superblock};
use super::*;
use crate::index::{MemberIndex, RowIndex};
use crate::units::VolumeOffset;
use crate::volume::format::bits::Bits;
use crate::volume::format::intent::{self, IntentBit};
use crate::volume::format::returns::ReturnRefusal;
use crate::volume::format::superblock::MemberState;

const STRIPE: u64 = 4 * CHUNK;

/// A volume whose stripes are filled with sevens and flushed; then member 2 is taken out.
fn without_member_2(scheme: Scheme, stripes: u64) -> Rig {
    let mut rig = Rig::new(scheme, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; (stripes * STRIPE) as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.wait(20_000_000_000);
    rig.volume.fail(Nanos(rig.now), MemberIndex(2));
    rig.pump();
    rig
}

fn readd(rig: &mut Rig, member: usize) -> Result<(), ReturnRefusal> {
    let theirs = superblock(&rig.members[member]);
    rig.volume.readd(Nanos(rig.now), &theirs, Uuid([77; 16]), MEMBER_BYTES)
}

#[test]
fn a_returned_member_is_rebuilt_only_where_it_was_written_since() {
    for scheme in Scheme::ALL {
        for restart in ["none", "stop", "kill"] {
            let mut rig = without_member_2(scheme, 150);
            rig.write(3 * STRIPE, &vec![8; STRIPE as usize]);
            rig.write(40 * STRIPE + 5, &[9; 1000]);
            let geometry = rig.geometry;
            let mut rig = match restart {
                "stop" => Rig::start(rig.stop(), geometry),
                "kill" => Rig::start(members_of(&mut rig).0, geometry),
                _ => rig,
            };
            let before = rig.bytes_read;
            assert_eq!(readd(&mut rig, 2), Ok(()), "{scheme} {restart}");
            rig.pump();
            assert_eq!(rig.volume.status().members[2].0, MemberState::Active, "{scheme} {restart}");
            let most = 3 * geometry.region_stripes * 6 * (CHUNK + 512) + (1 << 20);
            assert!(rig.bytes_read - before < most as usize, "{scheme} {restart}: all of it was rebuilt");
            // It can stand in for two others.
            rig.volume.fail(Nanos(rig.now), MemberIndex(0));
            rig.volume.fail(Nanos(rig.now), MemberIndex(1));
            rig.pump();
            let mut expected = right(7, 150 * STRIPE);
            expected[(3 * STRIPE) as usize..(4 * STRIPE) as usize].fill(Some(8));
            expected[(40 * STRIPE + 5) as usize..(40 * STRIPE + 1005) as usize].fill(Some(9));
            assert!(rig.read(0, 150 * STRIPE) == expected, "{scheme} {restart}");
        }
    }
}

#[test]
fn writes_under_way_when_a_member_left_are_rebuilt_on_its_return() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; (20 * STRIPE) as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    // The member reported this write as done, and lost it with its power.
    let (member, at) = rig.place(5, 1);
    let row = at..at + rig.geometry.row_bytes() as usize;
    let old = rig.members[member][row.clone()].to_vec();
    rig.write(5 * STRIPE, &vec![8; STRIPE as usize]);
    rig.volume.fail(Nanos(rig.now), MemberIndex(member));
    rig.pump();
    rig.members[member][row.clone()].copy_from_slice(&old);
    assert_eq!(readd(&mut rig, member), Ok(()));
    rig.pump();
    assert!(rig.members[member][row] != old[..]);
    assert!(rig.read(5 * STRIPE, STRIPE) == right(8, STRIPE) && rig.kinds().is_empty());
}

#[test]
fn an_outdated_foreign_or_separately_started_member_may_not_return() {
    let mut rig = without_member_2(Scheme::Stamp, 20);
    let left = rig.members[2].clone();
    // A copy of an earlier time.
    let mut old = superblock(&left);
    old.generation -= 1;
    let readd_as =
        |rig: &mut Rig, theirs: &Superblock| rig.volume.readd(Nanos(rig.now), theirs, Uuid([77; 16]), MEMBER_BYTES);
    assert_eq!(readd_as(&mut rig, &old), Err(ReturnRefusal::Older));
    let mut separate = superblock(&left);
    separate.begin_start(99);
    assert_eq!(readd_as(&mut rig, &separate), Err(ReturnRefusal::StartedSeparately));
    let mut foreign = superblock(&left);
    foreign.array = Uuid([5; 16]);
    assert_eq!(readd_as(&mut rig, &foreign), Err(ReturnRefusal::Foreign));
    let other = superblock(&rig.members[3]);
    assert_eq!(readd_as(&mut rig, &other), Err(ReturnRefusal::NotOut));
    // Another disk was in its place meanwhile.
    rig.members[2].fill(0);
    rig.volume.replace(Nanos(rig.now), MemberIndex(2), Uuid([9; 16]), MEMBER_BYTES);
    rig.pump();
    rig.volume.fail(Nanos(rig.now), MemberIndex(2));
    rig.pump();
    assert_eq!(readd_as(&mut rig, &superblock(&left)), Err(ReturnRefusal::NotOut));
    assert_eq!(readd(&mut rig, 2), Ok(()));
}

#[test]
fn a_member_that_missed_superblocks_returns_with_the_last_one_it_had() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; (20 * STRIPE) as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.is_gone[2] = true;
    rig.volume.fail(Nanos(rig.now), MemberIndex(1));
    rig.pump();
    assert!(matches!(rig.volume.status().members[2].0, MemberState::Failed(_)));
    rig.is_gone[2] = false;
    assert_eq!(readd(&mut rig, 2), Ok(()));
    rig.pump();
    assert_eq!(readd(&mut rig, 1), Ok(()));
    rig.pump();
    assert!(rig.volume.status().members.iter().all(|(state, _)| *state == MemberState::Active));
    assert!(rig.read(0, 20 * STRIPE) == right(7, 20 * STRIPE));
}

#[test]
fn a_member_with_unfinished_operations_may_not_return_yet() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; (20 * STRIPE) as usize]);
    rig.hangs = Some(2);
    let data = Buffer::copy_of(&vec![8; STRIPE as usize]);
    rig.volume.submit(
        Nanos(rig.now),
        RequestId(50),
        BlockRequest::Write { offset: VolumeOffset(0), data, is_durable: false },
    );
    rig.pump();
    rig.wait(60_000_000_000);
    assert!(matches!(rig.volume.status().members[2].0, MemberState::Failed(_)));
    rig.hangs = None;
    assert_eq!(readd(&mut rig, 2), Err(ReturnRefusal::Busy));
    for id in std::mem::take(&mut rig.held) {
        rig.volume.handle(Nanos(rig.now), MemberOpDone { id, buffer: None, result: Ok(()) });
    }
    assert_eq!(readd(&mut rig, 2), Ok(()));
    rig.pump();
    assert_eq!(rig.volume.status().members[2].0, MemberState::Active);
}

#[test]
fn a_member_that_knows_of_an_unknown_replacement_was_started_separately() {
    let mut rig = without_member_2(Scheme::Stamp, 10);
    let mut theirs = superblock(&rig.members[2]);
    let mut check_return = |theirs: &Superblock| rig.volume.readd(Nanos(rig.now), theirs, Uuid([77; 16]), MEMBER_BYTES);
    (theirs.members[0].uuid, theirs.members[0].term) = (Uuid([88; 16]), theirs.members[0].term + 1);
    assert_eq!(check_return(&theirs), Err(ReturnRefusal::StartedSeparately));
}

#[test]
fn the_regions_a_member_lacks_stay_recorded_until_its_return_is_durable() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![7; (20 * STRIPE) as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.wait(20_000_000_000);
    // The member's last write does not reach its medium before it leaves.
    let slot = (0..6).find(|&slot| rig.place(20, slot).0 == 2).unwrap();
    rig.loses = Some((2, rig.place(20, slot).1 as u64));
    rig.write(20 * STRIPE, &vec![8; STRIPE as usize]);
    rig.volume.fail(Nanos(rig.now), MemberIndex(2));
    rig.pump();
    // It returns while the region is being cleaned, and the power fails before its return is durable.
    let geometry = rig.geometry;
    let generation = |turn: u64| {
        let at = geometry.page_offset(MetadataArea::WrittenMap, 0, turn).get() as usize + 24;
        u64::from_le_bytes(rig.members[0][at..at + 8].try_into().unwrap())
    };
    let oldest = (0..2).min_by_key(|&turn| generation(turn)).unwrap();
    rig.holds = Some((0, geometry.page_offset(MetadataArea::WrittenMap, 0, oldest).get()));
    rig.wait(20_000_000_000);
    assert_eq!(rig.under_way.len(), 1);
    rig.holds_superblocks = true;
    assert_eq!(readd(&mut rig, 2), Ok(()));
    rig.pump();
    rig.release();
    let mut again = Rig::start(members_of(&mut rig).0, geometry);
    assert_eq!(readd(&mut again, 2), Ok(()));
    again.pump();
    assert_eq!(again.volume.status().members[2].0, MemberState::Active);
    [0, 1].into_iter().for_each(|member| again.volume.fail(Nanos(again.now), MemberIndex(member)));
    again.pump();
    assert!(again.read(20 * STRIPE, STRIPE) == right(8, STRIPE));
}

#[test]
fn the_regions_a_member_lacks_are_written_to_all_members_at_each_start() {
    let mut rig = without_member_2(Scheme::Stamp, 150);
    rig.write(3 * STRIPE, &vec![8; STRIPE as usize]);
    let geometry = rig.geometry;
    let mut members = rig.stop();
    let nothing = Bits::zeros(geometry.regions());
    let page = intent::encode(&geometry, Uuid([1; 16]), IntentBit::WhileOut, 0, &nothing);
    let at = geometry.page_offset(MetadataArea::WhileOut, 0, 0).get() as usize;
    for member in [0, 1, 3, 4] {
        members[member][at..at + page.len()].copy_from_slice(&page);
    }
    let mut members = members_of(&mut Rig::start(members, geometry)).0;
    members[5].clear();
    let mut rig = Rig::start(members, geometry);
    assert_eq!(readd(&mut rig, 2), Ok(()));
    rig.pump();
    rig.volume.fail(Nanos(rig.now), MemberIndex(0));
    rig.pump();
    assert!(rig.read(3 * STRIPE, STRIPE) == right(8, STRIPE));
    assert_eq!(rig.kinds(), []);
}

#[test]
fn a_first_write_on_the_departed_member_only_does_not_reappear() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Raid1, 1, 1);
    rig.write(0, &vec![7; CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.wait(20_000_000_000);
    let before = rig.members.clone();
    rig.write(CHUNK, &vec![9; CHUNK as usize]);
    let geometry = rig.geometry;
    let row = geometry.chunk_offset(RowIndex(1)).get() as usize..geometry.chunk_offset(RowIndex(2)).get() as usize;
    let (after, mut members) = (members_of(&mut rig).0, before);
    members[1][row.clone()].copy_from_slice(&after[1][row]);
    // Everything is to be resynced, so that the resync still runs while the member returns.
    let page = intent::encode(&geometry, Uuid([1; 16]), IntentBit::Dirty, 0, &Bits::ones(geometry.regions()));
    let at = geometry.page_offset(MetadataArea::Intents, 0, 0).get() as usize;
    members.iter_mut().for_each(|member| member[at..at + page.len()].copy_from_slice(&page));
    let left = std::mem::take(&mut members[1]);
    let mut rig = Rig::begin(members, geometry, VolumeOptions::default());
    rig.pump_until(|rig| rig.volume.status().is_open);
    assert!(rig.volume.status().regions_to_resync > 1);
    rig.members[1] = left;
    assert_eq!(readd(&mut rig, 1), Ok(()));
    rig.pump();
    assert_eq!(rig.volume.status().members[1].0, MemberState::Active);
    assert!(rig.read(CHUNK, CHUNK) == right(0, CHUNK));
    rig.write(2 * CHUNK, &[5; 512]);
    let members = members_of(&mut rig).0;
    let mut again = Rig::start(members, geometry);
    assert!(again.read(CHUNK, CHUNK) == right(0, CHUNK));
}
