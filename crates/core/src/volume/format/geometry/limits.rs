//! Sizes that are the same on every array, and the limits of others.

/// Unused bytes at the start of a member, zero in a new array: boot sectors and partition tables lie there.
pub const HEAD_BYTES: u64 = 4 << 10;
/// Bytes of one copy of a superblock.
pub const SUPERBLOCK_BYTES: usize = 16 << 10;
/// Bytes at the end of a member: two copies of the superblock.
pub const TAIL_BYTES: u64 = 2 * SUPERBLOCK_BYTES as u64;
/// Bytes of a page of the written map.
pub const WRITTEN_PAGE_BYTES: u64 = 4 << 10;
/// Bytes before the bits in a page, of the intents and of the written map.
pub const PAGE_HEAD_BYTES: u64 = 40;
/// The smallest chunk, and the smallest logical block of any disk, in bytes.
pub const CHUNK_BYTES_MIN: u64 = 512;
/// The largest chunk, in bytes.
pub const CHUNK_BYTES_MAX: u64 = 4 << 20;
/// Regions that one array has, at most: few enough for a handful of pages.
pub const REGIONS_MAX: u64 = 1 << 15;
/// Bytes that a region's rows take on one member, at least, unless the array would have fewer than [`REGIONS_MIN`] regions.
pub const REGION_BYTES_MIN: u64 = 16 << 20;
/// Regions that an array has, at least, if it has as many stripes: one crash should make only a part of it dirty.
pub const REGIONS_MIN: u64 = 16;
/// Stripes that an array has, at most: the written map, held in memory, takes 512 MiB then.
pub const STRIPES_MAX: u64 = 1 << 32;
/// Bytes of a member that are used, at most: 64 PiB. So 47 bits hold a row.
pub const MEMBER_BYTES_MAX: u64 = 1 << 56;
