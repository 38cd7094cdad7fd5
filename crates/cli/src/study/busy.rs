//! A word on standard error while something takes longer than a second.

use crate::say::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Whoever is done by then has not made anybody wait.
const PATIENCE: Duration = Duration::from_secs(1);

/// Something that is being done until this is dropped.
pub struct Busy {
    done: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

impl Busy {
    /// With `what` we are busy: "reading the traces".
    pub fn with(what: impl Into<String>) -> Busy {
        let (done, is_done) = mpsc::channel();
        let what = what.into();
        let watch = move || {
            if is_done.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            if !std::io::stderr().is_terminal() {
                say(format_args!("scrubjay: {what} ..."));
                return;
            }
            let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})").expect("a constant template");
            let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
            spinner.set_style(style);
            spinner.set_message(what);
            spinner.enable_steady_tick(Duration::from_millis(100));
            // Until the sender is gone.
            let _ = is_done.recv();
            spinner.finish_and_clear();
        };
        // Without a watcher nothing is said: no reason not to do the work.
        let watcher = thread::Builder::new().name("progress".to_owned()).spawn(watch).ok();
        Busy { done: Some(done), watcher }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.done.take());
        // The line must be gone before anything else is printed.
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}
