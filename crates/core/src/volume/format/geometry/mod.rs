//! Where everything lies on a member: arithmetic, fixed when an array is made.
//!
//! ```text
//! 0      4 KiB     36 KiB   64 KiB  128 KiB         data_offset                       member's end
//! | zero | 2 superblocks | - | intents | written map | row 0 | row 1 | ... | free | 2 superblocks |
//! ```

mod areas;
mod error;
mod limits;

pub use areas::{AreaPages, MetadataArea, PagePlace};
pub use error::GeometryError;
pub use limits::{
    CHUNK_BYTES_MAX, CHUNK_BYTES_MIN, HEAD_BYTES, MEMBER_BYTES_MAX, PAGE_HEAD_BYTES, REGION_BYTES_MIN, REGIONS_MAX,
    REGIONS_MIN, STRIPES_MAX, SUPERBLOCK_BYTES, TAIL_BYTES, WRITTEN_PAGE_BYTES,
};

use crate::index::{MemberIndex, RegionIndex, RowIndex, StripeIndex, StripePosition};
use crate::layout::{ChunkPlace, Layout};
use crate::units::MemberOffset;
use crate::volume::integrity::scheme::Scheme;
use crate::volume::integrity::tag::appendix_need;
use scrubjay_code::Code;
use std::ops::Range;

/// Offset of the intents on a member, in bytes.
const INTENT_OFFSET: u64 = 64 << 10;
/// Bytes from the start of the intents to that of the regions written while a member was out.
const WHILE_OUT_OFFSET: u64 = 32 << 10;
/// Offset of the written map. The intents end before it: [`REGIONS_MAX`] take nine pages of 512 bytes, or two of 4096.
const WRITTEN_OFFSET: u64 = 128 << 10;
/// Data begin at a multiple of this many bytes, as partitions do: it is a multiple of any disk's inner block.
const DATA_ALIGN: u64 = 1 << 20;
/// The used size of a member is a multiple of this many bytes.
const SIZE_ALIGN: u64 = 4 << 10;
/// The parameters chosen for a new array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayParameters {
    /// How chunks lie on members, including the shape of a stripe and the number of members.
    pub layout: Layout,
    /// The integrity scheme.
    pub scheme: Scheme,
    /// Bytes of user data in a chunk: a power of two, [`CHUNK_BYTES_MIN`] to [`CHUNK_BYTES_MAX`].
    pub chunk_bytes: u64,
    /// The largest logical block of the members in bytes: 512 or 4096. Every offset and length is a multiple of it.
    pub block_bytes: u64,
}

/// All numbers of an array on which every member agrees. Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// How chunks lie on members.
    pub layout: Layout,
    /// The integrity scheme.
    pub scheme: Scheme,
    /// Bytes of user data in a chunk.
    pub chunk_bytes: u64,
    /// The largest logical block of the members: 512 or 4096.
    pub block_bytes: u64,
    /// Bytes of the appendix behind each chunk: a multiple of the block; 0 in a bare array.
    pub appendix_bytes: u64,
    /// Rows of each member (count).
    pub rows: u64,
    /// Stripes of the array (count).
    pub stripes: u64,
    /// Stripes per region, for which one bit of the intents stands; the last region may have fewer.
    pub region_stripes: u64,
    /// Offset of the intents.
    pub intent_offset: u64,
    /// Pages of the intents, of one block each (count).
    pub intent_pages: u64,
    /// Offset of the written map.
    pub written_offset: u64,
    /// Pages of the written map, of [`WRITTEN_PAGE_BYTES`] each (count); each has two places.
    pub written_pages: u64,
    /// Offset of row 0.
    pub data_offset: u64,
    /// Bytes of each member that are used; no member is smaller.
    pub member_bytes: u64,
}

/// The place of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowPlace {
    /// The member.
    pub member: MemberIndex,
    /// The row on that member, from 0.
    pub row: RowIndex,
}

