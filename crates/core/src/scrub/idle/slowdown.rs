//! The slowdown actually caused: the time that the foreground waited for scrub requests.

use crate::stats::DurationHistogram;
use crate::units::Nanos;

/// The delays of the foreground, in two figures. `total` is the rest of the scrub request's service time, for each
/// foreground request that arrived while it was at the disk: that much is certain. `queue_total` is the whole delay,
/// with requests that found a longer queue because of it: exact on a disk that serves first come, first served, an
/// estimate on others, and zero where completions are not seen.
#[derive(Clone, Debug, Default)]
pub struct Slowdown {
    /// The total delay of all requests that arrived while a scrub request was at the disk.
    pub total: Nanos,
    /// The total delay of all requests, those queued behind included.
    pub queue_total: Nanos,
    /// Is the foreground known from counters only? Its times are then those of the samples, and all figures here are approximate.
    pub is_estimate: bool,
    /// Are completions seen at all, so that `queue_total` means something?
    pub is_queue_seen: bool,
    /// The longest delay of one request, queue included.
    pub max: Nanos,
    /// Collisions: requests that arrived while a scrub request was at the disk, and had to wait for it.
    pub collisions: u64,
    /// The delays of `collisions` by length.
    pub histogram: DurationHistogram,
    /// The delays of all delayed requests by length, those queued behind included; empty where completions are not seen.
    pub queue_histogram: DurationHistogram,
    /// The greatest mean so far at any moment, from the [`Slowdown::JUDGED_FROM_REQUESTS`]th request on.
    pub mean_worst: Nanos,
}

impl Slowdown {
    /// The number of requests from which the mean is judged; the mean of fewer is chance.
    pub const JUDGED_FROM_REQUESTS: u64 = 300;

    /// Counts one collision.
    pub fn add(&mut self, delay: Nanos) {
        self.total += delay;
        self.max = self.max.max(delay);
        self.collisions += 1;
        self.histogram.add(delay);
    }

    /// Counts `count` requests of which each lost `delay` in all, zero included: behind the scrub's requests, and
    /// behind others that these delayed.
    pub fn add_with_queue(&mut self, delay: Nanos, count: u32) {
        self.queue_total += Nanos(delay.0 * u64::from(count));
        self.max = self.max.max(delay);
        self.is_queue_seen = true;
        if delay > Nanos::ZERO && count > 0 {
            self.queue_histogram.add_times(delay, count);
        }
    }

    /// The total delay of the foreground: with the queue where that is seen. Budgets are held to this.
    pub fn lost(&self) -> Nanos {
        if self.is_queue_seen { self.queue_total } else { self.total }
    }

    /// The number of requests that lost more than `limit`, with the queue where that is seen. It includes requests that
    /// lost less by up to the width of a histogram's bucket (4.4 %).
    pub fn longer_than(&self, limit: Nanos) -> u64 {
        count_longer(if self.is_queue_seen { &self.queue_histogram } else { &self.histogram }, limit)
    }

    /// The number of collisions that cost more than `limit`, as exact as [`Slowdown::longer_than`].
    pub(super) fn collisions_longer_than(&self, limit: Nanos) -> u64 {
        count_longer(&self.histogram, limit)
    }

    /// Records the mean so far, over `requests` requests.
    pub(crate) fn note_mean(&mut self, requests: u64) {
        if requests >= Slowdown::JUDGED_FROM_REQUESTS {
            self.mean_worst = self.mean_worst.max(Nanos(self.lost().0 / requests));
        }
    }

    /// The mean over *all* foreground requests, in seconds; zero if there were none.
    pub fn mean_seconds(&self, requests: u64) -> f64 {
        if requests == 0 { 0.0 } else { self.lost().as_secs_f64() / requests as f64 }
    }
}

fn count_longer(delays: &DurationHistogram, limit: Nanos) -> u64 {
    let longer = delays.buckets().filter(|&(upper, _)| upper > limit.as_secs_f64());
    longer.map(|(_, count)| count).sum::<f64>() as u64
}
