//! What a delay usually buys: bytes read for each second that may be lost.

use super::goal::Goal;

/// With each interval what was before counts by so much less: half after 4,000. A disk that was quiet for a week and is busy
/// now cannot have what a delay bought then.
const FADING: f64 = std::f64::consts::LN_2 / 4000.0;
/// It is reckoned as if so many requests had earned, until that many have.
const REQUESTS_MIN: f64 = Goal::WARM_UP_REQUESTS as f64;

/// What was read, and how many requests of the foreground earned meanwhile.
#[derive(Clone, Debug, Default)]
pub(super) struct Price {
    bytes: f64,
    requests: f64,
    /// What they were in all when it was looked at last.
    told: [f64; 2],
}

impl Price {
    /// So many intervals have ended since the last time; so much was read and so many have come, in all.
    pub(super) fn update(&mut self, ended: u64, bytes: u64, requests: u64) {
        let keep = (-FADING * ended as f64).exp();
        let told = [bytes as f64, requests as f64];
        self.bytes = self.bytes * keep + told[0] - self.told[0];
        self.requests = self.requests * keep + told[1] - self.told[1];
        self.told = told;
    }

    /// In bytes for a second, where each request earns `goal` seconds.
    pub(super) fn usual(&self, goal: f64) -> f64 {
        self.bytes / (goal * self.requests.max(REQUESTS_MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_week_is_forgotten_when_the_disk_is_busy() {
        let (mut price, goal) = (Price::default(), 1e-3);
        (1..=1000).for_each(|interval| price.update(1, interval * 50_000_000_000, interval));
        let quiet = price.usual(goal);
        assert!((4e13..=5.01e13).contains(&quiet), "{quiet}");
        (1..=40_000).for_each(|busy| price.update(1, 50_000_000_000_000 + busy * 1_000_000, 1000 + busy));
        let busy = price.usual(goal);
        assert!((1e9..2e10).contains(&busy), "{busy}");
    }
}
