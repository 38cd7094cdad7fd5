//! Hours of the day, such as "01:00-07:00", on any date, also when clocks change that night.

use crate::calendar::{Calendar, DAY, LocalDay, LocalTime};
use scrubjay_core::units::UnixSeconds;

/// Hours of each day, in local time. They may extend past midnight. If the clock skips their beginning, they begin as
/// much later; in a night that has an hour twice they begin with the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyHours {
    /// The minute of the day at which they begin, 0 to 1439.
    pub from: u32,
    /// The minute at which they end. If it is before `from`, on the next day; the same minute means a whole day.
    pub to: u32,
}

impl DailyHours {
    /// The hours of a date: the first instant, and the one behind the last.
    fn of(self, day: LocalDay, calendar: &dyn Calendar) -> (UnixSeconds, UnixSeconds) {
        let last = if self.to <= self.from { LocalDay(day.0 + 1) } else { day };
        let instant = |day, minute: u32| calendar.instant(LocalTime { day, second: minute * 60 });
        (instant(day, self.from), instant(last, self.to))
    }

    /// Is `now` inside?
    pub fn holds(self, now: UnixSeconds, calendar: &dyn Calendar) -> bool {
        let today = calendar.local(now).day;
        [today.0 - 1, today.0].into_iter().any(|day| {
            let (from, to) = self.of(LocalDay(day), calendar);
            from <= now && now < to
        })
    }

    /// When they next begin or end, after `now`: at the latest two days on.
    pub fn next_edge(self, now: UnixSeconds, calendar: &dyn Calendar) -> UnixSeconds {
        let today = calendar.local(now).day;
        let edges = (today.0 - 1..=today.0 + 1).flat_map(|day| {
            let (from, to) = self.of(LocalDay(day), calendar);
            [from, to]
        });
        edges.filter(|&edge| edge > now).min().unwrap_or(UnixSeconds(now.0 + 2 * DAY))
    }

    /// How much of an hour of the day they hold, 0 to 1.
    pub fn share_of_hour(self, hour: u32) -> f64 {
        let is_open = |minute: &u32| match self.from < self.to {
            true => (self.from..self.to).contains(minute),
            false => *minute >= self.from || *minute < self.to,
        };
        (hour * 60..hour * 60 + 60).filter(is_open).count() as f64 / 60.0
    }
}

/// Such as `01:00-07:00`.
impl std::fmt::Display for DailyHours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DailyHours { from, to } = self;
        if from == to {
            return f.write_str("00:00-24:00");
        }
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
    }
}

impl std::str::FromStr for DailyHours {
    type Err = String;

