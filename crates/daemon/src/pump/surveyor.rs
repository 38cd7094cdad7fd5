//! Makes surveys in a thread of its own, because the kernel or a volume's server may take long.

use super::news::DaemonNews;
use crate::discovery::{SystemRoot, checks, survey};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Makes surveys regularly, and on request.
pub(super) struct Surveyor {
    asked: Sender<Vec<PathBuf>>,
    also: Vec<PathBuf>,
}

impl Surveyor {
    /// Starts the thread. Devices of `also` are included. Surveys are sent to `tell`.
    pub(super) fn new(also: Vec<PathBuf>, every: Duration, tell: Sender<DaemonNews>) -> Surveyor {
        let (asked, asks) = mpsc::channel();
        let mut of_thread = also.clone();
        let named = thread::Builder::new().name("survey".into());
        // Without the thread no disk is ever seen, and that is what the status shows.
        let _ = named.spawn(move || {
            loop {
                match asks.recv_timeout(every) {
                    Ok(also) => of_thread = asks.try_iter().last().unwrap_or(also),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                let mut seen = survey(&SystemRoot::default(), &of_thread);
                checks::add_checks(&mut seen);
                if tell.send(DaemonNews::Surveyed(Box::new(seen))).is_err() {
                    return;
                }
            }
        });
        Surveyor { asked, also }
    }

    /// Requests a survey.
    pub(super) fn look(&self) {
        let _ = self.asked.send(self.also.clone()); // the thread lives as long as the daemon
    }

    /// Requests a survey, which includes these devices from now on.
    pub(super) fn look_also(&mut self, also: Vec<PathBuf>) {
        self.also = also;
        self.look();
    }
}
