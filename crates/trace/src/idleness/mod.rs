//! The study of idle intervals: their lengths, how a wait predicts the rest of an interval, and when requests come.
//!
//! It computes for any trace what Amvrosiadis, Oprea & Schroeder (DSN'12, section V-A, figures 8 to 13) show of theirs.

mod counts;
mod rhythm;

pub use counts::MinuteCounts;
pub use rhythm::{CandidatePeriod, Rhythm};

use crate::periods::Periods;
use scrubjay_core::stats::{Moments, autocorrelation, held_by_largest};
use scrubjay_core::units::Nanos;

/// Thresholds per decade, for all curves.
const PER_DECADE: i32 = 10;
/// The decades of the thresholds: from 10 us to 10^6 s.
const DECADES: std::ops::RangeInclusive<i32> = -5..=6;
/// The mean residual is given only if at least this many intervals are longer.
const LONGER_MIN: usize = 10;
/// The 1st percentile of residuals is given only if at least this many intervals are longer: below that it would be the
/// shortest.
const PERCENTILE_MIN: usize = 100;
/// The number of intervals that must end in a bin for its hazard, which is then accurate to a quarter.
const ENDED_MIN: usize = 16;
/// The greatest lag of the autocorrelation.
const LAG_MAX: usize = 100;

/// The statistics of a trace's idle intervals. All durations are in seconds, all shares in 0..=1.
#[derive(Clone, Debug, PartialEq)]
pub struct Idleness {
    /// The number of intervals, their mean, variation and so on.
    pub moments: Moments,
    /// The time from the first arrival to the end of the last busy period.
    pub span: f64,
    /// The statistics after waits of ascending length, zero first, up to the longest that some interval exceeds.
    pub waited: Vec<Waited>,
    /// The hazard rate in adjoining bins, in ascending order.
    pub hazard: Vec<Hazard>,
    /// The Lorenz curve, the longest intervals first: (share of the intervals, share of the idle time they hold).
    pub lorenz: Vec<(f64, f64)>,
    /// The autocorrelation of the intervals' logarithms at lags 1, 2, ... 100.
    pub autocorrelation: Vec<f64>,
    /// When requests come.
    pub rhythm: Rhythm,
}

/// The statistics once the disk has been idle for a threshold x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waited {
    /// The threshold x, in seconds.
    pub threshold: f64,
    /// The number of longer intervals.
    pub longer: usize,
    /// Their share of all intervals: the survival function 1 - F(x).
    pub survival: f64,
    /// The mean time they last beyond x, in seconds: E[X - x | X > x]. `None` for fewer than ten.
    pub residual_mean: Option<f64>,
    /// The time beyond x that 99 of 100 of them still last, in seconds. `None` for fewer than a hundred.
    pub residual_p1: Option<f64>,
    /// Their time beyond x as a share of all idle time: what a scrub that waits for x can use.
    pub usable: f64,
}

/// The hazard rate f / (1 - F) between two durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hazard {
    /// The beginning of the bin, in seconds.
    pub from: f64,
    /// The end of the bin, in seconds.
    pub to: f64,
    /// The number of intervals that ended in the bin: at least 16, if there are as many at all.
    pub ended: usize,
    /// The intervals that ended per second of idle time in the bin: the rate at which an interval of this age ends.
    pub rate: f64,
}

impl Idleness {
    /// Studies a trace's idle intervals (those longer than zero) and its requests by the minute. Takes 8 more bytes of
    /// memory per interval meanwhile.
    pub fn of(periods: &Periods, counts: &MinuteCounts) -> Idleness {
        let lasting = || periods.intervals().iter().filter(|&&idle| idle > Nanos::ZERO).map(|idle| idle.as_secs_f64());
        let logarithms: Vec<f64> = lasting().map(f64::ln).collect();
        let correlation = autocorrelation(&logarithms, LAG_MAX);
        drop(logarithms);
        let mut moments = Moments::default();
        lasting().for_each(|seconds| moments.add(seconds));
        let mut ascending: Vec<f64> = lasting().collect();
        ascending.sort_unstable_by(f64::total_cmp);
        let shares = lorenz_shares();
        Idleness {
            moments,
            span: periods.span().as_secs_f64(),
            waited: waited(&ascending),
            hazard: hazard(&ascending),
            lorenz: shares.iter().copied().zip(held_by_largest(&ascending, &shares)).collect(),
            autocorrelation: correlation.into_iter().skip(1).collect(),
            rhythm: Rhythm::of(counts),
        }
    }

    /// The share of the idle time that the longest `share` (0..=1) of the intervals hold, from the curve; zero if there
    /// are no intervals.
    pub fn held_by_longest(&self, share: f64) -> f64 {
        at(&self.lorenz, share).unwrap_or(0.0)
    }

    /// The statistics after the longest of the thresholds that is not above `seconds`.
    pub fn after(&self, seconds: f64) -> Option<&Waited> {
        // A tolerance of a thousandth, so that 0.1 and 10^-1 are the same threshold.
        self.waited.iter().take_while(|waited| waited.threshold <= seconds * 1.001).last()
    }

