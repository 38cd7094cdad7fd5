//! Verifies ranges: checks each place itself, and gives extents with errors to btrfs's own scrub, which repairs them.
//!
//! ```text
//! range -> devices -> device extents --- unallocated: nothing to verify
//!                                    |-- checked (`inspect`): right: clean
//!                                    |                        wrong: all of the extent is checked, then given to btrfs's
//!                                    |                               scrub; what is still wrong is unrepaired, or lost
//!                                    `-- parities, other checksums: btrfs's scrub verifies all of the extent
//! ```

use super::findings::PoolLog;
use super::inspect::{Inspector, PlacedExtent};
use super::ioctl::{FsHandle, ScrubCounts};
use super::items::DeviceExtent;
use super::judge::{Wrong, WrongBlock};
use super::members::SUPERBLOCK;
use super::names::FileNames;
use super::space::{AddressSpace, DeviceRange};
use crate::clock;
use scrubjay_core::finding::{Finding, FindingKind, FoundContent, FoundOn, Resolution};
use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
use scrubjay_core::units::{Bytes, Nanos, SectorRange, UnixSeconds};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Bytes that are checked at a time when all of an extent is.
const PIECE_BYTES: u64 = 1 << 20;
/// Interval at which the worker checks for other scrubs of the file system.
const OTHER_SCRUBS_INTERVAL: Nanos = Nanos::from_secs(1);
/// The longest wait for another scrub before a verification is given up as inconclusive.
const OTHER_SCRUBS_TIMEOUT: Duration = Duration::from_secs(5);
const OTHER_SCRUBS_PAUSE: Duration = Duration::from_millis(100);

/// Shared by the worker's thread and those that may stop it.
#[derive(Debug, Default)]
pub(super) struct WorkerSignals {
    /// The worker is to end as soon as it can.
    pub is_stopped: AtomicBool,
    /// A btrfs scrub of the worker is in the kernel.
    pub is_in_kernel: AtomicBool,
    /// Starts and ends of the worker's btrfs scrubs of chunks with parities, counted: odd while one is under way. Their reads are
    /// not in the idle class, so they cannot be told from the foreground's.
    pub parity_turns: AtomicU64,
}

/// The parts of a worker.
pub(super) struct WorkerSetup {
    pub fs: FsHandle,
    pub inspector: Inspector,
    pub space: AddressSpace,
    pub names: FileNames,
    pub log: PoolLog,
    pub signals: Arc<WorkerSignals>,
    /// Whether nothing may be repaired.
    pub is_read_only: bool,
    /// Whether all extents are left to btrfs's own scrub, because checksums or places cannot be computed here.
    pub is_kernel_only: bool,
    /// Bytes of the smallest block that has a checksum.
    pub sector: u64,
}

/// Verifies ranges, one at a time.
pub(super) struct Worker {
    setup: WorkerSetup,
    /// Wrong blocks without a right copy: (device, physical) -> bytes.
    lost: BTreeMap<(u64, u64), u64>,
    /// Blocks that are still wrong although a copy is right: each is reported once.
    unrepaired: BTreeSet<(u64, u64)>,
    /// Unreadable blocks that are not in use, and were counted.
    unused_counted: BTreeSet<(u64, u64)>,
    /// Extents that btrfs's own scrub has verified in this run.
    answered: BTreeSet<DeviceExtent>,
    /// Repaired sectors, to be reported with the next range that is not lost.
    unreported_repairs: u64,
    others_checked: Option<Nanos>,
}

/// Why a range has no outcome.
type Unanswered = io::Error;

impl Worker {
    pub fn new(setup: WorkerSetup) -> Worker {
        let next = setup.inspector.chunks_from(0).ok().map(|(_, next)| next);
        setup.log.note(|found| found.chunks_known = found.chunks_known.or(next));
        Worker {
            setup,
            lost: BTreeMap::new(),
            unrepaired: BTreeSet::new(),
            unused_counted: BTreeSet::new(),
            answered: BTreeSet::new(),
            unreported_repairs: 0,
            others_checked: None,
        }
    }

