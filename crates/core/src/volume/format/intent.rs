//! The intents on the members: which regions may be half written. One bit per region; each page is one block.
//!
//! All members have the same pages. A bit is set, durably on every member, before the first chunk of its region is written;
//! it is cleared when all is durable. A page is one block of the disk, so it is rewritten in place. After a crash a region is
//! dirty if any member says so, or if no member has its page whole.
//!
//! Pages of the same form record the regions written while a member was out: what it lacks when it comes back.

use super::bits::Bits;
use super::geometry::{Geometry, MetadataArea};
use super::page::{PageError, PageHead};
use super::uuid::Uuid;
use crate::buffer::Buffer;
use crate::index::RegionIndex;
use std::ops::Range;

/// The first bytes of an intent page.
pub const MAGIC: [u8; 8] = *b"SJINTENT";
/// The first bytes of a page of the regions written while a member was out.
pub const WHILE_OUT_MAGIC: [u8; 8] = *b"SJWHLOUT";

/// The meaning of the bits of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntentBit {
    /// The region may be half written.
    Dirty,
    /// The region was, or may have been, written while a member was out.
    WhileOut,
}

impl IntentBit {
    const fn magic(self) -> [u8; 8] {
        match self {
            IntentBit::Dirty => MAGIC,
            IntentBit::WhileOut => WHILE_OUT_MAGIC,
        }
    }

    /// The area in which the pages of this kind lie.
    pub const fn area(self) -> MetadataArea {
        match self {
            IntentBit::Dirty => MetadataArea::Intents,
            IntentBit::WhileOut => MetadataArea::WhileOut,
        }
    }
}

/// One page, as one member holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentPage<'a> {
    /// Index, from 0.
    pub index: u64,
    /// Its bits, from region `index * regions_per_page` on.
    bits: &'a [u8],
}

impl<'a> IntentPage<'a> {
    /// Decodes a block that should be page `index` of this array.
    ///
    /// # Errors
    /// When the block is not that page, or is damaged.
    pub fn decode(block: &'a [u8], array: Uuid, kind: IntentBit, index: u64) -> Result<IntentPage<'a>, PageError> {
        head(kind, array, index).decode(block).map(|(_, _, bits)| IntentPage { index, bits })
    }

    /// Whether the bit of the region at this place of the page is set.
    ///
    /// # Panics
    /// When a page has no such place.
    pub fn contains(&self, place: u64) -> bool {
        self.bits[(place / 8) as usize] >> (place % 8) & 1 == 1
    }
}

/// Encodes page `index` of the bits of this kind.
///
/// # Panics
/// When the geometry has no such page, or another number of regions.
pub fn encode(geometry: &Geometry, array: Uuid, kind: IntentBit, index: u64, regions: &Bits<RegionIndex>) -> Buffer {
    assert!(index < geometry.intent_pages && regions.len() == geometry.regions(), "page {index} of {geometry:?}");
    let start = index * geometry.regions_per_page();
    head(kind, array, index).encode(geometry.block_bytes, |bits| regions.write_to(start, bits))
}

/// The union of the sound pages of all members.
#[derive(Clone, Debug)]
pub struct Union {
    geometry: Geometry,
    dirty: Bits<RegionIndex>,
    /// Of each page, whether any member has it whole.
    is_found: Vec<bool>,
}

impl Union {
    /// The union of no pages.
    pub fn new(geometry: &Geometry) -> Union {
        let is_found = vec![false; geometry.intent_pages as usize];
        Union { geometry: *geometry, dirty: Bits::zeros(geometry.regions()), is_found }
    }

    /// Adds one page of one member, in any order. A page that the geometry does not have is ignored.
    pub fn add(&mut self, page: &IntentPage<'_>) {
        let Some(is_found) = self.is_found.get_mut(page.index as usize) else { return };
        *is_found = true;
        let mut bits = Bits::zeros(self.geometry.regions_per_page());
        bits.read_from(0, page.bits);
        let Range { start, end } = self.geometry.regions_of_page(page.index);
        bits.iter()
            .map(|bit: u64| start + bit)
            .take_while(|&region| region < end)
            .for_each(|region| self.dirty.set(region, true));
    }

    /// The dirty regions; of a page that no member has whole, all its regions.
    pub fn dirty(mut self) -> Bits<RegionIndex> {
        for (index, _) in self.is_found.iter().enumerate().filter(|(_, is_found)| !**is_found) {
            let regions = self.geometry.regions_of_page(index as u64);
            RegionIndex::each(regions).for_each(|region| self.dirty.set(region, true));
        }
        self.dirty
    }
}

fn head(kind: IntentBit, array: Uuid, index: u64) -> PageHead {
    PageHead { magic: kind.magic(), array: array.id(), index: index as u32, generation: 0, trim_horizon: 0 }
}

#[cfg(test)]
mod tests {
    use super::super::page::PageError;
    use super::super::tests::geometry;
    use super::*;
    use proptest::prelude::*;

