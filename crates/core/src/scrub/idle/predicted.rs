//! Predicted: sends only in idle intervals that are predicted to be long.
//!
//! Amvrosiadis et al. (DSN'12, V-B): Auto-Regression, alone and after a wait; ACD is what they tried first.

use super::pattern::{IdlePattern, IntervalPolicy, RequestGrowth};
use super::predictor::{Method, Predictor};
use crate::units::{Bytes, Nanos};

/// How long a predicted interval must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cutoff {
    /// A predicted length above this.
    Length(Nanos),
    /// A predicted length above this percentile of the predictions made so far, in hundredths of a percent: 0..=10 000.
    /// The paper's `AR (80th)` is 8000.
    Percentile(u16),
}

/// Waits, then sends requests of one size back to back, in intervals whose predicted length is above the cutoff. Sends
/// nothing until a prediction is possible.
#[derive(Clone, Debug)]
pub struct Predicted {
    predictor: Predictor,
    cutoff: Cutoff,
    wait: Nanos,
    size: Bytes,
}

impl Predicted {
    /// A policy before the first interval. A `wait` of zero is the paper's plain Auto-Regression.
    ///
    /// # Panics
    /// When a percentile is above 100 %.
    pub fn new(method: Method, cutoff: Cutoff, wait: Nanos, size: Bytes) -> Predicted {
        assert!(!matches!(cutoff, Cutoff::Percentile(10_001..)), "a percentile");
        Predicted { predictor: Predictor::new(method), cutoff, wait, size }
    }

    /// Is the coming interval predicted to be long enough?
    fn is_long(&self) -> bool {
        let cutoff = match self.cutoff {
            Cutoff::Length(length) => Some(length.as_secs_f64()),
            Cutoff::Percentile(hundredths) => self.predictor.percentile(f64::from(hundredths) / 100.0),
        };
        match (self.predictor.next(), cutoff) {
            (Some(next), Some(cutoff)) => next > cutoff,
            _ => false,
        }
    }
}

impl IntervalPolicy for Predicted {
    fn pattern(&self) -> IdlePattern {
        if !self.is_long() {
            return IdlePattern::NEVER;
        }
        IdlePattern { wait: self.wait, first: self.size, growth: RequestGrowth::Fixed }
    }

    fn ended(&mut self, idle: Nanos) {
        self.predictor.add(idle);
    }

    fn size_max(&self) -> Bytes {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::kib(64);

    /// Intervals that swing slowly between 10 ms and 1 s: the length of each in ms, and whether the policy sent in it.
    fn fired(method: Method, cutoff: Cutoff, wait: Nanos) -> Vec<(u64, bool)> {
        let mut policy = Predicted::new(method, cutoff, wait, SIZE);
        let millis = |i: u32| (505.0 + 495.0 * (f64::from(i) * std::f64::consts::TAU / 100.0).sin()) as u64;
        let mut fired = Vec::new();
        for millis in (0..2000).map(millis) {
            let pattern = policy.pattern();
            assert!(pattern == IdlePattern::NEVER || (pattern.wait, pattern.first) == (wait, SIZE));
            fired.push((millis, pattern != IdlePattern::NEVER));
            policy.ended(Nanos::from_millis(millis));
        }
        fired
    }

    #[test]
    fn requests_are_sent_in_intervals_predicted_to_be_long() {
        for method in [Method::AutoRegressive, Method::Acd] {
            let fired = fired(method, Cutoff::Length(Nanos::from_millis(500)), Nanos::ZERO);
            assert!(fired[..32].iter().all(|&(_, is_fired)| !is_fired), "nothing can be predicted yet");
            let right = fired[1000..].iter().filter(|&&(millis, is_fired)| is_fired == (millis > 500)).count();
            assert!(right > 900, "{method:?}: {right} of 1000");
        }
    }

    #[test]
    fn a_percentile_determines_how_often_requests_are_sent() {
        let wait = Nanos::from_millis(7);
        for (hundredths, expected) in [(2000, 800), (8000, 200), (10_000, 0)] {
            let fired = fired(Method::AutoRegressive, Cutoff::Percentile(hundredths), wait);
            let count = fired[1000..].iter().filter(|(_, is_fired)| *is_fired).count();
            assert!(count.abs_diff(expected) < 40, "{hundredths}: {count}");
        }
    }
}
