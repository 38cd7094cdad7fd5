//! What is reckoned from the times of one burst, and from a few such numbers.

/// A fraction of the gaps, the longest ones, that are left out: one slow request spoils one gap.
const TRIMMED: f64 = 1.0 / 8.0;
/// Up to which share of a burst a flash drive's time is taken: slow requests delay no others there.
const REACHED: f64 = 3.0 / 4.0;

/// The mean time between completions, without the longest ones; nothing when too few were done. Times count from the
/// start of the burst, in nanoseconds.
pub fn gap_trimmed(done: &[f64]) -> Option<f64> {
    let mut done = done.to_vec();
    done.sort_by(f64::total_cmp);
    let mut gaps: Vec<f64> = std::iter::once(0.0).chain(done.iter().copied()).zip(&done).map(|(a, b)| b - a).collect();
    gaps.sort_by(f64::total_cmp);
    let kept = gaps.len() - (gaps.len() as f64 * TRIMMED).ceil() as usize;
    (kept > 0).then(|| gaps[..kept].iter().sum::<f64>() / kept as f64)
}

/// The time of a request while the first three quarters are done.
pub fn time_reached(done: &[f64]) -> Option<f64> {
    let mut done = done.to_vec();
    done.sort_by(f64::total_cmp);
    let reached = (done.len() as f64 * REACHED) as usize;
    (reached > 0).then(|| done[reached - 1] / reached as f64)
}

/// The least of which three tenths are not larger; not a number of none. It is that of the undisturbed ones, even where most
/// are disturbed.
pub fn undisturbed(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() * 3 / 10).copied().unwrap_or(f64::NAN)
}

/// The middle one; not a number of none.
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

/// The standard deviation as the median distance from the median tells it (1.4826 times that, for a normal one).
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
        assert_eq!(spread(&[1.0, 2.0, 3.0, 4.0, 1000.0]), 1.4826);
    }
}
