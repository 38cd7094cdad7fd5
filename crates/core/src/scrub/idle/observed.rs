//! What the scrubber has seen of the disk and its users: the ground on which policies decide.

use super::{Followers, ServiceTimes, Slowdown};
use crate::stats::DurationHistogram;
use crate::units::Nanos;

/// Beyond this many idle intervals the past counts half: a workload of last month does not drown tonight's.
const INTERVALS_MAX: f64 = 50_000.0;

/// Everything observed so far.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The foreground.
    pub workload: ObservedWorkload,
    /// Our own requests.
    pub service: ServiceTimes,
    /// What the foreground lost.
    pub slowdown: Slowdown,
}

/// The foreground as seen: requests, and the idle intervals between them.
///
/// An idle interval runs from the completion of the last outstanding foreground request to the next arrival.
#[derive(Clone, Debug, Default)]
pub struct ObservedWorkload {
    /// Foreground requests, in all.
    pub requests: u64,
    /// Lengths of the idle intervals that have ended.
    pub idle: DurationHistogram,
    /// The sum of all idle intervals that have ended.
    pub idle_total: Nanos,
    /// How many idle intervals have ended, in all.
    pub intervals: u64,
    /// The length of the last of them.
    pub idle_last: Nanos,
    /// Who came after them.
    pub followers: Followers,
}

impl ObservedWorkload {
    /// Counts arrivals.
    pub fn add_requests(&mut self, count: u32) {
        self.requests += u64::from(count);
        self.followers.came(count);
    }

    /// Counts an idle interval that has ended.
    pub fn add_idle(&mut self, length: Nanos) {
        self.idle.add(length);
        self.idle_total += length;
        self.intervals += 1;
        self.idle_last = length;
        self.followers.ended(length);
        if self.idle.moments().count > INTERVALS_MAX {
            self.idle.fade(0.5);
            self.followers.fade(0.5);
        }
    }
}
