//! Tests of crashes after crashes, and of events in between.
//!
//! Each of these histories once ended in a wrong byte, or in a volume that refused to start.

use super::promises::{members_of, superblock as newest_superblock};
use super::*;
use crate::index::{MemberIndex, RowIndex, StripePosition};
use crate::units::VolumeOffset;
use crate::volume::format::geometry::SUPERBLOCK_BYTES;

use crate::volume::format::superblock::{self, FailureReason, MemberState};
use crate::volume::integrity::tag;

/// The rows of a stripe as they lie on the members, by slot.
fn rows(rig: &Rig, stripe: u64) -> Vec<Vec<u8>> {
    let len = rig.geometry.row_bytes() as usize;
    let row = |slot| {
        let (member, at) = rig.place(stripe, slot);
        rig.members[member][at..at + len].to_vec()
    };
    (0..rig.geometry.layout.shape().width()).map(row).collect()
}

/// Puts a row into this place.
fn lay(members: &mut [Vec<u8>], (member, at): (usize, usize), row: &[u8]) {
    members[member][at..at + row.len()].copy_from_slice(row);
}

#[test]
fn a_chunk_left_undecided_by_a_crash_stays_an_error_after_the_next_crash() {
    for scheme in [Scheme::Pure, Scheme::None] {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 3, 1);
        rig.write(0, &vec![1; 3 * CHUNK as usize]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        let ((hurt, at), (torn, torn_at)) = (rig.place(0, 0), rig.place(0, 1));
        let (mut members, geometry) = members_of(&mut rig);
        members[torn][torn_at..torn_at + 512].fill(2);
        let mut rig = Rig::begin(members, geometry, VolumeOptions::default());
        rig.unreadable = Some((hurt, at as u64));
        rig.pump();
        rig.unreadable = None;
        assert!(rig.read(0, CHUNK).iter().all(Option::is_none), "{scheme}");
        assert!(rig.read(CHUNK, 2 * CHUNK).iter().all(Option::is_some), "{scheme}");
        if scheme == Scheme::Pure {
            // The member can read the row again, or has something else there: the row is not read any more.
            rig.members[hurt][at..at + CHUNK as usize].fill(9);
        }
        let (members, geometry) = members_of(&mut rig);
        let mut again = Rig::start(members, geometry);
        assert!(again.read(0, CHUNK).iter().all(Option::is_none), "{scheme}: it is lost, and stays so");
    }
}

