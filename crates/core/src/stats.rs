//! Statistics of durations in constant memory: a logarithmic histogram, and sums.

use crate::units::Nanos;

/// Buckets per octave: a bucket is at most 9 % wide, so a threshold at a bucket's edge is as good as any.
const BUCKETS_PER_OCTAVE: f64 = 8.0;
/// The first bucket's upper edge: 10 us. No disk's idle interval below that can be used for anything.
const FLOOR_NANOS: f64 = 10_000.0;
/// 10 us x 2^(256/8) = 12 hours; longer ones fall into the last bucket.
const BUCKETS: usize = 257;

/// Counts and sums of durations by logarithmic bucket. 4 KiB, whatever it has seen.
///
/// Counts are real numbers so that the past can fade ([`DurationHistogram::fade`]).
#[derive(Clone, Debug, PartialEq)]
pub struct DurationHistogram {
    counts: Vec<f64>,
    sums: Vec<f64>,
    moments: Moments,
}

/// Count, sum, sum of squares and greatest of a stream of durations, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// How many.
    pub count: f64,
    /// Their sum, in seconds.
    pub sum: f64,
    /// The sum of their squares, in seconds squared.
    pub squares: f64,
    /// The greatest, in seconds.
    pub max: f64,
}

impl Moments {
    /// Adds one duration.
    pub fn add(&mut self, seconds: f64) {
        self.count += 1.0;
        self.sum += seconds;
        self.squares += seconds * seconds;
        self.max = self.max.max(seconds);
    }

    /// The mean in seconds, zero of nothing.
    pub fn mean(&self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }

    /// The coefficient of variation (standard deviation / mean), zero of nothing.
    pub fn variation(&self) -> f64 {
        let mean = self.mean();
        if mean <= 0.0 {
            return 0.0;
        }
        (self.squares / self.count - mean * mean).max(0.0).sqrt() / mean
    }
}

impl Default for DurationHistogram {
    fn default() -> DurationHistogram {
        DurationHistogram { counts: vec![0.0; BUCKETS], sums: vec![0.0; BUCKETS], moments: Moments::default() }
    }
}

impl DurationHistogram {
    /// Adds one duration.
    pub fn add(&mut self, span: Nanos) {
        let seconds = span.as_secs_f64();
        let bucket = bucket_of(span);
        self.counts[bucket] += 1.0;
        self.sums[bucket] += seconds;
        self.moments.add(seconds);
    }

    /// Their count, sum, squares and maximum.
    pub fn moments(&self) -> Moments {
        self.moments
    }

    /// Forgets part of the past: everything seen so far counts `keep` times as much (0..=1) from now on.
    pub fn fade(&mut self, keep: f64) {
        assert!((0.0..=1.0).contains(&keep), "a share");
        self.counts.iter_mut().chain(&mut self.sums).for_each(|value| *value *= keep);
        self.moments.count *= keep;
        self.moments.sum *= keep;
        self.moments.squares *= keep;
    }

    /// The survival function at every threshold worth considering, ascending, in one pass.
    ///
    /// The buckets are disjoint, so this is exact at their edges.
    pub fn survival(&self) -> Vec<Survival> {
        let mut points: Vec<Survival> = Vec::with_capacity(BUCKETS);
        let (mut longer, mut longer_sum) = (0.0, 0.0);
        for bucket in (1..BUCKETS).rev() {
            longer += self.counts[bucket];
            longer_sum += self.sums[bucket];
            if self.counts[bucket] > 0.0 || bucket == 1 {
                let threshold = edge(bucket - 1);
                points.push(Survival { threshold, longer, residual: (longer_sum - longer * threshold).max(0.0) });
            }
        }
        points.reverse();
        points
    }

    /// The number of durations by bucket, as (upper edge in seconds, count), empty buckets left out.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0.0).map(|(bucket, &count)| (edge(bucket), count))
    }
}

/// What is known of the durations above one threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Survival {
    /// The threshold t, in seconds.
    pub threshold: f64,
    /// How many durations are longer: N(t).
    pub longer: f64,
    /// The sum of what they have beyond the threshold, in seconds: U(t) = sum of (L - t)+.
    pub residual: f64,
}

/// Bucket 0 holds (0, 10 us]; bucket i up to `edge(i)`.
fn bucket_of(span: Nanos) -> usize {
    let octaves = (span.0 as f64 / FLOOR_NANOS).max(1.0).log2();
    ((octaves * BUCKETS_PER_OCTAVE).ceil() as usize).min(BUCKETS - 1)
}

/// The upper edge of a bucket, in seconds.
fn edge(bucket: usize) -> f64 {
    FLOOR_NANOS / 1e9 * (bucket as f64 / BUCKETS_PER_OCTAVE).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survival_is_exact_at_the_edges() {
        let mut histogram = DurationHistogram::default();
        let spans = [0.000_3, 0.002, 0.002, 0.050, 0.9, 7.0];
        spans.iter().for_each(|&s| histogram.add(Nanos::from_secs_f64(s)));
        for point in histogram.survival() {
            let longer: Vec<_> = spans.iter().filter(|&&s| s > point.threshold).collect();
            assert_eq!(point.longer, longer.len() as f64, "{point:?}");
            let residual: f64 = longer.iter().map(|&&s| s - point.threshold).sum();
            assert!((point.residual - residual).abs() < 1e-6, "{point:?} {residual}");
        }
        assert_eq!(histogram.survival()[0].longer, 6.0);
    }

    #[test]
    fn moments_of_a_known_set() {
        let mut histogram = DurationHistogram::default();
        [1, 3].iter().for_each(|&s| histogram.add(Nanos::from_secs(s)));
        let moments = histogram.moments();
        assert_eq!((moments.mean(), moments.max, moments.variation()), (2.0, 3.0, 0.5));
        histogram.fade(0.5);
        assert_eq!((histogram.moments().count, histogram.moments().mean()), (1.0, 2.0));
    }

    #[test]
    fn the_longest_and_the_shortest_find_a_bucket() {
        assert_eq!(bucket_of(Nanos::ZERO), 0);
        assert_eq!(bucket_of(Nanos::MAX), BUCKETS - 1);
    }
}
