//! The predictor of the next idle interval's length from those that have ended.
//!
//! It is what Amvrosiadis et al. (DSN'12, V-B) tried against plain waiting.

use crate::stats::{Acd, AutoRegression, RunningAutocovariance};
use crate::units::Nanos;
use std::collections::VecDeque;

/// The number of intervals below which nothing is predicted. The order of a first autoregression is 15 at most then.
const INTERVALS_MIN: u64 = 32;
/// A model is fitted again when the number of intervals has grown by one in this many: some twenty times while it grows tenfold.
const REFIT_PART: u64 = 8;
/// The highest order of an autoregression: what R would consider for 2.5 million intervals (10 log10 n).
const ORDER_MAX: usize = 64;
/// The number of recent intervals that ACD is fitted to. Its likelihood has no sums to keep: it needs the intervals themselves.
const WINDOW: usize = 4096;
/// The number of predictions, evenly spread over all that were made, of which the percentiles are taken: 1 % off in rank.
const SAMPLE: usize = 2048;

/// Predicts, after each idle interval, the length of the next one.
///
/// The paper fitted its models to a whole trace, with R, and then predicted that trace's intervals. A scrubber does not
/// know the future: here each prediction, and its model, come from the intervals before it alone. Weights and means
/// move while the past is short, and percentiles are of the predictions *made*, by the models of their time: where the
/// mean drifts, predictions are not above the q-th percentile in 100 - q of 100 cases, as the paper's are.
///
/// Memory is bounded: at most 70 KiB, whatever was added.
#[derive(Clone, Debug)]
pub struct Predictor {
    method: RunningModel,
    intervals: u64,
    refit_at: u64,
    next: Option<f64>,
    predictions: ThinnedSample,
}

/// A method of prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// AR(p) over all intervals so far, its order p (at most 64) by Akaike's criterion: see [`AutoRegression`].
    AutoRegressive,
    /// ACD(1,1) over the last 4096 intervals: see [`Acd`].
    Acd,
}

impl Predictor {
    /// A predictor before the first interval.
    pub fn new(method: Method) -> Predictor {
        let method = match method {
            Method::AutoRegressive => {
                RunningModel::AutoRegressive { past: RunningAutocovariance::new(ORDER_MAX), model: None }
            }
            Method::Acd => RunningModel::Acd { past: VecDeque::with_capacity(WINDOW), expected: None },
        };
        Predictor { method, intervals: 0, refit_at: INTERVALS_MIN, next: None, predictions: ThinnedSample::default() }
    }

    /// Adds an idle interval that has ended, and predicts the next one: O(p), or O(1) for ACD. The model is fitted
    /// again whenever there are an eighth more intervals than last time.
    pub fn add(&mut self, idle: Nanos) {
        self.method.add(idle.as_secs_f64());
        self.intervals += 1;
        if self.intervals == self.refit_at {
            self.method.refit();
            self.refit_at += self.intervals / REFIT_PART;
        }
        self.next = self.method.next().map(|seconds| seconds.max(0.0));
        if let Some(seconds) = self.next {
            self.predictions.add(seconds);
        }
    }

    /// The expected length of the next idle interval, in seconds, at least zero. `None` before the 32nd interval, and
    /// with ACD as long as all of them were empty.
    pub fn next(&self) -> Option<f64> {
        self.next
    }

    /// The `q`-th percentile (0..=100) of the predictions made so far, the next one included, in seconds: between two of
    /// them in proportion, as R's `quantile()`. Exact for the first 2048; later from at least 1024, evenly spread over all.
    ///
    /// A histogram would not do: after short intervals an autoregression predicts the same to the third digit each
    /// time, and the percentiles differ in the fourth.
    ///
    /// # Panics
    /// When `q` is not in 0..=100.
    pub fn percentile(&self, q: f64) -> Option<f64> {
        assert!((0.0..=100.0).contains(&q), "a percentile");
        self.predictions.quantile(q / 100.0)
    }
}

