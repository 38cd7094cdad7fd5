//! Chunks written since their disks were last flushed: a read of them proves nothing about the medium.

use std::collections::HashSet;

/// Chunks remembered individually, at most (count). With more, every chunk counts as unflushed until a flush that
/// begins later has ended.
const CHUNKS_MAX: usize = 1 << 16;

/// `since`: written after the latest flush began. `being_flushed`: written before it began, and not flushed yet.
#[derive(Debug, Default)]
pub struct Unflushed {
    since: Set,
    being_flushed: Set,
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
    /// May the chunk's last write still be in the disk's cache?
    pub fn contains(&self, chunk: u64) -> bool {
        self.since.contains(chunk) || self.being_flushed.contains(chunk)
    }

    /// Records that a write of the chunk has ended.
    pub fn insert(&mut self, chunk: u64) {
        if self.since.chunks.len() == CHUNKS_MAX {
            self.since.is_overfull = true;
        } else {
            self.since.chunks.insert(chunk);
        }
    }

    /// A flush of all members begins. (It does not cover writes that end later: they are inserted later.)
    pub fn begin(&mut self) {
        let since = std::mem::take(&mut self.since);
        self.being_flushed.is_overfull |= since.is_overfull;
        self.being_flushed.chunks.extend(since.chunks);
    }

    /// The flush is over. (A member whose flush failed is out; where it could not be spared, this is not called.)
    pub fn end(&mut self) {
        self.being_flushed = Set::default();
    }
}
