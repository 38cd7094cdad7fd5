//! The written map: which stripes were ever written. One bit per stripe, in pages of 4 KiB, the same on every member.
//!
//! A stripe that was never written reads as zeros, without I/O. A bit is set only after the stripe's chunks are durable, and
//! cleared by a trim. A page has two places, which its versions use in turn. The newest sound version on any member counts.
//! Where no member has one, every stripe counts as written: zeros are never invented.

use super::bits::Bits;
use super::geometry::{Geometry, PAGE_HEAD_BYTES, WRITTEN_PAGE_BYTES};
use super::page::{PageError, PageHead};
use super::uuid::Uuid;
use crate::buffer::Buffer;
use crate::index::StripeIndex;
use scrubjay_code::crc32c_extend;

/// The first bytes of a page of the written map.
pub const MAGIC: [u8; 8] = *b"SJWRITTN";

/// One page, as one place of one member holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPage<'a> {
    /// Index, from 0.
    pub index: u64,
    /// Version of the page; it decides in which place the page lies ([`Geometry::page_offset`]).
    pub generation: u64,
    /// A lower bound for versions: in a stripe that the page calls unwritten, a row with a smaller version is the remains of a
    /// trim; any other is a first write that the map has not recorded yet.
    pub trim_horizon: u64,
    /// Its bits, from stripe `index * stripes_per_page` on.
    bits: &'a [u8],
}

impl<'a> WrittenPage<'a> {
    /// Decodes a block that should be a version of page `index` of this array.
    ///
    /// # Errors
    /// When the block is not that page, or is damaged.
    pub fn decode(block: &'a [u8], array: Uuid, index: u64) -> Result<WrittenPage<'a>, PageError> {
        let page = head(array, index, 0, 0).decode(block);
        page.map(|(generation, trim_horizon, bits)| WrittenPage { index, generation, trim_horizon, bits })
    }
}

/// The written map, and the newest version of each of its pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenMap {
    /// One bit per stripe: whether it was ever written.
    pub stripes: Bits<StripeIndex>,
    /// The newest version of each page; zero if none was found.
    pub generations: Vec<u64>,
    /// [`WrittenPage::trim_horizon`] of these versions.
    pub trim_horizons: Vec<u64>,
}

/// Encodes version `generation` of page `index` of this map.
///
/// # Panics
/// When the geometry has no such page, or another number of stripes.
pub fn encode(
    geometry: &Geometry,
    array: Uuid,
    index: u64,
    generation: u64,
    trim_horizon: u64,
    stripes: &Bits<StripeIndex>,
) -> Buffer {
    assert!(index < geometry.written_pages && stripes.len() == geometry.stripes, "page {index} of {geometry:?}");
    let start = index * geometry.stripes_per_page();
    head(array, index, generation, trim_horizon).encode(WRITTEN_PAGE_BYTES, |bits| stripes.write_to(start, bits))
}

/// The CRC-32C of all bits of a map, page by page: a superblock holds it after a stop in order.
pub fn sum(geometry: &Geometry, stripes: &Bits<StripeIndex>) -> u32 {
    let mut bits = vec![0; (WRITTEN_PAGE_BYTES - PAGE_HEAD_BYTES) as usize];
    (0..geometry.written_pages).fold(0, |sum, page| {
        stripes.write_to(page * geometry.stripes_per_page(), &mut bits);
        crc32c_extend(sum, &bits)
    })
}

impl WrittenPage<'_> {
    /// Whether another version of the same page has the same bits.
    pub fn is_alike(&self, other: &WrittenPage<'_>) -> bool {
        self.bits == other.bits
    }
}

impl WrittenMap {
    /// The map before any page was read: every stripe counts as written.
    pub fn new(geometry: &Geometry) -> WrittenMap {
        let generations = vec![0; geometry.written_pages as usize];
        WrittenMap { stripes: Bits::ones(geometry.stripes), trim_horizons: generations.clone(), generations }
    }

    /// Makes every stripe of a page count as written, because none of its versions can be believed.
    pub fn assume_written(&mut self, geometry: &Geometry, page: u64) {
        let ones = vec![0xff; (WRITTEN_PAGE_BYTES - PAGE_HEAD_BYTES) as usize];
        self.stripes.read_from(page * geometry.stripes_per_page(), &ones);
    }

