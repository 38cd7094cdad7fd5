//! What a scrub of a trace came to: the fields of the JSON, and the words for it.

use scrubjay_core::units::Nanos;
use scrubjay_jobs::quantity::{show_count, show_time};
use scrubjay_sim::exact::ScrubFigures;
use serde::Serialize;

/// What it read and what it cost, as JSON.
#[derive(Debug, Serialize)]
pub struct CostDocument {
    scrub_requests: u64,
    scrub_bytes: u64,
    scrub_bytes_per_second: f64,
    mean_slowdown_seconds: f64,
    max_slowdown_seconds: f64,
    collisions: u64,
    collision_rate: f64,
    idle_used_ratio: f64,
}

impl From<&ScrubFigures> for CostDocument {
    fn from(outcome: &ScrubFigures) -> CostDocument {
        CostDocument {
            scrub_requests: outcome.scrub_requests,
            scrub_bytes: outcome.scrub_bytes,
            scrub_bytes_per_second: outcome.bytes_per_second(),
            mean_slowdown_seconds: outcome.slowdown_mean_seconds(),
            max_slowdown_seconds: outcome.slowdown_max.as_secs_f64(),
            collisions: outcome.collisions,
            collision_rate: outcome.collision_rate(),
            idle_used_ratio: outcome.used_ratio(),
        }
    }
}

/// The trace itself, as JSON.
#[derive(Debug, Serialize)]
pub struct TraceSummaryDocument {
    requests: u64,
    span_seconds: f64,
    intervals: u64,
    idle_seconds: f64,
}

impl From<&ScrubFigures> for TraceSummaryDocument {
    fn from(outcome: &ScrubFigures) -> TraceSummaryDocument {
        TraceSummaryDocument {
            requests: outcome.requests,
            span_seconds: outcome.span.as_secs_f64(),
            intervals: outcome.intervals,
            idle_seconds: outcome.idle_total.as_secs_f64(),
        }
    }
}

/// `12,345 requests in 2 h 5 min, idle for 90.0 % of it in 1,234 intervals`.
pub fn ground(outcome: &ScrubFigures) -> String {
    let idle = outcome.idle_total.as_secs_f64() / outcome.span.as_secs_f64().max(1e-9);
    let (requests, intervals) = (show_count(outcome.requests), show_count(outcome.intervals));
    format!(
        "{requests} requests in {}, idle for {} of it in {intervals} intervals",
        show_time(outcome.span),
        percent(idle)
    )
}

/// What foreground requests lost on average.
pub fn slowdown_mean(outcome: &ScrubFigures) -> Nanos {
    Nanos::from_secs_f64(outcome.slowdown_mean_seconds())
}

/// `46.4 MB/s`, decimal.
pub fn rate(bytes_per_second: f64) -> String {
    let megabytes = bytes_per_second / 1e6;
    if megabytes >= 9.995 { format!("{megabytes:.1} MB/s") } else { format!("{megabytes:.2} MB/s") }
}

/// `1.25 %`, `62.0 %`.
pub fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    if percent >= 9.995 { format!("{percent:.1} %") } else { format!("{percent:.2} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            (rate(46.44e6), rate(1.234e6), percent(0.62), percent(0.0125)),
            ("46.4 MB/s".to_owned(), "1.23 MB/s".to_owned(), "62.0 %".to_owned(), "1.25 %".to_owned())
        );
    }
}
