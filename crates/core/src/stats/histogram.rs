//! A logarithmic histogram of durations: survival, percentiles and the share of the longest, in constant memory.

use super::moments::Moments;
use super::scale::OctaveScale;
use crate::units::Nanos;

/// Buckets per octave: a bucket is 4.4 % wide, so a threshold at a bucket's edge is as good as any other.
const BUCKETS_PER_OCTAVE: u32 = 16;
/// The first bucket's upper edge, in nanoseconds: 10 us. A shorter idle interval is of no use on any disk.
const FLOOR_NANOS: f64 = 10_000.0;
/// The number of buckets: 10 us x 2^(608/16) = 31 days, as long as a pass; longer durations fall into the last one.
const BUCKETS: usize = 609;

/// The first bucket's upper edge in a histogram of chosen resolution, in nanoseconds: 1 us, the clock of most traces.
const FINE_FLOOR_NANOS: f64 = 1_000.0;
/// The octaves of a histogram of chosen resolution: 1 us x 2^42 = 50 days, longer than any trace's longest idle interval.
const FINE_OCTAVES: u32 = 42;
/// Counts and sums of durations in logarithmic buckets: 10 KiB, or as much as [`DurationHistogram::with_resolution`]
/// takes, however many durations there are.
///
/// Counts are real numbers so that the past can fade ([`DurationHistogram::fade`]).
#[derive(Clone, Debug, PartialEq)]
pub struct DurationHistogram {
    buckets: Vec<Bucket>,
    scale: OctaveScale,
    floor_nanos: f64,
    moments: Moments,
}

/// The durations longer than one threshold, in total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Survival {
    /// The threshold t, in seconds.
    pub threshold: f64,
    /// The number of durations longer than t: N(t).
    pub longer: f64,
    /// The sum of their excess over t, in seconds: U(t) = sum of (L - t)+.
    pub residual: f64,
}

/// One bucket: the durations in `low < d <= high`, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The lower edge, in seconds, excluded.
    pub low: f64,
    /// The upper edge, in seconds, included.
    pub high: f64,
    /// The number of durations; not whole after [`DurationHistogram::fade`].
    pub count: f64,
}

/// Count and sum side by side: one cache line for each duration added.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bucket {
    count: f64,
    sum: f64,
}

/// Sixteen buckets per octave from 10 us to 31 days, the resolution that an idle policy needs.
impl Default for DurationHistogram {
    fn default() -> DurationHistogram {
        DurationHistogram::new(BUCKETS, BUCKETS_PER_OCTAVE, FLOOR_NANOS)
    }
}

impl DurationHistogram {
    /// A histogram with `buckets_per_octave` (1..=256) from 1 us to 50 days, 672 bytes for each: 64 make buckets 1.1 %
    /// wide (42 KiB).
    ///
    /// # Panics
    /// When the resolution is out of its range.
    pub fn with_resolution(buckets_per_octave: u32) -> DurationHistogram {
        let buckets = (FINE_OCTAVES * buckets_per_octave + 1) as usize;
        DurationHistogram::new(buckets, buckets_per_octave, FINE_FLOOR_NANOS)
    }

    fn new(buckets: usize, buckets_per_octave: u32, floor_nanos: f64) -> DurationHistogram {
        let (buckets, scale) = (vec![Bucket::default(); buckets], OctaveScale::new(buckets_per_octave));
        DurationHistogram { buckets, scale, floor_nanos, moments: Moments::default() }
    }

    /// Adds one duration.
    pub fn add(&mut self, span: Nanos) {
        self.add_times(span, 1);
    }

    /// Adds the same duration `times` times (at least once).
    pub fn add_times(&mut self, span: Nanos, times: u32) {
        let (seconds, times) = (span.as_secs_f64(), f64::from(times));
        let bucket = self.bucket_of(span);
        self.buckets[bucket].count += times;
        self.buckets[bucket].sum += times * seconds;
        self.moments.add_times(seconds, times);
    }

    /// The buckets that are not empty, as (index, count): the arguments of [`DurationHistogram::recall`].
    pub fn kept(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let counts = self.buckets.iter().map(|bucket| bucket.count).enumerate();
        counts.filter(|&(_, count)| count > 0.0)
    }

