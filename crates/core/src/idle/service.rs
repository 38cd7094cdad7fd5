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
    completions: u64,
    latest: Nanos,
}

/// The completions of late, and what they come to.
#[derive(Clone, Debug, Default)]
struct Window {
    seconds: VecDeque<f64>,
    latest: Nanos,
    estimate: Option<Estimate>,
}

#[derive(Clone, Copy, Debug)]
struct Estimate {
    mean: f64,
    high: f64,
}

impl Window {
    fn add(&mut self, seconds: f64, at: Nanos) {
        if at.since(self.latest) > STALE {
            self.seconds.clear();
        }
        self.latest = at;
        if self.seconds.len() == WINDOW {
            self.seconds.pop_front();
        }
        self.seconds.push_back(seconds);
        let mut sorted: Vec<f64> = self.seconds.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let kept = &sorted[..sorted.len() - sorted.len().div_ceil(OUTLIER_OF)];
        self.estimate =
            kept.last().map(|&longest| Estimate { mean: kept.iter().sum::<f64>() / kept.len() as f64, high: longest });
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
}

impl ServiceTimes {
    /// Takes note of one clean completion at `at`. Sizes between two steps count for the nearest one.
    pub fn add(&mut self, size: Bytes, service: Nanos, at: Nanos) {
        self.latest = self.latest.max(at);
        if size.0 * 4 < SIZE_MIN.0 * 3 {
            return; // the last bit before something already verified: says nothing about the sizes we choose from
        }
        self.completions += 1;
        let nearest = SIZES.iter().rposition(|step| size.0 * 4 >= step.0 * 3).unwrap_or(0);
        let seconds = service.as_secs_f64() * SIZES[nearest].0 as f64 / size.0 as f64;
        self.sizes[nearest].add(seconds, at);
    }

    /// How many completions were noted.
    pub fn completions(&self) -> u64 {
        self.completions
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
        let measured = SIZES.iter().position(|&step| step == size).and_then(|step| self.fresh(step));
        measured.unwrap_or_else(|| {
            let mean = self.line(size).at(size);
            Estimate { mean, high: mean * UNTRIED_MARGIN }
        })
    }

    /// Least squares through the measured sizes. With one only, the cautious line: no shorter for a smaller request,
    /// twice as long for one twice as great.
    fn line(&self, size: Bytes) -> Line {
        let points: Vec<(f64, f64)> =
            (0..SIZES.len()).filter_map(|step| Some((SIZES[step].0 as f64, self.fresh(step)?.mean))).collect();
        match points[..] {
            [] => PRIOR,
            [(x, y)] if size.0 as f64 > x => Line { positioning: 0.0, per_byte: y / x },
            [(_, y)] => Line { positioning: y, per_byte: 0.0 },
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
    fn one_size_is_read_cautiously() {
        let times = seen(&[(Bytes::kib(256), 4000); 2]);
        assert!((times.mean(Bytes::mib(1)) - 0.016).abs() < 1e-9, "four times as long");
        assert!((times.mean(Bytes::kib(64)) - 0.004).abs() < 1e-9, "no shorter");
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