#[test]
fn a_disk_put_in_during_a_resync_is_not_read_for_the_old_disks_row() {
    let mut rig = Rig::new(Scheme::Pure, LayoutKind::Rotating, 3, 2);
    rig.write(0, &vec![1; 3 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let ((gone, _), (torn, torn_at)) = (rig.place(0, 0), rig.place(0, 1));
    let (mut members, geometry) = members_of(&mut rig);
    members[torn][torn_at..torn_at + 512].fill(2);
    let mut rig = Rig::begin(members, geometry, VolumeOptions::default());
    rig.pump_until(|rig| rig.volume.status().is_open);
    // The first read of the stripe's rows is done; it is read again, because not all rows agree.
    let before = rig.ops;
    rig.pump_until(|rig| rig.ops >= before + 5);
    rig.volume.fail(Nanos(rig.now), MemberIndex(gone));
    rig.members[gone].fill(0xaa);
    rig.volume.replace(Nanos(rig.now), MemberIndex(gone), Uuid([9; 16]), MEMBER_BYTES);
    rig.pump();
    assert!(rig.read(0, CHUNK).iter().all(|byte| byte.is_none_or(|byte| byte == 1)), "junk of a new disk is no data");
    assert_eq!(rig.volume.status().members[gone].0, MemberState::Active);
}

#[test]
fn a_version_never_names_two_contents_however_many_crashes_there_are() {
    let mut rig = Rig::new(Scheme::Hybrid1, LayoutKind::Rotating, 3, 2);
    rig.write(0, &vec![1; 3 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (old, places) = (rows(&rig, 0), (0..5).map(|slot| rig.place(0, slot)).collect::<Vec<_>>());
    // Of a write of two chunks only the first parity reaches the medium: the write is taken back.
    rig.write(0, &[vec![2; CHUNK as usize], vec![4; CHUNK as usize]].concat());
    let half = rows(&rig, 0)[3].clone();
    let (mut members, geometry) = members_of(&mut rig);
    for (&place, row) in places.iter().zip(&old).filter(|&(&place, _)| place != places[3]) {
        lay(&mut members, place, row);
    }
    let mut rig = Rig::start(members, geometry);
    assert!(rig.read(0, 3 * CHUNK).iter().all(|&byte| byte == Some(1)));
    // The next write of the same two chunks reaches the medium except for that parity, whose member keeps what the first crash left.
    rig.write(0, &[vec![3; CHUNK as usize], vec![8; CHUNK as usize]].concat());
    let (mut members, geometry) = members_of(&mut rig);
    lay(&mut members, places[3], &half);
    members[places[0].0].clear();
    let mut rig = Rig::start(members, geometry);
    let bytes = rig.read(0, CHUNK);
    assert!(bytes.iter().all(|byte| byte.is_none_or(|byte| byte == 3)), "{:?}", &bytes[..8]);
}

#[test]
fn a_half_written_superblock_is_wiped_before_another_is_written_over_it() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 3, 2);
    rig.write(0, &[1; 100]);
    let (mut members, geometry) = members_of(&mut rig);
    // A superblock that calls member 1 failed was begun on one member, and only its first sector was written.
    let mut unfinished = newest_superblock(&members[2]);
    unfinished.generation += 1;
    unfinished.members[1].state = MemberState::Failed(FailureReason::Gone);
    let at = unfinished.places(MEMBER_BYTES)[0].get() as usize;
    members[2][at..at + 512].copy_from_slice(&unfinished.encode()[..512]);
    let mut rig = Rig::begin(members, geometry, VolumeOptions::default());
    rig.holds_superblocks = true;
    rig.pump();
    assert!(rig.members[2][at..at + 512].iter().all(|&byte| byte == 0));
}

#[test]
fn a_new_member_has_the_intents_and_the_map_before_it_has_a_superblock() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 3, 3);
    rig.write(0, &vec![1; 30 * CHUNK as usize]);
    rig.volume.fail(Nanos(rig.now), MemberIndex(1));
    rig.pump();
    rig.members[1].fill(0);
    // When it comes, superblocks are being written because of other members, and the map waits for a flush.
    rig.volume.fail(Nanos(rig.now), MemberIndex(4));
    rig.volume.fail(Nanos(rig.now), MemberIndex(5));
    rig.holds_flushes = true;
    rig.volume.replace(Nanos(rig.now), MemberIndex(1), Uuid([9; 16]), MEMBER_BYTES);
    rig.pump();
    assert!(matches!(newest_superblock(&rig.members[2]).members[5].state, MemberState::Failed(_)));
    let offsets = Superblock::offsets(MEMBER_BYTES).unwrap();
    let copies = offsets.map(|at| &rig.members[1][at.get() as usize..][..SUPERBLOCK_BYTES]);
    assert!(superblock::newest(copies).is_err());
}

#[test]
fn a_write_number_is_used_only_once_durably_reserved_even_by_concurrent_writes() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Raid1, 1, 1);
    let (members, geometry) = members_of(&mut rig);
    let mut rig = Rig::start_as(members, geometry, VolumeOptions { write_numbers: 2, ..VolumeOptions::default() });
    rig.write(0, &vec![1; 16 * CHUNK as usize]);
    // The reservation of more numbers never becomes durable: nothing that needs them is written.
    rig.holds_superblocks = true;
    for stripe in 0..8 {
        let data = Buffer::copy_of(&vec![2 + stripe as u8; CHUNK as usize]);
        let request = BlockRequest::Write { offset: VolumeOffset(stripe * CHUNK), data, is_durable: false };
        rig.volume.submit(Nanos(rig.now), RequestId(100 + stripe), request);
    }
    rig.pump();
    let mark = newest_superblock(&rig.members[0]).write_mark;
    for stripe in 0..8 {
        let seen = tag::open_data(&rows(&rig, stripe)[0][CHUNK as usize..], identity(&rig, stripe), None);
        assert!(seen.entry.version.number() < mark, "{} of {mark}", seen.entry.version.number());
    }
}

