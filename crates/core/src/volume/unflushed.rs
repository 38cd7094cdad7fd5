//! Which chunks were written since their disks were last flushed: a read of them proves nothing about the medium.

use std::collections::HashSet;

/// Chunks remembered one by one; beyond these all count as unflushed until the next flush but one.
const CHUNKS_MAX: usize = 1 << 16;

/// `since`: written after the present flush began. `during`: written before it began, and not flushed yet.
#[derive(Debug, Default)]
pub(super) struct Unflushed {
    since: Set,
    during: Set,
}

#[derive(Debug, Default)]
struct Set {
    chunks: HashSet<u64>,
    is_overfull: bool,
}

impl Set {
    fn contains(&self, chunk: u64) -> bool {
        self.is_overfull || self.chunks.contains(&chunk)
    }
}

impl Unflushed {
    /// Is its last write perhaps still in the disk's cache?
    pub fn contains(&self, chunk: u64) -> bool {
        self.since.contains(chunk) || self.during.contains(chunk)
    }

    /// A write of it has ended.
    pub fn insert(&mut self, chunk: u64) {
        if self.since.chunks.len() == CHUNKS_MAX {
            self.since.is_overfull = true;
        } else {
            self.since.chunks.insert(chunk);
        }
    }

    /// A flush of all members begins. (Writes that end later are named later, and not covered.)
    pub fn begin(&mut self) {
        let since = std::mem::take(&mut self.since);
        self.during.is_overfull |= since.is_overfull;
        self.during.chunks.extend(since.chunks);
    }

    /// The flush is over. (A member whose flush failed is out; where it could not be spared, this is not called.)
    pub fn end(&mut self) {
        self.during = Set::default();
    }
}
