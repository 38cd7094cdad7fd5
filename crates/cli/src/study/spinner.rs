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
const SAID_EVERY: Duration = Duration::from_secs(30);
/// The share of the work after which the remaining time is shown.
const TOLD_FROM: f64 = 0.05;

/// Shows a message until it is dropped.
pub struct Spinner {
    ended: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
    done: Arc<AtomicU64>,
}

impl Spinner {
    /// Shows `what` is being done: "reading the traces".
    pub fn with(what: impl Into<String>) -> Spinner {
        Spinner::counting(what, 0)
    }

    /// Shows `what` is being done, in `steps` steps of about the same time; 0: they cannot be counted.
    pub fn counting(what: impl Into<String>, steps: u64) -> Spinner {
        let (ended, is_ended) = mpsc::channel();
        let (what, begun, done) = (what.into(), Instant::now(), Arc::new(AtomicU64::new(0)));
        let watched = done.clone();
        let how_far = move || {
            let share = watched.load(Ordering::Relaxed) as f64 / steps as f64;
            told(&what, share, begun.elapsed())
        };
        // Without a thread there is no message, but the work is done all the same.
        let watcher = thread::Builder::new().name("progress".to_owned()).spawn(move || watch(&is_ended, &how_far)).ok();
        Spinner { ended: Some(ended), watcher, done }
    }

    /// Counts steps that are done.
    pub fn step(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }
}

/// Draws the message until the work ends.
fn watch(is_ended: &Receiver<()>, how_far: &dyn Fn() -> String) {
    let lasts = |time| is_ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    if !lasts(SPINNER_DELAY) {
        return;
    }
    if !std::io::stderr().is_terminal() {
        loop {
            say(format_args!("scrubjay: {} ...", how_far()));
            if !lasts(SAID_EVERY) {
                return;
            }
        }
    }
    let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    spinner.set_style(ProgressStyle::with_template("{spinner} {msg} ({elapsed})").expect("a constant template"));
    while lasts(DRAWN_EVERY) {
        spinner.set_message(how_far());
        spinner.tick();
    }
    spinner.finish_and_clear();
}

/// The message, such as `trying every policy: 37 %, about 12 s left`.
fn told(what: &str, share: f64, elapsed: Duration) -> String {
    match share {
        share if share.is_nan() => what.to_owned(),
        share if !(TOLD_FROM..1.0).contains(&share) => format!("{what}: {:.0} %", share.min(1.0) * 100.0),
        share => {
            let left = Nanos::from_secs_f64((elapsed.as_secs_f64() * (1.0 / share - 1.0)).round());
            format!("{what}: {:.0} %, about {} left", share * 100.0, show_time(left))
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        drop(self.ended.take());
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
    fn it_is_said_how_long_it_takes_when_enough_is_done() {
        let seconds = Duration::from_secs;
        assert_eq!(told("reading", f64::NAN, seconds(9)), "reading", "nothing is counted");
        assert_eq!(told("reading", 0.02, seconds(9)), "reading: 2 %");
        assert_eq!(told("reading", 0.25, seconds(10)), "reading: 25 %, about 30 s left");
        assert_eq!(told("reading", 2.0, seconds(10)), "reading: 100 %", "steps are a guess");
    }
}
