//! Figures of a simulated scrub, in words.

use scrubjay_core::quantity::{show_count, show_time};
pub use scrubjay_research::costs::slowdown_mean;
use scrubjay_research::workload::DeviceLoad;
use scrubjay_sim::exact::ScrubFigures;

/// The foreground in words: `12,345 requests in 2 h 5 min, idle for 90.0 % of it in 1,234 intervals`.
pub fn foreground(load: &DeviceLoad, outcome: &ScrubFigures) -> String {
    let idle = outcome.idle_total.as_secs_f64() / outcome.span.as_secs_f64().max(1e-9);
    let (requests, intervals) = (show_count(outcome.requests), show_count(outcome.intervals));
    format!(
        "{requests} requests in {}, idle for {} of it in {intervals} intervals by {}",
        show_time(outcome.span),
        percent(idle),
        load.service.about()
    )
}

/// A rate, decimal: `46.4 MB/s`.
pub fn rate(bytes_per_second: f64) -> String {
    let megabytes = bytes_per_second / 1e6;
    if megabytes >= 9.995 { format!("{megabytes:.1} MB/s") } else { format!("{megabytes:.2} MB/s") }
}

/// A share: `1.25 %`, `62.0 %`.
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
