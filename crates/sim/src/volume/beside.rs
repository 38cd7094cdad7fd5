//! What lies beside the rows of a member: where, whether it is whole, and how it is damaged.
//!
//! The budget: at any time one active member at least has all of its superblocks, intents and pages of the written map whole.
//! On the others any of it may be junk, unreadable, half written or of an earlier time; but each keeps a superblock of the
//! newest generation that it knew.

use super::disk::MemberDisk;
use scrubjay_core::format::geometry::{Geometry, HEAD_BYTES, SUPERBLOCK_BYTES, TAIL_BYTES, WRITTEN_PAGE_BYTES};
use scrubjay_core::format::superblock::Superblock;
use scrubjay_core::rng::Rng;
use std::ops::Range;

/// Does nothing of it differ from what was last written there, and can all of it be read?
pub fn is_whole(geometry: &Geometry, disk: &MemberDisk) -> bool {
    let is_fine = |range: &Range<u64>| {
        let len = range.end - range.start;
        !disk.is_corrupt(range.start, len) && !disk.is_unreadable(range.start, len)
    };
    ranges(geometry, disk).iter().all(is_fine)
}

/// Where it lies: before the rows, and at the end.
pub fn ranges(geometry: &Geometry, disk: &MemberDisk) -> [Range<u64>; 2] {
    let [_, _, tail, _] = Superblock::offsets(disk.bytes()).expect("a member has room for its superblocks");
    [HEAD_BYTES..geometry.data_offset, tail..tail + TAIL_BYTES]
}

/// A thing that lies there, by chance: one copy of a superblock, one page of the intents, one version of a page of the map.
pub fn pick(geometry: &Geometry, disk: &MemberDisk, rng: &mut Rng) -> Range<u64> {
    let (start, len) = match rng.below(3) {
        0 => {
            let offsets = Superblock::offsets(disk.bytes()).expect("a member has room for its superblocks");
            (offsets[rng.below(4) as usize], SUPERBLOCK_BYTES as u64)
        }
        1 => (geometry.intent_page_offset(rng.below(geometry.intent_pages)), geometry.block_bytes),
        _ => (geometry.written_page_offset(rng.below(geometry.written_pages), rng.below(2)), WRITTEN_PAGE_BYTES),
    };
    start..start + len
}