    /// Verifies a range.
    pub fn verify(&mut self, range: SectorRange) -> VerifyOutcome {
        let (mut is_allocated, mut is_lost) = (false, false);
        for part in self.setup.space.parts(range) {
            match self.verify_part(&part) {
                Ok(verdict) => {
                    is_allocated |= verdict.is_allocated;
                    is_lost |= verdict.is_lost;
                }
                Err(error) => return unanswered(&error),
            }
        }
        if is_lost {
            return VerifyOutcome::Unreadable(Cause::Lost);
        }
        match std::mem::take(&mut self.unreported_repairs) {
            0 if is_allocated => VerifyOutcome::Clean,
            0 => VerifyOutcome::Unwritten,
            unreported_repairs => VerifyOutcome::Corrected(u32::try_from(unreported_repairs).unwrap_or(u32::MAX)),
        }
    }

    /// 512-byte sectors that were read so far.
    pub fn sectors_read(&self) -> u64 {
        self.setup.inspector.sectors_read()
    }

    /// Called when nothing more is to be verified: notes how many chunks were allocated meanwhile.
    pub fn end(&self) {
        let known = self.setup.log.counts().chunks_known;
        let new = known.and_then(|known| self.setup.inspector.chunks_from(known).ok());
        self.setup.log.note(|found| found.chunks_new = new.map_or(0, |(count, _)| count));
    }

    fn verify_part(&mut self, part: &DeviceRange) -> Result<PartVerdict, Unanswered> {
        self.wait_for_other_scrubs()?;
        let mut verdict = PartVerdict::default();
        if part.bytes.contains(&SUPERBLOCK.start) {
            verdict.is_allocated = true;
            self.verify_superblocks(part.device)?;
        }
        for placed in self.setup.inspector.extents(part.device, &part.bytes)? {
            let extent = placed.extent;
            let (start, end) = (part.bytes.start.max(extent.physical), part.bytes.end.min(extent.end()));
            verdict.is_allocated = true;
            if !self.is_lost(extent.device, &(start..end)) {
                if self.setup.is_kernel_only || placed.chunk.is_parity() {
                    self.leave_to_kernel(&placed)?;
                } else {
                    match self.check(&placed, start - extent.physical..end - extent.physical) {
                        // What cannot be judged here, btrfs can judge.
                        Err(error) if error.kind() == io::ErrorKind::Unsupported => self.leave_to_kernel(&placed)?,
                        result => result?,
                    }
                }
            }
        }
        self.note_unused(part);
        verdict.is_lost = self.is_lost(part.device, &part.bytes);
        Ok(verdict)
    }

    fn is_lost(&self, device: u64, bytes: &Range<u64>) -> bool {
        let before = self.lost.range((device, 0)..(device, bytes.end)).next_back();
        before.is_some_and(|(&(_, physical), &length)| physical + length > bytes.start)
    }

    /// Checks a piece of an extent; if something is wrong, checks all of the extent, and has it repaired.
    fn check(&mut self, placed: &PlacedExtent, inside: Range<u64>) -> Result<(), Unanswered> {
        let wrong = self.setup.inspector.wrong_in(placed, inside)?;
        if wrong.iter().all(|block| self.is_known(placed, block)) {
            return Ok(());
        }
        let mut all = Vec::new();
        let mut at = 0;
        while at < placed.extent.length {
            self.check_stopped()?;
            let end = (at + PIECE_BYTES).min(placed.extent.length);
            // A tree block may extend into the next piece.
            let new: Vec<WrongBlock> = self.setup.inspector.wrong_in(placed, at..end)?;
            all.extend(new.into_iter().filter(|block| block.inside >= at && !self.is_known(placed, block)));
            at = end;
        }
        all.dedup();
        let once: Vec<WrongBlock> = wrong.into_iter().filter(|block| !self.is_known(placed, block)).collect();
        self.note_transient(placed, &no_longer_wrong(once, &all));
        if all.is_empty() {
            return Ok(());
        }
        self.scrub(placed.extent.device, placed.extent.physical..placed.extent.physical + 1)?;
        self.setup.log.note(|found| found.extents_given += 1);
        self.classify(placed, &all)
    }