impl Geometry {
    /// The geometry of an array whose smallest member has `member_bytes`: for at least `size` bytes of user data, rounded up
    /// to whole stripes, or (`None`) for as much as fits.
    ///
    /// # Errors
    /// [`GeometryError`], except [`GeometryError::Contradiction`].
    pub fn fit(parameters: &ArrayParameters, member_bytes: u64, size: Option<u64>) -> Result<Geometry, GeometryError> {
        let ArrayParameters { layout, scheme, chunk_bytes, block_bytes } = *parameters;
        parameters.check()?;
        let appendix_bytes = parameters.appendix_bytes();
        let row_bytes = chunk_bytes + appendix_bytes;
        let member_bytes = (member_bytes.min(MEMBER_BYTES_MAX)) / SIZE_ALIGN * SIZE_ALIGN;
        let rows_from = |data_offset: u64| member_bytes.saturating_sub(data_offset + TAIL_BYTES) / row_bytes;
        let wished = size.map(|size| size.max(1).div_ceil(layout.shape().data as u64 * chunk_bytes));

        // An upper bound, because the written map takes its share too; a map for this many stripes is large enough.
        let bound = wished.unwrap_or(u64::MAX).min(layout.stripes(rows_from(DATA_ALIGN)));
        if bound > STRIPES_MAX {
            return Err(GeometryError::TooManyStripes { chunk_bytes: parameters.chunk_for(member_bytes) });
        }
        let map_bytes = 2 * pages(bound.max(1), WRITTEN_PAGE_BYTES) * WRITTEN_PAGE_BYTES;
        let data_offset = (WRITTEN_OFFSET + map_bytes).next_multiple_of(DATA_ALIGN);
        let stripes = bound.min(layout.stripes(rows_from(data_offset)));
        if stripes == 0 {
            let least = DATA_ALIGN + layout.rows(1) * row_bytes + TAIL_BYTES;
            return Err(GeometryError::TooSmall { least: least.next_multiple_of(SIZE_ALIGN) });
        }
        if wished.is_some_and(|wished| wished > stripes) {
            let most = Geometry::fit(parameters, member_bytes, None)?.size();
            return Err(GeometryError::TooLarge { most });
        }
        let rows = layout.rows(stripes);
        let region_stripes = region_stripes(stripes, rows, row_bytes);
        let intent_pages = pages(stripes.div_ceil(region_stripes), block_bytes);
        let geometry = Geometry {
            layout,
            scheme,
            chunk_bytes,
            block_bytes,
            appendix_bytes,
            rows,
            stripes,
            region_stripes,
            intent_offset: INTENT_OFFSET,
            intent_pages,
            written_offset: WRITTEN_OFFSET,
            written_pages: pages(stripes, WRITTEN_PAGE_BYTES),
            data_offset,
            member_bytes,
        };
        assert_eq!(geometry.check(), Ok(()), "{geometry:?}");
        Ok(geometry)
    }

    /// Checks whether these numbers, which come from outside, make an array. The methods below are right only if they do.
    ///
    /// # Errors
    /// [`GeometryError`].
    pub fn check(&self) -> Result<(), GeometryError> {
        self.parameters().check()?;
        let must = |holds: bool, part| if holds { Ok(()) } else { Err(GeometryError::Contradiction(part)) };
        must(self.appendix_bytes == self.parameters().appendix_bytes(), "the appendix has another size")?;
        must((1..=STRIPES_MAX).contains(&self.stripes), "the number of stripes")?;
        must(self.rows == self.layout.rows(self.stripes), "the number of rows")?;
        let is_size = self.member_bytes <= MEMBER_BYTES_MAX && self.member_bytes.is_multiple_of(SIZE_ALIGN);
        must(is_size, "the size of a member")?;
        must((1..=self.stripes).contains(&self.region_stripes), "the size of a region")?;
        must(self.regions() <= REGIONS_MAX, "the number of regions")?;
        must(self.intent_pages == pages(self.regions(), self.block_bytes), "the number of intent pages")?;
        must(self.written_pages == pages(self.stripes, WRITTEN_PAGE_BYTES), "the number of pages of the written map")?;
        let areas = MetadataArea::ALL.map(|area| self.area(area));
        let is_aligned = areas.iter().all(|area| area.offset.is_multiple_of(SIZE_ALIGN))
            && self.data_offset.is_multiple_of(DATA_ALIGN);
        must(is_aligned, "something is not aligned")?;
        let mut starts = areas.iter().map(|area| area.offset).chain([self.data_offset]);
        must(starts.all(|start| start <= self.member_bytes), "something lies behind the end")?;
        // Each area ends before the next one starts, and the last one before the rows, which end before the superblocks at the end.
        let rows_end = self.data_offset.saturating_add(self.rows.saturating_mul(self.row_bytes()));
        let starts = areas.iter().map(|area| area.offset).chain([self.data_offset, self.data_end_max()]);
        let ends = [HEAD_BYTES + TAIL_BYTES].into_iter().chain(areas.iter().map(AreaPages::end)).chain([rows_end]);
        must(ends.zip(starts).all(|(end, start)| end <= start), "areas overlap")
    }

