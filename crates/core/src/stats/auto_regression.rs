//! Autoregression: the next value as a weighted sum of the last ones, fitted by Yule-Walker, in one go or value by value.

/// AR(p): `x[n] - mean = sum of a[i] (x[n-i] - mean) + e`, i = 1..=p, stationary by construction.
///
/// Fitted as R's `ar()` does by default (`method = "yule-walker"`), which Amvrosiadis et al. (DSN'12, V-B) used: the
/// mean removed, autocovariances divided by n, the Levinson-Durbin recursion, the order chosen by Akaike's information
/// criterion (AIC).
#[derive(Clone, Debug, PartialEq)]
pub struct AutoRegression {
    mean: f64,
    coefficients: Vec<f64>,
    variance: f64,
}

impl AutoRegression {
    /// Fits `values`, oldest first, with the order in `0..=order_max` that has the least AIC; `order_max: None` stands
    /// for [`order_max`] of their number. Values that do not vary give order 0, which predicts their mean.
    ///
    /// `None` when there are no values, or when values or their squares are not finite.
    pub fn fit(values: &[f64], order_max: Option<usize>) -> Option<AutoRegression> {
        let count = values.len();
        let first = *values.first()?;
        // Relative to the first value, so that the mean of equal values is exactly their value.
        let mean = first + values.iter().map(|value| value - first).sum::<f64>() / count as f64;
        let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let lags = order_max.unwrap_or_else(|| self::order_max(count as u64)).min(count - 1);
        let covariance =
            |lag: usize| centred[lag..].iter().zip(&centred).map(|(a, b)| a * b).sum::<f64>() / count as f64;
        let autocovariances: Vec<f64> = (0..=lags).map(covariance).collect();
        AutoRegression::solve(count as u64, mean, &autocovariances)
    }

    /// The order p.
    pub fn order(&self) -> usize {
        self.coefficients.len()
    }

    /// The weights a, p of them, the newest value's first.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// The mean of the values fitted.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The variance of the error e, corrected for the degrees of freedom as in R's `var.pred`: times n / (n - p - 1).
    /// Infinite when no degree of freedom is left.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// Predicts the value after `recent`, the newest last. If there are fewer than p, the mean replaces the missing ones.
    pub fn predict(&self, recent: &[f64]) -> f64 {
        self.mean + self.weigh(recent, self.mean)
    }

    /// The weighted sum of the deviations from `mean` of `recent`, whose last is the newest.
    fn weigh(&self, recent: &[f64], mean: f64) -> f64 {
        self.coefficients.iter().zip(recent.iter().rev()).map(|(weight, value)| weight * (value - mean)).sum()
    }

    /// Fits the autocovariances of `count` values at lags 0, 1, ..., by the Levinson-Durbin recursion over the orders.
    fn solve(count: u64, mean: f64, autocovariances: &[f64]) -> Option<AutoRegression> {
        if !mean.is_finite() || !autocovariances.iter().all(|value| value.is_finite()) {
            return None;
        }
        let n = count as f64;
        let mut variance = autocovariances[0].max(0.0);
        let mut weights: Vec<f64> = Vec::with_capacity(autocovariances.len());
        let mut best = (weights.clone(), variance);
        let mut aic_best = aic(n, variance, 0);
        for order in 1..autocovariances.len() {
            if variance <= autocovariances[0] * VARIANCE_SHARE_MIN {
                break;
            }
            let explained: f64 = weights.iter().zip(autocovariances[1..order].iter().rev()).map(|(a, c)| a * c).sum();
            let partial = (autocovariances[order] - explained) / variance;
            let reversed: Vec<f64> = weights.iter().rev().copied().collect();
            weights.iter_mut().zip(reversed).for_each(|(weight, mirrored)| *weight -= partial * mirrored);
            weights.push(partial);
            variance *= 1.0 - partial * partial;
            let aic = aic(n, variance, order);
            if aic < aic_best {
                aic_best = aic;
                best = (weights.clone(), variance);
            }
        }
        let (coefficients, variance) = best;
        let freedom = n - (coefficients.len() + 1) as f64;
        let variance = if variance > 0.0 { variance * n / freedom } else { 0.0 };
        Some(AutoRegression { mean, coefficients, variance })
    }
}

/// A residual variance below this share of the values' own variance is rounding: higher orders would fit noise.
const VARIANCE_SHARE_MIN: f64 = 1e-12;

/// Akaike's criterion as R's `ar.yw` computes it, without the constant for the removed mean.
fn aic(count: f64, variance: f64, order: usize) -> f64 {
    count * variance.ln() + 2.0 * order as f64
}

/// The highest order considered for `count` values, as in R's `ar()`: 10 log10 n, at most n - 1.
pub fn order_max(count: u64) -> usize {
    if count == 0 { 0 } else { ((10.0 * (count as f64).log10()).floor() as u64).min(count - 1) as usize }
}

