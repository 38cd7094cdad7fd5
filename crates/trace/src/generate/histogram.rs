//! A histogram with fine logarithmic buckets, for quantiles in bounded memory.

/// Buckets per octave: each is 2.2 % wide, and small whole numbers have one of their own.
const BUCKETS_PER_OCTAVE: f64 = 32.0;
/// Octaves below 1: the lowest begins at 2^-30, a nanosecond.
const OCTAVES_BELOW: f64 = 30.0;
/// The number of buckets, up to 2^60.
const BUCKETS: usize = 90 * 32 + 1;

/// Counts and sums of values by bucket: 46 KB. Values below 2^-30, a nanosecond, are in the first bucket.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueHistogram {
    buckets: Vec<(u64, f64)>,
    count: u64,
    sum: f64,
    ends: Option<(f64, f64)>,
}

impl ValueHistogram {
    /// Adds a value, zero or more.
    pub(super) fn add(&mut self, value: f64) {
        self.buckets.resize(BUCKETS, (0, 0.0));
        // The logarithm of zero is minus infinity, which the cast turns into bucket 0.
        let bucket = ((value.log2() + OCTAVES_BELOW) * BUCKETS_PER_OCTAVE + 1.0) as usize;
        let (count, sum) = &mut self.buckets[bucket.min(BUCKETS - 1)];
        *count += 1;
        *sum += value;
        self.count += 1;
        self.sum += value;
        let (low, high) = self.ends.unwrap_or((value, value));
        self.ends = Some((low.min(value), high.max(value)));
    }

    /// The mean; zero if there are no values.
    pub(super) fn mean(&self) -> f64 {
        if self.count > 0 { self.sum / self.count as f64 } else { 0.0 }
    }

    /// The values at these ascending ranks in percent; empty if there are no values. The least and the greatest are
    /// exact.
    pub(super) fn quantiles(&self, ranks_pct: &[f64]) -> Vec<f64> {
        let Some((low, high)) = self.ends else { return Vec::new() };
        let mut buckets = self.buckets.iter().filter(|(count, _)| *count > 0);
        let (mut passed, mut mean) = (0, low);
        let mut at = |rank_pct: f64| {
            let index = (rank_pct / 100.0 * (self.count - 1) as f64).round() as u64;
            while passed <= index
                && let Some((count, sum)) = buckets.next()
            {
                passed += count;
                mean = sum / *count as f64;
            }
            if index == 0 {
                low
            } else if index == self.count - 1 {
                high
            } else {
                mean.clamp(low, high)
            }
        };
        ranks_pct.iter().map(|&rank| at(rank)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_known_set() {
        let mut histogram = ValueHistogram::default();
        assert!(histogram.quantiles(&[0.0, 100.0]).is_empty());
        (0..=1000).for_each(|value| histogram.add(f64::from(value)));
        assert_eq!(histogram.mean(), 500.0);
        let found = histogram.quantiles(&[0.0, 0.3, 25.0, 50.0, 99.9, 100.0]);
        for (found, wanted) in found.into_iter().zip([0.0, 3.0, 250.0, 500.0, 999.0, 1000.0]) {
            assert!((found - wanted).abs() <= 0.012 * wanted, "{found} {wanted}");
        }
    }
}