    /// The parameters chosen when the array was made.
    pub fn parameters(&self) -> ArrayParameters {
        let Geometry { layout, scheme, chunk_bytes, block_bytes, .. } = *self;
        ArrayParameters { layout, scheme, chunk_bytes, block_bytes }
    }

    /// Bytes of user data in the array.
    pub fn size(&self) -> u64 {
        self.stripes * self.stripe_bytes()
    }

    /// Bytes of user data in a stripe.
    pub fn stripe_bytes(&self) -> u64 {
        self.layout.shape().data as u64 * self.chunk_bytes
    }

    /// Bytes of a chunk and its appendix.
    pub fn row_bytes(&self) -> u64 {
        self.chunk_bytes + self.appendix_bytes
    }

    /// Offset of the chunk of a row; its appendix follows. `row` is a row of this array, that is below [`Geometry::rows`], or
    /// the one behind the last.
    ///
    /// # Panics
    /// For other rows. A number read from a disk is a row only if [`Geometry::has_row`] says so.
    pub fn chunk_offset(&self, row: RowIndex) -> MemberOffset {
        assert!(row.get() <= self.rows, "row {row} of {}", self.rows);
        MemberOffset(self.data_offset + row.get() * self.row_bytes())
    }

    /// Whether there is such a member, and it has such a row.
    pub fn has_row(&self, member: MemberIndex, row: RowIndex) -> bool {
        member.get() < self.layout.disks() && row.get() < self.rows
    }

    /// The row to which the byte at `offset` of a member belongs; `None` if it is not in a chunk or an appendix.
    pub fn row_at(&self, offset: MemberOffset) -> Option<RowIndex> {
        let row = offset.get().checked_sub(self.data_offset)? / self.row_bytes();
        (row < self.rows).then_some(RowIndex(row))
    }

    /// The place of a stripe's chunk.
    ///
    /// # Panics
    /// When the stripe has no such chunk.
    pub fn place(&self, stripe: StripeIndex, position: StripePosition) -> RowPlace {
        let ChunkPlace { disk, row } = self.layout.place(stripe.get(), position.get());
        RowPlace { member: MemberIndex(disk), row: RowIndex(row) }
    }

    /// The stripe and position of the chunk at this place: the inverse of [`Geometry::place`]. `None` if there is no such
    /// member, or the stripe's number would overflow.
    pub fn chunk_at(&self, member: MemberIndex, row: RowIndex) -> Option<(StripeIndex, StripePosition)> {
        let (stripe, position) = self.layout.chunk_at(member.get(), row.get())?;
        Some((StripeIndex(stripe), StripePosition(position)))
    }

    /// All stripes.
    pub fn all_stripes(&self) -> Range<StripeIndex> {
        StripeIndex(0)..StripeIndex(self.stripes)
    }

    /// Number of regions.
    pub fn regions(&self) -> u64 {
        self.stripes.div_ceil(self.region_stripes)
    }

    /// The region of a stripe.
    pub fn region_of(&self, stripe: StripeIndex) -> RegionIndex {
        RegionIndex(stripe.get() / self.region_stripes)
    }

    /// The stripes of a region.
    pub fn stripes_of_region(&self, region: RegionIndex) -> Range<StripeIndex> {
        let start = region.get() * self.region_stripes;
        StripeIndex(start)..StripeIndex((start + self.region_stripes).min(self.stripes))
    }

    /// Regions per page of the intents.
    pub fn regions_per_page(&self) -> u64 {
        bits_per_page(self.block_bytes)
    }

    /// The page of the intents that has a region's bit.
    pub fn intent_page_of(&self, region: RegionIndex) -> u64 {
        region.get() / self.regions_per_page()
    }

    /// The regions of which a page of the intents has the bits.
    pub fn regions_of_page(&self, page: u64) -> Range<RegionIndex> {
        let start = page * self.regions_per_page();
        RegionIndex(start)..RegionIndex((start + self.regions_per_page()).min(self.regions()))
    }

