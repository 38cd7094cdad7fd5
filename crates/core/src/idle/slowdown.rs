//! The slowdown actually caused: what the foreground had to wait for requests of ours.

use crate::stats::DurationHistogram;
use crate::units::Nanos;

/// The rest of our request's service, for each foreground request that arrived while it was at the disk.
///
/// It is a lower bound of what the foreground lost: the ones queued behind a delayed request are delayed too (unless
/// they arrived in time to be counted), and a moved disk head costs a seek. The simulator knows the exact figure.
#[derive(Clone, Debug, Default)]
pub struct Slowdown {
    /// Of all delayed requests together.
    pub total: Nanos,
    /// Of the most delayed one.
    pub max: Nanos,
    /// How many requests were delayed.
    pub collisions: u64,
    /// By length.
    pub histogram: DurationHistogram,
}

impl Slowdown {
    /// Counts `count` requests, each delayed by `delay`.
    pub fn add(&mut self, delay: Nanos, count: u32) {
        self.total += Nanos(delay.0 * u64::from(count));
        self.max = self.max.max(delay);
        self.collisions += u64::from(count);
        for _ in 0..count.min(1000) {
            self.histogram.add(delay);
        }
    }

    /// The mean over *all* foreground requests, in seconds; zero when there were none.
    pub fn mean_seconds(&self, requests: u64) -> f64 {
        if requests == 0 { 0.0 } else { self.total.as_secs_f64() / requests as f64 }
    }
}
