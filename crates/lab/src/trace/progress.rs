//! The progress of reading a long trace, shown on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use scrubjay_cli::say::say;
use scrubjay_core::quantity::show_count;
use std::fmt;
use std::time::Instant;

/// Counts and shows records.
pub struct RecordProgress {
    bar: ProgressBar,
    began: Instant,
}

impl RecordProgress {
    /// Begins to count; `action` is a word such as `converted`.
    pub fn new(action: &'static str) -> RecordProgress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{prefix} {human_pos} records  {rate}  {msg}");
        let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
            let _ = out.write_str(&show_rate(state.per_sec()));
        };
        bar.set_style(style.expect("a constant template").with_key("rate", rate));
        bar.set_prefix(action);
        RecordProgress { bar, began: Instant::now() }
    }

    /// Counts records.
    pub fn add(&self, records: u64) {
        self.bar.inc(records);
    }

    /// Sets a further message.
    pub fn set_message(&self, message: String) {
        self.bar.set_message(message);
    }

    /// Removes the line.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Prints the last line: `out.csv: 44,519 records, 3,112,834 bytes, 0.02 s, 2.20 million records a second`.
    pub fn finish(self, name: &str, records: u64, bytes: u64) {
        let seconds = self.began.elapsed().as_secs_f64();
        let rate = records as f64 / seconds.max(1e-9) / 1e6;
        self.clear();
        say(format_args!("{}, {rate:.2} million records a second", self.summary(name, records, bytes)));
    }

    /// Prints the last line without the rate, for a capture.
    pub fn finish_without_rate(self, name: &str, records: u64, bytes: u64) {
        self.clear();
        say(format_args!("{}", self.summary(name, records, bytes)));
    }

    fn summary(&self, name: &str, records: u64, bytes: u64) -> String {
        let seconds = self.began.elapsed().as_secs_f64();
        format!("{name}: {} records, {} bytes, {seconds:.2} s", show_count(records), show_count(bytes))
    }
}

/// Records a second, rounded: `830/s`, `54,300/s`, `4.6 million/s`.
fn show_rate(rate: f64) -> String {
    match rate {
        _ if rate >= 999_950.0 => format!("{:.1} million/s", rate / 1e6),
        _ if rate >= 1000.0 => format!("{}/s", show_count((rate / 100.0).round() as u64 * 100)),
        _ => format!("{rate:.0}/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded() {
        let shown = [0.0, 829.6, 54_321.987, 4_557_565.155_9].map(show_rate);
        assert_eq!(shown, ["0/s", "830/s", "54,300/s", "4.6 million/s"]);
    }
}
