//! Reads what drives say about their health: a few at a time, each by a process of smartctl, cards from the kernel's files.

use super::news::DaemonNews;
use crate::discovery::root::SystemRoot;
use crate::mmc;
use crate::smartctl::run::Smartctl;
use scrubjay_watch::facts::DiskKey;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Processes at the same time: sixty drives are read in a minute even if each is slow.
const WORKERS: usize = 4;

/// A drive to be read.
struct SmartRequest {
    name: String,
    key: DiskKey,
    device: PathBuf,
}

/// The queue of drives to be read.
pub(super) struct SmartQueue {
    requests: Sender<SmartRequest>,
}

impl SmartQueue {
    /// Starts the workers, which report their results to `news`.
    pub(super) fn new(smartctl: Smartctl, news: Sender<DaemonNews>) -> SmartQueue {
        let (requests, queue) = mpsc::channel::<SmartRequest>();
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..WORKERS {
            let (queue, smartctl, news) = (Arc::clone(&queue), smartctl.clone(), news.clone());
            // With fewer threads it takes longer.
            let _ =
                thread::Builder::new().name(format!("smart {number}")).spawn(move || work(&queue, &smartctl, &news));
        }
        SmartQueue { requests }
    }

    /// Queues the drive behind `device`.
    pub(super) fn enqueue(&self, name: String, key: DiskKey, device: PathBuf) {
        let _ = self.requests.send(SmartRequest { name, key, device }); // the workers live as long as the daemon
    }
}

fn work(queue: &Mutex<Receiver<SmartRequest>>, smartctl: &Smartctl, news: &Sender<DaemonNews>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(SmartRequest { name, key, device }) = next else { return };
        let of_card = mmc::read(&SystemRoot::default(), &device);
        let answer = Box::new(of_card.unwrap_or_else(|| smartctl.read(&device)));
        if news.send(DaemonNews::Smart { name, key, answer }).is_err() {
            return;
        }
    }
}
