//! How long a request of ours takes, by size: learnt from our own completions.

use crate::server::ServiceModel;
use crate::units::{Bytes, Nanos};
use std::collections::VecDeque;

/// The smallest request worth sending: below 64 KiB a hard disk's time does not fall (Amvrosiadis et al., DSN'12,
/// Fig. 4).
pub(super) const SIZE_MIN: Bytes = Bytes::kib(64);
/// 64 KiB to 4 MiB, the paper's span (V-C), in steps of 2.
pub(super) const SIZES: [Bytes; 7] =
    [SIZE_MIN, Bytes::kib(128), Bytes::kib(256), Bytes::kib(512), Bytes::mib(1), Bytes::mib(2), Bytes::mib(4)];
/// The estimate of a size rests on so many completions of late: enough to hold several first requests of idle intervals,
/// which pay for a seek that the many behind them do not.
const WINDOW: usize = 128;
/// One in so many of them is left out, the longest first: a disk that had to spin up, or to try again, says nothing about
/// the next request.
const OUTLIER_OF: usize = 64;
/// A size that was not tried for so long is known no better than one never tried: what made it slow may be over.
const STALE: Nanos = Nanos::from_secs(600);
/// No completion counts for longer: a year, so that sums have room.
const SERVICE_MAX: Nanos = Nanos::from_secs(365 * 86_400);
/// Before anything is known: the authors' drive.
const PRIOR: Line = Line {
    positioning: ServiceModel::ULTRASTAR_15K450.positioning.0 as f64 / 1e9,
    per_byte: ServiceModel::ULTRASTAR_15K450.per_mib.0 as f64 / 1e9 / (1 << 20) as f64,
};
/// An estimate for a size never tried is raised by this much before it is held against the max goal. A guess that errs
/// on the side of smaller requests.
const UNTRIED_MARGIN: f64 = 1.25;

/// Service times by request size.
#[derive(Clone, Debug, Default)]
pub struct ServiceTimes {
    sizes: [Window; SIZES.len()],
    /// By size; what [`ServiceTimes::mean`] and [`ServiceTimes::high`] say.
    estimates: [Estimate; SIZES.len()],
    completions: u64,
    bytes: u64,
    latest: Nanos,
}

/// The completions of late, in the order in which they came and by length, in nanoseconds.
#[derive(Clone, Debug, Default)]
struct Window {
    recent: VecDeque<u64>,
    sorted: Vec<u64>,
    sum: u64,
    latest: Nanos,
    estimate: Option<Estimate>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    mean: f64,
    high: f64,
}

impl Window {
    /// Would one more like this, at this time, change nothing but the time?
    fn is_all(&self, nanos: u64, at: Nanos) -> bool {
        let is_fresh = self.recent.len() == WINDOW && at.since(self.latest) <= STALE;
        is_fresh && self.sorted.first() == Some(&nanos) && self.sorted.last() == Some(&nanos)
    }

    fn add(&mut self, nanos: u64, at: Nanos) {
        if at.since(self.latest) > STALE {
            *self = Window::default();
        }
        self.latest = at;
        if self.recent.len() == WINDOW {
            let leaving = self.recent.pop_front().expect("a full window");
            let place = self.sorted.partition_point(|&one| one < leaving);
            self.sorted.remove(place);
            self.sum -= leaving;
        }
        self.recent.push_back(nanos);
        self.sorted.insert(self.sorted.partition_point(|&one| one < nanos), nanos);
        self.sum += nanos;
        let (kept, left_out) = self.sorted.split_at(self.sorted.len() - self.sorted.len().div_ceil(OUTLIER_OF));
        self.estimate = kept.last().map(|&longest| {
            let sum = self.sum - left_out.iter().sum::<u64>();
            Estimate { mean: sum as f64 / 1e9 / kept.len() as f64, high: longest as f64 / 1e9 }
        });
    }
}

#[derive(Clone, Copy, Debug)]
struct Line {
    positioning: f64,
    per_byte: f64,
}

impl Line {
    fn at(self, size: Bytes) -> f64 {
        self.positioning + self.per_byte * size.0 as f64
    }

