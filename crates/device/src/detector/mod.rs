//! The foreground detector: reports to the machine when *others* use the disk, never the scrub's own requests.
//!
//! Three signals, best first; each is one file and one line in `DETECTORS`:
//!
//! | detector | sees | needs |
//! |---|---|---|
//! | `bpf` | every arrival and completion, with its time | CAP_BPF and CAP_PERFMON, readable tracefs (root), Linux 5.8 |
//! | `perf` | every arrival and completion, through a ring per CPU | CAP_PERFMON, readable tracefs (root) |
//! | `stat` | counts, dated when they are polled | nothing |
//!
//! No detector wakes the pump: a request at the disk cannot be recalled, so the best time to check is just before the next
//! one is sent. [`Detector::drain`] is called then, and at least every 100 ms.
//!
//! Requests in the idle I/O class ([`crate::ioprio`]) count as the scrub's, so idle-class requests of other processes are not
//! foreground either. Kernels before 6.11 do not report the class: there, the scrub's requests are those of this process.

mod activity;
mod assembler;
mod bpf;
pub mod failed;
pub(crate) mod kernel;
mod perf;
pub(crate) mod ring;
pub(crate) mod several;
mod stat;
pub(crate) mod tracepoint;
pub mod work;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;

use scrubjay_core::scrub::machine::Event;

use crate::sysfs::DiskNode;

/// Watches a subject, a whole disk or a volume, for foreground requests.
pub trait Detector: Send {
    /// Appends the events since the last call to `events`, in the order of `at`: only `Foreground*` events.
    ///
    /// Ends with [`Event::ForegroundDrained`] when no foreground request is outstanding and there was any since the last such
    /// event. A detector that only counts reports so once, with [`Event::ForegroundCounted`]; otherwise an idle disk yields
    /// no events at all. No event is dated earlier than one handed out before.
    fn drain(&mut self, own: OwnTraffic, events: &mut Vec<Event>);

    /// Foreground requests that were missed so far (because a ring was full). Arrivals and completions both count.
    fn lost(&self) -> u64 {
        0
    }
}

/// The scrub's own requests to the watched disk, for detectors that can only count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTraffic {
    /// 512-byte sectors that completed scrub requests transferred, failed ones included.
    pub sectors: u64,
    /// Scrub requests that were completed.
    pub requests: u64,
    /// Scrub requests that are at the disk now.
    pub in_flight: u32,
}

/// A kind of detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DetectorKind {
    /// BPF programs at the block layer's tracepoints.
    Bpf,
    /// Perf events at the same tracepoints.
    Perf,
    /// The counters in `/sys/block/X/stat`.
    Stat,
    /// The server of a volume, which knows its clients. Not for disks.
    Server,
    /// No detector: nothing is seen.
    Blind,
}

scrubjay_core::named_row!(DetectorKind, DetectorKind::ALL.to_vec());

impl DetectorKind {
    /// The kinds that watch disks, best first.
    pub const ALL: [DetectorKind; 4] = [DetectorKind::Bpf, DetectorKind::Perf, DetectorKind::Stat, DetectorKind::Blind];
}

impl DetectorKind {
    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            DetectorKind::Bpf => "bpf",
            DetectorKind::Perf => "perf",
            DetectorKind::Stat => "stat",
            DetectorKind::Server => "server",
            DetectorKind::Blind => "none",
        }
    }

    /// Its line in the help text.
    pub const fn about(self) -> &'static str {
        match self {
            DetectorKind::Bpf => "BPF programs at the block layer's tracepoints",
            DetectorKind::Perf => "The same tracepoints through perf",
            DetectorKind::Stat => "Counters in /sys/block",
            DetectorKind::Server => "The server of a volume, which knows its clients",
            DetectorKind::Blind => "Do not watch other I/O",
        }
    }
}

impl fmt::Display for DetectorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whose requests a device receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestSources {
    /// The foreground's and the scrub's.
    All,
    /// Only the foreground's: the scrub reads the devices below.
    OthersOnly,
}

/// An open detector.
pub struct OpenedDetector {
    /// The detector.
    pub detector: Box<dyn Detector>,
    /// Its kind.
    pub kind: DetectorKind,
    /// One sentence for the user, without its full stop: what it sees and, if a better one does not work, why.
    pub why: String,
}

/// Opens one kind of detector, and describes what it sees. The table lists the best first.
type Open = fn(&DiskNode, RequestSources) -> Result<(Box<dyn Detector>, String), Refusal>;
const DETECTORS: [(DetectorKind, Open); 3] = [
    (DetectorKind::Bpf, bpf::Bpf::open),
    (DetectorKind::Perf, perf::Perf::open),
    (DetectorKind::Stat, stat::Stat::open),
];