    /// Notes blocks that were wrong, and are right by now although nothing was repaired here.
    fn note_transient(&mut self, placed: &PlacedExtent, blocks: &[WrongBlock]) {
        let sectors: u64 = blocks.iter().map(|block| block.bytes.div_ceil(self.setup.sector)).sum();
        self.unreported_repairs += sectors;
        self.setup.log.note(|found| found.transient += sectors);
        for run in runs(placed, blocks, &vec![Resolution::Transient; blocks.len()]) {
            self.note_run(&run, placed);
        }
    }

    fn is_known(&self, placed: &PlacedExtent, block: &WrongBlock) -> bool {
        let at = placed.extent.physical + block.inside;
        let device = placed.extent.device;
        self.unrepaired.contains(&(device, at)) || self.is_lost(device, &(at..at + block.bytes))
    }

    /// Determines, after btrfs's own scrub, what is right now and what is not.
    fn classify(&mut self, placed: &PlacedExtent, wrong: &[WrongBlock]) -> Result<(), Unanswered> {
        let mut still = BTreeSet::new();
        let mut checked_to = 0;
        for block in wrong {
            if block.inside < checked_to {
                continue;
            }
            // Many blocks at a time, because wrong ones are checked several times, with pauses.
            checked_to = (block.inside + PIECE_BYTES).min(placed.extent.length);
            let again = self.setup.inspector.wrong_in(placed, block.inside..checked_to)?;
            still.extend(again.iter().map(|block| block.inside));
        }
        let mut ends = Vec::with_capacity(wrong.len());
        for block in wrong {
            ends.push(if !still.contains(&block.inside) {
                Resolution::Repaired
            } else if self.setup.inspector.has_right_copy(placed, block)? {
                Resolution::Reconstructed
            } else {
                Resolution::Lost
            });
        }
        let sectors = |end: Resolution| -> u64 {
            let blocks = wrong.iter().zip(&ends).filter(|(_, is)| **is == end);
            blocks.map(|(block, _)| block.bytes.div_ceil(self.setup.sector)).sum()
        };
        // Counted here: btrfs counts every block of a failed read, and most of these can be read by themselves.
        let unrepaired = sectors(Resolution::Reconstructed);
        self.unreported_repairs += sectors(Resolution::Repaired) + unrepaired;
        self.setup.log.note(|found| found.unrepaired += unrepaired);
        let device = placed.extent.device;
        for (block, end) in wrong.iter().zip(&ends) {
            let at = (device, placed.extent.physical + block.inside);
            match end {
                Resolution::Reconstructed => drop(self.unrepaired.insert(at)),
                Resolution::Lost => drop(self.lost.insert(at, block.bytes)),
                _ => (),
            }
        }
        for run in runs(placed, wrong, &ends) {
            self.note_run(&run, placed);
        }
        Ok(())
    }

    /// Notes a run of blocks, with its files.
    fn note_run(&mut self, run: &WrongRun, placed: &PlacedExtent) {
        let (files, files_untold) = if placed.chunk.holds_tree_blocks() && !placed.chunk.holds_data() {
            (vec!["a tree block of btrfs".to_owned()], 0)
        } else {
            self.setup.names.of(run.logical, run.bytes, self.setup.sector)
        };
        let content = FoundContent::Extent { logical: Some(run.logical), files, files_untold };
        let bytes = run.physical..run.physical + run.bytes;
        self.note(placed.extent.device, bytes, run.kind, run.resolution, content);
    }

