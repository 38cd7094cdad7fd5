//! Times of a trace's clock as dates.

use scrubjay_core::units::Nanos;

/// The date of a time since 1970, in UTC; `None` for the first year, as such a clock counts from the trace's beginning.
pub fn date(at: Nanos) -> Option<String> {
    const DAY_SECONDS: u64 = 86_400;
    let seconds = at.0 / 1_000_000_000;
    if seconds < 365 * DAY_SECONDS {
        return None;
    }
    let (mut day, second) = (seconds / DAY_SECONDS, seconds % DAY_SECONDS);
    let (mut year, mut month) = (1970, 0);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!("{year}-{:02}-{:02} {hour:02}:{minute:02}:{second:02} UTC", month + 1, day + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, shown) in [
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_172_163_999, "2007-02-22 17:06:39 UTC"),
            (1_735_689_599, "2024-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(date(Nanos::from_secs(seconds)).as_deref(), Some(shown));
        }
        assert_eq!(date(Nanos::from_secs(5)), None);
    }
}
