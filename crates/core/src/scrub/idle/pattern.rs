//! Patterns: all that happens in one idle interval, decided when it begins. The simplest policies are just that.
//!
//! A pattern can be played request by request, as the scrubber does, or computed for a whole interval at once, as the
//! trace study does millions of times. A test of the simulator asserts that both have the same result.

use super::{Decision, DiskView, IdlePolicy, Observed, PolicyState};
use crate::units::{Bytes, Nanos, SECTOR_BYTES};
use std::fmt;

/// A wait, and then requests back to back until the next arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdlePattern {
    /// How long the disk must have been idle before the first request; [`Nanos::MAX`]: no request at all.
    pub wait: Nanos,
    /// The size of the first request.
    pub first: Bytes,
    /// How the size changes after the first request.
    pub growth: RequestGrowth,
}

/// How requests grow within one idle interval (Amvrosiadis et al., DSN'12, V-C).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RequestGrowth {
    /// All requests have the same size.
    Fixed,
    /// Each request is `factor` times the last one and `plus` more, but at most `max`. The paper's exponential approach
    /// has a `plus` of zero, its linear one has not.
    By {
        /// At least 1.
        factor: f64,
        /// Bytes added to each request, after the growth by `factor`.
        plus: Bytes,
        /// The largest size, in bytes.
        max: Bytes,
    },
    /// From an idle time of `after` on, requests of `to` (the paper's swapping, t').
    Swap {
        /// The idle time, from the beginning of the interval.
        after: Nanos,
        /// The larger size.
        to: Bytes,
    },
}

impl IdlePattern {
    /// Sends nothing in this interval.
    pub const NEVER: IdlePattern =
        IdlePattern { wait: Nanos::MAX, first: Bytes(SECTOR_BYTES), growth: RequestGrowth::Fixed };

    /// The size of the next request after one of `last` (`None`: it is the first), with the disk idle for `idle_for`.
    /// Whole sectors.
    pub fn next_size(&self, last: Option<Bytes>, idle_for: Nanos) -> Bytes {
        match (self.growth, last) {
            (RequestGrowth::Swap { after, to }, _) if idle_for >= after => to,
            (RequestGrowth::By { factor, plus, max }, Some(last)) => {
                let grown = (last.0 as f64 * factor) as u64 + plus.0;
                Bytes((grown.min(max.0) / SECTOR_BYTES * SECTOR_BYTES).max(SECTOR_BYTES))
            }
            _ => self.first,
        }
    }

    /// The largest request of this pattern.
    pub fn size_max(&self) -> Bytes {
        match self.growth {
            RequestGrowth::Fixed => self.first,
            RequestGrowth::By { max, .. } | RequestGrowth::Swap { to: max, .. } => self.first.max(max),
        }
    }

    /// Will the size stay `size` for the rest of the interval, if the disk has been idle for `idle_for`?
    pub fn is_steady(&self, size: Bytes, idle_for: Nanos) -> bool {
        match self.growth {
            RequestGrowth::Fixed => true,
            RequestGrowth::By { .. } => self.next_size(Some(size), idle_for) == size,
            RequestGrowth::Swap { after, .. } => idle_for >= after,
        }
    }
}

/// A policy that decides at the beginning of an idle interval what it does in it.
///
/// For authors of policies: [`IntervalPolicy::pattern`] is called once an interval by the exact simulator, and at every
/// decision by [`IntervalAdapter`], which plays it request by request; between two calls of [`IntervalPolicy::ended`]
/// it must return the same. `Debug` shows every parameter: a test compares it with the `uses` of the policy's row.
pub trait IntervalPolicy: fmt::Debug + Send {
    /// The pattern for the idle interval that begins now. Pure.
    fn pattern(&self) -> IdlePattern;

    /// An idle interval of length `idle` has ended. A policy that learns does it here.
    fn ended(&mut self, idle: Nanos) {
        let _ = idle;
    }

    /// The largest request of any pattern that the policy may ever return: buffers have that size.
    fn size_max(&self) -> Bytes;
}

impl IntervalPolicy for Box<dyn IntervalPolicy> {
    fn pattern(&self) -> IdlePattern {
        (**self).pattern()
    }

    fn ended(&mut self, idle: Nanos) {
        (**self).ended(idle);
    }

    fn size_max(&self) -> Bytes {
        (**self).size_max()
    }
}

/// Plays an interval policy request by request.
#[derive(Debug)]
pub struct IntervalAdapter<P> {
    policy: P,
    intervals_seen: u64,
}

impl<P> IntervalAdapter<P> {
    /// Plays `policy` from now on.
    pub fn new(policy: P) -> IntervalAdapter<P> {
        IntervalAdapter { policy, intervals_seen: 0 }
    }
}

impl<P: IntervalPolicy> IdlePolicy for IntervalAdapter<P> {
    fn decide(&self, view: &DiskView, _: &Observed) -> Decision {
        let pattern = self.policy.pattern();
        let idle_for = if view.outstanding == 0 { view.now.since(view.idle_since) } else { Nanos::ZERO };
        let not_before = view.ready_after(pattern.wait);
        Decision { not_before, size: pattern.next_size(view.own_size, idle_for) }
    }

    fn learn(&mut self, _: Nanos, seen: &Observed) {
        if seen.workload.intervals > self.intervals_seen {
            self.intervals_seen = seen.workload.intervals;
            self.policy.ended(seen.workload.idle_last);
        }
    }

    fn state(&self) -> PolicyState {
        let IdlePattern { wait, first, .. } = self.policy.pattern();
        PolicyState { wait, in_idle_only: true, ..PolicyState::back_to_back(first) }
    }

    fn size_max(&self) -> Bytes {
        self.policy.size_max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(growth: RequestGrowth) -> Vec<u64> {
        let pattern = IdlePattern { wait: Nanos::ZERO, first: Bytes::kib(64), growth };
        let mut last = None;
        let sizes = (0..5).map(|second| {
            let size = pattern.next_size(last, Nanos::from_secs(second));
            last = Some(size);
            size.0 / 1024
        });
        sizes.collect()
    }

    #[test]
    fn requests_grow_as_in_the_paper() {
        let max = Bytes::kib(600);
        assert_eq!(sizes(RequestGrowth::Fixed), [64; 5]);
        assert_eq!(sizes(RequestGrowth::By { factor: 2.0, plus: Bytes(0), max }), [64, 128, 256, 512, 600]);
        assert_eq!(sizes(RequestGrowth::By { factor: 2.0, plus: Bytes::kib(64), max }), [64, 192, 448, 600, 600]);
        assert_eq!(sizes(RequestGrowth::Swap { after: Nanos::from_secs(3), to: max }), [64, 64, 64, 600, 600]);
    }

    #[test]
    fn a_size_is_steady_once_it_no_longer_grows() {
        let pattern = |growth| IdlePattern { wait: Nanos::ZERO, first: Bytes::kib(64), growth };
        let growing = pattern(RequestGrowth::By { factor: 2.0, plus: Bytes(0), max: Bytes::mib(4) });
        assert!(!growing.is_steady(Bytes::mib(2), Nanos::ZERO) && growing.is_steady(Bytes::mib(4), Nanos::ZERO));
        let swapping = pattern(RequestGrowth::Swap { after: Nanos(5), to: Bytes::mib(4) });
        assert!(!swapping.is_steady(Bytes::kib(64), Nanos(4)) && swapping.is_steady(Bytes::mib(4), Nanos(5)));
    }
}
