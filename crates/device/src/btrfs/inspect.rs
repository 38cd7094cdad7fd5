//! Reads places of one device and compares them with what btrfs's trees require there. Writes nothing.
//!
//! The trees are searched as they are now, and change meanwhile. So a block that does not match is checked again, with
//! new searches, before it counts as wrong; and it counts only if something uses the place.

use super::ioctl::{FsHandle, SearchRange};
use super::items::{self, ChunkItem, DeviceExtent, ItemKey, STRIPE_BYTES, TreeBlock};
use super::judge::{self, CSUM_BYTES, Checksums, TreeRules, Wrong, WrongBlock};
use super::members::{self, PoolMember, SUPERBLOCK};
use super::space::ExtentRun;
use crate::buffer::PageBuffer;
use scrubjay_core::units::SECTOR_BYTES;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// The longest device extent, in bytes. Those of files' data have 1 GiB at most; this leaves room.
const EXTENT_BYTES_MAX: u64 = 16 << 30;
/// The longest extent of data, in bytes (`BTRFS_MAX_EXTENT_SIZE`).
const DATA_EXTENT_BYTES_MAX: u64 = 128 << 20;
/// Repeated checks of a block that does not match.
const RECHECKS: u32 = 2;
/// Pause before each of them: longer than most writes under way take, with the commit that follows them.
const RECHECK_PAUSE: Duration = Duration::from_millis(20);
/// A device extent, and its chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlacedExtent {
    /// The extent.
    pub extent: DeviceExtent,
    /// Its chunk.
    pub chunk: ChunkItem,
    /// Index of this extent among the chunk's stripes.
    pub stripe: usize,
}

/// Checks places.
pub(super) struct Inspector {
    fs: FsHandle,
    members: Arc<Vec<PoolMember>>,
    rules: TreeRules,
    sector: u64,
    buffer: PageBuffer,
    /// Sectors that could not be read, and that are not in use: device, and byte offset on it.
    pub unused_unreadable: BTreeSet<(u64, u64)>,
}

/// The result of a read.
struct ReadBytes {
    /// The first byte in the buffer, counted from the beginning of the device extent.
    start: u64,
    length: usize,
    /// Blocks that could not be read, by their first byte, counted likewise.
    unreadable: BTreeSet<u64>,
}

fn invalid_data(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// The error for an extent that has changed since it was looked up.
fn moved_error() -> io::Error {
    io::Error::from_raw_os_error(libc::EAGAIN)
}

/// Whether the errno means that these data cannot be read.
fn is_medium_error(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::ENODATA | libc::EILSEQ))
}

impl Inspector {
    /// Made for the members of this file system.
    pub fn new(fs: FsHandle, members: Arc<Vec<PoolMember>>, rules: TreeRules, sector: u64) -> Inspector {
        Inspector { fs, members, rules, sector, buffer: PageBuffer::new(0, 1), unused_unreadable: BTreeSet::new() }
    }

    /// The device extents that have a byte in `range` of the device, in order, as they are now.
    ///
    /// # Errors
    /// The trees cannot be searched, or are inconsistent.
    pub fn extents(&self, device: u64, range: &Range<u64>) -> io::Result<Vec<PlacedExtent>> {
        let key = |offset| ItemKey::new(device, items::DEVICE_EXTENT, offset);
        let (first, last) = (range.start.saturating_sub(EXTENT_BYTES_MAX), range.end - 1);
        let mut found = Vec::new();
        self.search(items::DEVICE_TREE, key(first), key(last), &mut |key, item| {
            let extent = items::device_extent(key, item)?;
            if extent.end() > range.start {
                found.push(extent);
            }
            Ok(true)
        })?;
        let mut placed = Vec::new();
        for extent in found {
            // It was removed between the two searches: to be searched again.
            let chunk = self.chunk(extent.chunk)?.ok_or_else(moved_error)?;
            let stripe = chunk
                .stripe_at(extent.device, extent.physical)
                .ok_or_else(|| invalid_data("a device extent does not belong to its chunk"))?;
            if chunk.stripe_length().is_some_and(|length| length != extent.length) {
                return Err(invalid_data("a device extent is not as long as its chunk's stripes"));
            }
            placed.push(PlacedExtent { extent, chunk, stripe });
        }
        Ok(placed)
    }

