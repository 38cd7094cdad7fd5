//! A time zone with daylight-saving time, as in Central Europe since 1996: an hour ahead of UTC, two in summer.

use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{Calendar, DAY, HOUR, LocalDay, LocalTime};

/// The calendar of that zone. Summer lasts from 01:00 UTC of the last Sunday of March to that of October.
#[derive(Clone, Copy, Debug, Default)]
pub struct DaylightCalendar;

/// Is this date, in a month of 31 days, the last Sunday or later?
fn is_past_last_sunday(day: LocalDay, of_month: u32) -> bool {
    let sunday = of_month as i64 - (day.weekday() as i64 + 1) % 7; // the Sunday of today or before
    sunday > 31 - 7
}

fn ahead_of_utc(at: UnixSeconds) -> u64 {
    // The change is at 01:00 UTC, so the date an hour before decides.
    let day = LocalDay((at.0.saturating_sub(HOUR) / DAY) as i64);
    let (_, month, of_month) = day.civil();
    let is_summer = match month {
        4..=9 => true,
        3 => is_past_last_sunday(day, of_month),
        10 => !is_past_last_sunday(day, of_month),
        _ => false,
    };
    if is_summer { 2 * HOUR } else { HOUR }
}

impl Calendar for DaylightCalendar {
    fn local(&self, at: UnixSeconds) -> LocalTime {
        let local = at.0.saturating_add(ahead_of_utc(at)); // callers also ask for `u64::MAX`: never
        LocalTime { day: LocalDay((local / DAY) as i64), second: (local % DAY) as u32 }
    }

    fn instant(&self, local: LocalTime) -> UnixSeconds {
        let shown = local.day.0.max(0) as u64 * DAY + u64::from(local.second);
        let (summer, winter) = (UnixSeconds(shown.saturating_sub(2 * HOUR)), UnixSeconds(shown.saturating_sub(HOUR)));
        // Of an hour that is shown twice, the first (summer) counts; a time that is skipped maps to an hour later.
        if self.local(summer) == local { summer } else { winter }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_changes_on_the_last_sundays_of_march_and_october() {
        // 2026: 29 March and 25 October, 01:00 UTC.
        let (spring, autumn) = (1_774_746_000, 1_792_890_000);
        let shown = |at: u64| DaylightCalendar.local(UnixSeconds(at)).second / 3600;
        assert_eq!((shown(spring - 1), shown(spring)), (1, 3));
        assert_eq!((shown(autumn - 1), shown(autumn)), (2, 2));
    }

    #[test]
    fn an_instant_of_the_far_future_has_a_local_time() {
        assert!(DaylightCalendar.local(UnixSeconds(u64::MAX)).day.0 > 1 << 40);
    }

    #[test]
    fn every_instant_is_found_again_but_for_the_hour_that_is_shown_twice() {
        let mut differing = 0;
        for hour in 0..24 * 366 {
            let at = UnixSeconds(1_767_225_600 + hour * HOUR);
            let found = DaylightCalendar.instant(DaylightCalendar.local(at));
            assert!(found == at || found.0 + HOUR == at.0);
            differing += u64::from(found != at);
        }
        assert_eq!(differing, 1);
        let jumped = LocalTime { day: DaylightCalendar.local(UnixSeconds(1_774_746_000)).day, second: 9000 };
        assert_eq!(DaylightCalendar.instant(jumped).0, 1_774_746_000 + 1800, "half past two is half past three");
    }
}