    /// Notes what was wrong on a device.
    fn note(&self, device: u64, bytes: Range<u64>, kind: FindingKind, resolution: Resolution, content: FoundContent) {
        let length = Bytes(bytes.end - bytes.start);
        self.setup.log.add(Finding {
            place: self.setup.space.range_of(device, &bytes),
            kind,
            resolution,
            member: Some(FoundOn { number: Some(device), name: None, offset: Some(bytes.start), bytes: length }),
            content,
            since: UnixSeconds(0),
        });
    }

    /// Has btrfs's own scrub verify all of the extent, once in a run.
    fn leave_to_kernel(&mut self, placed: &PlacedExtent) -> Result<(), Unanswered> {
        let extent = placed.extent;
        if !self.answered.insert(extent) {
            return Ok(());
        }
        let is_parity = placed.chunk.is_parity();
        let (signals, begun) = (Arc::clone(&self.setup.signals), clock::now());
        let turn = || is_parity.then(|| signals.parity_turns.fetch_add(1, Ordering::SeqCst));
        turn();
        let scrubbed = self.scrub(extent.device, extent.physical..extent.physical + 1);
        turn();
        if is_parity {
            let unwatched = clock::now().since(begun);
            self.setup.log.note(|found| found.unwatched += unwatched);
        }
        let counts = match scrubbed {
            Ok(counts) => counts,
            Err(error) => {
                self.answered.remove(&extent);
                return Err(error);
            }
        };
        self.setup.log.note(|found| found.extents_given += 1);
        // It does not report that it skipped a chunk, as it does where a swap file is in use.
        let (chunk, is_untouched) = (&placed.chunk, counts.data_bytes + counts.tree_bytes == 0);
        let is_whole = chunk.stripe_length() == Some(chunk.length);
        if is_whole && is_untouched && self.setup.inspector.is_any_used(chunk.logical..chunk.logical + chunk.length)? {
            self.answered.remove(&extent);
            return Err(io::Error::from_raw_os_error(libc::ETXTBSY));
        }
        let is_lost = counts.uncorrectable_errors > 0;
        self.unreported_repairs += counts.corrected_errors;
        if is_lost {
            self.lost.insert((extent.device, extent.physical), extent.length);
        }
        if is_lost || counts.corrected_errors > 0 {
            let resolution = if is_lost { Resolution::Lost } else { self.end_of_repairs() };
            let files = vec![format!("somewhere in the {} chunk at {}", placed.chunk.profile(), placed.chunk.logical)];
            let content = FoundContent::Extent { logical: None, files, files_untold: 0 };
            let bytes = extent.physical..extent.end();
            self.note(extent.device, bytes, FindingKind::Chunk, resolution, content);
        }
        Ok(())
    }

    fn end_of_repairs(&self) -> Resolution {
        if self.setup.is_read_only { Resolution::Reconstructed } else { Resolution::Repaired }
    }

    /// Verifies the superblocks of a device: has btrfs scrub an empty range, which includes nothing else.
    fn verify_superblocks(&mut self, device: u64) -> Result<(), Unanswered> {
        let counts = self.scrub(device, 0..0)?;
        if counts.super_errors == 0 {
            return Ok(());
        }
        // Where it may, btrfs rewrites them.
        let left = if self.setup.is_read_only { counts } else { self.scrub(device, 0..0)? };
        let end = if left.super_errors > 0 { Resolution::Reconstructed } else { Resolution::Repaired };
        self.unreported_repairs += counts.super_errors;
        self.setup.log.note(|counts| counts.unrepaired += left.super_errors);
        let files = vec![format!("{} of its superblocks", counts.super_errors)];
        let content = FoundContent::Extent { logical: None, files, files_untold: 0 };
        self.note(device, SUPERBLOCK, FindingKind::Superblock, end, content);
        Ok(())
    }