/// The identity of the data row of a stripe of a mirror.
fn identity(rig: &Rig, stripe: u64) -> tag::RowIdentity {
    let place = rig.geometry.place(StripeIndex(stripe), StripePosition(0));
    tag::RowIdentity {
        array: rig.volume.superblock().array.id(),
        member: place.member,
        row: place.row,
        position: StripePosition(0),
    }
}

#[test]
fn the_versions_of_a_stripe_written_without_its_parities_do_not_restart() {
    for scheme in [Scheme::Hybrid1, Scheme::Stamp] {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 3, 1);
        let stripe = 3 * CHUNK;
        // The page of the map is newer than the first numbers.
        rig.write(0, &vec![1; stripe as usize]);
        assert_eq!(rig.ask(BlockRequest::Trim { offset: VolumeOffset(0), len: stripe }), BlockReply::Done);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        let (parity, _) = rig.place(1, 3);
        rig.volume.fail(Nanos(rig.now), MemberIndex(parity));
        rig.pump();
        rig.write(stripe, &vec![2; stripe as usize]);
        rig.write(stripe, &vec![3; stripe as usize]);
        let (mut members, geometry) = members_of(&mut rig);
        members[parity].clear();
        let mut again = Rig::start(members, geometry);
        assert!(again.read(stripe, stripe) == vec![Some(3); stripe as usize], "{scheme}: it was acknowledged");
    }
}

#[test]
fn the_version_of_a_missing_chunk_is_not_counted_on_from_one_paritys_list() {
    for (stripe, lost) in (0..6).flat_map(|stripe| [(stripe, [5, 4]), (stripe, [4, 5])]) {
        let mut rig = Rig::new(Scheme::Hybrid1, LayoutKind::Rotating, 4, 2);
        let offset = stripe * 4 * CHUNK;
        rig.write(offset, &vec![1; 4 * CHUNK as usize]);
        let (missing, _) = rig.place(stripe, 0);
        rig.volume.fail(Nanos(rig.now), MemberIndex(missing));
        rig.pump();
        // Each parity misses one of two writes of the missing chunk.
        for (byte, slot) in [2, 3].into_iter().zip(lost) {
            let (member, at) = rig.place(stripe, slot);
            rig.loses = Some((member, at as u64));
            rig.write(offset, &[byte; CHUNK as usize]);
        }
        let bytes = rig.read(offset, CHUNK);
        assert!(bytes == vec![Some(3); CHUNK as usize], "stripe {stripe}, parities {lost:?}");
    }
}

