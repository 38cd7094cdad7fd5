//! Has a disk ended writes that no flush has covered? They may still be lost, and whatever it is asked next may tell of it.

/// The writes of a disk that were not to be durable, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cache {
    asked: u64,
    ended: u64,
    flushed: u64,
    has_lost: bool,
}

impl Cache {
    /// Of a disk that may hold unflushed writes of the process before, or none: until a flush, as if there were one.
    pub fn unknown() -> Cache {
        Cache { asked: 1, ended: 1, ..Cache::default() }
    }

    /// A write begins.
    pub fn begin(&mut self) {
        self.asked += 1;
    }

    /// How many were begun.
    pub fn begun(&self) -> u64 {
        self.asked
    }

    /// The disk told that something may be lost. It tells that once: no flush of it means anything any more.
    pub fn lose(&mut self) {
        self.has_lost = true;
    }

    /// May something be lost?
    pub fn has_lost(&self) -> bool {
        self.has_lost
    }

    /// Another disk is in its place.
    pub fn begin_disk(&mut self) {
        self.has_lost = false;
    }

    /// A write has ended.
    pub fn end(&mut self) {
        self.ended += 1;
    }

    /// What a flush covers that begins now: all writes that have ended.
    pub fn mark(&self) -> u64 {
        self.ended
    }

    /// The flush that began at this mark has done its work.
    pub fn flushed(&mut self, mark: u64) {
        self.flushed = self.flushed.max(mark);
    }

    /// Is every write covered that was ever begun?
    pub fn is_empty(&self) -> bool {
        self.flushed == self.asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_had_ended_when_a_flush_began_is_covered_by_it() {
        let mut cache = Cache::default();
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
    fn what_a_killed_process_left_is_covered_by_the_first_flush() {
        let mut cache = Cache::unknown();
        assert!(!cache.is_empty());
        cache.flushed(cache.mark());
        assert!(cache.is_empty());
    }
}