    /// The pages of an area of metadata.
    pub fn area(&self, area: MetadataArea) -> AreaPages {
        let (offset, pages, page_bytes, places) = match area {
            MetadataArea::Intents => (self.intent_offset, self.intent_pages, self.block_bytes, 1),
            MetadataArea::WhileOut => {
                (self.intent_offset.saturating_add(WHILE_OUT_OFFSET), self.intent_pages, self.block_bytes, 1)
            }
            MetadataArea::WrittenMap => (self.written_offset, self.written_pages, WRITTEN_PAGE_BYTES, 2),
        };
        AreaPages { offset, pages, page_bytes, places }
    }

    /// Offset of this generation of a page of an area.
    pub fn page_offset(&self, area: MetadataArea, page: u64, generation: u64) -> MemberOffset {
        self.area(area).page_offset(page, generation)
    }

    /// Stripes per page of the written map.
    pub fn stripes_per_page(&self) -> u64 {
        bits_per_page(WRITTEN_PAGE_BYTES)
    }

    /// The page of the written map that has a stripe's bit.
    pub fn written_page_of(&self, stripe: StripeIndex) -> u64 {
        stripe.get() / self.stripes_per_page()
    }

    /// The stripes of which a page of the written map has the bits.
    pub fn stripes_of_page(&self, page: u64) -> Range<StripeIndex> {
        let start = page * self.stripes_per_page();
        StripeIndex(start)..StripeIndex((start + self.stripes_per_page()).min(self.stripes))
    }

    /// Data end at this offset at the latest.
    fn data_end_max(&self) -> u64 {
        self.member_bytes.saturating_sub(TAIL_BYTES)
    }
}

impl ArrayParameters {
    fn check(&self) -> Result<(), GeometryError> {
        let ArrayParameters { layout, chunk_bytes, block_bytes, .. } = *self;
        if !matches!(block_bytes, 512 | 4096) {
            return Err(GeometryError::Block(block_bytes));
        }
        let is_chunk = chunk_bytes.is_power_of_two() && (CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&chunk_bytes);
        if !is_chunk || chunk_bytes < block_bytes {
            return Err(GeometryError::Chunk { chunk_bytes, block_bytes });
        }
        Code::new(layout.shape().data, layout.shape().parity).map(drop).map_err(GeometryError::Code)
    }

    /// Bytes of the appendix behind each chunk: what a parity's appendix takes, in whole blocks.
    fn appendix_bytes(&self) -> u64 {
        let shape = self.layout.shape();
        let listed = if shape.parity > 0 { shape.data } else { 0 };
        let need = appendix_need(listed) as u64;
        if self.scheme.has_appendix() { need.next_multiple_of(self.block_bytes) } else { 0 }
    }

    /// Bytes of the smallest chunk, not below the chosen one, with which such members hold at most [`STRIPES_MAX`] stripes.
    fn chunk_for(&self, member_bytes: u64) -> Option<u64> {
        let sizes = std::iter::successors(Some(self.chunk_bytes), |chunk| Some(chunk * 2));
        let mut sizes = sizes.take_while(|&chunk| chunk <= CHUNK_BYTES_MAX);
        sizes.find(|chunk| self.layout.stripes(member_bytes / chunk) <= STRIPES_MAX)
    }
}

/// Bits that a page of this size holds.
pub const fn bits_per_page(page_bytes: u64) -> u64 {
    (page_bytes - PAGE_HEAD_BYTES) * 8
}

/// Pages of this size that `bits` bits take.
fn pages(bits: u64, page_bytes: u64) -> u64 {
    bits.div_ceil(bits_per_page(page_bytes))
}

