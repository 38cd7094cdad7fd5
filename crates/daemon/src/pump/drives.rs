//! Reads SMART data of drives: a few at a time, each by a process of smartctl.

use super::news::DaemonNews;
use crate::smartctl::run::Smartctl;
use scrubjay_watch::facts::DiskKey;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Processes at the same time: sixty drives are read in a minute even if each is slow.
const ASKED_AT_ONCE: usize = 4;

/// A drive to be read.
struct SmartAsk {
    name: String,
    key: DiskKey,
    device: PathBuf,
}

/// The queue of drives to be read.
pub(super) struct SmartQueue {
    asks: Sender<SmartAsk>,
}

impl SmartQueue {
    /// Starts the workers, which report their results to `tell`.
    pub(super) fn new(smartctl: Smartctl, tell: Sender<DaemonNews>) -> SmartQueue {
        let (asks, asked) = mpsc::channel::<SmartAsk>();
        let asked = Arc::new(Mutex::new(asked));
        for number in 0..ASKED_AT_ONCE {
            let (asked, smartctl, tell) = (Arc::clone(&asked), smartctl.clone(), tell.clone());
            // With fewer threads it takes longer.
            let _ =
                thread::Builder::new().name(format!("smart {number}")).spawn(move || work(&asked, &smartctl, &tell));
        }
        SmartQueue { asks }
    }

    /// Queues the drive behind `device`.
    pub(super) fn ask(&self, name: String, key: DiskKey, device: PathBuf) {
        let _ = self.asks.send(SmartAsk { name, key, device }); // the workers live as long as the daemon
    }
}

fn work(asked: &Mutex<Receiver<SmartAsk>>, smartctl: &Smartctl, tell: &Sender<DaemonNews>) {
    loop {
        let next = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(SmartAsk { name, key, device }) = next else { return };
        let answer = Box::new(smartctl.read(&device));
        if tell.send(DaemonNews::Smart { name, key, answer }).is_err() {
            return;
        }
    }
}