    /// Adds one version of one page of one member, in any order. A page that the geometry does not have is ignored.
    pub fn add(&mut self, geometry: &Geometry, page: &WrittenPage<'_>) {
        let newest = self.generations.get_mut(page.index as usize);
        let Some(newest) = newest.filter(|newest| **newest < page.generation) else { return };
        *newest = page.generation;
        self.trim_horizons[page.index as usize] = page.trim_horizon;
        self.stripes.read_from(page.index * geometry.stripes_per_page(), page.bits);
    }
}

fn head(array: Uuid, index: u64, generation: u64, trim_horizon: u64) -> PageHead {
    PageHead { magic: MAGIC, array: array.id(), index: index as u32, generation, trim_horizon }
}

#[cfg(test)]
mod tests {
    use super::super::tests::geometry;
    use super::*;
    use crate::volume::integrity::tag::NUMBER_END;
    use proptest::prelude::*;

    const ARRAY: Uuid = Uuid([9; 16]);
    const STRIPES: u64 = 70_000;

    fn map(geometry: &Geometry, pages: &[(u64, Buffer)]) -> WrittenMap {
        let mut map = WrittenMap::new(geometry);
        for (index, page) in pages {
            let _ = WrittenPage::decode(page, ARRAY, *index).map(|page| map.add(geometry, &page));
        }
        map
    }

    fn bits(ones: impl IntoIterator<Item = u64>) -> Bits<StripeIndex> {
        let mut bits = Bits::zeros(STRIPES);
        ones.into_iter().map(StripeIndex).for_each(|bit| bits.set(bit, true));
        bits
    }

    #[test]
    fn the_newest_sound_version_of_a_page_counts() {
        let geometry = geometry(STRIPES);
        assert_eq!((geometry.written_pages, geometry.stripes_per_page()), (3, 32_448));
        let page = |index, generation, stripes: &Bits<StripeIndex>| {
            (index, encode(&geometry, ARRAY, index, generation, generation, stripes))
        };
        let (old, new) = (bits([1, 40_000]), bits([2, 40_001]));
        let mut pages = vec![page(0, 5, &new), page(1, 8, &old), page(0, 4, &old), page(1, 7, &new), page(2, 1, &old)];
        let merged = map(&geometry, &pages);
        assert_eq!((merged.stripes, &merged.generations[..]), (bits([2, 40_000]), &[5, 8, 1][..]));
        pages[0].1[50] ^= 4;
        assert_eq!(map(&geometry, &pages).stripes, bits([1, 40_000]), "the one before");
        pages.reverse();
        assert_eq!(map(&geometry, &pages).stripes, bits([1, 40_000]), "in any order");
    }

    #[test]
    fn a_page_without_a_sound_version_counts_as_written() {
        let geometry = geometry(STRIPES);
        assert_eq!(map(&geometry, &[]).stripes, Bits::ones(STRIPES));
        let page = |index| (index, encode(&geometry, ARRAY, index, 1, 1, &bits([])));
        let mut pages = vec![page(0), page(1), page(2)];
        for at in [0, 8, 12, 16, 24, 32, 4095] {
            pages[1].1[at] ^= 1;
            assert_eq!(map(&geometry, &pages).stripes, bits(32_448..64_896), "byte {at}");
            pages[1].1[at] ^= 1;
        }
        pages[2].1.fill(0);
        assert_eq!(map(&geometry, &pages).stripes, bits(64_896..STRIPES));
        // A sound page in another one's place.
        pages[2] = (2, page(1).1);
        assert_eq!(map(&geometry, &pages).stripes, bits(64_896..STRIPES));
    }

    proptest! {
        #[test]
        fn encoded_pages_decode_to_the_same_map(
            ones in prop::collection::vec(0..STRIPES, 0..40), generation in 1..NUMBER_END,
        ) {
            let geometry = geometry(STRIPES);
            let stripes = bits(ones);
            let pages: Vec<_> = (0..3).map(|index| (index, encode(&geometry, ARRAY, index, generation, 1, &stripes))).collect();
            let merged = map(&geometry, &pages);
            prop_assert_eq!(merged, WrittenMap { stripes, generations: vec![generation; 3], trim_horizons: vec![1; 3] });
        }
    }
}
