//! News for the pump: from drives, sessions, channels, verbs, signals, the kernel.

use crate::channels::{DeliveryError, DeliveryReceipt};
use crate::control::PendingAnswer;
use crate::discovery::{HostSurvey, UeventSocket};
use crate::sessions::SessionMessage;
use crate::smartctl::parse::SmartctlAnswer;
use scrubjay_watch::facts::DiskKey;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Duration;

/// A piece of news.
#[derive(Debug)]
pub(super) enum DaemonNews {
    /// A drive answered.
    Smart { name: String, key: DiskKey, answer: Box<SmartctlAnswer> },
    /// A session ended, or could not begin.
    Session(SessionMessage),
    /// A channel accepted a message, or did not.
    Delivered {
        number: u64,
        channel: String,
        outcome: Result<DeliveryReceipt, DeliveryError>,
        /// The recipients that were refused for good, and the reply to each; `None`: the channel has none of its own.
        refused: Option<Vec<(String, String)>>,
    },
    /// The heartbeat's URL answered, or did not.
    Heartbeat(Result<DeliveryReceipt, DeliveryError>),
    /// A verb sent a request.
    Request(PendingAnswer),
    /// A signal came.
    Signal(i32),
    /// A survey was made.
    Survey(Box<HostSurvey>),
    /// The kernel reports a change of a disk, an enclosure or the power.
    DevicesChanged,
}

/// Sends signals as news.
pub(super) fn on_signals(news: Sender<DaemonNews>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if news.send(DaemonNews::Signal(signal)).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

/// Sends device changes as news. Without a thread for that, only the regular surveys find them.
pub(super) fn on_uevents(uevents: UeventSocket, news: Sender<DaemonNews>) {
    let builder = thread::Builder::new().name("uevents".into());
    let _ = builder.spawn(move || {
        loop {
            let is_over = uevents.wait(Duration::from_secs(3600)) && news.send(DaemonNews::DevicesChanged).is_err();
            if is_over {
                return;
            }
        }
    });
}

/// Passes on what comes from `from`, as news.
pub(super) fn forward<T: Send + 'static>(from: Receiver<T>, to: Sender<DaemonNews>, wrap: fn(T) -> DaemonNews) {
    thread::spawn(move || {
        for item in from {
            if to.send(wrap(item)).is_err() {
                return;
            }
        }
    });
}
