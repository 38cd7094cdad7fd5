//! Tests of metadata outside the rows: damage is found, repaired, and counted.

use super::attacks::{STRIPE, filled, verify, write_chunk};
use super::promises::right;
use super::*;
use crate::finding::Resolution;
use crate::index::MemberIndex;
use crate::volume::finding::FindingPlace;
use crate::volume::format::bits::Bits;
use crate::volume::format::geometry::{MetadataArea, SUPERBLOCK_BYTES};
use crate::volume::format::intent::{self, IntentBit};

/// The metadata that a verification found damaged, with the resolutions.
fn metadata_damage(rig: &mut Rig) -> Vec<(FindingPlace, Resolution)> {
    assert_eq!(verify(rig, 0..rig.geometry.stripes), BlockReply::Done);
    let records = std::iter::from_fn(|| rig.volume.poll_finding());
    records.filter(|record| record.place.stripe().is_none()).map(|record| (record.place, record.resolution)).collect()
}

#[test]
fn metadata_outside_the_rows_is_verified_repaired_and_counted_as_faults() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let mut rig = Rig::start(members, geometry);
    assert_eq!(write_chunk(&mut rig, 0, 0, 7), BlockReply::Done);
    assert_eq!(metadata_damage(&mut rig), []);
    let places = Superblock::offsets(MEMBER_BYTES).unwrap().map(|at| (at.get() as usize, SUPERBLOCK_BYTES));
    let intents =
        [geometry.page_offset(MetadataArea::Intents, 0, 0), geometry.page_offset(MetadataArea::WhileOut, 0, 0)]
            .map(|at| (at.get() as usize, 512));
    let map = [0, 1].map(|turn| (geometry.page_offset(MetadataArea::WrittenMap, 0, turn).get() as usize, 4096));
    for (number, (at, len)) in places.into_iter().chain(intents).chain(map).enumerate() {
        for member in [0, 5] {
            let before = rig.volume.status().members[member].1;
            rig.members[member][at + 9..at + len.min(90)].fill(0x55);
            let found = metadata_damage(&mut rig);
            assert!(
                !found.is_empty() && found.iter().all(|&(_, end)| end == Resolution::Repaired),
                "{number}: {found:?}"
            );
            assert_eq!(metadata_damage(&mut rig), [], "{number}: it is right");
            assert!(rig.volume.status().members[member].1 > before);
        }
    }
    // An intent that never reached the medium; then, in the same way, a region written while a member was out.
    rig.volume.fail(Nanos(rig.now), MemberIndex(3));
    rig.pump();
    rig.write(0, &[8; 512]);
    for kind in [IntentBit::Dirty, IntentBit::WhileOut] {
        let page = intent::encode(&geometry, Uuid([1; 16]), kind, 0, &Bits::zeros(geometry.regions()));
        let at = geometry.page_offset(kind.area(), 0, 0).get() as usize;
        rig.members[2][at..at + page.len()].copy_from_slice(&page);
        assert_eq!(
            metadata_damage(&mut rig),
            [(FindingPlace::Page { area: kind.area(), page: 0 }, Resolution::Repaired)],
            "{kind:?}"
        );
        assert_eq!(metadata_damage(&mut rig), [], "{kind:?}: it is right");
    }
}

#[test]
fn damage_to_one_member_after_another_never_adds_up_if_verified_in_between() {
    let (mut members, geometry) = filled(Scheme::Stamp, 30);
    for member in 0..6 {
        let (intents, map) = (
            geometry.page_offset(MetadataArea::Intents, 0, 0).get() as usize,
            geometry.page_offset(MetadataArea::WrittenMap, 0, 0).get() as usize,
        );
        members[member][intents..intents + 512].fill(0);
        members[member][map..map + 8192].fill(0);
        let starts = Superblock::offsets(MEMBER_BYTES).unwrap();
        let len = SUPERBLOCK_BYTES;
        starts[..2].iter().for_each(|&at| members[member][at.get() as usize..at.get() as usize + len].fill(0));
        let mut rig = Rig::start(members, geometry);
        assert!(!metadata_damage(&mut rig).is_empty(), "member {member}");
        assert!(rig.read(0, 30 * STRIPE) == right(7, 30 * STRIPE));
        assert!(rig.read(30 * STRIPE, STRIPE) == right(0, STRIPE), "what was never written is known for that");
        members = rig.stop();
    }
}

