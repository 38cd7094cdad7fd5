//! The usual price of delay: bytes read for each second of delay that was earned.

use super::goal::Goal;

/// The share by which the past fades with each interval: half after 4,000. A disk that was quiet for a week and is busy
/// now cannot read as much for a delay as it did then.
const FADING: f64 = std::f64::consts::LN_2 / 4000.0;
/// The price is computed as if at least this many requests had earned.
const REQUESTS_MIN: f64 = Goal::WARM_UP_REQUESTS as f64;

/// Bytes read, and foreground requests that earned meanwhile; both fade.
#[derive(Clone, Debug, Default)]
pub(super) struct Price {
    bytes: f64,
    requests: f64,
    /// The totals at the last update: bytes, requests.
    at_update: [f64; 2],
}

impl Price {
    /// Adds what came since the last update, in which `ended` intervals ended; `bytes` read and `requests` are totals.
    pub(super) fn update(&mut self, ended: u64, bytes: u64, requests: u64) {
        let keep = (-FADING * ended as f64).exp();
        let totals = [bytes as f64, requests as f64];
        self.bytes = self.bytes * keep + totals[0] - self.at_update[0];
        self.requests = self.requests * keep + totals[1] - self.at_update[1];
        self.at_update = totals;
    }

    /// The price in bytes per second of delay, if each request earns `goal` seconds.
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