    /// What is believed of a size that was not tried.
    fn guess(self, size: Bytes) -> Estimate {
        let mean = self.at(size);
        Estimate { mean, high: mean * UNTRIED_MARGIN }
    }
}

impl ServiceTimes {
    /// Takes note of one clean completion at `at`. Sizes between two steps count for the nearest one.
    pub fn add(&mut self, size: Bytes, service: Nanos, at: Nanos) {
        self.latest = self.latest.max(at);
        if size.0 * 4 < SIZE_MIN.0 * 3 {
            return; // the last bit before something already verified: says nothing about the sizes we choose from
        }
        self.completions += 1;
        self.bytes += size.0;
        let nearest = SIZES.iter().rposition(|step| size.0 * 4 >= step.0 * 3).unwrap_or(0);
        let scaled = u128::from(service.0.min(SERVICE_MAX.0)) * u128::from(SIZES[nearest].0) / u128::from(size.0);
        self.sizes[nearest].add(scaled as u64, at);
        self.estimates = self.estimated();
    }

    fn estimated(&self) -> [Estimate; SIZES.len()] {
        let known: [Option<Estimate>; SIZES.len()] = std::array::from_fn(|step| self.fresh(step));
        let line = if known.iter().all(Option::is_some) { PRIOR } else { self.line() };
        std::array::from_fn(|step| known[step].unwrap_or_else(|| line.guess(SIZES[step])))
    }

    /// Takes note of `count` clean completions of one size that took as long, one right after the other, the first of
    /// which ended at `first`.
    pub fn add_run(&mut self, size: Bytes, service: Nanos, first: Nanos, count: u64) {
        let mut at = first;
        for left in (1..=count).rev() {
            let step = SIZES.iter().position(|&step| step == size);
            if let Some(window) = step.map(|step| &mut self.sizes[step]).filter(|window| window.is_all(service.0, at)) {
                at += Nanos(service.0 * (left - 1));
                window.latest = at;
                self.latest = self.latest.max(at);
                self.completions += left;
                self.bytes += left * size.0;
                self.estimates = self.estimated();
                return;
            }
            self.add(size, service, at);
            at += service;
        }
    }

    /// No later than this a size that is known may be so no more, because that was too long ago.
    pub(super) fn fresh_until(&self) -> Nanos {
        let fresh = (0..SIZES.len()).filter(|&step| self.fresh(step).is_some());
        fresh.map(|step| self.sizes[step].latest.saturating_add(STALE)).min().unwrap_or(Nanos::MAX)
    }

    /// How many bytes they read.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// How many completions were noted.
    pub fn completions(&self) -> u64 {
        self.completions
    }

    /// Was this size tried of late, often enough?
    pub(super) fn is_known(&self, size: Bytes) -> bool {
        SIZES.iter().position(|&step| step == size).is_some_and(|step| self.fresh(step).is_some())
    }

    /// The next size up, if it was not tried of late.
    pub(super) fn unknown_above(&self, size: Bytes) -> Option<Bytes> {
        let step = SIZES.iter().position(|&step| step > size)?;
        self.fresh(step).is_none().then_some(SIZES[step])
    }

    /// The mean service time of a request of `size`, in seconds: measured, else by the line through what was measured.
    pub fn mean(&self, size: Bytes) -> f64 {
        self.estimate(size).mean
    }

    /// A cautious upper value of it, in seconds.
    pub fn high(&self, size: Bytes) -> f64 {
        self.estimate(size).high
    }

    /// What is known of a size, unless that is long ago.
    fn fresh(&self, step: usize) -> Option<Estimate> {
        let window = &self.sizes[step];
        window.estimate.filter(|_| self.latest.since(window.latest) <= STALE)
    }

    fn estimate(&self, size: Bytes) -> Estimate {
        match SIZES.iter().position(|&step| step == size) {
            Some(step) if self.completions > 0 => self.estimates[step],
            _ => self.line().guess(size),
        }
    }