    /// Has btrfs's own scrub verify all extents of the device in `bytes`. Its counts are noted only if it ran to its end.
    fn scrub(&mut self, device: u64, bytes: Range<u64>) -> Result<ScrubCounts, Unanswered> {
        let signals = Arc::clone(&self.setup.signals);
        self.check_stopped()?;
        signals.is_in_kernel.store(true, Ordering::SeqCst);
        let result = self.setup.fs.scrub(device, bytes.start, bytes.end, self.setup.is_read_only);
        signals.is_in_kernel.store(false, Ordering::SeqCst);
        match result {
            Ok(counts) if counts.malloc_errors > 0 => Err(io::Error::from_raw_os_error(libc::ENOMEM)),
            Ok(counts) => {
                self.setup.log.note(|found| found.counts.add(&counts));
                Ok(counts)
            }
            Err(error) => Err(error),
        }
    }

    /// Never runs two scrubs at once: waits for another one for a while, then fails with EINPROGRESS.
    fn wait_for_other_scrubs(&mut self) -> Result<(), Unanswered> {
        let now = clock::now();
        if self.others_checked.is_some_and(|at| now.since(at) < OTHER_SCRUBS_INTERVAL) {
            return Ok(());
        }
        let mut waited = Duration::ZERO;
        while self.is_any_scrubbing()? {
            self.setup.log.note(|found| found.has_waited = true);
            self.check_stopped()?;
            if waited >= OTHER_SCRUBS_TIMEOUT {
                return Err(io::Error::from_raw_os_error(libc::EINPROGRESS));
            }
            sleep(OTHER_SCRUBS_PAUSE);
            waited += OTHER_SCRUBS_PAUSE;
        }
        self.others_checked = Some(clock::now());
        Ok(())
    }

