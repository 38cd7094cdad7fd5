//! The initial content of a new volume's members: first superblocks, and empty maps.

use super::bits::Bits;
use super::geometry::{AreaPages, Geometry, MetadataArea, WRITTEN_PAGE_BYTES};
use super::intent::IntentBit;
use super::losses::LossRegister;
use super::superblock::{Features, MemberRecord, MemberState, STARTS_MAX, Superblock};
use super::uuid::Uuid;
use super::{intent, written};
use crate::buffer::Buffer;
use crate::index::MemberIndex;
use crate::units::{MemberOffset, UnixSeconds};

/// The superblock of a new volume, as the first of its members holds it. `members` are the members' UUIDs by index.
pub fn superblock(geometry: Geometry, array: Uuid, name: &str, created: UnixSeconds, members: &[Uuid]) -> Superblock {
    Superblock {
        array,
        name: name.to_owned(),
        created,
        last_started: UnixSeconds(0),
        generation: 1,
        write_mark: 0,
        is_clean: true,
        geometry,
        features: Features::default(),
        starts: [0; STARTS_MAX],
        map_sum: written::sum(&geometry, &Bits::zeros(geometry.stripes)),
        losses: LossRegister::default(),
        member: MemberIndex(0),
        members: members.iter().map(|&uuid| record(uuid)).collect(),
    }
}

/// The record of a new member.
fn record(uuid: Uuid) -> MemberRecord {
    MemberRecord { uuid, term: 0, state: MemberState::Active, faults: 0, departure_generation: 0 }
}

/// The maps of each member of a new volume, by offset, in the order in which they lie: no region is dirty, no stripe written.
/// The place that a page of the written map does not use yet holds zeros.
pub fn maps(superblock: &Superblock) -> impl Iterator<Item = (MemberOffset, Buffer)> {
    let Superblock { geometry, array, .. } = *superblock;
    let (regions, stripes) = (Bits::zeros(geometry.regions()), Bits::zeros(geometry.stripes));
    let block = move |area, index, place| match area {
        MetadataArea::Intents => intent::encode(&geometry, array, IntentBit::Dirty, index, &regions),
        MetadataArea::WhileOut => intent::encode(&geometry, array, IntentBit::WhileOut, index, &regions),
        MetadataArea::WrittenMap if place == 0 => Buffer::zeroed(WRITTEN_PAGE_BYTES as usize),
        MetadataArea::WrittenMap => written::encode(&geometry, array, index, place, 1, &stripes),
    };
    places(geometry)
        .map(move |(area, index, place)| (geometry.page_offset(area, index, place), block(area, index, place)))
}

/// All places of all pages of metadata, in the order in which they lie: the area, the index of the page, and the place.
fn places(geometry: Geometry) -> impl Iterator<Item = (MetadataArea, u64, u64)> {
    MetadataArea::ALL.into_iter().flat_map(move |area| {
        let AreaPages { pages, places, .. } = geometry.area(area);
        (0..pages).flat_map(move |index| (0..places).map(move |place| (area, index, place)))
    })
}

/// Everything that lies on this member of a new volume, by offset: its maps, then its superblock.
///
/// # Panics
/// When the member has no room for it.
pub fn member(
    superblock: &Superblock,
    member: MemberIndex,
    member_bytes: u64,
) -> impl Iterator<Item = (MemberOffset, Buffer)> {
    let own = superblock.of_member(member);
    maps(superblock).chain(own.places(member_bytes).map(move |place| (place, own.encode())))
}

#[cfg(test)]
mod tests {
    use super::super::geometry::ArrayParameters;
    use super::super::superblock::newest;
    use super::super::written::{WrittenMap, WrittenPage};
    use super::*;
    use crate::layout::Shape;
    use crate::layout::{Layout, LayoutKind};
    use crate::volume::integrity::scheme::Scheme;

    #[test]
    fn the_maps_of_a_new_member_are_contiguous_and_empty() {
        let layout = Layout::new(LayoutKind::Rotating, Shape { data: 2, parity: 1 }, 3).unwrap();
        let parameters = ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: 4096, block_bytes: 512 };
        let geometry = Geometry::fit(&parameters, 1 << 30, None).unwrap();
        assert!(geometry.written_pages > 1 && geometry.intent_pages > 0);
        let names: Vec<Uuid> = (0..3).map(|byte| Uuid([byte; 16])).collect();
        let first = superblock(geometry, Uuid([7; 16]), "new", UnixSeconds(1), &names);
        let (mut end, mut map) = (geometry.intent_offset, WrittenMap::new(&geometry));
        for (offset, block) in maps(&first) {
            let begins = [geometry.page_offset(MetadataArea::WhileOut, 0, 0), MemberOffset(geometry.written_offset)];
            assert!(offset == MemberOffset(end) || begins.contains(&offset), "no gap but between the maps");
            end = (offset + block.len() as u64).get();
            let index = offset.get().saturating_sub(geometry.written_offset) / (2 * WRITTEN_PAGE_BYTES);
            let _ = WrittenPage::decode(&block, first.array, index).map(|page| map.add(&geometry, &page));
        }
        assert_eq!(end, geometry.written_offset + geometry.written_pages * 2 * WRITTEN_PAGE_BYTES);
        assert_eq!(map, {
            let ones = vec![1; geometry.written_pages as usize];
            WrittenMap { stripes: Bits::zeros(geometry.stripes), generations: ones.clone(), trim_horizons: ones }
        });
        let copies: Vec<_> = member(&first, MemberIndex(2), geometry.member_bytes).skip(maps(&first).count()).collect();
        assert_eq!(newest(copies.iter().map(|(_, copy)| &copy[..])), Ok(first.of_member(MemberIndex(2))));
    }
}
