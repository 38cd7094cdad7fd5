//! What a btrfs scrub tells beside its verdicts: its findings, until the scrub takes them, and counts as btrfs counts.

use super::ioctl::ScrubCounts;
use scrubjay_core::finding::{Finding, Resolution};
use scrubjay_core::scrub::{TRANSIENT, Tallies};
use scrubjay_core::units::Nanos;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tallies of a pass: those counts of [`PoolCounts`] that are of all its runs; and [`TRANSIENT`].
const CHUNKS_KNOWN: &str = "chunks-known";
const LOST_BYTES: &str = "lost-bytes";
const UNUSED_UNREADABLE: &str = "unused-unreadable";
const UNREPAIRED: &str = "unrepaired";

/// Collects both. A clone is a handle on the same.
#[derive(Clone, Debug, Default)]
pub struct PoolLog {
    inner: Arc<Mutex<PoolNotes>>,
}

#[derive(Debug, Default)]
struct PoolNotes {
    counts: PoolCounts,
    /// Findings that the scrub has not taken yet.
    new: Vec<Finding>,
}

/// The counts so far.
#[derive(Clone, Debug, Default)]
pub struct PoolCounts {
    /// Counts of btrfs's own scrub, in the extents that were given to it and at the superblocks, in this run.
    pub counts: ScrubCounts,
    /// Device extents that were given to btrfs's own scrub, in this run.
    pub extents_given: u64,
    /// Bytes of wrong blocks of which no copy is right, in all runs of the pass.
    pub lost_bytes: u64,
    /// Sectors of blocks, and superblocks, that are still wrong, though a copy elsewhere is right, in all runs of the pass: nothing was
    /// repaired.
    pub unrepaired: u64,
    /// Sectors of blocks that were wrong each time they were checked, and right when their extent was read: btrfs repaired them
    /// when a client read them, or the device gave wrong bytes for a while. In all runs of the pass.
    pub transient: u64,
    /// Blocks that cannot be read and that are not in use, in all runs of the pass.
    pub unused_unreadable: u64,
    /// Time in which btrfs's own scrub read chunks with parities, so that the foreground could not be seen.
    pub unwatched: Nanos,
    /// Chunks from this logical address on were allocated since the pass began; `None`: not known yet.
    pub chunks_known: Option<u64>,
    /// Chunks that were allocated since the pass began, and may not have been verified.
    pub chunks_new: u64,
    /// Whether another scrub of the file system was waited for.
    pub has_waited: bool,
}

impl PoolCounts {
    /// Whether nothing was wrong, as far as it is counted.
    pub fn is_spotless(&self) -> bool {
        self.is_mended() && self.transient == 0
    }

    /// Whether nothing is left wrong, as far as it is counted.
    pub fn is_mended(&self) -> bool {
        [self.lost_bytes, self.unrepaired, self.unused_unreadable] == [0; 3]
    }
}

impl PoolLog {
    /// The counts so far.
    pub fn counts(&self) -> PoolCounts {
        self.lock().counts.clone()
    }

    /// The findings since the last call.
    pub(super) fn take(&self) -> Vec<Finding> {
        std::mem::take(&mut self.lock().new)
    }

    /// Notes a finding.
    pub(super) fn add(&self, finding: Finding) {
        let mut inner = self.lock();
        if finding.resolution == Resolution::Lost {
            inner.counts.lost_bytes += finding.member.as_ref().map_or(0, |on| on.bytes.0);
        }
        inner.new.push(finding);
    }

    /// Changes counts.
    pub(super) fn note(&self, change: impl FnOnce(&mut PoolCounts)) {
        change(&mut self.lock().counts);
    }

    /// What is kept for the next run of the pass.
    pub(super) fn tallies(&self) -> Tallies {
        let counts = &self.lock().counts;
        let all = [
            (LOST_BYTES, counts.lost_bytes),
            (UNUSED_UNREADABLE, counts.unused_unreadable),
            (UNREPAIRED, counts.unrepaired),
            (TRANSIENT, counts.transient),
        ];
        let all = all.into_iter().filter(|(_, count)| *count > 0);
        let known = counts.chunks_known.map(|known| (CHUNKS_KNOWN, known));
        all.chain(known).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// Takes what earlier runs of the pass kept.
    pub(super) fn resume(&self, tallies: &Tallies) {
        let kept = |name| tallies.get(name).copied();
        self.note(|counts| {
            counts.chunks_known = kept(CHUNKS_KNOWN);
            counts.lost_bytes = kept(LOST_BYTES).unwrap_or(0);
            counts.unused_unreadable = kept(UNUSED_UNREADABLE).unwrap_or(0);
            (counts.unrepaired, counts.transient) = (kept(UNREPAIRED).unwrap_or(0), kept(TRANSIENT).unwrap_or(0));
        });
    }

    fn lock(&self) -> MutexGuard<'_, PoolNotes> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_that_goes_on_knows_its_first_chunks_and_all_unreadable_blocks() {
        let first = PoolLog::default();
        assert_eq!(first.tallies(), Tallies::new());
        first.resume(&Tallies::new());
        first.note(|counts| {
            (counts.chunks_known, counts.unused_unreadable) = (Some(7 << 30), 3);
            (counts.unrepaired, counts.transient, counts.lost_bytes) = (2, 1, 4096);
        });
        let next = PoolLog::default();
        next.resume(&first.tallies());
        let counts = next.counts();
        assert_eq!((counts.chunks_known, counts.unused_unreadable), (Some(7 << 30), 3));
        assert_eq!((counts.unrepaired, counts.transient, counts.lost_bytes), (2, 1, 4096));
        assert!(!counts.is_mended(), "a disk with unreadable blocks is not sound, whatever lies there");
    }
}
