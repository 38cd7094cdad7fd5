//! Looks what there is, on a thread of its own: the kernel, or a volume's server, may take its time.

use super::news::DaemonNews;
use crate::discovery::{SystemRoot, checks, survey};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Looks now and then, and whenever it is asked to.
pub(super) struct Surveyor {
    asked: Sender<Vec<PathBuf>>,
    also: Vec<PathBuf>,
}

impl Surveyor {
    /// Devices of `also` are looked at besides. What is seen is told.
    pub(super) fn new(also: Vec<PathBuf>, every: Duration, tell: Sender<DaemonNews>) -> Surveyor {
        let (asked, asks) = mpsc::channel();
        let mut of_thread = also.clone();
        let named = thread::Builder::new().name("survey".into());
        // Without it no disk is ever seen, and that is what is shown.
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

    /// Looks at once.
    pub(super) fn look(&self) {
        let _ = self.asked.send(self.also.clone()); // it lives as long as we do
    }

    /// Looks at once, and from now on at these devices besides.
    pub(super) fn look_also(&mut self, also: Vec<PathBuf>) {
        self.also = also;
        self.look();
    }
}
