//! How long a request of ours takes, by size: learnt from our own completions.

use crate::units::{Bytes, Nanos};

/// The smallest request worth sending: below 64 KiB a hard disk's time does not fall (Amvrosiadis et al., DSN'12,
/// Fig. 4).
pub(super) const SIZE_MIN: Bytes = Bytes::kib(64);
/// 64 KiB to 4 MiB, the paper's span (V-C), in steps of 2.
pub(super) const SIZES: [Bytes; 7] =
    [SIZE_MIN, Bytes::kib(128), Bytes::kib(256), Bytes::kib(512), Bytes::mib(1), Bytes::mib(2), Bytes::mib(4)];
/// How fast the past is forgotten: the weight of one new completion once there are some.
const WEIGHT: f64 = 1.0 / 16.0;
/// How fast the greatest of late sinks back to the mean. Slower: the first request of an idle interval pays for a seek
/// that the many behind it do not, and it is the one that meets somebody.
const HIGH_WEIGHT: f64 = 1.0 / 256.0;
/// Before anything is known: the authors' drive, 3.70 ms + 11.07 ms/MiB (a fit to their artefact's SAS VERIFY times).
const PRIOR: Line = Line { positioning: 3.70e-3, per_byte: 11.07e-3 / (1 << 20) as f64 };
/// An estimate for a size never tried is raised by this much before it is held against the max goal. A guess that errs
/// on the side of smaller requests.
const UNTRIED_MARGIN: f64 = 1.25;

/// Service times by request size.
#[derive(Clone, Debug, Default)]
pub struct ServiceTimes {
    sizes: [Option<Estimate>; SIZES.len()],
    completions: u64,
}

#[derive(Clone, Copy, Debug)]
struct Estimate {
    mean: f64,
    high: f64,
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
    /// Takes note of one clean completion. Sizes between two steps count for the nearest one.
    pub fn add(&mut self, size: Bytes, service: Nanos) {
        if size.0 * 4 < SIZE_MIN.0 * 3 {
            return; // the last bit before something already verified: says nothing about the sizes we choose from
        }
        self.completions += 1;
        let nearest = SIZES.iter().rposition(|step| size.0 * 4 >= step.0 * 3).unwrap_or(0);
        let seconds = service.as_secs_f64() * SIZES[nearest].0 as f64 / size.0 as f64;
        self.sizes[nearest] = Some(match self.sizes[nearest] {
            None => Estimate { mean: seconds, high: seconds },
            Some(Estimate { mean, high }) => {
                let mean = mean + WEIGHT * (seconds - mean);
                // The greatest of late: jumps up at once, sinks back to the mean.
                Estimate { mean, high: seconds.max(high + HIGH_WEIGHT * (mean - high)) }
            }
        });
    }

    /// How many completions were noted.
    pub fn completions(&self) -> u64 {
        self.completions
    }

    /// The mean service time of a request of `size`, in seconds: measured, else by the line through what was measured.
    pub fn mean(&self, size: Bytes) -> f64 {
        self.estimate(size).mean
    }

    /// A cautious upper value of it, in seconds.
    pub fn high(&self, size: Bytes) -> f64 {
        self.estimate(size).high
    }

    fn estimate(&self, size: Bytes) -> Estimate {
        let measured = SIZES.iter().position(|&step| step == size).and_then(|step| self.sizes[step]);
        measured.unwrap_or_else(|| {
            let mean = self.line(size).at(size);
            Estimate { mean, high: mean * UNTRIED_MARGIN }
        })
    }

    /// Least squares through the measured sizes. With one only, the cautious line: no shorter for a smaller request,
    /// twice as long for one twice as great.
    fn line(&self, size: Bytes) -> Line {
        let points: Vec<(f64, f64)> =
            SIZES.iter().zip(&self.sizes).filter_map(|(step, known)| Some((step.0 as f64, (*known)?.mean))).collect();
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

    fn drive(size: Bytes) -> Nanos {
        Nanos::from_secs_f64(PRIOR.at(size))
    }

    #[test]
    fn two_sizes_give_the_line() {
        let mut times = ServiceTimes::default();
        times.add(Bytes::kib(64), drive(Bytes::kib(64)));
        times.add(Bytes::mib(1), drive(Bytes::mib(1)));
        assert!((times.mean(Bytes::mib(4)) - PRIOR.at(Bytes::mib(4))).abs() < 1e-5);
        assert!(times.high(Bytes::mib(4)) > times.mean(Bytes::mib(4)));
    }

    #[test]
    fn one_size_is_read_cautiously() {
        let mut times = ServiceTimes::default();
        times.add(Bytes::kib(256), Nanos::from_millis(4));
        assert!((times.mean(Bytes::mib(1)) - 0.016).abs() < 1e-9, "four times as long");
        assert!((times.mean(Bytes::kib(64)) - 0.004).abs() < 1e-9, "no shorter");
    }

    #[test]
    fn an_outlier_raises_the_high_mark_and_fades() {
        let mut times = ServiceTimes::default();
        (0..100).for_each(|_| times.add(Bytes::mib(1), Nanos::from_millis(10)));
        times.add(Bytes::mib(1), Nanos::from_millis(300));
        assert!(times.high(Bytes::mib(1)) >= 0.3);
        (0..2000).for_each(|_| times.add(Bytes::mib(1), Nanos::from_millis(10)));
        assert!(times.high(Bytes::mib(1)) < 0.011);
    }
}
