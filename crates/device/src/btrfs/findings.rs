//! The findings of a btrfs scrub: counts as btrfs counts, and the places, with the files that they belong to.

use super::ioctl::ScrubCounts;
use scrubjay_core::scrub::{TRANSIENT, Tallies};
use scrubjay_core::units::Nanos;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places that are kept, at most; further ones are counted.
const PLACES_MAX: usize = 1000;
/// Tallies of a pass: [`PoolFound::chunks_known`], [`PoolFound::unused_unreadable`] and [`PoolFound::unrepaired`]; and [`TRANSIENT`].
const CHUNKS_KNOWN: &str = "chunks-known";
const UNUSED_UNREADABLE: &str = "unused-unreadable";
const UNREPAIRED: &str = "unrepaired";

/// Collects findings. A clone is a handle on the same.
#[derive(Clone, Debug, Default)]
pub struct PoolFindings {
    inner: Arc<Mutex<PoolFound>>,
}

/// The findings so far.
#[derive(Clone, Debug, Default)]
pub struct PoolFound {
    /// Counts of btrfs's own scrub, in the extents that were given to it and at the superblocks.
    pub counts: ScrubCounts,
    /// The places, in the order of discovery.
    pub places: Vec<BadPlace>,
    /// Number of further places.
    pub places_untold: u64,
    /// Device extents that were given to btrfs's own scrub.
    pub extents_given: u64,
    /// Bytes of wrong blocks of which no copy is right.
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

/// A run of wrong blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPlace {
    /// Number of the device.
    pub device: u64,
    /// Byte offset on the device.
    pub physical: u64,
    /// The logical address; `None` where only the chunk is known.
    pub logical: Option<u64>,
    /// Length in bytes.
    pub bytes: u64,
    /// What was wrong.
    pub what: BadKind,
    /// How it ended.
    pub end: BadEnd,
    /// The paths of the files that it belongs to, escaped for display.
    pub files: Vec<String>,
    /// Number of further files.
    pub files_untold: u64,
}

/// What was wrong with a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadKind {
    /// It could not be read.
    Unreadable,
    /// It did not match its checksum.
    Checksum,
    /// It was a tree block that belongs elsewhere, or an old one.
    Identity,
    /// A superblock was wrong.
    Superblock,
    /// Something in a chunk that only btrfs can verify.
    Chunk,
}

/// How a finding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadEnd {
    /// It is right now.
    Repaired,
    /// It was right when it was read again, before anything was repaired.
    Transient,
    /// It is still wrong, but a copy elsewhere is right.
    Unrepaired,
    /// No copy is right.
    Lost,
}

impl BadKind {
    /// Its name in one word.
    pub fn name(self) -> &'static str {
        match self {
            BadKind::Unreadable => "unreadable",
            BadKind::Checksum => "checksum",
            BadKind::Identity => "identity",
            BadKind::Superblock => "superblock",
            BadKind::Chunk => "chunk",
        }
    }
}

impl BadEnd {
    /// Its name in one word.
    pub fn name(self) -> &'static str {
        match self {
            BadEnd::Repaired => "repaired",
            BadEnd::Transient => "transient",
            BadEnd::Unrepaired => "unrepaired",
            BadEnd::Lost => "lost",
        }
    }
}

impl PoolFindings {
    /// The findings so far.
    pub fn all(&self) -> PoolFound {
        self.lock().clone()
    }

    /// What is kept for the next run of the pass.
    pub(super) fn tallies(&self) -> Tallies {
        let found = self.lock();
        let counts = [
            (UNUSED_UNREADABLE, found.unused_unreadable),
            (UNREPAIRED, found.unrepaired),
            (TRANSIENT, found.transient),
        ];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        let known = found.chunks_known.map(|known| (CHUNKS_KNOWN, known));
        counts.chain(known).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// Takes what earlier runs of the pass kept.
    pub(super) fn resume(&self, tallies: &Tallies) {
        let kept = |name| tallies.get(name).copied();
        self.note(|found| {
            found.chunks_known = kept(CHUNKS_KNOWN);
            found.unused_unreadable = kept(UNUSED_UNREADABLE).unwrap_or(0);
            (found.unrepaired, found.transient) = (kept(UNREPAIRED).unwrap_or(0), kept(TRANSIENT).unwrap_or(0));
        });
    }

    /// Applies a change.
    pub(super) fn note(&self, change: impl FnOnce(&mut PoolFound)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, PoolFound> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolFound {
    /// Adds a place.
    pub(super) fn add(&mut self, place: BadPlace) {
        if place.end == BadEnd::Lost {
            self.lost_bytes += place.bytes;
        }
        if self.places.len() < PLACES_MAX {
            self.places.push(place);
        } else {
            self.places_untold += 1;
        }
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        let counts = [self.places_untold, self.unused_unreadable, self.unrepaired, self.transient];
        self.places.is_empty() && counts == [0; 4]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_counted() {
        let findings = PoolFindings::default();
        let place = BadPlace {
            device: 1,
            physical: 0,
            logical: None,
            bytes: 4096,
            what: BadKind::Checksum,
            end: BadEnd::Lost,
            files: Vec::new(),
            files_untold: 0,
        };
        assert!(findings.all().is_clean());
        for _ in 0..PLACES_MAX + 3 {
            findings.note(|found| found.add(place.clone()));
        }
        let found = findings.all();
        assert_eq!((found.places.len(), found.places_untold), (PLACES_MAX, 3));
        assert_eq!((found.lost_bytes, found.is_clean()), (4096 * (PLACES_MAX as u64 + 3), false));
    }

    #[test]
    fn a_pass_that_goes_on_knows_its_first_chunks_and_all_unreadable_blocks() {
        let first = PoolFindings::default();
        assert_eq!(first.tallies(), Tallies::new());
        first.resume(&Tallies::new());
        first.note(|found| {
            (found.chunks_known, found.unused_unreadable) = (Some(7 << 30), 3);
            (found.unrepaired, found.transient) = (2, 1);
        });
        let next = PoolFindings::default();
        next.resume(&first.tallies());
        let found = next.all();
        assert_eq!((found.chunks_known, found.unused_unreadable), (Some(7 << 30), 3));
        assert_eq!((found.unrepaired, found.transient), (2, 1));
        assert!(!found.is_clean(), "a disk with unreadable blocks is not sound, whatever lies there");
    }
}