    /// Parses `01:00-07:00`, or `22-6`.
    fn from_str(text: &str) -> Result<DailyHours, String> {
        let minute = |time: &str| -> Option<u32> {
            let (hour, minute) = time.trim().split_once(':').unwrap_or((time.trim(), "0"));
            let is_number =
                |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            let is_valid = is_number(hour) && is_number(minute);
            let (hour, minute) = (hour.parse::<u32>().ok()?, minute.parse::<u32>().ok()?);
            (is_valid && minute < 60 && hour * 60 + minute <= 24 * 60).then_some(hour * 60 + minute)
        };
        let parsed = text.split_once('-').and_then(|(from, to)| Some((minute(from)?, minute(to)?)));
        match parsed {
            // "22-22" is ambiguous: nothing or everything. The whole day is "0-24".
            Some((from, to)) if from == to => Err(format!(
                "`{text}` begin and end at the same minute: write 01:00-07:00, or 00:00-24:00 for the whole day"
            )),
            Some((from, to)) => Ok(DailyHours { from: from % (24 * 60), to: to % (24 * 60) }),
            None => Err(format!("`{text}` are no hours of the day: write 01:00-07:00")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::{HOUR, UtcCalendar};

    /// The clock jumps from 02:00 to 03:00 on day 10, and from 03:00 back to 02:00 on day 20.
    #[derive(Debug)]
    struct Jumps;

    const SPRING: u64 = 10 * DAY + 2 * HOUR;
    const AUTUMN: u64 = 20 * DAY + 2 * HOUR;

    impl Calendar for Jumps {
        fn local(&self, at: UnixSeconds) -> LocalTime {
            let ahead = if (SPRING..AUTUMN).contains(&at.0) { HOUR } else { 0 };
            UtcCalendar.local(UnixSeconds(at.0 + ahead))
        }

        fn instant(&self, local: LocalTime) -> UnixSeconds {
            let utc = UtcCalendar.instant(local).0;
            let is_summer = (SPRING + HOUR..AUTUMN + HOUR).contains(&utc);
            UnixSeconds(if is_summer { utc - HOUR } else { utc })
        }
    }

    /// The open minutes of these days.
    fn minutes_open(hours: DailyHours, days: std::ops::Range<u64>) -> usize {
        let all = (days.start * DAY..days.end * DAY).step_by(60);
        all.filter(|&second| hours.holds(UnixSeconds(second), &Jumps)).count()
    }

    #[test]
    fn hours_are_written_as_they_are_shown() {
        for (text, from, to) in [("01:00-07:00", 60, 420), ("22-6", 1320, 360), (" 9:5 - 24:00", 545, 0)] {
            assert_eq!(text.parse(), Ok(DailyHours { from, to }), "{text}");
        }
        let whole_day = DailyHours { from: 0, to: 0 };
        assert_eq!(("0-24".parse(), whole_day.to_string().parse()), (Ok(whole_day), Ok(whole_day)), "the whole day");
        let night = DailyHours { from: 1320, to: 375 };
        assert_eq!(night.to_string().parse(), Ok(night));
        for text in ["", "01:00", "25-6", "1:60-2", "-", "a-b", "1:00-2:00-3:00", "001-2", "+1-2", "24:01-2", "22-22"] {
            assert!(text.parse::<DailyHours>().unwrap_err().contains("write 01:00-07:00"), "{text}");
        }
    }

    #[test]
    fn a_window_is_open_in_every_night_whatever_the_clock_does() {
        let night = DailyHours { from: 60, to: 7 * 60 };
        assert_eq!(minutes_open(night, 5..6), 360);
        assert_eq!(minutes_open(night, 10..11), 300, "an hour of that night is not there");
        assert_eq!(minutes_open(night, 20..21), 420, "an hour of that night is there twice");
        assert_eq!(minutes_open(DailyHours { from: 22 * 60, to: 60 }, 5..6), 180, "past midnight");
        assert_eq!(minutes_open(DailyHours { from: 120, to: 120 }, 5..6), 1440, "the whole day");
    }

    #[test]
    fn a_window_that_the_clock_jumps_over_is_missed_that_night_and_that_night_only() {
        let hours = DailyHours { from: 120, to: 180 };
        assert_eq!(minutes_open(hours, 10..11), 0);
        assert_eq!(minutes_open(hours, 11..12), 60);
    }

    #[test]
    fn the_next_edge_is_where_it_opens_or_closes() {
        let hours = DailyHours { from: 60, to: 7 * 60 };
        let mut now = UnixSeconds(5 * DAY);
        let mut is_open = hours.holds(now, &Jumps);
        while now.0 < 25 * DAY {
            let edge = hours.next_edge(now, &Jumps);
            for second in (now.0 + 60..edge.0).step_by(60) {
                assert_eq!(hours.holds(UnixSeconds(second), &Jumps), is_open);
            }
            (now, is_open) = (edge, hours.holds(edge, &Jumps));
        }
        assert_eq!(hours.to_string(), "01:00-07:00");
        assert_eq!((hours.share_of_hour(0), hours.share_of_hour(6), hours.share_of_hour(7)), (0.0, 1.0, 0.0));
    }
}