#[test]
fn a_first_write_hidden_by_a_stray_read_after_a_crash_does_not_reappear_later() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Raid1, 1, 1);
    rig.write(0, &vec![7; CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let before = rig.members.clone();
    rig.write(CHUNK, &vec![9; CHUNK as usize]);
    // Only one of its rows reaches the medium.
    let (mut members, geometry) = members_of(&mut rig);
    let row = geometry.chunk_offset(RowIndex(1)).get() as usize..geometry.chunk_offset(RowIndex(2)).get() as usize;
    members[0][row.clone()].copy_from_slice(&before[0][row]);
    let mut rig = Rig::begin(members, geometry, VolumeOptions::default());
    rig.misdirects = Some((1, (geometry.chunk_offset(RowIndex(1)) + CHUNK).get()));
    rig.pump();
    let bytes = rig.read(CHUNK, CHUNK);
    assert!(rig.misdirects.is_none());
    rig.write(2 * CHUNK, &[5; 512]);
    let members = members_of(&mut rig).0;
    let mut again = Rig::start(members, geometry);
    assert!(again.read(CHUNK, CHUNK) == bytes);
}

#[test]
fn rows_of_two_times_that_fit_each_other_are_not_taken_for_a_whole_stripe() {
    for scheme in [Scheme::None, Scheme::Pure] {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 3, 3);
        rig.write(0, &vec![7; 2 * CHUNK as usize]);
        rig.write(2 * CHUNK, &vec![5; CHUNK as usize]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        let before = rig.members.clone();
        rig.write(2 * CHUNK, &vec![6; CHUNK as usize]);
        let rows: Vec<(usize, usize)> = (0..6).map(|slot| rig.place(0, slot)).collect();
        let row_bytes = rig.geometry.row_bytes() as usize;
        let (mut members, geometry) = members_of(&mut rig);
        // The chunk and one parity have not reached the medium, and the members of the other two chunks are gone.
        for (member, at) in [rows[2], rows[5]] {
            members[member][at..at + row_bytes].copy_from_slice(&before[member][at..at + row_bytes]);
        }
        [rows[0].0, rows[1].0].into_iter().for_each(|member| members[member].clear());
        let read = Rig::start(members, geometry).read(0, 2 * CHUNK);
        assert!(read.iter().all(|byte| byte.is_none_or(|byte| byte == 7)), "{scheme}: {:?}", read[0]);
    }
}

#[test]
fn a_corrupt_row_with_a_newer_version_is_rebuilt_after_a_crash_amid_other_writes() {
    for (data, parity) in [(4, 2), (3, 1), (1, 1)] {
        for byte in 0..8 {
            let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, data, parity);
            let stripe = data as u64 * CHUNK;
            rig.write(0, &vec![1; stripe as usize]);
            assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
            // The crash comes while another stripe of the region is written.
            rig.write(stripe, &vec![2; stripe as usize]);
            let (hurt, at) = rig.place(0, 0);
            let (mut members, geometry) = members_of(&mut rig);
            let end = at + geometry.row_bytes() as usize;
            members[hurt][at] ^= 4;
            members[hurt][end - tag::VERSION + byte] ^= 4;
            let mut again = Rig::start(members, geometry);
            let bytes = again.read(0, stripe);
            assert!(bytes == vec![Some(1); stripe as usize], "{data}+{parity}, byte {byte}: {:?}", bytes[0]);
        }
    }
}

