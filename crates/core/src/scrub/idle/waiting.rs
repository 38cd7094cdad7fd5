//! Waiting: waits until the disk has been idle for t, then sends back to back until a foreground request arrives.
//!
//! Golding et al. '95; Amvrosiadis et al. (DSN'12, V-B): it beats every predictor they tried.

use super::pattern::{IdlePattern, IntervalPolicy, RequestGrowth};
use crate::units::{Bytes, Nanos};

/// Waits for `wait` of idleness, then sends requests of `size` bytes back to back until a collision.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The threshold t.
    pub wait: Nanos,
    /// The size b of one request.
    pub size: Bytes,
}

impl IntervalPolicy for Waiting {
    fn pattern(&self) -> IdlePattern {
        IdlePattern { wait: self.wait, first: self.size, growth: RequestGrowth::Fixed }
    }

    fn size_max(&self) -> Bytes {
        self.pattern().size_max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::idle::AccessPattern;
    use crate::scrub::idle::{DiskView, IdlePolicy, IntervalAdapter, Observed};

    fn view(now: u64, outstanding: u64, idle_since: u64) -> DiskView {
        let at = Nanos::from_millis;
        let (own_finished, own_service) = (at(now), at(5));
        DiskView {
            now: at(now),
            outstanding,
            idle_since: at(idle_since),
            own_finished,
            own_service,
            own_size: None,
            access: AccessPattern::Random,
        }
    }

    #[test]
    fn waits_once_per_idle_interval() {
        let policy = IntervalAdapter::new(Waiting { wait: Nanos::from_millis(100), size: Bytes::mib(1) });
        let seen = Observed::default();
        assert_eq!(policy.decide(&view(1000, 0, 950), &seen).not_before, Nanos::from_millis(1050));
        assert!(policy.decide(&view(1100, 0, 950), &seen).not_before < Nanos::from_millis(1100), "then back to back");
        assert_eq!(policy.decide(&view(1200, 3, 950), &seen).not_before, Nanos::from_millis(1300), "foreground first");
    }
}
