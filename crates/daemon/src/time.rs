//! What time it is, for the watch: the system's clock and time zone; for tests, a calendar that runs faster.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use scrubjay_core::units::UnixSeconds;
use scrubjay_device::clock;
use scrubjay_watch::calendar::{Calendar, LocalDay, LocalTime};
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A calendar that shows `from` at that time and runs so many times as fast from then on. For tests only: a month in minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestCalendar {
    /// Seconds that pass in a second, at least 1.
    pub speed: u64,
    /// When it shows the true time.
    pub from: UnixSeconds,
}

impl FromStr for TestCalendar {
    type Err = String;

    /// `SPEED@SECONDS`.
    fn from_str(text: &str) -> Result<TestCalendar, String> {
        let parsed = text.split_once('@').and_then(|(speed, from)| Some((speed.parse().ok()?, from.parse().ok()?)));
        match parsed {
            Some((speed, from)) if speed > 0 => Ok(TestCalendar { speed, from: UnixSeconds(from) }),
            _ => Err(format!("`{text}` is no test calendar: write SPEED@SECONDS")),
        }
    }
}

/// The clock by which the watch lives.
#[derive(Clone, Copy, Debug, Default)]
pub struct WatchClock {
    test: Option<TestCalendar>,
}

impl WatchClock {
    /// The system's, or a test's.
    pub fn new(test: Option<TestCalendar>) -> WatchClock {
        WatchClock { test }
    }

    /// So many seconds of the calendar pass in one.
    pub fn pace(&self) -> u64 {
        self.test.map_or(1, |test| test.speed)
    }

    /// Is the date known to be right? None: nobody says.
    pub fn is_synchronised(&self) -> Option<bool> {
        if self.test.is_some() { Some(true) } else { clock::is_synchronised() }
    }

    /// The date that the watch is told.
    pub fn now(&self) -> UnixSeconds {
        let Some(TestCalendar { speed, from }) = self.test else { return clock::today() };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let passed = since.saturating_sub(Duration::from_secs(from.0));
        UnixSeconds(from.0 + (passed.as_secs_f64() * speed as f64) as u64)
    }

    /// A date of the watch, by the system's clock.
    pub fn by_system(&self, at: UnixSeconds) -> UnixSeconds {
        match self.test {
            None => at,
            Some(TestCalendar { speed, from }) => UnixSeconds(from.0 + at.0.saturating_sub(from.0) / speed),
        }
    }

    /// A period of the pump: with a test's calendar it is shorter, but not as much as the calendar is faster.
    pub fn period(&self, usual: Duration) -> Duration {
        let Some(TestCalendar { speed, .. }) = self.test else { return usual };
        (usual / u32::try_from(speed).unwrap_or(u32::MAX)).max(Duration::from_millis(200)).min(usual)
    }

    /// How long to wait until then; a little longer than that, never less.
    pub fn until(&self, at: UnixSeconds) -> Duration {
        let seconds = at.0.saturating_sub(self.now().0);
        match self.test {
            // A whole second ends somewhere in the next one.
            None => Duration::from_secs(seconds),
            Some(TestCalendar { speed, .. }) => Duration::from_secs_f64(seconds as f64 / speed as f64),
        }
    }
}

/// Local time by the system's table of time zones.
#[derive(Debug)]
pub struct ZonedCalendar(TimeZone);

impl ZonedCalendar {
    /// Of the system's time zone, as it is set now; UTC where it is not set.
    pub fn system() -> ZonedCalendar {
        ZonedCalendar(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    /// Its name, where it has one: `Europe/Berlin`.
    pub fn name(&self) -> Option<&str> {
        self.0.iana_name()
    }
}

/// The first date that days are counted from.
fn epoch() -> DateTime {
    DateTime::constant(1970, 1, 1, 0, 0, 0, 0)
}

impl Calendar for ZonedCalendar {
    fn local(&self, at: UnixSeconds) -> LocalTime {
        let instant = Timestamp::from_second(i64::try_from(at.0).unwrap_or(i64::MAX)).unwrap_or(Timestamp::MAX);
        let seconds = self.0.to_datetime(instant).duration_since(epoch()).as_secs();
        LocalTime { day: LocalDay(seconds.div_euclid(86_400)), second: seconds.rem_euclid(86_400) as u32 }
    }

    fn instant(&self, local: LocalTime) -> UnixSeconds {
        let seconds = local.day.0.saturating_mul(86_400).saturating_add(i64::from(local.second));
        let wall = epoch().checked_add(SignedDuration::from_secs(seconds)).unwrap_or(DateTime::MAX);
        // Where the clock jumps over it, as much later as it jumps; where it is shown twice, the first time.
        let instant = self.0.to_ambiguous_timestamp(wall).compatible().unwrap_or(Timestamp::MAX);
        UnixSeconds(u64::try_from(instant.as_second()).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_time_is_that_of_the_zone_through_both_jumps_of_the_clock() {
        let calendar = ZonedCalendar(TimeZone::get("Europe/Berlin").unwrap());
        let at = |text: &str| UnixSeconds(text.parse::<Timestamp>().unwrap().as_second() as u64);
        let shown = |text: &str| {
            let LocalTime { day, second } = calendar.local(at(text));
            (day.civil(), second / 3600, second / 60 % 60)
        };
        assert_eq!(shown("2026-03-29T00:59:00Z"), ((2026, 3, 29), 1, 59));
        assert_eq!(shown("2026-03-29T01:00:00Z"), ((2026, 3, 29), 3, 0));
        assert_eq!(shown("2026-10-25T01:30:00Z"), ((2026, 10, 25), 2, 30));
        let spring = calendar.local(at("2026-03-29T00:00:00Z")).day;
        let jumped = calendar.instant(LocalTime { day: spring, second: 2 * 3600 + 1800 });
        assert_eq!(jumped, at("2026-03-29T01:30:00Z"), "an hour later, as the clock jumped");
        let autumn = calendar.local(at("2026-10-25T00:00:00Z")).day;
        let first = calendar.instant(LocalTime { day: autumn, second: 2 * 3600 + 1800 });
        assert_eq!(first, at("2026-10-25T00:30:00Z"), "the first of the two");
        assert_eq!(calendar.local(UnixSeconds(0)).day, LocalDay(0));
        assert_eq!(calendar.instant(LocalTime { day: LocalDay(-9), second: 0 }), UnixSeconds(0));
        calendar.local(UnixSeconds(u64::MAX));
    }

    #[test]
    fn a_test_calendar_is_fast_and_goes_on_where_it_would_be() {
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
