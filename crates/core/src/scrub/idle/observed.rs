//! Observations of the disk and its foreground: the input of every policy.

use super::{Followers, ServiceTimes, Slowdown};
use crate::stats::DurationHistogram;
use crate::units::Nanos;

/// Beyond this many idle intervals the past counts half, so that a workload of last month does not outweigh tonight's.
const INTERVALS_MAX: f64 = 50_000.0;

/// Everything observed so far.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The foreground's requests and idle intervals.
    pub workload: ObservedWorkload,
    /// The service times of the scrub's own requests.
    pub service: ServiceTimes,
    /// The time that the foreground lost.
    pub slowdown: Slowdown,
}

/// The foreground as observed: requests, and the idle intervals between them.
///
/// An idle interval runs from the completion of the last outstanding foreground request to the next arrival.
#[derive(Clone, Debug, Default)]
pub struct ObservedWorkload {
    /// The number of foreground requests so far.
    pub requests: u64,
    /// Lengths of the idle intervals that have ended.
    pub idle: DurationHistogram,
    /// The sum of all idle intervals that have ended.
    pub idle_total: Nanos,
    /// The number of idle intervals that have ended so far.
    pub intervals: u64,
    /// The length of the last idle interval that has ended.
    pub idle_last: Nanos,
    /// The time at which it ended. A detector may report it some time later.
    pub idle_ended: Nanos,
    /// The requests that followed the ends of idle intervals.
    pub followers: Followers,
}

impl ObservedWorkload {
    /// Counts `count` arrivals.
    pub fn add_requests(&mut self, count: u32) {
        self.requests += u64::from(count);
        self.followers.arrived(count);
    }

    /// Counts an idle interval that ended at `at`.
    pub fn add_idle(&mut self, at: Nanos, length: Nanos) {
        self.idle.add(length);
        self.idle_total += length;
        self.intervals += 1;
        (self.idle_last, self.idle_ended) = (length, at);
        self.followers.ended(length);
        if self.idle.moments().count > INTERVALS_MAX {
            self.idle.fade(0.5);
            self.followers.fade(0.5);
        }
    }
}
