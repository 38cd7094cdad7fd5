//! Local time, in the system's time zone.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{Calendar, LocalDay, LocalTime};

/// Local time by the system's time zone data.
#[derive(Debug)]
pub struct ZonedCalendar(TimeZone);

impl ZonedCalendar {
    /// The calendar of the system's time zone, as it is set now; UTC if none is set.
    pub fn system() -> ZonedCalendar {
        ZonedCalendar(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    /// The zone's name, such as `Europe/Berlin`, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.0.iana_name()
    }
}

/// The date from which days are counted.
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
        // A time that the clock skips is moved on by as much as it skips; of a time that comes twice, the first is taken.
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
}
