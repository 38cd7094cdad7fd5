//! One line that shows what is measured, and the results so far.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scrubjay_core::bench::machine::DiskBench;
use scrubjay_core::bench::step_result::StepFigures;
use scrubjay_core::bench::words;
use scrubjay_core::quantity::show_rest;
use scrubjay_core::units::Nanos;
use scrubjay_device::clock;
use std::io::{self, IsTerminal};

/// The progress line.
pub struct BenchProgress {
    line: ProgressBar,
    begun: Nanos,
    time: Nanos,
}

impl BenchProgress {
    /// A line for a measurement of about this time. Hidden if it is not wanted, or standard error is no terminal.
    pub fn new(is_wanted: bool, time: Nanos) -> BenchProgress {
        let is_shown = is_wanted && io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr_with_hz(5) } else { ProgressDrawTarget::hidden() };
        let line = ProgressBar::with_draw_target(None, target);
        line.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a constant template"));
        BenchProgress { line, begun: clock::now(), time }
    }

    /// Is the line drawn?
    pub fn is_shown(&self) -> bool {
        !self.line.is_hidden()
    }

    /// Draws the line.
    pub fn draw(&self, bench: &DiskBench) {
        if self.line.is_hidden() {
            return;
        }
        let now = clock::now();
        // Until a step has results, those of the one before it are shown.
        let current = bench.under_way(now).map(|(result, _)| result);
        let shown = current.filter(|result| result.requests > 0).or_else(|| bench.results().last().cloned());
        let rest = self.rest();
        let Some(result) = shown.filter(|result| result.requests > 0) else {
            self.line.set_message(format!("waiting for the first answer, {rest}"));
            return self.line.tick();
        };
        self.show(&result);
    }

    /// Prints the result of a step.
    pub fn show(&self, result: &StepFigures) {
        let rest = self.rest();
        let (pattern, depth) = (result.step.pattern, result.step.depth);
        let mut text = format!(
            "{pattern}, depth {depth}: {} IOPS at {}",
            words::rate(result.iops()),
            words::latency(result.mean())
        );
        if result.step.request > 64 << 10 {
            text += &format!(", {}", words::throughput(result.bytes_per_second()));
        }
        self.line.set_message(format!("{text}, {rest}"));
        self.line.tick();
    }

    /// The remaining time in words; queues that take long to fill and to empty add to it.
    fn rest(&self) -> String {
        match self.time.since(clock::now().since(self.begun)) {
            rest if rest < Nanos::from_secs(1) => "nearly done".to_owned(),
            rest => format!("about {} left", show_rest(rest)),
        }
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.line.finish_and_clear();
    }
}
