//! Statistics of the times of one burst, and of a few such numbers.

/// The share of the longest gaps that are left out: one slow request spoils one gap.
const TRIMMED: f64 = 1.0 / 8.0;
/// The share of a burst whose time is taken on flash: there slow requests delay no others.
const REACHED: f64 = 3.0 / 4.0;

/// The mean time between completions, without the longest gaps; `None` when too few requests were done. Times count
/// from the start of the burst, in nanoseconds.
pub fn gap_trimmed(done: &[f64]) -> Option<f64> {
    let mut done = done.to_vec();
    done.sort_by(f64::total_cmp);
    let mut gaps: Vec<f64> = std::iter::once(0.0).chain(done.iter().copied()).zip(&done).map(|(a, b)| b - a).collect();
    gaps.sort_by(f64::total_cmp);
    let kept = gaps.len() - (gaps.len() as f64 * TRIMMED).ceil() as usize;
    (kept > 0).then(|| gaps[..kept].iter().sum::<f64>() / kept as f64)
}

/// The time per request until the first three quarters are done; `None` when too few were done.
pub fn time_reached(done: &[f64]) -> Option<f64> {
    let mut done = done.to_vec();
    done.sort_by(f64::total_cmp);
    let reached = (done.len() as f64 * REACHED) as usize;
    (reached > 0).then(|| done[reached - 1] / reached as f64)
}

/// The quantile [`UNDISTURBED`], NaN of no values: an undisturbed value, even where most are disturbed.
pub fn undisturbed(values: &[f64]) -> f64 {
    quantile(values, UNDISTURBED)
}

/// The share of values below [`undisturbed`].
pub const UNDISTURBED: f64 = 0.3;

/// The quantile at `share` (0..=1): this share of the values is smaller. NaN of no values.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() as f64 * share + 1e-9) as usize).copied().unwrap_or(f64::NAN)
}

/// The median; NaN of no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        len if len.is_multiple_of(2) => (sorted[half - 1] + sorted[half]) / 2.0,
        _ => sorted[half],
    }
}

/// The median, of two middle values the lesser; NaN of no values.
pub fn median_low(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

/// A mean without a fifth of the values at each end, and its standard error from the others (Tukey & McLaughlin 1963):
/// for long tails it is as good as a mean is for normal values, and its error is not underestimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trimmed {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    freedom: f64,
}

/// The share of values that are left out at each end.
const ENDS: f64 = 0.2;

impl Trimmed {
    /// The trimmed mean of some values, at least three.
    pub fn of(values: &[f64]) -> Trimmed {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let cut = (sorted.len() as f64 * ENDS) as usize;
        let (least, most) = (sorted[cut], sorted[sorted.len() - 1 - cut]);
        let kept = &sorted[cut..sorted.len() - cut];
        let (count, kept_count) = (sorted.len() as f64, kept.len() as f64);
        // The error is that of the values with their ends clamped to the rest (winsorized).
        let winsorized: Vec<f64> = sorted.iter().map(|value| value.clamp(least, most)).collect();
        let middle = winsorized.iter().sum::<f64>() / count;
        let variance = winsorized.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (count - 1.0);
        Trimmed {
            mean: kept.iter().sum::<f64>() / kept_count,
            error: (variance * count).sqrt() / kept_count,
            freedom: kept_count - 1.0,
        }
    }

    /// A lower bound of minus the logarithm of the probability that a mean lies this far from zero by chance, if the
    /// truth is at most `tolerance` away from it. By Student's distribution, whose value is transformed to a normal one
    /// as in Wallace (1959), and exp(-z^2 / 2), which exceeds both tails of that.
    pub fn log_odds(&self, tolerance: f64) -> f64 {
        let errors = (self.mean.abs() - tolerance).max(0.0) / self.error.max(f64::MIN_POSITIVE);
        let scale = (8.0 * self.freedom + 1.0) / (8.0 * self.freedom + 3.0);
        scale.powi(2) * self.freedom / 2.0 * (errors * errors / self.freedom).ln_1p()
    }
}

/// The standard deviation, estimated by the median distance from the median (times 1.4826, as for a normal distribution).
pub fn spread(values: &[f64]) -> f64 {
    let middle = median(values);
    1.4826 * median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_request_does_not_change_the_gap() {
        let even: Vec<f64> = (1..=16).map(|i| f64::from(i) * 10.0).collect();
        assert_eq!(gap_trimmed(&even), Some(10.0));
        let late: Vec<f64> = even.iter().map(|done| if *done > 80.0 { done + 500.0 } else { *done }).collect();
        assert_eq!(gap_trimmed(&late), Some(10.0));
        assert_eq!((gap_trimmed(&[]), gap_trimmed(&[3.0])), (None, None));
    }

    #[test]
    fn three_quarters_of_a_burst_are_reached() {
        assert_eq!(time_reached(&[1.0, 2.0, 3.0, 900.0]), Some(1.0));
        assert_eq!(time_reached(&[5.0]), None);
    }

    #[test]
    fn the_middle_and_the_spread_ignore_an_outlier() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
        assert!(median(&[]).is_nan() && undisturbed(&[]).is_nan());
        assert_eq!(undisturbed(&[9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 2.0, 1.0, 3.0, 4.0]), 4.0);
        assert_eq!((median_low(&[4.0, 1.0, 2.0, 3.0]), median_low(&[5.0, 1.0, 3.0])), (2.0, 3.0));
        assert_eq!(spread(&[1.0, 2.0, 3.0, 4.0, 1000.0]), 1.4826);
    }

    #[test]
    fn a_trimmed_mean_knows_its_error() {
        let even = Trimmed::of(&[-9.0, 1.0, 2.0, 3.0, 900.0]);
        assert_eq!((even.mean, even.freedom), (2.0, 2.0));
        assert!((even.error - 5f64.sqrt() / 3.0).abs() < 1e-9, "1 1 2 3 3 has a variance of 1: {}", even.error);
        // Two-sided quantiles of Student's law: of 10 degrees 4.587 and 1 in 1000, of 30 degrees 6.119 and 1 in a million.
        for (freedom, errors, odds) in [(10.0, 4.587, 1e3f64.ln()), (30.0, 6.119, 1e6f64.ln())] {
            let found = Trimmed { mean: 0.5 + errors, error: 1.0, freedom }.log_odds(0.5);
            assert!((odds - 2.0..=odds).contains(&found), "{found} for {odds}");
        }
        assert_eq!(Trimmed { mean: -0.4, error: 0.1, freedom: 9.0 }.log_odds(0.5), 0.0);
    }

    #[test]
    fn healthy_values_look_odd_no_more_often_than_the_log_odds_allow() {
        let mut rng = crate::rng::Rng::new(3);
        let mut wrong = 0;
        for _ in 0..20_000 {
            // Tails as long as those under heavy noise, and longer.
            let mut draw = || (0..4).map(|_| rng.uniform()).sum::<f64>() + if rng.uniform() < 0.1 { 5.0 } else { 0.0 };
            let values: Vec<f64> = (0..12).map(|_| draw() - draw()).collect();
            wrong += usize::from(Trimmed::of(&values).log_odds(0.0) >= 1e3f64.ln());
        }
        assert!(wrong <= 20, "{wrong} of 20,000, and one in a thousand is said");
    }
}
