//! A message on standard error while work takes longer than a second, with its progress if that can be counted.

use crate::say::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scrubjay_core::units::Nanos;
use scrubjay_jobs::quantity::show_time;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The delay before the message appears: shorter work needs none.
const SPINNER_DELAY: Duration = Duration::from_secs(1);
/// The interval of drawing on a terminal.
const DRAWN_EVERY: Duration = Duration::from_millis(100);
const PRINTED_EVERY: Duration = Duration::from_secs(30);
/// The share of the work after which the remaining time is shown.
const REST_SHOWN_FROM: f64 = 0.05;

/// Shows a message until it is dropped.
pub struct Spinner {
    end_sender: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
    done: Arc<AtomicU64>,
}

impl Spinner {
    /// Shows `task` is being done: "reading the traces".
    pub fn with(task: impl Into<String>) -> Spinner {
        Spinner::counting(task, 0)
    }

    /// Shows `task` is being done, in `steps` steps of about the same time; 0: they cannot be counted.
    pub fn counting(task: impl Into<String>, steps: u64) -> Spinner {
        let (end_sender, end_receiver) = mpsc::channel();
        let (task, begun, done) = (task.into(), Instant::now(), Arc::new(AtomicU64::new(0)));
        let steps_done = done.clone();
        let text = move || {
            let share = steps_done.load(Ordering::Relaxed) as f64 / steps as f64;
            progress_text(&task, share, begun.elapsed())
        };
        // Without a thread there is no message, but the work is done all the same.
        let watcher =
            thread::Builder::new().name("progress".to_owned()).spawn(move || watch(&end_receiver, &text)).ok();
        Spinner { end_sender: Some(end_sender), watcher, done }
    }

    /// Counts steps that are done.
    pub fn step(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }
}

/// Draws the message until the work ends.
fn watch(end_receiver: &Receiver<()>, text: &dyn Fn() -> String) {
    let still_runs = |time| end_receiver.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    if !still_runs(SPINNER_DELAY) {
        return;
    }
    if !std::io::stderr().is_terminal() {
        loop {
            say(format_args!("scrubjay: {} ...", text()));
            if !still_runs(PRINTED_EVERY) {
                return;
            }
        }
    }
    let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    spinner.set_style(ProgressStyle::with_template("{spinner} {msg} ({elapsed})").expect("a constant template"));
    while still_runs(DRAWN_EVERY) {
        spinner.set_message(text());
        spinner.tick();
    }
    spinner.finish_and_clear();
}

/// The message, such as `trying every policy: 37 %, about 12 s left`.
fn progress_text(task: &str, share: f64, elapsed: Duration) -> String {
    match share {
        share if share.is_nan() => task.to_owned(),
        share if !(REST_SHOWN_FROM..1.0).contains(&share) => format!("{task}: {:.0} %", share.min(1.0) * 100.0),
        share => {
            let left = Nanos::from_secs_f64((elapsed.as_secs_f64() * (1.0 / share - 1.0)).round());
            format!("{task}: {:.0} %, about {} left", share * 100.0, show_time(left))
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        drop(self.end_sender.take());
        // The line must be removed before anything else is printed.
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_shown_when_enough_is_done() {
        let seconds = Duration::from_secs;
        assert_eq!(progress_text("reading", f64::NAN, seconds(9)), "reading", "nothing is counted");
        assert_eq!(progress_text("reading", 0.02, seconds(9)), "reading: 2 %");
        assert_eq!(progress_text("reading", 0.25, seconds(10)), "reading: 25 %, about 30 s left");
        assert_eq!(progress_text("reading", 2.0, seconds(10)), "reading: 100 %", "steps are a guess");
    }
}
