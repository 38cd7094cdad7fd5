//! How many times the delay of the one who ends an interval all lose together: those who queue behind, and whatever the
//! plan is wrong about.

/// Until collisions tell, all who come between two idle intervals are taken to lose what the first one loses: as if it had
/// been so in so many collisions. One burst is not to be believed at once, nor that nobody queues.
const PRIOR_COLLISIONS: f64 = 30.0;
/// Beyond so many collisions the past counts half.
const COLLISIONS_MAX: f64 = 500.0;
/// With each interval the worst collision seen counts by so much less.
const FADING: f64 = 1.0 / 4096.0;

/// What was lost beside what was foreseen, in seconds.
#[derive(Clone, Debug)]
pub(super) struct Followers {
    factor: f64,
    worst: f64,
    foreseen: f64,
    lost: f64,
    /// What had been lost when it was looked at last.
    told: f64,
}

impl Default for Followers {
    fn default() -> Followers {
        Followers { factor: 1.0, worst: 1.0, foreseen: 0.0, lost: 0.0, told: 0.0 }
    }
}

impl Followers {
    /// How many times as much is lost as is foreseen: 0.5 to 1000.
    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    /// How many times the service of the request that it meets the worst collision of late cost, or the usual one: 1 to 1000.
    pub(super) fn worst(&self) -> f64 {
        self.worst.max(self.factor)
    }

    /// So many intervals have ended: so much delay was foreseen for whoever ends one; so much has been lost by all, in all, so
    /// far; a request of ours takes `service` seconds, and `behind` requests come between two intervals.
    pub(super) fn update(&mut self, intervals: f64, foreseen: f64, lost: f64, service: f64, behind: f64) {
        let more = lost - self.told;
        (self.told, self.foreseen, self.lost) = (lost, self.foreseen + intervals * foreseen, self.lost + more);
        let faded = self.worst * (1.0 - FADING).powf(intervals);
        self.worst = (more / intervals / service).max(faded).clamp(1.0, 1000.0);
        // One waits for half a request.
        if self.foreseen > COLLISIONS_MAX * service / 2.0 {
            self.foreseen *= 0.5;
            self.lost *= 0.5;
        }
        let prior = PRIOR_COLLISIONS * service / 2.0;
        self.factor = ((self.lost + behind * prior) / (self.foreseen + prior)).clamp(0.5, 1000.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_learned_and_forgotten() {
        let mut followers = Followers::default();
        let mut lost = 0.0;
        let mut after = |collisions: u32, factor: f64| {
            for _ in 0..collisions {
                lost += factor * 0.005;
                followers.update(1.0, 0.005, lost, 0.01, 4.0);
            }
            followers.factor()
        };
        assert!((after(1, 16.0) - 4.4).abs() < 0.1, "one burst is not to be believed at once");
        assert!((after(5000, 2.0) - 2.0).abs() < 0.3);
        assert!((after(5000, 7.0) - 7.0).abs() < 0.5);
        let mut followers = Followers::default();
        followers.update(1.0, 0.005, 0.2, 0.01, 4.0);
        assert_eq!(followers.worst(), 20.0);
    }
}
