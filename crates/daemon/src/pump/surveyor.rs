//! Makes surveys in a thread of its own, because the kernel or a volume's server may take long.

use super::news::DaemonNews;
use crate::discovery::{SystemRoot, checks, survey};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Makes surveys regularly, and on request.
pub(super) struct Surveyor {
    requests: Sender<Vec<PathBuf>>,
    also: Vec<PathBuf>,
}

impl Surveyor {
    /// Starts the thread. Devices of `also` are included. Surveys are sent to `news`.
    pub(super) fn new(also: Vec<PathBuf>, every: Duration, news: Sender<DaemonNews>) -> Surveyor {
        let (requests, queue) = mpsc::channel();
        let mut devices = also.clone();
        let builder = thread::Builder::new().name("survey".into());
        // Without the thread no disk is ever seen, and that is what the status shows.
        let _ = builder.spawn(move || {
            loop {
                match queue.recv_timeout(every) {
                    Ok(also) => devices = queue.try_iter().last().unwrap_or(also),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                let mut seen = survey(&SystemRoot::default(), &devices);
                checks::add_checks(&mut seen);
                if news.send(DaemonNews::Survey(Box::new(seen))).is_err() {
                    return;
                }
            }
        });
        Surveyor { requests, also }
    }

    /// Requests a survey.
    pub(super) fn request(&self) {
        let _ = self.requests.send(self.also.clone()); // the thread lives as long as the daemon
    }

    /// Requests a survey, which includes these devices from now on.
    pub(super) fn request_with(&mut self, also: Vec<PathBuf>) {
        self.also = also;
        self.request();
    }
}
