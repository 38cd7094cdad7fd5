//! A member's metadata outside its rows: where it lies, whether it is intact, and which piece to damage.
//!
//! The budget: at any time at least one active member has all of its superblocks, its intents, its record of the writes
//! made while a member was out, and its pages of the written map intact. On the other members any of these may be junk,
//! unreadable, half written or stale; but each keeps a superblock of the newest generation that it ever had.

use scrubjay_core::index::StripeIndex;
use scrubjay_core::rng::Rng;
use scrubjay_core::volume::format::bits::Bits;
use scrubjay_core::volume::format::geometry::{
    Geometry, HEAD_BYTES, MetadataArea, SUPERBLOCK_BYTES, TAIL_BYTES, WRITTEN_PAGE_BYTES,
};
use scrubjay_core::volume::format::superblock::Superblock;
use scrubjay_core::volume::format::written;
use scrubjay_sim::member_disk::MemberDisk;
use scrubjay_sim::member_disk::array::superblock;
use std::ops::Range;

/// Can all of the metadata be read, and is it what was last written there?
pub fn is_whole(geometry: &Geometry, disk: &MemberDisk) -> bool {
    let is_right = |range: &Range<u64>| !disk.is_corrupt(range.start, range.end - range.start);
    ranges(geometry, disk).iter().all(is_right) && is_readable(geometry, disk)
}

/// Can all of the metadata be read?
pub fn is_readable(geometry: &Geometry, disk: &MemberDisk) -> bool {
    ranges(geometry, disk).iter().all(|range| !disk.is_unreadable(range.start, range.end - range.start))
}

/// The generations on this disk: that of its newest superblock, then that of the newest version of each page of the
/// written map; `None` where there is no valid one. (Older copies do not count: how old they should be is not known.)
pub fn newest(geometry: &Geometry, disk: &MemberDisk) -> Vec<Option<u64>> {
    let superblock = superblock(disk);
    let array = superblock.as_ref().map(|superblock| superblock.array).unwrap_or_default();
    let generation = |page: u64, turn: u64| {
        let mut block = vec![0; WRITTEN_PAGE_BYTES as usize];
        disk.read(geometry.page_offset(MetadataArea::WrittenMap, page, turn).get(), &mut block).ok()?;
        written::WrittenPage::decode(&block, array, page).ok().map(|page| page.generation)
    };
    let pages = (0..geometry.written_pages).map(|page| generation(page, 0).max(generation(page, 1)));
    [superblock.map(|superblock| superblock.generation)].into_iter().chain(pages).collect()
}

/// The stripes that any written map on these disks calls written.
pub fn written(geometry: &Geometry, disks: &[MemberDisk]) -> Bits<StripeIndex> {
    let mut map = written::WrittenMap::new(geometry);
    let array = disks.iter().find_map(superblock).map(|superblock| superblock.array).unwrap_or_default();
    let mut block = vec![0; WRITTEN_PAGE_BYTES as usize];
    for disk in disks.iter().filter(|disk| !disk.is_gone) {
        for (page, turn) in (0..geometry.written_pages).flat_map(|page| [(page, 0), (page, 1)]) {
            let is_read =
                disk.read(geometry.page_offset(MetadataArea::WrittenMap, page, turn).get(), &mut block).is_ok();
            let page = written::WrittenPage::decode(&block, array, page).ok().filter(|_| is_read);
            page.iter().for_each(|page| map.add(geometry, page));
        }
    }
    map.stripes
}

/// The byte ranges of the metadata: before the rows, and at the end of the disk.
pub fn ranges(geometry: &Geometry, disk: &MemberDisk) -> [Range<u64>; 2] {
    let [_, _, tail, _] = Superblock::offsets(disk.bytes()).expect("a member has room for its superblocks");
    [HEAD_BYTES..geometry.data_offset, tail.get()..(tail + TAIL_BYTES).get()]
}

/// A random piece of the metadata, as a byte range: one copy of a superblock, or one place of a page of any area.
pub fn pick(geometry: &Geometry, disk: &MemberDisk, rng: &mut Rng) -> Range<u64> {
    let areas = MetadataArea::ALL;
    let (start, len) = match (rng.below(1 + areas.len() as u64) as usize).checked_sub(1) {
        None => {
            let offsets = Superblock::offsets(disk.bytes()).expect("a member has room for its superblocks");
            (offsets[rng.below(4) as usize], SUPERBLOCK_BYTES as u64)
        }
        Some(area) => {
            let area = geometry.area(areas[area]);
            (area.page_offset(rng.below(area.pages), rng.below(area.places)), area.page_bytes)
        }
    };
    start.get()..(start + len).get()
}