/// The autocovariances of a stream up to a greatest lag, in constant memory and O(lags) time per value. At any time
/// they give the same [`AutoRegression`] as the whole stream would, up to rounding.
///
/// It keeps sums of products of values less the first value (which costs nothing and saves digits), and as many first
/// and last values as there are lags: the sums contain too much of these when the mean is removed afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningAutocovariance {
    lags: usize,
    count: u64,
    /// The first value; all others are kept relative to it.
    origin: f64,
    sum: f64,
    /// Sums of products of values `lag` apart, indexed by `lags - lag`: in the order of [`RunningAutocovariance::window`].
    products: Vec<f64>,
    /// The first `lags` values, relative to the origin.
    head: Vec<f64>,
    /// The last `lags + 1` values, relative to the origin, stored twice in a row, so that they are always contiguous.
    ring: Vec<f64>,
    /// The index in the ring of the oldest of them.
    oldest: usize,
}

impl RunningAutocovariance {
    /// The state before any value, for orders up to `lags`.
    pub fn new(lags: usize) -> RunningAutocovariance {
        RunningAutocovariance {
            lags,
            count: 0,
            origin: 0.0,
            sum: 0.0,
            products: vec![0.0; lags + 1],
            head: Vec::with_capacity(lags),
            ring: vec![0.0; 2 * (lags + 1)],
            oldest: 0,
        }
    }

    /// Adds the next value. After one that is not finite all fits are `None`.
    pub fn add(&mut self, value: f64) {
        if self.count == 0 {
            self.origin = value;
        }
        let value = value - self.origin;
        if self.head.len() < self.lags {
            self.head.push(value);
        }
        self.ring[self.oldest] = value;
        self.ring[self.oldest + self.lags + 1] = value;
        self.oldest = (self.oldest + 1) % (self.lags + 1);
        self.count += 1;
        self.sum += value;
        // Before the stream began the ring holds zeros, which add nothing.
        let window = &self.ring[self.oldest..][..self.lags + 1];
        self.products.iter_mut().zip(window).for_each(|(product, earlier)| *product += value * earlier);
    }