#[test]
fn damage_that_no_crash_leaves_is_reported_when_the_resync_repairs_it() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    let stripe = 4 * CHUNK;
    rig.write(0, &vec![1; 2 * stripe as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.write(2 * stripe, &vec![2; stripe as usize]);
    // One row lies in the place of another stripe's row, one is overwritten with junk, and one was cut short, as by a crash.
    let ((stray, to), (_, torn), (junk, at)) = (rig.place(0, 0), rig.place(0, 1), rig.place(1, 2));
    let other =
        (0..6).map(|slot| rig.place(1, slot)).find(|&(member, _)| member == stray).expect("each stripe is on all").1;
    let torn_member = rig.place(0, 1).0;
    let (mut members, geometry) = members_of(&mut rig);
    let len = geometry.row_bytes() as usize;
    let row = members[stray][other..other + len].to_vec();
    lay(&mut members, (stray, to), &row);
    members[junk][at..at + len].fill(0x5a);
    members[torn_member][torn..torn + 64].fill(9);
    let mut again = Rig::start(members, geometry);
    assert!(again.read(0, 2 * stripe) == vec![Some(1); 2 * stripe as usize]);
    let found: Vec<_> = std::iter::from_fn(|| again.volume.poll_finding()).collect();
    let of = |member: usize| found.iter().filter(|finding| finding.member == MemberIndex(member)).collect::<Vec<_>>();
    assert!(of(stray).iter().any(|finding| matches!(finding.kind, FindingKind::MisdirectedWrite { .. })), "{found:?}");
    assert!(of(junk).iter().any(|finding| finding.kind == FindingKind::Corrupt), "{found:?}");
    assert!(found.iter().all(|finding| finding.resolution == Resolution::Repaired), "{found:?}");
}

/// What a crash left of a stripe of 4+2 chunks.
struct HalfWritten {
    members: Vec<Vec<u8>>,
    geometry: Geometry,
    /// The rows that were overwritten before the flush, by slot.
    first: Vec<Vec<u8>>,
    /// The member and the byte of each row, by slot.
    places: [(usize, usize); 6],
}

/// A stripe of 4+2 chunks of ones, flushed; then chunk 1 is written, and a crash leaves that row and no parity's.
fn with_one_row_of_a_write() -> HalfWritten {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &[3; 4 * CHUNK as usize]);
    let first = rows(&rig, 0);
    rig.write(0, &[1; 4 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let before = rows(&rig, 0);
    rig.write(CHUNK, &[2; CHUNK as usize]);
    let places = std::array::from_fn(|slot| rig.place(0, slot));
    let (mut members, geometry) = members_of(&mut rig);
    for slot in [4, 5] {
        lay(&mut members, places[slot], &before[slot]);
    }
    HalfWritten { members, geometry, first, places }
}

#[test]
fn two_parities_that_agree_prove_a_wrong_row_beside_a_half_written_one() {
    for is_rotten in [true, false] {
        let HalfWritten { mut members, geometry, first, places } = with_one_row_of_a_write();
        match is_rotten {
            true => members[places[0].0][places[0].1] ^= 4,
            false => lay(&mut members, places[0], &first[0]),
        }
        let mut again = Rig::start(members, geometry);
        assert!(again.read(0, CHUNK) == vec![Some(1); CHUNK as usize], "rotten: {is_rotten}");
        let written = again.read(CHUNK, CHUNK);
        assert!(written == vec![Some(1); CHUNK as usize] || written == vec![Some(2); CHUNK as usize]);
    }
}

#[test]
fn a_lost_write_of_a_resync_that_goes_back_loses_nothing_and_blames_nobody_else() {
    for (data, parity) in [(2, 1), (4, 2)] {
        let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, data, parity);
        let stripe = data as u64 * CHUNK;
        rig.write(0, &vec![1; stripe as usize]);
        assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
        let before = rows(&rig, 0);
        rig.write(0, &vec![2; stripe as usize]);
        // Only the row of the first parity reached its disk.
        let places: Vec<_> = (0..data + parity).map(|slot| rig.place(0, slot)).collect();
        let (mut members, geometry) = members_of(&mut rig);
        for slot in (0..data + parity).filter(|&slot| slot != data) {
            lay(&mut members, places[slot], &before[slot]);
        }
        let mut again = Rig::begin(members, geometry, VolumeOptions::default());
        again.loses = Some((places[data].0, places[data].1 as u64));
        again.pump();
        assert!(again.loses.is_none(), "the resync writes it");
        assert!(again.read(0, stripe) == vec![Some(1); stripe as usize], "{data}+{parity}");
        for &(member, _) in &places[..data] {
            assert_eq!(again.volume.status().members[member].1, 0, "{data}+{parity}: faults of member {member}");
        }
        assert_eq!(again.volume.status().members[places[data].0].1, 1, "{data}+{parity}: the disk that lost it");
        assert_eq!(
            again.kinds(),
            [(0, data, FindingKind::LostWrite, Resolution::Repaired)],
            "{data}+{parity}: it is there now"
        );
    }
}

/// A row that proves nothing outvotes nobody, whatever version it names: a stripe in which only it is wrong is not written anew.
#[test]
fn a_lost_write_over_a_row_that_proves_nothing_changes_no_other_row() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 2, 1);
    rig.write(0, &[1; 2 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.write(2 * CHUNK, &[2; 2 * CHUNK as usize]);
    let before = rows(&rig, 0);
    let (hurt, at) = rig.place(0, 0);
    let (mut members, geometry) = members_of(&mut rig);
    members[hurt][at..at + geometry.row_bytes() as usize].fill(0x5a);
    let mut again = Rig::begin(members, geometry, VolumeOptions::default());
    again.loses = Some((hurt, at as u64));
    again.pump();
    assert!(again.loses.is_none(), "the resync writes it");
    assert!(rows(&again, 0)[1..] == before[1..]);
    assert!(again.read(0, 2 * CHUNK) == vec![Some(1); 2 * CHUNK as usize]);
}
