//! The study of idle intervals: how long they last, what having waited says of the rest, and when requests come.
//!
//! What Amvrosiadis, Oprea & Schroeder (DSN'12, section V-A, figures 8 to 13) show of their traces, for any trace.

mod counts;
mod rhythm;

pub use counts::MinuteCounts;
pub use rhythm::{CandidatePeriod, Rhythm};

use crate::periods::Periods;
use scrubjay_core::stats::{Moments, autocorrelation, held_by_largest};
use scrubjay_core::units::Nanos;

/// Thresholds per decade, of every curve.
const PER_DECADE: i32 = 10;
/// The shortest threshold and the longest: 10 us and 10^6 s.
const DECADES: std::ops::RangeInclusive<i32> = -5..=6;
/// So many intervals must be longer for a mean of their residuals to be told.
const LONGER_MIN: usize = 10;
/// So many must be longer for the 1st percentile of their residuals to be one of them and not the shortest.
const PERCENTILE_MIN: usize = 100;
/// So many must end in a bin for its hazard: it is then good to a quarter.
const ENDED_MIN: usize = 16;
/// The autocorrelation goes so far.
const LAG_MAX: usize = 100;

/// What is to be known of the idle intervals of a trace. All durations in seconds, all shares in 0..=1.
#[derive(Clone, Debug, PartialEq)]
pub struct Idleness {
    /// How many intervals, their mean, variation and so on.
    pub moments: Moments,
    /// From the first arrival to the end of the last busy period.
    pub span: f64,
    /// What holds after having waited for each of ascending thresholds, zero first, as far as intervals reach.
    pub waited: Vec<Waited>,
    /// The hazard rate in adjoining bins, ascending.
    pub hazard: Vec<Hazard>,
    /// The Lorenz curve, the longest first: (share of the intervals, share of the idle time they hold).
    pub lorenz: Vec<(f64, f64)>,
    /// The autocorrelation of the intervals' logarithms at lags 1, 2, ... 100.
    pub autocorrelation: Vec<f64>,
    /// When the requests come.
    pub rhythm: Rhythm,
}

/// What holds once the disk was idle for a threshold x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waited {
    /// The threshold x.
    pub threshold: f64,
    /// How many intervals are longer.
    pub longer: usize,
    /// Their share of all intervals: the survival function 1 - F(x).
    pub survival: f64,
    /// How much longer they last in the mean: E[X - x | X > x]. `None` for fewer than ten.
    pub residual_mean: Option<f64>,
    /// 99 of 100 of them last so much longer. `None` for fewer than a hundred.
    pub residual_p1: Option<f64>,
    /// What they have beyond x, of all idle time: what can be used by whoever waits that long.
    pub usable: f64,
}

/// The hazard rate f / (1 - F) between two durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hazard {
    /// From here.
    pub from: f64,
    /// To here.
    pub to: f64,
    /// How many intervals ended in between: at least 16, if there are so many at all.
    pub ended: usize,
    /// How many ended per second of idle time in between: the chance of an interval, having lasted that long, to end
    /// within the next second.
    pub rate: f64,
}

impl Idleness {
    /// Studies a trace's idle intervals (those that are longer than zero) and its requests by the minute. Takes 8 more
    /// bytes for each interval while it does.
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

    /// The share of the idle time that the longest `share` (0..=1) of the intervals hold, read off the curve; zero
    /// without intervals.
    pub fn held_by_longest(&self, share: f64) -> f64 {
        at(&self.lorenz, share).unwrap_or(0.0)
    }

    /// What holds after the last of the curves' thresholds that is no longer than `seconds`.
    pub fn after(&self, seconds: f64) -> Option<&Waited> {
        // A thousandth of tolerance: 0.1 and 10^-1 are one threshold.
        self.waited.iter().take_while(|waited| waited.threshold <= seconds * 1.001).last()
    }

    /// The slope of the hazard rate from `seconds` on, both axes logarithmic, each bin weighted by the intervals that
    /// end in it: 0 for an exponential law, -1 for a Pareto law. `None` for fewer than three bins.
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
    /// Its middle on a logarithmic axis; of the first, which begins at zero, half its end.
    pub fn middle(&self) -> f64 {
        if self.from > 0.0 { (self.from * self.to).sqrt() } else { self.to / 2.0 }
    }
}

/// A curve at `x`, straight between its points; `None` outside.
fn at(curve: &[(f64, f64)], x: f64) -> Option<f64> {
    let next = curve.iter().position(|&(place, _)| place >= x)?;
    let (x1, y1) = curve[next];
    let (x0, y0) = curve[next.saturating_sub(1)];
    Some(if x1 > x0 { y0 + (y1 - y0) * (x - x0) / (x1 - x0) } else { y1 })
}

/// 10 us to 10^6 s, ten to a decade.
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

/// After zero, and after every threshold that some interval reaches.
fn waited(ascending: &[f64]) -> Vec<Waited> {
    let count = ascending.len();
    let total: f64 = ascending.iter().sum();
    let (mut begin, mut left) = (0, total);
    let mut curve = Vec::new();
    for threshold in std::iter::once(0.0).chain(thresholds()) {
        while begin < count && ascending[begin] <= threshold {
            left -= ascending[begin];
            begin += 1;
        }
        let longer = count - begin;
        if longer == 0 {
            break;
        }
        let residual = (left - longer as f64 * threshold).max(0.0);
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

/// Between thresholds at which at least 16 intervals ended since the last; the rest goes to the last bin.
fn hazard(ascending: &[f64]) -> Vec<Hazard> {
    let mut bins: Vec<Hazard> = Vec::new();
    let (mut from, mut begin) = (0.0, 0);
    for to in thresholds() {
        let end = begin + ascending[begin..].partition_point(|&idle| idle <= to);
        if end - begin >= ENDED_MIN {
            // Too few for a bin of their own would be left: the last bin ends with the longest interval.
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

/// How many ended there, over the time that all spent there.
fn hazard_between(ascending: &[f64], from: f64, to: f64, begin: usize, end: usize) -> Hazard {
    let ended_there: f64 = ascending[begin..end].iter().map(|idle| idle - from).sum();
    let passed = (ascending.len() - end) as f64 * (to - from);
    Hazard { from, to, ended: end - begin, rate: (end - begin) as f64 / (ended_there + passed) }
}

#[cfg(test)]
mod tests;