/// A model with the past that it needs.
#[derive(Clone, Debug)]
enum RunningModel {
    AutoRegressive { past: RunningAutocovariance, model: Option<AutoRegression> },
    Acd { past: VecDeque<f64>, expected: Option<(Acd, f64)> },
}

impl RunningModel {
    fn add(&mut self, seconds: f64) {
        match self {
            RunningModel::AutoRegressive { past, .. } => past.add(seconds),
            RunningModel::Acd { past, expected } => {
                if past.len() == WINDOW {
                    past.pop_front();
                }
                past.push_back(seconds);
                if let Some((model, psi)) = expected {
                    *psi = model.next(*psi, seconds);
                }
            }
        }
    }

    /// Fits the model again; keeps the last one where that fails.
    fn refit(&mut self) {
        match self {
            RunningModel::AutoRegressive { past, model } => {
                if let Some(fitted) = past.fit(None) {
                    *model = Some(fitted);
                }
            }
            RunningModel::Acd { past, expected } => {
                let past = past.make_contiguous();
                if let Some(fitted) = Acd::fit(past) {
                    *expected = Some((fitted, fitted.predict(past)));
                }
            }
        }
    }

    fn next(&self) -> Option<f64> {
        match self {
            RunningModel::AutoRegressive { past, model } => model.as_ref().map(|model| past.predict(model)),
            RunningModel::Acd { expected, .. } => expected.map(|(_, psi)| psi),
        }
    }
}

/// Every n-th of a stream of numbers: all at first; when there is no room, every second one is dropped, and n doubles.
#[derive(Clone, Debug)]
struct ThinnedSample {
    seen: u64,
    every: u64,
    in_time: Vec<f64>,
    ascending: Vec<f64>,
}

impl Default for ThinnedSample {
    fn default() -> ThinnedSample {
        ThinnedSample { seen: 0, every: 1, in_time: Vec::with_capacity(SAMPLE), ascending: Vec::with_capacity(SAMPLE) }
    }
}

impl ThinnedSample {
    fn add(&mut self, value: f64) {
        let is_taken = self.seen.is_multiple_of(self.every);
        self.seen += 1;
        if !is_taken {
            return;
        }
        if self.in_time.len() == SAMPLE {
            // This value remains a multiple of the doubled spacing, because SAMPLE is even.
            self.every *= 2;
            let mut index = 0;
            self.in_time.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.ascending.clone_from(&self.in_time);
            self.ascending.sort_by(f64::total_cmp);
        }
        self.in_time.push(value);
        let place = self.ascending.partition_point(|&other| other <= value);
        self.ascending.insert(place, value);
    }

