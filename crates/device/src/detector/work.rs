//! Watches disks for the requests of paced work and of everybody else.
//!
//! Requests in the idle I/O class count as the work's ([`crate::ioprio`]): what is paced is put into that class, and what it starts inherits
//! it. Both its arrivals and its completions must be seen, so the tracepoints have to report the class: Linux 6.11.

use super::activity::{LAG_MAX, Sighting, SightingKind};
use super::bpf::{Bpf, OwnRequests};
use super::several::{self, merge};
use super::tracepoint::Probes;
use super::{Detector, RequestSources};
use crate::clock;
use crate::sysfs::DiskNode;
use scrubjay_core::scrub::work::WorkEvent;
use scrubjay_core::units::Nanos;

/// Watches some disks.
pub struct WorkDetector {
    disks: Vec<WatchedDisk>,
    open: Vec<bool>,
    last_reported: Nanos,
    is_counted: bool,
}

/// One disk, with the requests of the work that are there.
struct WatchedDisk {
    bpf: Bpf,
    own: u64,
    /// When the last of them was seen.
    seen_at: Nanos,
}

/// Why the requests of the work cannot be told from those of others.
#[derive(Debug, thiserror::Error)]
pub enum WorkDetectorError {
    /// The kernel does not report the class of requests.
    #[error("{0}: this kernel does not tell whose requests a disk receives (Linux 6.11 does)")]
    NoClass(String),
    /// The tracepoints cannot be used.
    #[error("{disk}: whose requests it receives cannot be seen: bpf {why}")]
    Refused {
        /// The disk's name.
        disk: String,
        /// The reason, to be read after the detector's name.
        why: String,
        /// Is it for lack of a permission?
        is_permission: bool,
    },
}

impl WorkDetector {
    /// Watches these disks.
    ///
    /// # Errors
    /// [`WorkDetectorError`].
    pub fn open(disks: &[DiskNode]) -> Result<WorkDetector, WorkDetectorError> {
        let refused = |disk: &DiskNode, refusal: super::Refusal| WorkDetectorError::Refused {
            disk: disk.name.clone(),
            is_permission: match &refusal {
                super::Refusal::Needs { .. } | super::Refusal::Tracefs(_) => true,
                super::Refusal::NoTracefs(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
                _ => false,
            },
            why: refusal.to_string(),
        };
        let watch = |disk: &DiskNode| {
            let probes = Probes::choose(disk, RequestSources::All).map_err(|error| refused(disk, error))?;
            let has_class = probes.arrival.ioprio.is_some() && probes.completion.is_some();
            if !has_class {
                return Err(WorkDetectorError::NoClass(disk.name.clone()));
            }
            let bpf = Bpf::with_probes(disk, &probes, OwnRequests::Reported).map_err(|error| refused(disk, error))?;
            Ok(WatchedDisk { bpf, own: 0, seen_at: Nanos::ZERO })
        };
        let disks = disks.iter().map(watch).collect::<Result<Vec<_>, _>>()?;
        let open = vec![false; disks.len()];
        Ok(WorkDetector { disks, open, last_reported: Nanos::ZERO, is_counted: false })
    }

    /// Appends what was seen since the last call, in the order of time.
    pub fn drain(&mut self, events: &mut Vec<WorkEvent>) {
        let (mut foreground, mut own) = (Vec::new(), Vec::new());
        let mut is_quiet = true;
        for (index, disk) in self.disks.iter_mut().enumerate() {
            let now = clock::now();
            let (mut seen, mut seen_own) = (Vec::new(), Vec::new());
            let at_disk = disk.bpf.drain_all(disk.own as u32, &mut seen, &mut seen_own);
            foreground.extend(seen.into_iter().map(|event| (index, event)));
            for &Sighting { at, kind } in &seen_own {
                disk.own = match kind {
                    SightingKind::Arrival => disk.own + 1,
                    SightingKind::Completion => disk.own.saturating_sub(1),
                };
                disk.seen_at = disk.seen_at.max(at);
            }
            own.append(&mut seen_own);
            // Merged requests never complete by themselves: the kernel's count overrules the balance, as for the foreground.
            if at_disk == Some(0) && now.since(disk.seen_at) >= LAG_MAX {
                disk.own = 0;
            }
            is_quiet &= disk.own == 0;
        }
        let ended = own.iter().map(|sighting| sighting.at).max();
        let from = events.len();
        events.extend(own.into_iter().map(|Sighting { at, kind }| match kind {
            SightingKind::Arrival => WorkEvent::OwnArrived { at, count: 1 },
            SightingKind::Completion => WorkEvent::OwnCompleted { at, count: 1 },
        }));
        let mut merged = Vec::new();
        merge(&mut foreground, &mut self.open, &mut self.last_reported, &mut self.is_counted, &mut merged);
        events.extend(merged.into_iter().map(WorkEvent::Foreground));
        // Which request of the work was there when one of the foreground arrived depends on the order of all.
        events[from..].sort_by_key(date);
        if is_quiet {
            events.push(WorkEvent::OwnDrained { at: ended.unwrap_or_else(clock::now) });
        }
    }

    /// Sightings that were lost so far because a ring was full.
    pub fn lost(&self) -> u64 {
        self.disks.iter().map(|disk| disk.bpf.lost()).sum()
    }
}

/// The time of an event.
fn date(event: &WorkEvent) -> Nanos {
    match event {
        WorkEvent::Foreground(event) => several::date(event),
        WorkEvent::OwnArrived { at, .. }
        | WorkEvent::OwnCompleted { at, .. }
        | WorkEvent::OwnDrained { at }
        | WorkEvent::Frozen { at }
        | WorkEvent::Free { at } => *at,
        WorkEvent::Wanted(_) => Nanos::ZERO,
    }
}