    /// The number of values so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean of all values; zero when there are none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.origin + self.sum / self.count as f64 }
    }

    /// The autocovariances at lags 0 to `lag_max`, at most to the greatest lag kept or `count - 1`; divided by n, the
    /// mean removed.
    pub fn autocovariances(&self, lag_max: usize) -> Vec<f64> {
        let Some(last) = self.count.checked_sub(1) else { return Vec::new() };
        let n = self.count as f64;
        let mean = self.sum / n;
        let (mut first_sum, mut last_sum) = (0.0, 0.0);
        let lag_max = lag_max.min(self.lags).min(usize::try_from(last).unwrap_or(usize::MAX));
        let newest_first = self.window().iter().rev();
        let mut edges = self.head.iter().zip(newest_first);
        (0..=lag_max)
            .map(|lag| {
                // sum of (x[i] - mean)(x[i-lag] - mean): later factors lack the first `lag` values, earlier ones the last.
                let crossed = 2.0 * self.sum - first_sum - last_sum;
                let covariance = self.products[self.lags - lag] - mean * crossed + (n - lag as f64) * mean * mean;
                if let Some((first, last)) = edges.next() {
                    first_sum += first;
                    last_sum += last;
                }
                covariance / n
            })
            .collect()
    }

    /// The fit that [`AutoRegression::fit`] gives for all values so far, of an order of at most the greatest lag kept.
    pub fn fit(&self, order_max: Option<usize>) -> Option<AutoRegression> {
        if self.count == 0 {
            return None;
        }
        let autocovariances = self.autocovariances(order_max.unwrap_or_else(|| self::order_max(self.count)));
        AutoRegression::solve(self.count, self.mean(), &autocovariances)
    }

    /// Predicts the next value by `model`.
    pub fn predict(&self, model: &AutoRegression) -> f64 {
        let seen = usize::try_from(self.count).unwrap_or(usize::MAX).min(self.lags + 1);
        let recent = &self.window()[self.lags + 1 - seen..];
        model.mean + model.weigh(recent, model.mean - self.origin)
    }

    /// The last `lags + 1` values relative to the origin, the newest last; zeros before the first value.
    fn window(&self) -> &[f64] {
        &self.ring[self.oldest..][..self.lags + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;

    /// Luteinizing hormone in blood samples at 10 min intervals (Diggle, "Time Series", 1990): R's data set `lh`.
    const LH: [f64; 48] = [
        2.4, 2.4, 2.4, 2.2, 2.1, 1.5, 2.3, 2.3, 2.5, 2.0, 1.9, 1.7, 2.2, 1.8, 3.2, 3.2, 2.7, 2.2, 2.2, 1.9, 1.9, 1.8,
        2.7, 3.0, 2.3, 2.0, 2.0, 2.9, 2.9, 2.7, 2.7, 2.3, 2.6, 2.4, 1.8, 1.7, 1.5, 1.4, 2.1, 3.3, 3.5, 3.5, 3.1, 2.6,
        2.1, 3.4, 3.0, 2.9,
    ];

    fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
        found.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() <= tolerance, "{found:?} {expected:?}"));
    }

    /// R 4.2.2: `ar(lh)` and `predict(ar(lh))`; the same in the examples of R's manual.
    #[test]
    fn the_fit_is_that_of_r() {
        let model = AutoRegression::fit(&LH, None).unwrap();
        assert_eq!(model.order(), 3);
        assert_near(model.coefficients(), &[0.6534016786916, -0.0636208360875, -0.2269402016502], 1e-12);
        assert_near(&[model.variance(), model.mean()], &[0.195867094109, 2.4], 1e-12);
        assert_near(&[model.predict(&LH)], &[2.46158813604], 1e-11);
    }

    /// R 4.2.2: `acf(lh, type = "covariance")`; statsmodels 0.15: `yule_walker(lh, 3, method = "mle")`.
    #[test]
    fn autocovariances_are_divided_by_n() {
        let mut running = RunningAutocovariance::new(20);
        LH.iter().for_each(|&value| running.add(value));
        let expected = [0.2979166666667, 0.1714583333333, 0.0541666666667, -0.0431250000000];
        assert_near(&running.autocovariances(3), &expected, 1e-12);
        let model = running.fit(None).unwrap();
        assert_near(model.coefficients(), &[0.6534016786916, -0.0636208360875, -0.2269402016502], 1e-12);
        assert_near(&[running.predict(&model)], &[2.46158813604], 1e-11);
    }

    #[test]
    fn missing_values_count_as_the_mean() {
        let model = AutoRegression::fit(&LH, None).unwrap();
        assert_eq!(model.predict(&[]), model.mean());
        let (mean, newest) = (model.mean(), 3.0);
        assert_near(&[model.predict(&[newest])], &[mean + model.coefficients()[0] * (newest - mean)], 1e-15);
        assert_eq!(model.predict(&[mean, mean, newest]), model.predict(&[newest]));
    }

    #[test]
    fn a_constant_series_is_predicted_exactly() {
        let model = AutoRegression::fit(&[0.1; 100], None).unwrap();
        assert_eq!((model.order(), model.mean(), model.variance()), (0, 0.1, 0.0));
        assert_eq!(AutoRegression::fit(&[7.0], None).unwrap().predict(&[7.0]), 7.0);
        assert_eq!(AutoRegression::fit(&[], None), None);
        assert_eq!(AutoRegression::fit(&[1.0, f64::INFINITY], None), None);
        assert_eq!(RunningAutocovariance::new(3).fit(None), None);
    }

    #[test]
    fn a_simulated_series_gives_its_weights_back() {
        let mut rng = Rng::new(1);
        let mut values = vec![0.0, 0.0];
        for n in 2..100_000 {
            values.push(0.5 * values[n - 1] - 0.3 * values[n - 2] + rng.exponential(1.0));
        }
        let model = AutoRegression::fit(&values, Some(2)).unwrap();
        assert_near(model.coefficients(), &[0.5, -0.3], 0.01);
        assert_near(&[model.mean(), model.variance()], &[1.0 / 0.8, 1.0], 0.02);
    }

    #[test]
    fn orders_are_considered_up_to_that_of_r() {
        assert_eq!([0, 1, 2, 10, 12, 48, 1000, 1_000_000].map(order_max), [0, 0, 1, 9, 10, 16, 30, 60]);
    }

    proptest! {
        #[test]
        fn running_autocovariances_are_those_of_the_whole_series(
            values in prop::collection::vec(prop_oneof![0.0..1.0f64, 0.0..1e3f64, Just(5.0)], 1..120),
            lags in 0..30usize,
            shift in prop_oneof![Just(0.0), -1e3..1e3f64],
        ) {
            let values: Vec<f64> = values.iter().map(|value| value + shift).collect();
            let mut running = RunningAutocovariance::new(lags);
            values.iter().for_each(|&value| running.add(value));
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let expected: Vec<f64> = (0..=lags.min(values.len() - 1))
                .map(|lag| (lag..values.len()).map(|i| (values[i] - mean) * (values[i - lag] - mean)).sum::<f64>() / n)
                .collect();
            let tolerance = 1e-10 * (1.0 + expected[0]);
            assert_near(&running.autocovariances(lags), &expected, tolerance);

            let model = running.fit(Some(lags)).unwrap();
            let batch = AutoRegression::fit(&values, Some(lags)).unwrap();
            // Equal AICs, or a series that a few weights explain completely, can go either way by rounding.
            prop_assume!(model.order() == batch.order() && batch.variance() > 1e-6 * expected[0]);
            assert_near(model.coefficients(), batch.coefficients(), 1e-5);
            prop_assert!((running.predict(&model) - model.predict(&values)).abs() <= 1e-9 * (1.0 + mean.abs()));
        }
    }
}
