//! The progress of reading a long trace, shown on a terminal only.

use crate::say::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scrubjay_jobs::quantity::show_count;
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
        let style = ProgressStyle::with_template("{prefix} {human_pos} records  {per_sec}  {elapsed}  {msg}");
        bar.set_style(style.expect("a constant template"));
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
