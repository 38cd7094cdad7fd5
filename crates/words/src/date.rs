//! Dates as messages write them.

use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{Calendar, LocalDay};

/// A date: `12 Mar 2026`.
pub fn show_date(calendar: &dyn Calendar, at: UnixSeconds) -> String {
    show_day(calendar.local(at).day)
}

/// A day of the calendar: `12 Mar 2026`.
pub(crate) fn show_day(day: LocalDay) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (year, month, day) = day.civil();
    format!("{day} {} {year}", MONTHS[month as usize - 1])
}

/// A date and time: `12 Mar 2026 03:41`.
pub fn show_time(calendar: &dyn Calendar, at: UnixSeconds) -> String {
    let second = calendar.local(at).second;
    format!("{} {:02}:{:02}", show_date(calendar, at), second / 3600, second / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_watch::calendar::{DAY, HOUR, MINUTE, UtcCalendar};

    #[test]
    fn a_time_has_the_day_the_month_and_minutes() {
        assert_eq!(show_time(&UtcCalendar, UnixSeconds(20_513 * DAY + 3 * HOUR + 41 * MINUTE)), "1 Mar 2026 03:41");
    }
}