    fn chunk(&self, logical: u64) -> io::Result<Option<ChunkItem>> {
        let key = ItemKey::new(items::CHUNK_OBJECT, items::CHUNK_ITEM, logical);
        let mut found = None;
        self.search(items::CHUNK_TREE, key, key, &mut |key, item| {
            found = Some(items::chunk(key, item)?);
            Ok(false)
        })?;
        Ok(found)
    }

    /// The wrong blocks in these bytes of the extent, as far as they are in use. Each is checked several times, each time with the
    /// trees as they are then.
    ///
    /// # Errors
    /// The trees cannot be searched, or the device fails; EAGAIN: the extent does not exist any more;
    /// [`io::ErrorKind::Unsupported`]: a tree block lies across two stripes, so only btrfs can judge it.
    pub fn wrong_in(&mut self, placed: &PlacedExtent, inside: Range<u64>) -> io::Result<Vec<WrongBlock>> {
        let mut wrong = self.check_once(placed, inside.clone())?;
        if wrong.is_empty() {
            return Ok(wrong);
        }
        let durable = self.durable_generation()?;
        for _ in 0..RECHECKS {
            sleep(RECHECK_PAUSE);
            let range = placed.extent.physical..placed.extent.end();
            if self.extents(placed.extent.device, &range)?.first() != Some(placed) {
                return Err(moved_error());
            }
            let again = self.recheck(placed, &wrong, durable)?;
            wrong.retain(|block| again.contains(block));
            if wrong.is_empty() {
                return Ok(wrong);
            }
        }
        let mut used = Vec::new();
        for block in wrong {
            if block.is_tree_block || self.is_used(block.logical)? {
                used.push(block);
            } else if block.kind == Wrong::Unreadable {
                self.unused_unreadable.insert((placed.extent.device, placed.extent.physical + block.inside));
            }
        }
        Ok(used)
    }

    /// Whether the device with this number is present.
    pub fn is_present(&self, device: u64) -> bool {
        members::numbered(&self.members, device).is_ok()
    }

