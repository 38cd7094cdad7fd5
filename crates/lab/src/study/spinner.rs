//! A message on standard error while work takes longer than a second, with its progress if that can be counted.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scrubjay_cli::say::say;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The delay before the message appears: shorter work needs none.
const SPINNER_DELAY: Duration = Duration::from_secs(1);
/// The interval of drawing on a terminal.
const DRAWN_EVERY: Duration = Duration::from_millis(100);
const PRINTED_EVERY: Duration = Duration::from_secs(30);

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

    /// Shows `task` is being done, in so many steps, of which each may take longer than the others; 0: they cannot be
    /// counted.
    pub fn counting(task: impl Into<String>, steps: u64) -> Spinner {
        let (end_sender, end_receiver) = mpsc::channel();
        let (task, done) = (task.into(), Arc::new(AtomicU64::new(0)));
        let steps_done = done.clone();
        let text = move || progress_text(&task, steps_done.load(Ordering::Relaxed), steps);
        // Without a thread there is no message, but the work is done all the same.
        let watcher =
            thread::Builder::new().name("progress".to_owned()).spawn(move || watch(&end_receiver, &text)).ok();
        Spinner { end_sender: Some(end_sender), watcher, done }
    }

    /// Counts a step that is done.
    pub fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
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

/// The message, such as `trying every policy: step 3 of 28`. No remaining time is told: steps take what the trace makes
/// of them.
fn progress_text(task: &str, done: u64, steps: u64) -> String {
    if steps == 0 {
        return task.to_owned();
    }
    format!("{task}: step {} of {steps}", (done + 1).min(steps))
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
    fn the_step_at_work_is_shown() {
        assert_eq!(progress_text("reading", 0, 0), "reading", "nothing is counted");
        assert_eq!(progress_text("reading", 0, 8), "reading: step 1 of 8");
        assert_eq!(progress_text("reading", 7, 8), "reading: step 8 of 8");
        assert_eq!(progress_text("reading", 8, 8), "reading: step 8 of 8", "all are done, the page is being made");
    }
}
