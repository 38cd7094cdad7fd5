//! News for the pump: from drives, sessions, channels, verbs, signals, the kernel.

use crate::channels::{DeliveryError, DeliveryReceipt};
use crate::control::PendingAnswer;
use crate::discovery::{HostSurvey, UeventSocket};
use crate::sessions::SessionMessage;
use crate::smartctl::parse::SmartctlAnswer;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use scrubjay_device::detector::failed::{BlockErrorCause, FailedKind, FailedRequest, FailureDetector};
use scrubjay_device::links::LinkLog;
use scrubjay_watch::facts::DiskKey;
use scrubjay_watch::failures::{FailedRequests, FailureCause};
use scrubjay_watch::slowness::Slowness;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
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
    /// Requests of programs failed at these disks; the numbers of those that were not seen for lack of room.
    Failed(Vec<DiskFailed>, u64),
    /// Requests of programs failed at the disk of this name; what lies there was looked up.
    Placed(String, DiskKey, FailedRequests),
    /// How slow these disks are, by name.
    Speeds(Vec<(String, DiskKey, Slowness)>),
    /// The kernel has reset the way to the devices with these parts in their paths; how often records of its log were lost.
    LinkResets(Vec<String>, u64),
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

/// Sends that arrays of md have changed: members that fail make no uevent. Where there is no md, nothing.
pub(super) fn on_md_events(news: Sender<DaemonNews>) {
    let builder = thread::Builder::new().name("md".into());
    let _ = builder.spawn(move || {
        loop {
            if is_md_changed().unwrap_or(false) && news.send(DaemonNews::DevicesChanged).is_err() {
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
    });
}

/// Waits until arrays of md have changed; `None`: there is no md, as far as is known.
fn is_md_changed() -> Option<bool> {
    let Ok(mut arrays) = File::open("/proc/mdstat") else {
        thread::sleep(MD_EVERY);
        return None;
    };
    // The kernel counts from when the list was read.
    io::copy(&mut arrays, &mut io::sink()).ok()?;
    Some(wait_for(&arrays, PollFlags::PRI))
}

/// Waits for one of these, for an hour at most; whether it has come.
fn wait_for(file: &impl AsFd, what: PollFlags) -> bool {
    let hour = Timespec { tv_sec: 3600, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(file, what)], Some(&hour)), Ok(1..))
}

/// Sends resets of links as news.
pub(super) fn on_link_resets(mut log: LinkLog, news: Sender<DaemonNews>) {
    let builder = thread::Builder::new().name("links".into());
    let _ = builder.spawn(move || {
        let mut losses = 0;
        loop {
            if wait_for(&log, PollFlags::IN) {
                let places = log.drain();
                let is_lost = log.losses() > losses;
                losses = log.losses();
                if (is_lost || !places.is_empty()) && news.send(DaemonNews::LinkResets(places, losses)).is_err() {
                    return;
                }
            }
            thread::sleep(LOOK_EVERY);
        }
    });
}

/// What failed at one disk.
#[derive(Debug)]
pub(super) struct DiskFailed {
    /// Its major and minor number.
    pub(super) disk: (u32, u32),
    /// What failed; without what is in the idle I/O class, as sessions are.
    pub(super) others: Option<FailedRequests>,
    /// What failed in the idle I/O class.
    pub(super) idle_class: Option<FailedRequests>,
}

/// How often the kernel's ring of failed requests, its log and its arrays are looked at, at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked whether there is an md by now.
const MD_EVERY: Duration = Duration::from_secs(60);

/// Sends failed requests as news, once a second at most however many there are.
pub(super) fn on_failures(mut failures: FailureDetector, news: Sender<DaemonNews>) {
    let builder = thread::Builder::new().name("failures".into());
    let _ = builder.spawn(move || {
        let mut seen = Vec::new();
        loop {
            thread::sleep(LOOK_EVERY);
            failures.drain(&mut seen);
            if seen.is_empty() {
                continue;
            }
            if news.send(DaemonNews::Failed(by_disk(seen.drain(..)), failures.lost())).is_err() {
                return;
            }
        }
    });
}

/// Joins those of each disk.
fn by_disk(seen: impl Iterator<Item = FailedRequest>) -> Vec<DiskFailed> {
    let mut disks: Vec<DiskFailed> = Vec::new();
    for request in seen {
        let index = disks.iter().position(|known| known.disk == request.disk).unwrap_or_else(|| {
            disks.push(DiskFailed { disk: request.disk, others: None, idle_class: None });
            disks.len() - 1
        });
        let sum = match request.is_idle_class {
            true => &mut disks[index].idle_class,
            false => &mut disks[index].others,
        };
        let one = failed(&request);
        match sum {
            Some(sum) => sum.add(one),
            None => *sum = Some(one),
        }
    }
    disks
}

fn failed(request: &FailedRequest) -> FailedRequests {
    let is_read = request.kind == FailedKind::Read;
    FailedRequests {
        reads: u64::from(is_read),
        writes: u64::from(!is_read),
        cause: match request.cause {
            BlockErrorCause::Medium => FailureCause::Medium,
            BlockErrorCause::TimedOut => FailureCause::TimedOut,
            BlockErrorCause::Transport => FailureCause::Transport,
            BlockErrorCause::Target => FailureCause::Target,
            BlockErrorCause::Protection => FailureCause::Protection,
            BlockErrorCause::Unknown => FailureCause::Unknown,
        },
        contents: Vec::new(),
        runs: Some(request.sectors).filter(|sectors| !sectors.is_empty()).into_iter().collect(),
    }
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