    /// Least squares through the measured sizes. With one only, that of the authors' drive, raised or lowered to meet it.
    fn line(&self) -> Line {
        let points: Vec<(f64, f64)> =
            (0..SIZES.len()).filter_map(|step| Some((SIZES[step].0 as f64, self.fresh(step)?.mean))).collect();
        match points[..] {
            [] => PRIOR,
            [(x, y)] => {
                let scale = y / (PRIOR.positioning + PRIOR.per_byte * x);
                Line { positioning: PRIOR.positioning * scale, per_byte: PRIOR.per_byte * scale }
            }
            _ => {
                let count = points.len() as f64;
                let (mean_x, mean_y) =
                    points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / count, sum.1 + p.1 / count));
                let spread: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
                let slope = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum::<f64>() / spread;
                let per_byte = slope.clamp(0.0, mean_y / mean_x);
                Line { positioning: mean_y - per_byte * mean_x, per_byte }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(completions: &[(Bytes, u64)]) -> ServiceTimes {
        let mut times = ServiceTimes::default();
        completions.iter().for_each(|&(size, micros)| times.add(size, Nanos(micros * 1000), Nanos::ZERO));
        times
    }

    #[test]
    fn two_sizes_give_the_line() {
        let micros = |size| (PRIOR.at(size) * 1e6) as u64;
        let (small, large) = ((Bytes::kib(64), micros(Bytes::kib(64))), (Bytes::mib(1), micros(Bytes::mib(1))));
        let times = seen(&[small, small, large, large]);
        assert!((times.mean(Bytes::mib(4)) - PRIOR.at(Bytes::mib(4))).abs() < 1e-4);
        assert!(times.high(Bytes::mib(4)) > times.mean(Bytes::mib(4)));
    }

    #[test]
    fn one_size_gives_a_drive_like_the_authors() {
        let times = seen(&[(Bytes::kib(256), 2 * (PRIOR.at(Bytes::kib(256)) * 1e6) as u64); 2]);
        for size in SIZES {
            assert!((times.mean(size) / PRIOR.at(size) / 2.0 - 1.0).abs() < 1e-3, "twice as slow at {size}");
        }
        assert!(times.high(Bytes::mib(1)) > 1.2 * times.mean(Bytes::mib(1)), "a guess");
    }

    #[test]
    fn a_disk_that_had_to_spin_up_is_forgiven() {
        let mut times = seen(&[(Bytes::kib(64), 8_000_000)]);
        assert!(times.high(Bytes::kib(64)) < 0.01, "one completion says nothing");
        times.add(Bytes::kib(64), Nanos::from_millis(5), Nanos::ZERO);
        assert!((times.high(Bytes::kib(64)) - 0.005).abs() < 1e-9);
    }

    #[test]
    fn what_is_seldom_but_happens_is_held_against_the_max_goal() {
        let mut times = ServiceTimes::default();
        (0..1000)
            .for_each(|i| times.add(Bytes::mib(1), Nanos::from_millis(if i % 35 == 0 { 20 } else { 12 }), Nanos::ZERO));
        assert!((times.high(Bytes::mib(1)) - 0.020).abs() < 1e-9, "the seek of the first one of each idle interval");
        (0..200).for_each(|_| times.add(Bytes::mib(1), Nanos::from_millis(12), Nanos::ZERO));
        assert!((times.high(Bytes::mib(1)) - 0.012).abs() < 1e-9, "until it is long ago");
    }

    #[test]
    fn a_size_that_was_slow_long_ago_is_given_another_chance() {
        let mut times =
            seen(&[(Bytes::kib(64), 4000), (Bytes::kib(64), 4000), (Bytes::mib(4), 900_000), (Bytes::mib(4), 900_000)]);
        assert!(times.high(Bytes::mib(4)) > 0.8);
        times.add(Bytes::kib(64), Nanos::from_millis(4), Nanos::from_secs(601));
        times.add(Bytes::kib(64), Nanos::from_millis(4), Nanos::from_secs(602));
        assert!(times.high(Bytes::mib(4)) < 0.4, "by the line: 64 times as long as 64 KiB, and a quarter more");
    }
}
