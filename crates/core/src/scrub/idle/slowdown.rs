//! The slowdown actually caused: what the foreground had to wait for requests of ours.

use crate::stats::DurationHistogram;
use crate::units::Nanos;

/// Two figures. `total` is the rest of our request's service, for each foreground request that arrived while it was at
/// the disk: that much is certain. `queue_total` is the whole of it, with those who found a longer queue because of us:
/// exact on a disk that serves first come, first served, an estimate on others, and zero where completions are not
/// seen.
#[derive(Clone, Debug, Default)]
pub struct Slowdown {
    /// Of all requests that arrived while one of ours was at the disk.
    pub total: Nanos,
    /// Of all requests, the ones queued behind those included.
    pub queue_total: Nanos,
    /// The foreground is told of by counters, which date it by the looks at them: all that is here is about so.
    pub is_estimate: bool,
    /// Are completions seen at all, so that `queue_total` means something?
    pub is_queue_seen: bool,
    /// Of the most delayed one, queue included.
    pub max: Nanos,
    /// How many requests arrived while one of ours was at the disk, and had to wait for it.
    pub collisions: u64,
    /// Their delays by length.
    pub histogram: DurationHistogram,
    /// The delays of all requests that were delayed, those queued behind included; empty where completions are not seen.
    pub queue_histogram: DurationHistogram,
    /// The greatest that the mean so far ever was, from the [`Slowdown::JUDGED_FROM_REQUESTS`]th request on.
    pub mean_worst: Nanos,
}

impl Slowdown {
    /// The mean of fewer requests is chance.
    pub const JUDGED_FROM_REQUESTS: u64 = 300;

    /// Counts one request that was delayed.
    pub fn add(&mut self, delay: Nanos) {
        self.total += delay;
        self.max = self.max.max(delay);
        self.collisions += 1;
        self.histogram.add(delay);
    }

    /// Counts what each of `count` requests lost in all, if anything: behind ours, and behind others that we delayed.
    pub fn add_with_queue(&mut self, delay: Nanos, count: u32) {
        self.queue_total += Nanos(delay.0 * u64::from(count));
        self.max = self.max.max(delay);
        self.is_queue_seen = true;
        if delay > Nanos::ZERO && count > 0 {
            self.queue_histogram.add_times(delay, count);
        }
    }

    /// What the foreground lost in all: with the queue where that is seen. Budgets are held to this.
    pub fn lost(&self) -> Nanos {
        if self.is_queue_seen { self.queue_total } else { self.total }
    }

    /// How many lost more than this, with the queue where that is seen. Those are counted too that lost less by no more than a
    /// bucket of the histogram is wide (4.4 %).
    pub fn longer_than(&self, most: Nanos) -> u64 {
        above(if self.is_queue_seen { &self.queue_histogram } else { &self.histogram }, most)
    }

    /// Of those who arrived while one of ours was at the disk, likewise.
    pub(super) fn met_longer_than(&self, most: Nanos) -> u64 {
        above(&self.histogram, most)
    }

    /// Takes note of the mean so far, of so many requests.
    pub(crate) fn note_mean(&mut self, requests: u64) {
        if requests >= Slowdown::JUDGED_FROM_REQUESTS {
            self.mean_worst = self.mean_worst.max(Nanos(self.lost().0 / requests));
        }
    }

    /// The mean of it over *all* foreground requests, in seconds; zero when there were none.
    pub fn mean_seconds(&self, requests: u64) -> f64 {
        if requests == 0 { 0.0 } else { self.lost().as_secs_f64() / requests as f64 }
    }
}

fn above(delays: &DurationHistogram, most: Nanos) -> u64 {
    let longer = delays.buckets().filter(|&(upper, _)| upper > most.as_secs_f64());
    longer.map(|(_, count)| count).sum::<f64>() as u64
}