    /// Adds `count` durations to a bucket, as if each lay at its middle. Ignored if there is no such bucket.
    pub fn recall(&mut self, bucket: usize, count: f64) {
        let seconds = if bucket > 0 { (self.edge(bucket - 1) * self.edge(bucket)).sqrt() } else { self.edge(0) / 2.0 };
        let Some(bucket) = self.buckets.get_mut(bucket).filter(|_| count > 0.0) else { return };
        bucket.count += count;
        bucket.sum += count * seconds;
        self.moments.count += count;
        self.moments.sum += count * seconds;
        self.moments.squares += count * seconds * seconds;
        self.moments.max = self.moments.max.max(seconds);
    }

    /// The number of buckets from one duration to twice that duration.
    pub fn buckets_per_octave(&self) -> u32 {
        self.scale.steps_per_octave()
    }

    /// Count, sum, squares and maximum of all durations.
    pub fn moments(&self) -> Moments {
        self.moments
    }

    /// Fades the past: the counts so far are multiplied by `keep` (0..=1).
    pub fn fade(&mut self, keep: f64) {
        assert!((0.0..=1.0).contains(&keep), "a share");
        self.buckets.iter_mut().for_each(|bucket| {
            bucket.count *= keep;
            bucket.sum *= keep;
        });
        self.moments.count *= keep;
        self.moments.sum *= keep;
        self.moments.squares *= keep;
    }

    /// The survival function at the lower edges of bucket 1 and of each later bucket that is not empty, ascending.
    ///
    /// The buckets are disjoint, so it is exact at their edges.
    pub fn survival(&self) -> Vec<Survival> {
        let mut points: Vec<Survival> = Vec::with_capacity(self.buckets.len());
        let (mut longer, mut longer_sum) = (0.0, 0.0);
        for index in (1..self.buckets.len()).rev() {
            let bucket = self.buckets[index];
            longer += bucket.count;
            longer_sum += bucket.sum;
            if bucket.count > 0.0 || index == 1 {
                let threshold = self.edge(index - 1);
                points.push(Survival { threshold, longer, residual: (longer_sum - longer * threshold).max(0.0) });
            }
        }
        points.reverse();
        points
    }

    /// The buckets that are not empty, ascending, as (upper edge in seconds, count).
    pub fn buckets(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let seen = self.buckets.iter().enumerate().filter(|(_, bucket)| bucket.count > 0.0);
        seen.map(|(index, bucket)| (self.edge(index), bucket.count))
    }

