//! Volatile writes of one disk, counted: writes that no flush has covered yet.
//!
//! They may still be lost, and whatever the disk is asked next may report the loss.

/// Counts of one disk's writes that were not asked to be durable.
#[derive(Clone, Copy, Debug, Default)]
pub struct VolatileWrites {
    begun: u64,
    ended: u64,
    flushed: u64,
    has_lost: bool,
}

impl VolatileWrites {
    /// The counts for a disk that may hold unflushed writes of an earlier process: until the next flush it counts as having
    /// one.
    pub fn unknown() -> VolatileWrites {
        VolatileWrites { begun: 1, ended: 1, ..VolatileWrites::default() }
    }

    /// Counts a write that begins.
    pub fn begin(&mut self) {
        self.begun += 1;
    }

    /// Writes begun so far.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Records that the disk reported a possible loss. It reports one only once, so no later flush of it proves anything.
    pub fn lose(&mut self) {
        self.has_lost = true;
    }

    /// Whether writes may have been lost.
    pub fn has_lost(&self) -> bool {
        self.has_lost
    }

    /// Forgets a possible loss, because another disk takes this one's place.
    pub fn replace_disk(&mut self) {
        self.has_lost = false;
    }

    /// Counts a write that has ended.
    pub fn end(&mut self) {
        self.ended += 1;
    }

    /// The mark of a flush that begins now: it covers all writes that have ended.
    pub fn mark(&self) -> u64 {
        self.ended
    }

    /// Records that the flush with this mark succeeded.
    pub fn flushed(&mut self, mark: u64) {
        self.flushed = self.flushed.max(mark);
    }

    /// Whether flushes cover every write that was begun.
    pub fn is_empty(&self) -> bool {
        self.flushed == self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_covers_only_writes_that_ended_before_it_began() {
        let mut cache = VolatileWrites::default();
        assert!(cache.is_empty());
        cache.begin();
        cache.begin();
        cache.end();
        let mark = cache.mark();
        cache.end();
        cache.flushed(mark);
        assert!(!cache.is_empty());
        cache.flushed(cache.mark());
        assert!(cache.is_empty());
    }

    #[test]
    fn the_first_flush_covers_the_writes_of_a_killed_process() {
        let mut cache = VolatileWrites::unknown();
        assert!(!cache.is_empty());
        cache.flushed(cache.mark());
        assert!(cache.is_empty());
    }
}