    fn is_any_scrubbing(&self) -> io::Result<bool> {
        for (device, _) in self.setup.space.devices() {
            if self.setup.fs.is_scrubbing(*device)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn check_stopped(&self) -> Result<(), Unanswered> {
        match self.setup.signals.is_stopped.load(Ordering::SeqCst) {
            true => Err(io::Error::from_raw_os_error(libc::ECANCELED)),
            false => Ok(()),
        }
    }

    /// Counts the unreadable blocks of this part that are not in use, each once. Those of the rest of an extent that was looked at have
    /// their turn later.
    fn note_unused(&mut self, part: &DeviceRange) {
        let is_inside = |&&(device, at): &&(u64, u64)| device == part.device && part.bytes.contains(&at);
        let seen: Vec<(u64, u64)> = self.setup.inspector.unused_unreadable.iter().filter(is_inside).copied().collect();
        let new = seen.into_iter().filter(|&block| self.unused_counted.insert(block)).count() as u64;
        if new > 0 {
            self.setup.log.note(|found| found.unused_unreadable += new);
        }
    }
}

/// The outcome for a part of a range.
#[derive(Clone, Copy, Debug, Default)]
struct PartVerdict {
    is_allocated: bool,
    is_lost: bool,
}

/// The outcome of a range that could not be verified: the error proves nothing about the medium.
fn unanswered(error: &io::Error) -> VerifyOutcome {
    match error.raw_os_error() {
        Some(libc::ENXIO | libc::ENODEV) => VerifyOutcome::Gone,
        Some(errno) => VerifyOutcome::Inconclusive(Cause::Errno(errno)),
        None => VerifyOutcome::Inconclusive(Cause::Errno(libc::EPROTO)),
    }
}

/// A run of wrong blocks of an extent.
struct WrongRun {
    /// Byte offset on the device.
    physical: u64,
    /// The logical address.
    logical: u64,
    bytes: u64,
    kind: FindingKind,
    resolution: Resolution,
}

/// Joins blocks into one run if they are adjacent, on the device and in logical addresses, and ended alike.
fn runs(placed: &PlacedExtent, wrong: &[WrongBlock], ends: &[Resolution]) -> Vec<WrongRun> {
    let mut runs: Vec<WrongRun> = Vec::new();
    for (block, &resolution) in wrong.iter().zip(ends) {
        let physical = placed.extent.physical + block.inside;
        let kind = match block.kind {
            Wrong::Unreadable => FindingKind::Unreadable(None),
            Wrong::Checksum => FindingKind::Checksum,
            Wrong::Identity => FindingKind::Identity,
        };
        if let Some(last) = runs.last_mut()
            && (last.kind, last.resolution) == (kind, resolution)
            && (last.physical + last.bytes, last.logical + last.bytes) == (physical, block.logical)
        {
            last.bytes += block.bytes;
            continue;
        }
        runs.push(WrongRun { physical, logical: block.logical, bytes: block.bytes, kind, resolution });
    }
    runs
}

/// Those of the blocks found wrong `first` that are not among those found wrong later.
fn no_longer_wrong(first: Vec<WrongBlock>, later: &[WrongBlock]) -> Vec<WrongBlock> {
    first.into_iter().filter(|block| !later.iter().any(|other| other.inside == block.inside)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::items::{CHUNK_DATA, ChunkItem};
    use super::*;

    #[test]
    fn adjacent_blocks_that_ended_alike_are_one_run() {
        let extent = DeviceExtent { device: 2, physical: 1 << 20, length: 1 << 20, chunk: 1 << 30 };
        let chunk = ChunkItem {
            logical: 1 << 30,
            length: 1 << 20,
            flags: CHUNK_DATA,
            sub_stripes: 1,
            stripes: vec![(2, 1 << 20)],
        };
        let placed = PlacedExtent { extent, chunk, stripe: 0 };
        let block = |inside: u64, kind| WrongBlock {
            inside,
            logical: (1 << 30) + inside,
            bytes: 4096,
            kind,
            is_tree_block: false,
        };
        let wrong = [
            block(0, Wrong::Checksum),
            block(4096, Wrong::Checksum),
            block(8192, Wrong::Unreadable),
            block(16384, Wrong::Unreadable),
            block(20480, Wrong::Unreadable),
        ];
        let ends =
            [Resolution::Repaired, Resolution::Repaired, Resolution::Repaired, Resolution::Repaired, Resolution::Lost];
        let joined: Vec<_> = runs(&placed, &wrong, &ends).iter().map(|run| (run.physical, run.bytes)).collect();
        let at = |inside: u64| (1 << 20) + inside;
        assert_eq!(joined, [(at(0), 8192), (at(8192), 4096), (at(16384), 4096), (at(20480), 4096)]);
    }

    #[test]
    fn what_is_right_when_read_again_is_told_from_what_stays_wrong() {
        let block = |inside: u64| WrongBlock {
            inside,
            logical: inside,
            bytes: 4096,
            kind: Wrong::Checksum,
            is_tree_block: false,
        };
        let inside = |blocks: Vec<WrongBlock>| blocks.iter().map(|block| block.inside).collect::<Vec<_>>();
        assert_eq!(inside(no_longer_wrong(vec![block(0), block(8192)], &[block(8192), block(12288)])), [0]);
        assert_eq!(inside(no_longer_wrong(vec![block(0), block(8192)], &[])), [0, 8192]);
    }

    #[test]
    fn a_failed_request_is_no_verdict_on_the_medium() {
        let of = |errno| unanswered(&io::Error::from_raw_os_error(errno));
        for errno in [libc::ECANCELED, libc::EINPROGRESS, libc::EROFS, libc::ENOMEM, libc::EIO, libc::EINTR] {
            assert_eq!(of(errno), VerifyOutcome::Inconclusive(Cause::Errno(errno)));
        }
        assert_eq!(of(libc::ENODEV), VerifyOutcome::Gone);
        let nonsense = io::Error::new(io::ErrorKind::InvalidData, "torn");
        assert_eq!(unanswered(&nonsense), VerifyOutcome::Inconclusive(Cause::Errno(libc::EPROTO)));
    }
}
