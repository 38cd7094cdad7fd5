//! The watch's clock: the system's; for tests, a calendar that runs faster.

use scrubjay_core::units::UnixSeconds;
use scrubjay_device::clock;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A calendar that shows `from` at that time and runs `speed` times as fast from then on. For tests only: a month in minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestCalendar {
    /// Seconds that pass in a second, at least 1.
    pub speed: u64,
    /// When it shows the true time.
    pub from: UnixSeconds,
}

impl FromStr for TestCalendar {
    type Err = String;

    /// Parses `SPEED@SECONDS`.
    fn from_str(text: &str) -> Result<TestCalendar, String> {
        let parsed = text.split_once('@').and_then(|(speed, from)| Some((speed.parse().ok()?, from.parse().ok()?)));
        match parsed {
            Some((speed, from)) if speed > 0 => Ok(TestCalendar { speed, from: UnixSeconds(from) }),
            _ => Err(format!("`{text}` is no test calendar: write SPEED@SECONDS")),
        }
    }
}

/// The watch's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct WatchClock {
    test: Option<TestCalendar>,
}

impl WatchClock {
    /// The system's clock, or a test's.
    pub fn new(test: Option<TestCalendar>) -> WatchClock {
        WatchClock { test }
    }

    /// Seconds of the calendar that pass in a second.
    pub fn pace(&self) -> u64 {
        self.test.map_or(1, |test| test.speed)
    }

    /// Is the clock known to be synchronised? `None`: not known.
    pub fn is_synchronised(&self) -> Option<bool> {
        if self.test.is_some() { Some(true) } else { clock::is_synchronised() }
    }

    /// For how many seconds this machine was suspended since it started, by the watch's calendar.
    pub fn suspended(&self) -> u64 {
        clock::suspended().0 / 1_000_000_000 * self.pace()
    }

    /// The present time of the watch.
    pub fn now(&self) -> UnixSeconds {
        let Some(TestCalendar { speed, from }) = self.test else { return clock::today() };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let passed = since.saturating_sub(Duration::from_secs(from.0));
        UnixSeconds(from.0 + (passed.as_secs_f64() * speed as f64) as u64)
    }

    /// A time of the watch, by the system's clock.
    pub fn by_system(&self, at: UnixSeconds) -> UnixSeconds {
        match self.test {
            None => at,
            Some(TestCalendar { speed, from }) => UnixSeconds(from.0 + at.0.saturating_sub(from.0) / speed),
        }
    }

    /// A time of the system's clock, by the watch's.
    pub fn by_watch(&self, at: UnixSeconds) -> UnixSeconds {
        match self.test {
            None => at,
            Some(TestCalendar { speed, from }) => {
                UnixSeconds(from.0.saturating_add(at.0.saturating_sub(from.0).saturating_mul(speed)))
            }
        }
    }

    /// A period of the pump: with a test's calendar it is shorter, but not in proportion.
    pub fn period(&self, usual: Duration) -> Duration {
        let Some(TestCalendar { speed, .. }) = self.test else { return usual };
        (usual / u32::try_from(speed).unwrap_or(u32::MAX)).max(Duration::from_millis(200)).min(usual)
    }

    /// How long to wait until a time; a little longer than that, never less.
    pub fn until(&self, at: UnixSeconds) -> Duration {
        let seconds = at.0.saturating_sub(self.now().0);
        match self.test {
            // A whole second ends somewhere in the next one.
            None => Duration::from_secs(seconds),
            Some(TestCalendar { speed, .. }) => Duration::from_secs_f64(seconds as f64 / speed as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_calendar_runs_faster_from_its_start_on() {
        let from = UnixSeconds(clock::today().0 - 100);
        let clock = WatchClock::new(Some(TestCalendar { speed: 1000, from }));
        let shown = clock.now();
        assert!((100_000..130_000).contains(&(shown.0 - from.0)), "{}", shown.0 - from.0);
        assert_eq!(clock.by_system(UnixSeconds(from.0 + 5000)), UnixSeconds(from.0 + 5));
        assert!(clock.until(UnixSeconds(from.0)).is_zero());
        assert_eq!("5000@7".parse(), Ok(TestCalendar { speed: 5000, from: UnixSeconds(7) }));
        assert!("0@7".parse::<TestCalendar>().is_err() && "5000".parse::<TestCalendar>().is_err());
    }
}
