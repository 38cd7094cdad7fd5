//! Two players who know the future: the bounds that the paper measures policies by (Amvrosiadis et al., DSN'12, Fig. 14).

use super::Player;
use scrubjay_core::idle::{Growth, Pattern};
use scrubjay_core::units::{Bytes, Nanos};

/// Uses the x % longest intervals, from their beginning: for whoever knows them.
#[derive(Clone, Copy, Debug)]
pub struct Oracle {
    /// All longer intervals are used.
    idle_min: Nanos,
    /// And so many of those that last as long.
    alike: usize,
    size: Bytes,
}

impl Oracle {
    /// Using `share` (0..=1) of `intervals`, the longest.
    pub fn longest(share: f64, intervals: &[Nanos], size: Bytes) -> Oracle {
        let count = (share * intervals.len() as f64).round() as usize;
        let mut sorted = intervals.to_vec();
        let idle_min = match intervals.len().checked_sub(count) {
            Some(rank) if rank < intervals.len() => *sorted.select_nth_unstable(rank).1,
            _ => Nanos::MAX,
        };
        let longer = intervals.iter().filter(|&&idle| idle > idle_min).count();
        Oracle { idle_min, alike: count.saturating_sub(longer), size }
    }
}

impl Player for Oracle {
    fn pattern(&mut self, idle: Nanos) -> Pattern {
        if idle < self.idle_min || (idle == self.idle_min && self.alike == 0) {
            return Pattern::NEVER;
        }
        self.alike -= usize::from(idle == self.idle_min);
        Pattern { wait: Nanos::ZERO, first: self.size, growth: Growth::Fixed }
    }

    fn ended(&mut self, _: Nanos) {}
}

/// Waiting that gets the time back which it waited: uses the intervals longer than `wait`, from their beginning.
#[derive(Clone, Copy, Debug)]
pub struct Lossless {
    /// The threshold.
    pub wait: Nanos,
    /// The size of one request.
    pub size: Bytes,
}

impl Player for Lossless {
    fn pattern(&mut self, idle: Nanos) -> Pattern {
        if idle <= self.wait {
            return Pattern::NEVER;
        }
        Pattern { wait: Nanos::ZERO, first: self.size, growth: Growth::Fixed }
    }

    fn ended(&mut self, _: Nanos) {}
}
