//! The ratio of the delay that was caused to the delay that the plan predicted (1/200 to 200).
//!
//! With a p99 goal, the penalties for requests that lost more are part of both: where delays alone were counted, a plan whose penalties
//! were twice what it predicted never learned it.
//!
//! It corrects any error of the plan, the requests that queue behind included.

/// The prior that the plan is right has the weight of this many collisions, so that one burst is not believed at once.
const COLLISIONS_MIN: f64 = 30.0;
/// Beyond this many collisions the past counts half.
const COLLISIONS_MAX: f64 = 500.0;
/// The ratio is limited to this, and to its inverse.
const FACTOR_MAX: f64 = 200.0;

/// Delay caused and delay predicted, in seconds.
#[derive(Clone, Debug)]
pub(super) struct Calibration {
    factor: f64,
    predicted: f64,
    lost: f64,
    /// The total delay caused at the last update, in seconds.
    lost_at_update: f64,
}

impl Default for Calibration {
    fn default() -> Calibration {
        Calibration { factor: 1.0, predicted: 0.0, lost: 0.0, lost_at_update: 0.0 }
    }
}

impl Calibration {
    /// The delay caused as a multiple of the delay predicted.
    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    /// Adds intervals that have ended: `predicted` is the delay predicted for them, `lost` the total caused so far, and
    /// `usual` the cost of one collision, all in seconds.
    pub(super) fn update(&mut self, predicted: f64, lost: f64, usual: f64) {
        self.predicted += predicted;
        self.lost += lost - self.lost_at_update;
        self.lost_at_update = lost;
        if self.predicted > COLLISIONS_MAX * usual {
            self.predicted *= 0.5;
            self.lost *= 0.5;
        }
        let prior = COLLISIONS_MIN * usual;
        self.factor = ((self.lost + prior) / (self.predicted + prior)).clamp(1.0 / FACTOR_MAX, FACTOR_MAX);
    }

    /// Leaves out what was lost since the last update, of `lost` seconds in all: it was no part of a plan.
    pub(super) fn leave_out(&mut self, lost: f64) {
        self.lost_at_update = lost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_follows_the_ratio_of_caused_to_predicted_delay() {
        let mut calibration = Calibration::default();
        let mut lost = 0.0;
        let mut after = |collisions: u32, factor: f64| {
            for _ in 0..collisions {
                lost += factor * 0.005;
                calibration.update(0.005, lost, 0.005);
            }
            calibration.factor()
        };
        assert!((after(1, 16.0) - 1.5).abs() < 0.1, "one burst is not to be believed at once");
        assert!((after(5000, 2.0) - 2.0).abs() < 0.3);
        assert!((after(5000, 7.0) - 7.0).abs() < 0.5);
        assert!((after(5000, 0.01) - 0.05).abs() < 0.1);
    }
}