/// Stripes per region: as few as possible, so that little is resynced after a crash; but there are no more regions than
/// allowed, and none is so small that its bit would be written all the time.
fn region_stripes(stripes: u64, rows: u64, row_bytes: u64) -> u64 {
    let rows_min = REGION_BYTES_MIN.div_ceil(row_bytes);
    // With pairs of members, several stripes lie in one row.
    let stripes_min = u128::from(rows_min) * u128::from(stripes) / u128::from(rows);
    let stripes_min = (stripes_min as u64).min(stripes / REGIONS_MIN);
    stripes_min.max(stripes.div_ceil(REGIONS_MAX)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::LayoutKind;
    use crate::layout::Shape;

    fn parameters(kind: LayoutKind, data: usize, parity: usize, disks: usize) -> Option<ArrayParameters> {
        let layout = Layout::new(kind, Shape { data, parity }, disks).ok()?;
        Some(ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: 65_536, block_bytes: 512 })
    }

    fn four_and_two() -> ArrayParameters {
        parameters(LayoutKind::Rotating, 4, 2, 6).expect("rotating takes any shape")
    }

    #[test]
    fn four_and_two_on_a_gibibyte_each() {
        let geometry = Geometry::fit(&four_and_two(), 1 << 30, None).unwrap();
        assert_eq!((geometry.appendix_bytes, geometry.row_bytes(), geometry.data_offset), (512, 66_048, 1 << 20));
        // (1 GiB - 1 MiB - 32 KiB) / 66048
        assert_eq!((geometry.rows, geometry.stripes, geometry.size()), (16_240, 16_240, 16_240 * 4 * 65_536));
        // 16 MiB are 255 rows.
        assert_eq!((geometry.region_stripes, geometry.regions()), (255, 64));
        assert_eq!((geometry.intent_pages, geometry.written_pages), (1, 1));
        assert_eq!(
            (geometry.chunk_offset(RowIndex(0)), geometry.chunk_offset(RowIndex(2))),
            (MemberOffset(1 << 20), MemberOffset((1 << 20) + 132_096))
        );
        assert_eq!(
            (geometry.row_at(MemberOffset((1 << 20) - 1)), geometry.row_at(MemberOffset((1 << 20) + 66_048))),
            (None, Some(RowIndex(1)))
        );
        assert_eq!(
            (geometry.region_of(StripeIndex(254)), geometry.region_of(StripeIndex(255))),
            (RegionIndex(0), RegionIndex(1))
        );
        assert_eq!(
            (geometry.stripes_of_region(RegionIndex(1)), geometry.stripes_of_region(RegionIndex(63))),
            (StripeIndex(255)..StripeIndex(510), StripeIndex(16_065)..StripeIndex(16_240))
        );
        let generations = [0, 1, 2].map(|generation| geometry.page_offset(MetadataArea::WrittenMap, 0, generation));
        assert_eq!(generations, [131_072, 135_168, 131_072].map(MemberOffset));
    }

    #[test]
    fn the_appendix_is_as_long_as_a_parity_needs_in_whole_blocks() {
        let bytes = |kind, data, parity, scheme, block_bytes| {
            let parameters = parameters(kind, data, parity, data + parity).unwrap();
            ArrayParameters { scheme, block_bytes, ..parameters }.appendix_bytes()
        };
        assert_eq!(bytes(LayoutKind::Rotating, 4, 2, Scheme::None, 512), 0);
        assert_eq!(bytes(LayoutKind::Rotating, 38, 2, Scheme::Stamp, 512), 512, "48 + 38 * 12 = 504");
        assert_eq!(bytes(LayoutKind::Rotating, 39, 2, Scheme::Stamp, 512), 1024);
        assert_eq!(bytes(LayoutKind::Rotating, 39, 2, Scheme::Pure, 4096), 4096);
        assert_eq!(bytes(LayoutKind::Raid0, 200, 0, Scheme::Hybrid1, 512), 512, "no parity, no list");
    }

    /// Every kind of array on up to seven members, of sizes from too small to 3 TiB.
    #[test]
    fn every_fitted_geometry_is_valid_and_leaves_little_unused() {
        let shapes = (1..=7).flat_map(|data| (0..=3).map(move |parity| (data, parity)));
        let shapes: Vec<_> =
            shapes.flat_map(|(data, parity)| (1..=7).map(move |disks| (data, parity, disks))).collect();
        let kinds = LayoutKind::ALL.into_iter().flat_map(|kind| shapes.iter().map(move |&(k, m, n)| (kind, k, m, n)));
        let arrays: Vec<ArrayParameters> = kinds.filter_map(|(kind, k, m, n)| parameters(kind, k, m, n)).collect();
        assert!(arrays.len() > 40);
        let sizes = [0, 4096, 1 << 20, 1_090_000, 1 << 21, 10_000_000, 1 << 28, (1 << 30) + 513, 3 << 40];
        let mut fitted = 0;
        for array in arrays {
            for (chunk_bytes, block_bytes) in [(512, 512), (4096, 512), (4096, 4096), (65_536, 4096), (1 << 22, 512)] {
                for scheme in [Scheme::None, Scheme::Stamp] {
                    for member_bytes in sizes {
                        let parameters = ArrayParameters { scheme, chunk_bytes, block_bytes, ..array };
                        fitted += u32::from(check_fit(&parameters, member_bytes));
                    }
                }
            }
        }
        assert!(fitted > 1000, "{fitted}");
    }

    fn check_fit(parameters: &ArrayParameters, member_bytes: u64) -> bool {
        let geometry = match Geometry::fit(parameters, member_bytes, None) {
            Ok(geometry) => geometry,
            Err(GeometryError::TooSmall { least }) => {
                assert!(
                    least > member_bytes && Geometry::fit(parameters, least, None).is_ok(),
                    "{parameters:?} {least}"
                );
                return false;
            }
            Err(GeometryError::TooManyStripes { chunk_bytes: Some(chunk_bytes) }) => {
                let greater = ArrayParameters { chunk_bytes, ..*parameters };
                assert!(Geometry::fit(&greater, member_bytes, None).is_ok(), "{parameters:?} {chunk_bytes}");
                return false;
            }
            Err(error) => panic!("{parameters:?} on {member_bytes}: {error}"),
        };
        assert_eq!(geometry.check(), Ok(()));
        let end = geometry.chunk_offset(RowIndex(geometry.rows - 1)) + geometry.row_bytes();
        assert!(end + TAIL_BYTES <= MemberOffset(geometry.member_bytes) && geometry.member_bytes <= member_bytes);
        // Not one more row would fit, except for what a period of the layout and the estimate of the written map leave over.
        let rest = geometry.member_bytes - TAIL_BYTES - end.get();
        assert!(rest < 2 * geometry.row_bytes() + DATA_ALIGN, "{rest} bytes left of {geometry:?}");
        assert!(
            geometry.regions() <= REGIONS_MAX && (geometry.regions() >= REGIONS_MIN || geometry.stripes < REGIONS_MIN)
        );
        let last = StripeIndex(geometry.stripes - 1);
        assert!(geometry.stripes_of_region(geometry.region_of(last)).contains(&last));
        assert_eq!(geometry.stripes_of_region(RegionIndex(geometry.regions() - 1)).end, geometry.all_stripes().end);
        assert_eq!(geometry.row_at(MemberOffset(end - MemberOffset(1))), Some(RowIndex(geometry.rows - 1)));
        assert_eq!(geometry.row_at(end), None);
        true
    }

    #[test]
    fn a_wished_size_is_rounded_up_to_stripes() {
        let fit = |size| Geometry::fit(&four_and_two(), 1 << 30, Some(size));
        assert_eq!((fit(1).unwrap().stripes, fit(262_144).unwrap().stripes, fit(262_145).unwrap().stripes), (1, 1, 2));
        let most = Geometry::fit(&four_and_two(), 1 << 30, None).unwrap();
        assert_eq!(fit(most.size()), Ok(most));
        assert_eq!(fit(most.size() + 1), Err(GeometryError::TooLarge { most: most.size() }));
        assert_eq!(fit(u64::MAX), Err(GeometryError::TooLarge { most: most.size() }));
    }

    #[test]
    fn impossible_parameters_get_the_right_error() {
        let with = |chunk_bytes, block_bytes| {
            Geometry::fit(&ArrayParameters { chunk_bytes, block_bytes, ..four_and_two() }, 1 << 30, None).map(drop)
        };
        let chunk = |chunk_bytes, block_bytes| Err(GeometryError::Chunk { chunk_bytes, block_bytes });
        for bytes in [0, 256, 65_537, 8 << 20] {
            assert_eq!(with(bytes, 512), chunk(bytes, 512));
        }
        assert_eq!(with(2048, 4096), chunk(2048, 4096));
        assert_eq!(with(4096, 520), Err(GeometryError::Block(520)));
        let shape = parameters(LayoutKind::Rotating, 4, 7, 11).unwrap();
        assert!(matches!(Geometry::fit(&shape, 1 << 30, None), Err(GeometryError::Code(_))));
        let huge = Geometry::fit(&ArrayParameters { chunk_bytes: 512, ..four_and_two() }, u64::MAX, None);
        assert_eq!(huge, Err(GeometryError::TooManyStripes { chunk_bytes: None }));
    }
}