    const ARRAY: Uuid = Uuid([9; 16]);

    /// All pages of one member.
    fn pages(geometry: &Geometry, dirty: &Bits<RegionIndex>) -> Vec<Buffer> {
        (0..geometry.intent_pages).map(|index| encode(geometry, ARRAY, IntentBit::Dirty, index, dirty)).collect()
    }

    fn union(geometry: &Geometry, members: &[Vec<Buffer>]) -> Bits<RegionIndex> {
        let mut union = Union::new(geometry);
        for member in members {
            for (index, page) in member.iter().enumerate() {
                let _ = IntentPage::decode(page, ARRAY, IntentBit::Dirty, index as u64).map(|page| union.add(&page));
            }
        }
        union.dirty()
    }

    #[test]
    fn a_page_of_another_array_index_or_kind_or_with_a_changed_byte_is_refused() {
        let geometry = geometry(20_000);
        let page = encode(&geometry, ARRAY, IntentBit::Dirty, 1, &Bits::zeros(geometry.regions()));
        assert_eq!(page.len(), 512);
        assert_eq!(IntentPage::decode(&page, Uuid([8; 16]), IntentBit::Dirty, 1), Err(PageError::Array));
        assert_eq!(IntentPage::decode(&page, ARRAY, IntentBit::Dirty, 0), Err(PageError::Index));
        assert_eq!(IntentPage::decode(&page[..32], ARRAY, IntentBit::Dirty, 1), Err(PageError::Foreign));
        assert_eq!(IntentPage::decode(&[0; 512], ARRAY, IntentBit::Dirty, 1), Err(PageError::Foreign));
        assert_eq!(IntentPage::decode(&page, ARRAY, IntentBit::WhileOut, 1), Err(PageError::Foreign));
        for at in 0..page.len() {
            let mut page = page.clone();
            page[at] ^= 0x10;
            assert!(IntentPage::decode(&page, ARRAY, IntentBit::Dirty, 1).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_page_that_no_member_has_whole_makes_its_regions_dirty() {
        let geometry = geometry(20_000);
        assert_eq!((geometry.regions(), geometry.intent_pages, geometry.regions_per_page()), (20_000, 6, 3776));
        let mut members = [(); 3].map(|()| pages(&geometry, &Bits::zeros(20_000)));
        assert_eq!(union(&geometry, &members).count(), 0);
        members[0][1][100] ^= 1;
        members[1][1][100] ^= 1;
        assert_eq!(union(&geometry, &members).count(), 0, "one member can still say");
        members[2][1].fill(0);
        assert_eq!(
            union(&geometry, &members).iter().collect::<Vec<_>>(),
            RegionIndex::each(RegionIndex(3776)..RegionIndex(7552)).collect::<Vec<_>>()
        );
        members[0][5].fill(0);
        members[1][5].fill(0);
        members[2][5].fill(0);
        assert_eq!(union(&geometry, &members).count(), 3776 + 1120, "the last page is not full");
        assert_eq!(Union::new(&geometry).dirty(), Bits::ones(20_000));
    }

    proptest! {
        #[test]
        fn a_region_that_any_member_marks_dirty_is_dirty(
            members in prop::collection::vec(prop::collection::vec(0u64..20_000, 0..20), 1..4),
        ) {
            let geometry = geometry(20_000);
            let mut all = Bits::zeros(20_000);
            let pages: Vec<_> = members.iter().map(|dirty| {
                let mut bits = Bits::zeros(20_000);
                dirty.iter().map(|&region| RegionIndex(region)).for_each(|region| { bits.set(region, true); all.set(region, true); });
                pages(&geometry, &bits)
            }).collect();
            prop_assert_eq!(union(&geometry, &pages), all);
        }

        #[test]
        fn garbage_is_no_page(mut bytes in prop::collection::vec(any::<u8>(), 0..600), index in 0u64..10) {
            prop_assert!(IntentPage::decode(&bytes, ARRAY, IntentBit::Dirty, index).is_err());
            let end = bytes.len().min(8);
            bytes[..end].copy_from_slice(&MAGIC[..end]);
            prop_assert!(IntentPage::decode(&bytes, ARRAY, IntentBit::Dirty, index).is_err());
        }
    }
}