    /// The slope of the hazard rate from `seconds` on, both axes logarithmic, each bin weighted by the intervals that
    /// end in it: 0 for an exponential distribution, -1 for Pareto. `None` for fewer than three bins.
    pub fn hazard_slope(&self, seconds: f64) -> Option<f64> {
        let bins: Vec<(f64, f64, f64)> = self
            .hazard
            .iter()
            .filter(|bin| bin.from >= seconds * 0.999 && bin.from > 0.0)
            .map(|bin| (bin.middle().ln(), bin.rate.ln(), bin.ended as f64))
            .collect();
        if bins.len() < 3 {
            return None;
        }
        let weight: f64 = bins.iter().map(|(_, _, weight)| weight).sum();
        let mean = |of: fn(&(f64, f64, f64)) -> f64| bins.iter().map(|bin| of(bin) * bin.2).sum::<f64>() / weight;
        let (x, y) = (mean(|bin| bin.0), mean(|bin| bin.1));
        let covariance: f64 = bins.iter().map(|bin| (bin.0 - x) * (bin.1 - y) * bin.2).sum();
        let variance: f64 = bins.iter().map(|bin| (bin.0 - x).powi(2) * bin.2).sum();
        Some(covariance / variance)
    }
}

impl Hazard {
    /// The middle on a logarithmic axis; for the first bin, which begins at zero, half its end.
    pub fn middle(&self) -> f64 {
        if self.from > 0.0 { (self.from * self.to).sqrt() } else { self.to / 2.0 }
    }
}

/// The value of a curve at `x`, interpolated linearly; `None` outside.
fn at(curve: &[(f64, f64)], x: f64) -> Option<f64> {
    let next = curve.iter().position(|&(place, _)| place >= x)?;
    let (x1, y1) = curve[next];
    let (x0, y0) = curve[next.saturating_sub(1)];
    Some(if x1 > x0 { y0 + (y1 - y0) * (x - x0) / (x1 - x0) } else { y1 })
}

/// The thresholds: 10 us to 10^6 s, ten per decade.
fn thresholds() -> impl Iterator<Item = f64> {
    let steps = DECADES.start() * PER_DECADE..=DECADES.end() * PER_DECADE;
    steps.map(|step| 10f64.powf(f64::from(step) / f64::from(PER_DECADE)))
}

/// Shares of intervals, denser towards zero, where the curve is steep: 0, then from 1 in 10^5 up by tenths of a decade,
/// and every hundredth.
fn lorenz_shares() -> Vec<f64> {
    let steep = (-5 * PER_DECADE..-PER_DECADE).map(|step| 10f64.powf(f64::from(step) / f64::from(PER_DECADE)));
    let mut shares: Vec<f64> = steep.chain((0..=100).map(|percent| f64::from(percent) / 100.0)).collect();
    shares.sort_unstable_by(f64::total_cmp);
    shares.dedup();
    shares
}

/// The statistics after zero, and after every threshold that some interval exceeds.
fn waited(ascending: &[f64]) -> Vec<Waited> {
    let count = ascending.len();
    let total: f64 = ascending.iter().sum();
    let (mut begin, mut remaining) = (0, total);
    let mut curve = Vec::new();
    for threshold in std::iter::once(0.0).chain(thresholds()) {
        while begin < count && ascending[begin] <= threshold {
            remaining -= ascending[begin];
            begin += 1;
        }
        let longer = count - begin;
        if longer == 0 {
            break;
        }
        let residual = (remaining - longer as f64 * threshold).max(0.0);
        curve.push(Waited {
            threshold,
            longer,
            survival: longer as f64 / count as f64,
            residual_mean: (longer >= LONGER_MIN).then_some(residual / longer as f64),
            residual_p1: (longer >= PERCENTILE_MIN).then(|| ascending[begin + longer / 100] - threshold),
            usable: residual / total,
        });
    }
    curve
}

/// The hazard between thresholds, such that at least 16 intervals end in each bin; the remainder goes to the last bin.
fn hazard(ascending: &[f64]) -> Vec<Hazard> {
    let mut bins: Vec<Hazard> = Vec::new();
    let (mut from, mut begin) = (0.0, 0);
    for to in thresholds() {
        let end = begin + ascending[begin..].partition_point(|&idle| idle <= to);
        if end - begin >= ENDED_MIN {
            // What remains is too little for another bin, so this last one ends with the longest interval.
            let (end, to) = if ascending.len() - end < ENDED_MIN {
                (ascending.len(), ascending[ascending.len() - 1])
            } else {
                (end, to)
            };
            bins.push(hazard_between(ascending, from, to, begin, end));
            (from, begin) = (to, end);
        }
        if begin == ascending.len() {
            break;
        }
    }
    bins
}

/// The number of intervals that ended in the bin, divided by the time that all intervals spent in it.
fn hazard_between(ascending: &[f64], from: f64, to: f64, begin: usize, end: usize) -> Hazard {
    let time_ended: f64 = ascending[begin..end].iter().map(|idle| idle - from).sum();
    let passed = (ascending.len() - end) as f64 * (to - from);
    Hazard { from, to, ended: end - begin, rate: (end - begin) as f64 / (time_ended + passed) }
}

#[cfg(test)]
mod tests;
