//! What comes to the pump from elsewhere: drives, sessions, channels, verbs, signals, the kernel.

use crate::channels::{DeliveryError, DeliveryReceipt};
use crate::control::PendingAnswer;
use crate::discovery::{HostSurvey, UeventSocket};
use crate::sessions::SessionTold;
use crate::smartctl::parse::SmartctlAnswer;
use scrubjay_watch::facts::DiskKey;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Duration;

/// Something came.
#[derive(Debug)]
pub(super) enum DaemonNews {
    /// A drive answered.
    Smart { name: String, key: DiskKey, answer: Box<SmartctlAnswer> },
    /// A session ended, or could not begin.
    Session(SessionTold),
    /// A channel took a message, or not.
    Delivered { number: u64, channel: String, outcome: Result<DeliveryReceipt, DeliveryError> },
    /// The heartbeat's URL answered, or not.
    Beaten(Result<DeliveryReceipt, DeliveryError>),
    /// A verb asks.
    Asked(PendingAnswer),
    /// A signal.
    Signal(i32),
    /// The machine was looked at.
    Surveyed(Box<HostSurvey>),
    /// The kernel says that a disk, an enclosure or the power changed.
    Changed,
}

/// Has signals told.
pub(super) fn on_signals(tell: Sender<DaemonNews>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if tell.send(DaemonNews::Signal(signal)).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

/// Has changes told. Without a thread for that the machine is looked at now and then.
pub(super) fn on_uevents(uevents: UeventSocket, tell: Sender<DaemonNews>) {
    let named = thread::Builder::new().name("uevents".into());
    let _ = named.spawn(move || {
        loop {
            let is_over = uevents.wait(Duration::from_secs(3600)) && tell.send(DaemonNews::Changed).is_err();
            if is_over {
                return;
            }
        }
    });
}

/// Passes on what comes from `from`, as news.
pub(super) fn forward<T: Send + 'static>(from: Receiver<T>, to: Sender<DaemonNews>, wrap: fn(T) -> DaemonNews) {
    thread::spawn(move || {
        for one in from {
            if to.send(wrap(one)).is_err() {
                return;
            }
        }
    });
}
