//! Autocorrelation of a series: how strongly a value depends on the one `lag` places before it.

/// The autocorrelation (-1..=1) of `values` at lags 0, 1, ... `lag_max`; the first is 1. Lags that the series is too
/// short for are left out; a series that does not vary gives nothing.
///
/// The usual estimate, divided by all n values at every lag (Box & Jenkins, "Time series analysis", 1976, section 2.1),
/// so that no lag exceeds 1. Without any correlation, 95 % of the values lie within 1.96 / sqrt(n) of zero.
pub fn autocorrelation(values: &[f64], lag_max: usize) -> Vec<f64> {
    if values.iter().all(|&value| value == values[0]) {
        return Vec::new();
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let covariance =
        |lag: usize| -> f64 { values.iter().zip(&values[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum() };
    let variance = covariance(0);
    (0..=lag_max.min(values.len() - 1)).map(|lag| covariance(lag) / variance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn a_short_series_by_hand() {
        // Deviations from the mean: -1.5, -0.5, 0.5, 1.5; squares: 5; lag 1: 0.75 - 0.25 + 0.75; lag 2: -0.75 - 0.75.
        assert_eq!(autocorrelation(&[1.0, 2.0, 3.0, 4.0], 2), [1.0, 0.25, -0.3]);
        assert_eq!(autocorrelation(&[1.0, 2.0, 3.0, 4.0], 100).len(), 4);
    }

    #[test]
    fn a_constant_series_has_no_autocorrelation() {
        assert_eq!(autocorrelation(&[], 3), []);
        assert_eq!(autocorrelation(&[5.0], 3), []);
        assert_eq!(autocorrelation(&[0.1; 1000], 3), []);
    }

    /// x_n = a x_(n-1) + noise: the autocorrelation at lag k is a^k.
    #[test]
    fn a_first_order_series_forgets_geometrically() {
        let (mut rng, mut value) = (Rng::new(3), 0.0);
        let series: Vec<f64> = (0..100_000)
            .map(|_| {
                value = 0.8 * value + rng.uniform() - 0.5;
                value
            })
            .collect();
        for (lag, reached) in autocorrelation(&series, 5).into_iter().enumerate() {
            assert!((reached - 0.8f64.powi(lag as i32)).abs() < 0.02, "lag {lag}: {reached}");
        }
    }
}