/// Opens the best detector for `disk` that works here, at most as good as `wish`.
///
/// Never fails: without a disk (an image file whose file system is not on one), or when no detector works, the result
/// sees nothing, and `why` states that.
pub fn open(disk: Option<&DiskNode>, wish: Option<DetectorKind>, sources: RequestSources) -> OpenedDetector {
    let Some(disk) = disk else {
        return blind("no block device lies below the target, so nothing can be seen of its other users");
    };
    if wish == Some(DetectorKind::Blind) {
        return blind(&format!("other users of {} are not watched, as you wished", disk.name));
    }
    let mut refusals = Vec::new();
    for (kind, open) in DETECTORS.into_iter().skip_while(|&(kind, _)| wish.is_some_and(|wish| wish != kind)) {
        match open(disk, sources) {
            Ok((detector, seen)) => {
                return OpenedDetector { detector, kind, why: format!("{kind}: {seen}{}", because(&refusals)) };
            }
            Err(refusal) => refusals.push((kind, refusal.to_string())),
        }
    }
    blind(&format!("other users of {} cannot be seen{}", disk.name, because(&refusals)))
}

/// The detector that sees nothing, for this reason.
pub fn blind(reason: &str) -> OpenedDetector {
    OpenedDetector {
        detector: Box::new(Blind),
        kind: DetectorKind::Blind,
        why: format!("{}: {reason}", DetectorKind::Blind),
    }
}

/// `, because bpf needs tracefs ..., perf too`: a reason that several share is stated once.
fn because(refusals: &[(DetectorKind, String)]) -> String {
    let mut reasons: Vec<(&str, String)> = Vec::new();
    for (kind, reason) in refusals {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, text)) => *text += &format!(", {kind} too"),
            None => reasons.push((reason, format!("{kind} {reason}"))),
        }
    }
    let all: Vec<String> = reasons.into_iter().map(|(_, text)| text).collect();
    if all.is_empty() { String::new() } else { format!(", because {}", all.join(" and ")) }
}

/// The detector that sees nothing.
struct Blind;

impl Detector for Blind {
    fn drain(&mut self, _own: OwnTraffic, _events: &mut Vec<Event>) {}
}

/// Why a detector does not work here. Its text continues the detector's name: `bpf needs ...`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("needs tracefs, which is not mounted and cannot be mounted ({})", name(.0))]
    NoTracefs(io::Error),
    #[error("may not read tracefs ({})", name(.0))]
    Tracefs(io::Error),
    #[error("finds no tracepoint of the block layer")]
    NoTracepoint,
    #[error("finds no I/O class in the tracepoints (Linux 6.11 has it)")]
    NoClass,
    #[error("finds no tracepoint of failed requests (Linux 5.18 has it)")]
    NoErrors,
    #[error("finds no sender in the tracepoints (Linux 6.5 has it)")]
    NoThread,
    #[error("needs {capability} ({})", name(error))]
    Needs { capability: &'static str, error: io::Error },
    #[error("{failure} ({})", name(error))]
    Failed { failure: &'static str, error: io::Error },
    #[error("finds the counting switched off (/sys/block/{0}/queue/iostats is 0)")]
    CountingOff(String),
}

impl Refusal {
    /// Makes a refusal of an error, for `map_err`.
    pub(crate) fn failed(failure: &'static str) -> impl Fn(io::Error) -> Refusal {
        move |error| Refusal::Failed { failure, error }
    }

    /// The refusal for a call that needs `capability`, and that otherwise failed with `failure`.
    pub(crate) fn of_call(capability: &'static str, failure: &'static str, error: io::Error) -> Refusal {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Refusal::Needs { capability, error },
            _ => Refusal::failed(failure)(error),
        }
    }
}

/// The error under the name that manual pages and search engines use.
fn name(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM) => "EPERM".to_owned(),
        Some(libc::EACCES) => "EACCES".to_owned(),
        Some(libc::EINVAL) => "EINVAL".to_owned(),
        Some(libc::ENOMEM) => "ENOMEM".to_owned(),
        Some(libc::EMFILE) => "EMFILE".to_owned(),
        Some(libc::ENOSYS) => "ENOSYS".to_owned(),
        Some(libc::ENOENT) => "ENOENT".to_owned(),
        _ => error.to_string(),
    }
}
