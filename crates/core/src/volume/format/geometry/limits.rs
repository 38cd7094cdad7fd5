//! Sizes that are the same on every array, and the least and the most of others.

/// The first bytes of a member belong to nobody: boot sectors and partition tables lie there, and ours are zero.
pub const HEAD_BYTES: u64 = 4 << 10;
/// One copy of a superblock.
pub const SUPERBLOCK_BYTES: usize = 16 << 10;
/// Two copies of the superblock end a member.
pub const TAIL_BYTES: u64 = 2 * SUPERBLOCK_BYTES as u64;
/// A page of the written map: of which stripes it says whether they were written.
pub const WRITTEN_PAGE_BYTES: u64 = 4 << 10;
/// What precedes the bits in a page, of either kind.
pub const PAGE_HEAD_BYTES: u64 = 40;
/// The smallest chunk, and the smallest logical block of any disk.
pub const CHUNK_BYTES_MIN: u64 = 512;
/// The greatest chunk.
pub const CHUNK_BYTES_MAX: u64 = 4 << 20;
/// Regions that one array has at the most: few enough for a handful of pages.
pub const REGIONS_MAX: u64 = 1 << 15;
/// The rows of a region take no less on one member, unless the array would have fewer than [`REGIONS_MIN`] regions.
pub const REGION_BYTES_MIN: u64 = 16 << 20;
/// Regions of an array that is large enough to be divided: what one crash makes dirty is a part of it.
pub const REGIONS_MIN: u64 = 16;
/// The written map is held in memory: 512 MiB at the most.
pub const STRIPES_MAX: u64 = 1 << 32;
/// No member is used beyond: 64 PiB. So 47 bits hold a row.
pub const MEMBER_BYTES_MAX: u64 = 1 << 56;