#[test]
fn a_read_only_volume_reports_damaged_metadata_and_writes_nothing() {
    let (mut members, geometry) = filled(Scheme::Stamp, 30);
    let at = Superblock::offsets(MEMBER_BYTES).unwrap()[3].get() as usize;
    members[1][at..at + 4096].fill(0);
    let before = members.clone();
    let mut rig = Rig::start_as(members, geometry, VolumeOptions { is_read_only: true, ..VolumeOptions::default() });
    assert_eq!(metadata_damage(&mut rig), [(FindingPlace::Superblock, Resolution::Reconstructed)]);
    assert!(rig.members == before);
    let (fresh, geometry) = {
        let rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
        (blank(&rig.geometry), rig.geometry)
    };
    let mut rig = Rig::start_as(fresh, geometry, VolumeOptions { is_read_only: true, ..VolumeOptions::default() });
    assert_eq!(metadata_damage(&mut rig), [], "a new volume is whole");
}

#[test]
fn an_old_page_in_the_other_place_of_the_map_is_found_and_repaired() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let mut rig = Rig::start(members, geometry);
    let turn = (0..2).map(|turn| geometry.page_offset(MetadataArea::WrittenMap, 0, turn).get() as usize);
    let pages: Vec<Vec<u8>> = turn.clone().map(|at| rig.members[3][at..at + 4096].to_vec()).collect();
    // First writes of other stripes; once no region is dirty any more, both places hold the same bits.
    rig.write(40 * STRIPE, &vec![8; (20 * STRIPE) as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.wait(60_000_000_000);
    assert_eq!(metadata_damage(&mut rig), []);
    for (at, old) in turn.zip(pages) {
        // A member drops its last write of this place, and has what lay there before.
        rig.members[3][at..at + 4096].copy_from_slice(&old);
        let found = metadata_damage(&mut rig);
        let place = FindingPlace::Page { area: MetadataArea::WrittenMap, page: 0 };
        assert_eq!(found, [(place, Resolution::Repaired)], "at {at}");
        assert_eq!(metadata_damage(&mut rig), [], "at {at}: it is right");
    }
}

/// A member lost its last write of one place of a page, and nobody looked before the stop: the start reports it, once.
#[test]
fn an_old_page_that_outlives_a_stop_in_order_is_reported_by_one_start() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let map = [0, 1].map(|turn| geometry.page_offset(MetadataArea::WrittenMap, 0, turn).get() as usize);
    let old = map.map(|at| members[3][at..at + 4096].to_vec());
    let mut rig = Rig::start(members, geometry);
    rig.write(40 * STRIPE, &vec![8; (20 * STRIPE) as usize]);
    let members = rig.stop();
    for (at, old) in map.into_iter().zip(old) {
        let mut members = members.clone();
        members[3][at..at + 4096].copy_from_slice(&old);
        let mut rig = Rig::start(members, geometry);
        let found: Vec<_> = std::iter::from_fn(|| rig.volume.poll_finding()).collect();
        assert_eq!(found.iter().map(|found| found.offset.get()).collect::<Vec<_>>(), [at as u64]);
        let mut rig = Rig::start(rig.stop(), geometry);
        assert!(rig.volume.poll_finding().is_none(), "it was written again");
        assert!(rig.read(40 * STRIPE, 20 * STRIPE) == right(8, 20 * STRIPE));
    }
}

/// After a crash the older place of a page that was written once has other bits, which is no damage.
#[test]
fn a_read_only_start_after_a_crash_calls_no_page_of_the_map_old() {
    let (members, geometry) = filled(Scheme::Stamp, 30);
    let mut rig = Rig::start(members, geometry);
    rig.write(40 * STRIPE, &vec![8; (20 * STRIPE) as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let members = std::mem::take(&mut rig.members);
    let mut rig = Rig::start_as(members, geometry, VolumeOptions { is_read_only: true, ..VolumeOptions::default() });
    assert_eq!(metadata_damage(&mut rig), []);
}
