//! What a scrub of a btrfs found: counts as btrfs counts, and the places, with the files that they belong to.

use super::ioctl::ScrubCounts;
use scrubjay_core::units::Nanos;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many places are kept; more are counted.
const PLACES_MAX: usize = 1000;

/// What was found since it was made. A clone is a handle on the same.
#[derive(Clone, Debug, Default)]
pub struct PoolFindings {
    inner: Arc<Mutex<PoolFound>>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct PoolFound {
    /// What btrfs's own scrub counted, wherever it was asked: where something was wrong, and at the superblocks.
    pub counts: ScrubCounts,
    /// The places, as they were found.
    pub places: Vec<BadPlace>,
    /// Places beyond those.
    pub places_untold: u64,
    /// Device extents that were given to btrfs's own scrub.
    pub extents_given: u64,
    /// Bytes of blocks that were not as they should be, and for which no copy is right.
    pub lost_bytes: u64,
    /// Sectors of blocks that are wrong still, though a copy elsewhere is right: nothing was repaired.
    pub unrepaired: u64,
    /// Superblocks that are wrong still.
    pub superblocks_wrong: u64,
    /// Blocks that cannot be read and that nothing uses.
    pub unused_unreadable: u64,
    /// So long others could not be told from btrfs's own scrub, which did chunks with parities.
    pub unwatched: Nanos,
    /// Chunks that were allocated since it was opened: what lies there may not have been looked at.
    pub chunks_new: u64,
    /// Another scrub of the file system was waited for.
    pub has_waited: bool,
}

/// A run of blocks that are not as they should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPlace {
    /// Number of the device.
    pub device: u64,
    /// Where on the device, in bytes.
    pub physical: u64,
    /// The logical address; nothing where only the chunk is known.
    pub logical: Option<u64>,
    /// Bytes.
    pub bytes: u64,
    /// What was wrong.
    pub what: BadKind,
    /// What became of it.
    pub end: BadEnd,
    /// What it belongs to: paths, as they may be shown.
    pub files: Vec<String>,
    /// Further users of it.
    pub files_untold: u64,
}

/// What was wrong with a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadKind {
    /// It could not be read.
    Unreadable,
    /// It did not fit its checksum.
    Checksum,
    /// It was a tree block that belongs elsewhere, or an old one.
    Identity,
    /// A superblock was wrong.
    Superblock,
    /// Something in a chunk that btrfs alone can look into.
    Chunk,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadEnd {
    /// It is right now.
    Repaired,
    /// It is wrong still, but a copy elsewhere is right.
    Unrepaired,
    /// No copy is right.
    Lost,
}

impl BadKind {
    /// In one word.
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
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            BadEnd::Repaired => "repaired",
            BadEnd::Unrepaired => "unrepaired",
            BadEnd::Lost => "lost",
        }
    }
}

impl PoolFindings {
    /// What was found until now.
    pub fn all(&self) -> PoolFound {
        self.lock().clone()
    }

    /// Changes it.
    pub(super) fn note(&self, change: impl FnOnce(&mut PoolFound)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, PoolFound> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolFound {
    /// Takes in a place.
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

    /// Was anything found?
    pub fn is_clean(&self) -> bool {
        self.places.is_empty() && self.places_untold == 0 && self.superblocks_wrong == 0
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
}
