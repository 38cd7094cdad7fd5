//! Local time from a calendar that the pump provides: the watch has no table of time zones.

use scrubjay_core::units::UnixSeconds;
use std::fmt::Debug;

/// Seconds in a minute.
pub const MINUTE: u64 = 60;
/// Seconds in an hour.
pub const HOUR: u64 = 3600;
/// Seconds in a day of 24 hours. (A local day may have 23 or 25.)
pub const DAY: u64 = 24 * HOUR;
/// Hours in a week, as statistics of idleness count them.
pub const WEEK_HOURS: usize = 168;

/// A local date: days since 1970-01-01 of the local calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LocalDay(pub i64);

impl LocalDay {
    /// The day of the week; Monday is 0.
    pub fn weekday(self) -> usize {
        (self.0 + 3).rem_euclid(7) as usize // 1970-01-01 was a Thursday
    }

    /// Year, month (1 to 12), day of the month (1 to 31): the proleptic Gregorian calendar, by Hinnant, "chrono-compatible
    /// low-level date algorithms" (2014).
    pub fn civil(self) -> (i64, u32, u32) {
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let civil_month = if month < 10 { month + 3 } else { month - 9 };
        (year + era * 400 + i64::from(civil_month <= 2), civil_month as u32, day as u32)
    }

    /// Months since year 0, to compare months.
    pub fn month_number(self) -> i64 {
        let (year, month, _) = self.civil();
        year * 12 + i64::from(month) - 1
    }
}

/// A local date and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// The date.
    pub day: LocalDay,
    /// Local time of day in seconds: 0 to 86399.
    pub second: u32,
}

impl LocalTime {
    /// Hour of the week, 0 to 167, from Monday midnight on.
    pub fn week_hour(self) -> usize {
        (self.day.weekday() * 24 + self.second as usize / 3600).min(WEEK_HOURS - 1)
    }
}

/// A time zone. The daemon's comes from a library; the simulator's is a model with daylight-saving time.
pub trait Calendar: Debug {
    /// The local time at an instant.
    fn local(&self, at: UnixSeconds) -> LocalTime;

    /// When local clocks first show this time; a time that they skip is moved on by as much as they skip.
    fn instant(&self, local: LocalTime) -> UnixSeconds;
}

/// UTC: no time zone.
#[derive(Clone, Copy, Debug, Default)]
pub struct UtcCalendar;

impl Calendar for UtcCalendar {
    fn local(&self, at: UnixSeconds) -> LocalTime {
        LocalTime { day: LocalDay((at.0 / DAY) as i64), second: (at.0 % DAY) as u32 }
    }

    fn instant(&self, local: LocalTime) -> UnixSeconds {
        UnixSeconds((local.day.0 * DAY as i64).max(0) as u64 + u64::from(local.second))
    }
}

/// `since` plus `span` seconds.
pub fn after(since: UnixSeconds, span: u64) -> UnixSeconds {
    UnixSeconds(since.0.saturating_add(span))
}

/// Seconds from `earlier` to `now`; 0 if the clock was set back behind `earlier`.
pub fn elapsed(now: UnixSeconds, earlier: UnixSeconds) -> u64 {
    now.0.saturating_sub(earlier.0)
}

/// Whole days from `earlier` to `now`.
pub fn days(now: UnixSeconds, earlier: UnixSeconds) -> u64 {
    elapsed(now, earlier) / DAY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_the_dates_of_the_gregorian_calendar() {
        assert_eq!(LocalDay(0).civil(), (1970, 1, 1));
        assert_eq!(LocalDay(11_016).civil(), (2000, 2, 29));
        assert_eq!(LocalDay(20_513).civil(), (2026, 3, 1));
        assert_eq!(LocalDay(20_513).weekday(), 6, "a Sunday");
        let (mut year, mut month, mut day) = LocalDay(-1000).civil();
        for number in -999..80_000 {
            let next = LocalDay(number).civil();
            let is_next = next == (year, month, day + 1)
                || day >= 28 && (next == (year, month + 1, 1) || month == 12 && next == (year + 1, 1, 1));
            assert!(is_next, "{next:?} after {:?}", (year, month, day));
            (year, month, day) = next;
        }
    }

    #[test]
    fn hours_of_the_week_begin_on_monday() {
        let monday = LocalDay(4);
        assert_eq!((monday.weekday(), LocalTime { day: monday, second: 0 }.week_hour()), (0, 0));
        assert_eq!(LocalTime { day: LocalDay(10), second: 86_399 }.week_hour(), 167);
    }
}
