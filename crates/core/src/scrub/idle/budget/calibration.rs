//! The ratio of what was lost to what the plan foresaw (1/200 to 200): it corrects whatever the plan is wrong about, the requests that
//! queue behind included.

/// Until collisions tell, the plan is believed as if it had been right in so many of them: one burst is not to be believed at
/// once.
const COLLISIONS_MIN: f64 = 30.0;
/// Beyond so many collisions the past counts half.
const COLLISIONS_MAX: f64 = 500.0;
/// It is never taken to be more wrong than so many times, either way.
const FACTOR_MAX: f64 = 200.0;

/// What was lost beside what was foreseen, in seconds.
#[derive(Clone, Debug)]
pub(super) struct Calibration {
    factor: f64,
    foreseen: f64,
    lost: f64,
    /// What had been lost when it was looked at last.
    told: f64,
}

impl Default for Calibration {
    fn default() -> Calibration {
        Calibration { factor: 1.0, foreseen: 0.0, lost: 0.0, told: 0.0 }
    }
}

impl Calibration {
    /// How many times as much is lost as is foreseen.
    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    /// Intervals have ended: so much delay was foreseen for those who came; so much has been lost, in all, so far; a collision
    /// costs `usual` seconds.
    pub(super) fn update(&mut self, foreseen: f64, lost: f64, usual: f64) {
        self.foreseen += foreseen;
        self.lost += lost - self.told;
        self.told = lost;
        if self.foreseen > COLLISIONS_MAX * usual {
            self.foreseen *= 0.5;
            self.lost *= 0.5;
        }
        let prior = COLLISIONS_MIN * usual;
        self.factor = ((self.lost + prior) / (self.foreseen + prior)).clamp(1.0 / FACTOR_MAX, FACTOR_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_learned_and_forgotten() {
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