    /// All buckets but the first and the last, ascending, the empty ones too.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = Cell> + '_ {
        let inner = self.buckets[1..self.buckets.len() - 1].iter().enumerate();
        inner.map(|(index, bucket)| Cell { low: self.edge(index), high: self.edge(index + 1), count: bucket.count })
    }

    /// The duration in seconds that a share (0..=1) of them does not exceed: 0.5 gives the median. Zero of none.
    ///
    /// The result is the mean of the bucket in which the rank falls: off by less than a bucket's width, and exact where
    /// all durations of a bucket are alike.
    ///
    /// # Panics
    /// When `share` is not in 0..=1.
    pub fn quantile(&self, share: f64) -> f64 {
        assert!((0.0..=1.0).contains(&share), "a share");
        let (rank, mut below, mut value) = (share * self.moments.count, 0.0, 0.0);
        for bucket in self.buckets.iter().filter(|bucket| bucket.count > 0.0) {
            below += bucket.count;
            value = bucket.sum / bucket.count;
            if below >= rank {
                break;
            }
        }
        value
    }

    /// The share (0..=1) of the total that the longest `share` (0..=1) of all durations hold; zero when there are none.
    /// Within the bucket at the cut all durations are taken to be alike.
    ///
    /// # Panics
    /// When `share` is not in 0..=1.
    pub fn held_by_longest(&self, share: f64) -> f64 {
        assert!((0.0..=1.0).contains(&share), "a share");
        let (mut remaining, mut held) = (share * self.moments.count, 0.0);
        for bucket in self.buckets.iter().rev().filter(|bucket| bucket.count > 0.0) {
            let taken = bucket.count.min(remaining);
            held += bucket.sum * (taken / bucket.count);
            remaining -= taken;
            if remaining <= 0.0 {
                break;
            }
        }
        if self.moments.sum > 0.0 { held / self.moments.sum } else { 0.0 }
    }

    /// The index of a duration's bucket: bucket 0 holds (0, floor], bucket i the durations up to `edge(i)`.
    fn bucket_of(&self, span: Nanos) -> usize {
        self.scale.step_of((span.0 as f64 / self.floor_nanos).max(1.0)).min(self.buckets.len() - 1)
    }

    /// The upper edge of a bucket, in seconds.
    fn edge(&self, bucket: usize) -> f64 {
        self.floor_nanos / 1e9 * self.scale.edge(bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const SPANS: [f64; 6] = [0.000_3, 0.002, 0.002, 0.050, 0.9, 7.0];

    fn filled(mut histogram: DurationHistogram, spans: impl IntoIterator<Item = f64>) -> DurationHistogram {
        spans.into_iter().for_each(|seconds| histogram.add(Nanos::from_secs_f64(seconds)));
        histogram
    }

    #[test]
    fn survival_is_exact_at_the_edges() {
        for empty in [DurationHistogram::default(), DurationHistogram::with_resolution(64)] {
            let histogram = filled(empty, SPANS);
            for point in histogram.survival() {
                let longer: Vec<_> = SPANS.iter().filter(|&&s| s > point.threshold).collect();
                assert_eq!(point.longer, longer.len() as f64, "{point:?}");
                let residual: f64 = longer.iter().map(|&&s| s - point.threshold).sum();
                assert!((point.residual - residual).abs() < 1e-6, "{point:?} {residual}");
            }
            assert_eq!(histogram.survival()[0].longer, 6.0);
        }
    }

    #[test]
    fn moments_of_a_known_set() {
        let mut histogram = filled(DurationHistogram::default(), [1.0, 3.0]);
        let moments = histogram.moments();
        assert_eq!((moments.mean(), moments.max, moments.variation()), (2.0, 3.0, 0.5));
        histogram.fade(0.5);
        assert_eq!((histogram.moments().count, histogram.moments().mean()), (1.0, 2.0));
    }

    #[test]
    fn the_longest_and_the_shortest_find_a_bucket() {
        for histogram in [DurationHistogram::default(), DurationHistogram::with_resolution(64)] {
            assert_eq!(histogram.bucket_of(Nanos::ZERO), 0);
            assert_eq!(histogram.bucket_of(Nanos::MAX), histogram.buckets.len() - 1);
        }
    }

    #[test]
    fn a_fine_histogram_reaches_from_a_microsecond_to_a_month() {
        let histogram = DurationHistogram::with_resolution(64);
        assert_eq!(histogram.bucket_of(Nanos(1_000)), 0);
        assert_eq!(histogram.bucket_of(Nanos(1_001)), 1);
        assert!(histogram.bucket_of(Nanos::from_secs(30 * 86_400)) < histogram.buckets.len() - 1);
        assert!(histogram.edge(1) / histogram.edge(0) < 1.011);
    }

    #[test]
    fn quantiles_and_shares_of_few_are_exact() {
        let histogram = filled(DurationHistogram::with_resolution(64), [1.0, 2.0, 3.0, 4.0]);
        let quantiles = [0.0, 0.25, 0.26, 0.5, 0.75, 1.0].map(|share| histogram.quantile(share));
        assert_eq!(quantiles, [1.0, 1.0, 2.0, 2.0, 3.0, 4.0]);
        let held = [0.0, 0.25, 0.375, 0.5, 1.0].map(|share| histogram.held_by_longest(share));
        assert_eq!(held, [0.0, 0.4, 0.55, 0.7, 1.0]);
        let empty = DurationHistogram::default();
        assert_eq!((empty.quantile(0.5), empty.held_by_longest(0.5)), (0.0, 0.0));
    }

    /// Exponential distribution: the q-quantile is -m ln(1 - q); the longest y hold y (1 - ln y).
    #[test]
    fn quantiles_and_shares_of_an_exponential_are_those_of_the_theory() {
        let mut rng = Rng::new(7);
        let histogram = filled(DurationHistogram::with_resolution(64), (0..200_000).map(|_| rng.exponential(0.250)));
        for share in [0.1f64, 0.5, 0.9, 0.99] {
            let theory = -0.250 * (1.0 - share).ln();
            assert!((histogram.quantile(share) / theory - 1.0).abs() < 0.02, "{share}");
        }
        let theory = 0.15 * (1.0 - 0.15f64.ln());
        assert!((histogram.held_by_longest(0.15) - theory).abs() < 0.005);
    }
}
