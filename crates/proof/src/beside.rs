//! What lies beside the rows of a member: where, whether it is whole, and how it is damaged.
//!
//! The budget: at any time one active member at least has all of its superblocks, its intents, what it knows of writes while
//! a member was out, and its pages of the written map whole.
//! On the others any of it may be junk, unreadable, half written or of an earlier time; but each keeps a superblock of the
//! newest generation that it knew.

use scrubjay_core::index::StripeIndex;
use scrubjay_core::rng::Rng;
use scrubjay_core::volume::format::bits::Bits;
use scrubjay_core::volume::format::geometry::{Geometry, HEAD_BYTES, SUPERBLOCK_BYTES, TAIL_BYTES, WRITTEN_PAGE_BYTES};
use scrubjay_core::volume::format::superblock::Superblock;
use scrubjay_core::volume::format::written;
use scrubjay_sim::member_disk::MemberDisk;
use scrubjay_sim::member_disk::array::superblock;
use std::ops::Range;

/// Does nothing of it differ from what was last written there, and can all of it be read?
pub fn is_whole(geometry: &Geometry, disk: &MemberDisk) -> bool {
    let is_right = |range: &Range<u64>| !disk.is_corrupt(range.start, range.end - range.start);
    ranges(geometry, disk).iter().all(is_right) && is_readable(geometry, disk)
}

/// Can all of it be read?
pub fn is_readable(geometry: &Geometry, disk: &MemberDisk) -> bool {
    ranges(geometry, disk).iter().all(|range| !disk.is_unreadable(range.start, range.end - range.start))
}

/// How new it is: the generation of the newest superblock, then those of the newest version of each page of the map. (Of what
/// is written in turns nobody knows how new the older one is to be.)
pub fn newest(geometry: &Geometry, disk: &MemberDisk) -> Vec<Option<u64>> {
    let superblock = superblock(disk);
    let array = superblock.as_ref().map(|superblock| superblock.array).unwrap_or_default();
    let generation = |page: u64, turn: u64| {
        let mut block = vec![0; WRITTEN_PAGE_BYTES as usize];
        disk.read(geometry.written_page_offset(page, turn).get(), &mut block).ok()?;
        written::WrittenPage::decode(&block, array, page).ok().map(|page| page.generation)
    };
    let pages = (0..geometry.written_pages).map(|page| generation(page, 0).max(generation(page, 1)));
    [superblock.map(|superblock| superblock.generation)].into_iter().chain(pages).collect()
}

/// The stripes that the written map on these disks calls written.
pub fn written(geometry: &Geometry, disks: &[MemberDisk]) -> Bits<StripeIndex> {
    let mut map = written::WrittenMap::new(geometry);
    let array = disks.iter().find_map(superblock).map(|superblock| superblock.array).unwrap_or_default();
    let mut block = vec![0; WRITTEN_PAGE_BYTES as usize];
    for disk in disks.iter().filter(|disk| !disk.is_gone) {
        for (page, turn) in (0..geometry.written_pages).flat_map(|page| [(page, 0), (page, 1)]) {
            let is_read = disk.read(geometry.written_page_offset(page, turn).get(), &mut block).is_ok();
            let page = written::WrittenPage::decode(&block, array, page).ok().filter(|_| is_read);
            page.iter().for_each(|page| map.add(geometry, page));
        }
    }
    map.stripes
}

/// Where it lies: before the rows, and at the end.
pub fn ranges(geometry: &Geometry, disk: &MemberDisk) -> [Range<u64>; 2] {
    let [_, _, tail, _] = Superblock::offsets(disk.bytes()).expect("a member has room for its superblocks");
    [HEAD_BYTES..geometry.data_offset, tail.get()..(tail + TAIL_BYTES).get()]
}

/// A thing that lies there, by chance: one copy of a superblock, one page of the intents or of what was written while a
/// member was out, one version of a page of the map.
pub fn pick(geometry: &Geometry, disk: &MemberDisk, rng: &mut Rng) -> Range<u64> {
    let (start, len) = match rng.below(4) {
        0 => {
            let offsets = Superblock::offsets(disk.bytes()).expect("a member has room for its superblocks");
            (offsets[rng.below(4) as usize], SUPERBLOCK_BYTES as u64)
        }
        1 => (geometry.intent_page_offset(rng.below(geometry.intent_pages)), geometry.block_bytes),
        2 => (geometry.away_page_offset(rng.below(geometry.intent_pages)), geometry.block_bytes),
        _ => (geometry.written_page_offset(rng.below(geometry.written_pages), rng.below(2)), WRITTEN_PAGE_BYTES),
    };
    start.get()..(start + len).get()
}