    /// R's type 7: in proportion between the two values around the rank.
    fn quantile(&self, share: f64) -> Option<f64> {
        let rank = share * self.ascending.len().checked_sub(1)? as f64;
        let (below, above) = (self.ascending[rank.floor() as usize], self.ascending[rank.ceil() as usize]);
        Some(below + rank.fract() * (above - below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const METHODS: [Method; 2] = [Method::AutoRegressive, Method::Acd];

    /// Exponential intervals whose mean swings slowly between 10 ms and 190 ms: short ones follow short ones.
    fn swinging(count: u32, seed: u64) -> Vec<(f64, Nanos)> {
        let mut rng = Rng::new(seed);
        let mean = |i: u32| 0.1 + 0.09 * (f64::from(i) * std::f64::consts::TAU / 200.0).sin();
        (0..count).map(|i| (mean(i), Nanos::from_secs_f64(rng.exponential(mean(i))))).collect()
    }

    #[test]
    fn nothing_is_predicted_from_few_intervals() {
        for method in METHODS {
            let mut predictor = Predictor::new(method);
            for (count, (_, idle)) in swinging(200, 1).into_iter().enumerate() {
                assert_eq!(predictor.next().is_some(), count >= INTERVALS_MIN as usize, "{method:?} {count}");
                assert_eq!(predictor.percentile(50.0).is_some(), predictor.next().is_some());
                predictor.add(idle);
            }
        }
    }

    #[test]
    fn both_methods_follow_a_slow_swing_better_than_the_mean_does() {
        for method in METHODS {
            let mut predictor = Predictor::new(method);
            let (mut error, mut error_of_mean) = (0.0, 0.0);
            for (mean, idle) in swinging(6_000, 2) {
                if let Some(next) = predictor.next() {
                    error += (next - mean).powi(2);
                    error_of_mean += (0.1 - mean).powi(2);
                }
                predictor.add(idle);
            }
            assert!(error < 0.5 * error_of_mean, "{method:?}: {error} of {error_of_mean}");
        }
    }

    #[test]
    fn a_prediction_is_that_of_the_model_fitted_last() {
        let intervals: Vec<f64> = swinging(40, 3).iter().map(|(_, idle)| idle.as_secs_f64()).collect();
        let mut regressive = Predictor::new(Method::AutoRegressive);
        let mut acd = Predictor::new(Method::Acd);
        for &seconds in &intervals[..38] {
            regressive.add(Nanos::from_secs_f64(seconds));
            acd.add(Nanos::from_secs_f64(seconds));
        }
        let (fitted, seen) = (&intervals[..36], &intervals[..38]); // the model is fitted at 32, 36 and 40 intervals
        let expected = AutoRegression::fit(fitted, None).unwrap().predict(seen).max(0.0);
        assert!((regressive.next().unwrap() - expected).abs() < 1e-6);
        let model = Acd::fit(fitted).unwrap();
        let expected = seen[36..].iter().fold(model.predict(fitted), |psi, &seconds| model.next(psi, seconds));
        assert!((acd.next().unwrap() - expected).abs() < 1e-6);
    }

    #[test]
    fn predictions_exceed_a_percentile_as_often_as_it_implies() {
        for method in METHODS {
            let mut predictor = Predictor::new(method);
            let mut above = [0u32; 4];
            let count = 10_000;
            for (_, idle) in swinging(count, 4) {
                predictor.add(idle);
                for (above, q) in above.iter_mut().zip([20.0, 40.0, 60.0, 80.0]) {
                    *above += u32::from(predictor.next() > predictor.percentile(q));
                }
            }
            for (above, share) in above.into_iter().zip([0.8, 0.6, 0.4, 0.2]) {
                let found = f64::from(above) / f64::from(count);
                assert!((found - share).abs() < 0.03, "{method:?}: {found} instead of {share}");
            }
        }
    }

    #[test]
    fn equal_intervals_are_predicted_and_empty_ones_too() {
        for method in METHODS {
            let mut predictor = Predictor::new(method);
            (0..100).for_each(|_| predictor.add(Nanos::from_millis(250)));
            assert!((predictor.next().unwrap() - 0.25).abs() < 1e-4, "{method:?}");
        }
        let mut empty = [Method::AutoRegressive, Method::Acd].map(Predictor::new);
        empty.iter_mut().for_each(|predictor| (0..100).for_each(|_| predictor.add(Nanos::ZERO)));
        assert_eq!(empty.map(|predictor| predictor.next()), [Some(0.0), None]);
    }

    #[test]
    fn the_sample_spreads_over_all_values() {
        let mut sample = ThinnedSample::default();
        assert_eq!(sample.quantile(0.5), None);
        (0..=100).for_each(|value| sample.add(f64::from(value)));
        assert_eq!([0.0, 0.25, 0.805, 1.0].map(|share| sample.quantile(share).unwrap()), [0.0, 25.0, 80.5, 100.0]);
        (101..1_000_000).for_each(|value| sample.add(f64::from(value)));
        assert!(sample.in_time.len() <= SAMPLE && sample.in_time.len() >= SAMPLE / 2);
        assert!(sample.in_time.iter().enumerate().all(|(i, &value)| value as u64 == i as u64 * sample.every));
        assert!((sample.quantile(0.2).unwrap() - 200_000.0).abs() < 1000.0);
    }
}
