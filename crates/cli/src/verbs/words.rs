//! Dates and spans as these verbs show them.

use scrubjay_core::units::{Nanos, UnixSeconds};
use scrubjay_daemon::time::ZonedCalendar;
use scrubjay_jobs::quantity::show_time;
use scrubjay_watch::calendar::{self, DAY, HOUR};

/// `12 Mar 2026`, local.
pub fn date(at: u64) -> String {
    calendar::show_date(&ZonedCalendar::system(), UnixSeconds(at))
}

/// `12 Mar 2026 03:41`, local.
pub fn moment(at: u64) -> String {
    calendar::show_time(&ZonedCalendar::system(), UnixSeconds(at))
}

/// `today`, `12 d ago`.
pub fn ago(now: u64, at: Option<u64>) -> String {
    match at.map(|at| now.saturating_sub(at)) {
        None => "never".to_owned(),
        Some(0..DAY) => "today".to_owned(),
        Some(seconds) => format!("{} d ago", seconds / DAY),
    }
}

/// `3 d`, `5 h`, `20 min`.
pub fn span(seconds: u64) -> String {
    match seconds {
        DAY.. => format!("{} d", seconds.div_ceil(DAY)),
        HOUR.. => format!("{} h", seconds.div_ceil(HOUR)),
        _ => show_time(Nanos::from_secs(seconds.div_ceil(60) * 60)),
    }
}