    /// Whether another copy of the block is right.
    ///
    /// # Errors
    /// The trees cannot be searched.
    pub fn has_right_copy(&mut self, placed: &PlacedExtent, block: &WrongBlock) -> io::Result<bool> {
        let length = placed.extent.length;
        let stripes = placed.chunk.stripes.clone();
        for (device, physical) in placed.chunk.copies(block.logical) {
            let stripe = stripes
                .iter()
                .position(|(number, start)| *number == device && (*start..start + length).contains(&physical));
            let Some(stripe) = stripe.filter(|stripe| *stripe != placed.stripe) else { continue };
            if members::numbered(&self.members, device).is_err() {
                continue; // it is missing
            }
            let extent = DeviceExtent { device, physical: stripes[stripe].1, ..placed.extent };
            let copy = PlacedExtent { extent, chunk: placed.chunk.clone(), stripe };
            let inside = physical - stripes[stripe].1;
            if self.check_once(&copy, inside..inside + block.bytes).is_ok_and(|wrong| wrong.is_empty()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The blocks in `wrong` that are still wrong. Tree blocks that are newer than `durable` may not be written yet, and are left out.
    fn recheck(&mut self, placed: &PlacedExtent, wrong: &[WrongBlock], durable: u64) -> io::Result<Vec<WrongBlock>> {
        let mut still = Vec::new();
        for block in wrong {
            if block.is_tree_block {
                let newer = self.tree_blocks(&(block.logical..block.logical + 1))?;
                if newer.iter().any(|new| new.logical == block.logical && new.generation > durable) {
                    continue;
                }
            }
            let again = self.check_once(placed, block.inside..block.inside + block.bytes)?;
            still.extend(again.into_iter().filter(|new| new == block));
        }
        Ok(still)
    }

    /// Checks a range once.
    fn check_once(&mut self, placed: &PlacedExtent, inside: Range<u64>) -> io::Result<Vec<WrongBlock>> {
        let (chunk, length) = (&placed.chunk, placed.extent.length);
        let holds_tree_blocks = chunk.holds_tree_blocks();
        // A tree block is judged as a whole.
        let widened = if holds_tree_blocks {
            let start = inside.start.saturating_sub(self.rules.node_bytes) / STRIPE_BYTES * STRIPE_BYTES;
            start..(inside.end + self.rules.node_bytes).next_multiple_of(STRIPE_BYTES).min(length)
        } else {
            inside.clone()
        };
        let runs = chunk.runs(placed.stripe, widened.clone());
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else {
            return Err(invalid_data("a chunk with parities cannot be looked at"));
        };
        let logical = first.logical..last.logical + (last.inside.end - last.inside.start);
        let sums = if chunk.holds_data() { self.checksums(&logical)? } else { Checksums::default() };
        let blocks = if holds_tree_blocks { self.tree_blocks(&logical)? } else { Vec::new() };
        let read = self.read(placed, widened)?;
        let bytes = &self.buffer.as_mut_slice()[..read.length];
        let mut wrong = Vec::new();
        let mut reported = BTreeSet::new();
        for block in blocks {
            let Some(at) = judge::place_of(&runs, block.logical, self.rules.node_bytes) else {
                if judge::is_torn(&runs, block.logical, self.rules.node_bytes, &inside) {
                    return Err(io::ErrorKind::Unsupported.into());
                }
                continue;
            };
            let is_unreadable = read.unreadable.range(at..at + self.rules.node_bytes).next().is_some();
            let from = (at - read.start) as usize;
            let kind = if is_unreadable {
                Some(Wrong::Unreadable)
            } else {
                judge::judge_tree_block(&bytes[from..from + self.rules.node_bytes as usize], block, &self.rules)
            };
            let Some(kind) = kind else { continue };
            reported.extend((at..at + self.rules.node_bytes).step_by(self.sector as usize));
            let (logical, bytes) = (block.logical, self.rules.node_bytes);
            wrong.push(WrongBlock { inside: at, logical, bytes, kind, is_tree_block: true });
        }
        let data = judge::judge_data(bytes, read.start, &runs, &sums, self.sector);
        wrong.extend(data.into_iter().filter(|block| !read.unreadable.contains(&block.inside)));
        for at in read.unreadable.iter().filter(|at| !reported.contains(at)) {
            let logical = logical_of(&runs, *at).ok_or_else(|| invalid_data("a block outside of what was read"))?;
            let (inside, bytes) = (*at, self.sector);
            wrong.push(WrongBlock { inside, logical, bytes, kind: Wrong::Unreadable, is_tree_block: false });
        }
        wrong.retain(|block| block.inside < inside.end && inside.start < block.inside + block.bytes);
        wrong.sort_unstable_by_key(|block| block.inside);
        Ok(wrong)
    }

    /// The checksums for these logical addresses.
    fn checksums(&self, logical: &Range<u64>) -> io::Result<Checksums> {
        // The longest distance from the beginning of an item to its last block: an item lies in one tree block.
        let reach = self.rules.node_bytes / CSUM_BYTES * self.sector;
        let key = |offset| ItemKey::new(items::CSUM_OBJECT, items::CSUM_ITEM, offset);
        let mut sums = Checksums::default();
        let (first, last) = (key(logical.start.saturating_sub(reach)), key(logical.end - 1));
        self.search(items::CSUM_TREE, first, last, &mut |key, item| {
            sums.take(key, item, self.sector, logical);
            Ok(true)
        })?;
        Ok(sums)
    }

    /// Whether a tree block lies in these logical addresses.
    ///
    /// # Errors
    /// The tree cannot be searched.
    pub fn is_tree_block(&self, logical: &Range<u64>) -> io::Result<bool> {
        Ok(!self.tree_blocks(logical)?.is_empty())
    }

    /// The tree blocks that have a byte in these logical addresses.
    fn tree_blocks(&self, logical: &Range<u64>) -> io::Result<Vec<TreeBlock>> {
        let first = ItemKey::new(logical.start.saturating_sub(self.rules.node_bytes - 1), items::EXTENT_ITEM, 0);
        let last = ItemKey::new(logical.end - 1, items::METADATA_ITEM, u64::MAX);
        let mut blocks = Vec::new();
        self.search(items::EXTENT_TREE, first, last, &mut |key, item| {
            blocks.extend(items::tree_block(key, item)?);
            Ok(true)
        })?;
        Ok(blocks)
    }

    /// Whether an extent covers this logical address.
    ///
    /// # Errors
    /// The tree cannot be searched.
    pub fn is_used(&self, logical: u64) -> io::Result<bool> {
        let first = ItemKey::new(logical.saturating_sub(DATA_EXTENT_BYTES_MAX), items::EXTENT_ITEM, 0);
        let last = ItemKey::new(logical, items::METADATA_ITEM, u64::MAX);
        let mut is_used = false;
        self.search(items::EXTENT_TREE, first, last, &mut |key, _| {
            is_used |= items::covers(key, self.rules.node_bytes, logical);
            Ok(!is_used)
        })?;
        Ok(is_used)
    }

    /// The last transaction that a superblock records: tree blocks up to that one are written. The newest of all devices is used,
    /// because one that was away may be behind, and must not be excused by that.
    fn durable_generation(&mut self) -> io::Result<u64> {
        let members = Arc::clone(&self.members);
        self.reserve((SUPERBLOCK.end - SUPERBLOCK.start) as usize);
        let mut newest = None;
        for member in members.iter() {
            let bytes = &mut self.buffer.as_mut_slice()[..4096];
            if member.reader().read(bytes, SUPERBLOCK.start).is_ok() {
                newest = newest.max(Some(u64::from_le_bytes(bytes[72..80].try_into().expect("eight bytes"))));
            }
        }
        newest.ok_or_else(|| invalid_data("no superblock can be read"))
    }

    /// The number of chunks that begin at this logical address or behind it, and the first address behind all of them. Addresses are
    /// never reused.
    ///
    /// # Errors
    /// The tree cannot be searched.
    pub fn chunks_from(&self, logical: u64) -> io::Result<(u64, u64)> {
        let key = |offset| ItemKey::new(items::CHUNK_OBJECT, items::CHUNK_ITEM, offset);
        let (mut count, mut next) = (0, logical);
        self.search(items::CHUNK_TREE, key(logical), key(u64::MAX), &mut |key, _| {
            (count, next) = (count + 1, key.offset.saturating_add(1));
            Ok(true)
        })?;
        Ok((count, next))
    }

    /// Whether any extent begins in these logical addresses.
    ///
    /// # Errors
    /// The tree cannot be searched.
    pub fn is_any_used(&self, logical: Range<u64>) -> io::Result<bool> {
        let first = ItemKey::new(logical.start, items::EXTENT_ITEM, 0);
        let last = ItemKey::new(logical.end - 1, items::METADATA_ITEM, u64::MAX);
        let mut is_used = false;
        self.search(items::EXTENT_TREE, first, last, &mut |key, _| {
            is_used |= matches!(key.kind, items::EXTENT_ITEM | items::METADATA_ITEM);
            Ok(!is_used)
        })?;
        Ok(is_used)
    }

    /// Reads these bytes of an extent into the buffer; where that fails, block by block.
    fn read(&mut self, placed: &PlacedExtent, inside: Range<u64>) -> io::Result<ReadBytes> {
        let members = Arc::clone(&self.members);
        let member = members::numbered(&members, placed.extent.device)?.reader();
        let length = (inside.end - inside.start) as usize;
        let sector = self.sector as usize;
        self.reserve(length);
        let bytes = &mut self.buffer.as_mut_slice()[..length];
        let physical = placed.extent.physical + inside.start;
        let mut unreadable = BTreeSet::new();
        match member.read(bytes, physical) {
            Ok(()) => (),
            Err(error) if is_medium_error(&error) => {
                for at in (0..length).step_by(sector) {
                    match member.read(&mut bytes[at..at + sector], physical + at as u64) {
                        Ok(()) => (),
                        Err(error) if is_medium_error(&error) => {
                            unreadable.insert(inside.start + at as u64);
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(ReadBytes { start: inside.start, length, unreadable })
    }

    fn reserve(&mut self, length: usize) {
        if self.buffer.len() < length {
            self.buffer = PageBuffer::new(length.next_multiple_of(1 << 20), self.sector as usize);
        }
    }

    fn search(
        &self,
        tree: u64,
        first: ItemKey,
        last: ItemKey,
        each: &mut dyn FnMut(ItemKey, &[u8]) -> io::Result<bool>,
    ) -> io::Result<()> {
        let mut failed = None;
        self.fs.search(SearchRange { tree, first, last }, &mut |key, item| match each(key, item) {
            Ok(continues) => continues,
            Err(error) => {
                failed = Some(error);
                false
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// 512-byte sectors that were read from all members so far.
    pub fn sectors_read(&self) -> u64 {
        self.members.iter().map(|member| member.traffic.bytes() / SECTOR_BYTES).sum()
    }
}

fn logical_of(runs: &[ExtentRun], inside: u64) -> Option<u64> {
    let run = runs.iter().find(|run| run.inside.contains(&inside))?;
    Some(run.logical + (inside - run.inside.start))
}
