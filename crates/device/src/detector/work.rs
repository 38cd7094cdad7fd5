//! Watches disks for the requests of paced work and of everybody else.
//!
//! What is paced is put into the idle I/O class, and what it starts inherits that ([`crate::ioprio`]). Where it has a cgroup of its own, the
//! requests that are sent from there count as its own, and those in the idle class that the kernel's threads send for somebody (below encryption,
//! say); a completion is told by its disk and sector (Linux 6.5). Otherwise those in the idle class do, whose arrivals and completions must be
//! seen with it: Linux 6.11. Requests of the kernel's own work have no class; they are told by the thread that sends them (Linux 6.5).
//!
//! Which disks are meant may be said; otherwise they are those at which requests of the work are seen, and of a disk where there is none no
//! other user matters.

use super::Refusal;
use super::activity::{ForegroundActivity, LAG_MAX, Sighting, SightingKind};
use super::bpf::{RequestRing, SeenRequest, Watched};
use super::kernel::InFlightCounts;
use super::several::{self, merge};
use super::tracepoint::{OwnBy, Probes};
use crate::clock;
use crate::sysfs::DiskNode;
use scrubjay_core::scrub::machine::Event;
use scrubjay_core::scrub::work::WorkEvent;
use scrubjay_core::units::Nanos;
use std::collections::HashSet;
use std::io;

/// A disk with fewer of the work's recent requests than this share of those of the busiest does not count: the program itself was read
/// from there, or it logs there.
const SHARE_MIN: f64 = 0.25;
/// About so many of the work's requests are recent, for each disk.
const RECENT: f64 = 32.0;
/// The first requests, so many, count less the earlier they come: they load the program. A disk to which it does not come back after them is
/// that from which it was loaded.
const LOADING: u64 = 256;

/// Whose requests are the work's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkSenders {
    /// Those in the idle class.
    IdleClass,
    /// Those from the cgroup of this number.
    Cgroup(u64),
    /// Threads of the kernel, by the beginnings of their names.
    Threads(&'static [[u8; 8]]),
}

/// The number of the cgroup at the root, in which the kernel's threads are.
const ROOT_CGROUP: u64 = 1;
/// Requests of the work at one disk that are remembered, at most.
const SECTORS_MAX: usize = 10_000;

/// Watches some disks.
pub struct WorkDetector {
    requests: RequestRing,
    senders: WorkSenders,
    lost_before: u64,
    records: Vec<SeenRequest>,
    /// The numbers of the disks that were named, `major << 20 | minor`; `None`: those where the work is seen.
    named: Option<Vec<u32>>,
    disks: Vec<WorkDisk>,
    /// Requests of the work so far.
    own: u64,
    last_reported: Nanos,
    is_counted: bool,
    /// Is one of the disks not meant any more, from which the program was only loaded?
    is_loaded: bool,
}

/// One disk, with the requests of the work that are there.
struct WorkDisk {
    number: u32,
    name: String,
    in_flight: InFlightCounts,
    activity: ForegroundActivity,
    sightings: Vec<Sighting>,
    /// Requests of the work that are there.
    own: u64,
    /// Their first sectors, where they are told by their senders.
    sectors: HashSet<u64>,
    /// When the last of them was seen.
    seen_at: Nanos,
    /// Recent requests of the work, older ones count less.
    weight: f64,
    /// Does it count?
    is_of_work: bool,
    /// Is the foreground at it?
    is_open: bool,
}

/// The requests of the work cannot be told from those of others.
#[derive(Debug, thiserror::Error)]
#[error("whose requests the disks receive cannot be seen: bpf {why}")]
pub struct WorkDetectorError {
    why: String,
    /// Is it for lack of a permission?
    pub is_permission: bool,
}

impl From<Refusal> for WorkDetectorError {
    fn from(refusal: Refusal) -> WorkDetectorError {
        let is_permission = match &refusal {
            Refusal::Needs { .. } | Refusal::Tracefs(_) => true,
            Refusal::NoTracefs(error) => error.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        };
        WorkDetectorError { why: refusal.to_string(), is_permission }
    }
}

impl WorkDetector {
    /// Watches these disks; `None`: those at which the work is seen.
    ///
    /// # Errors
    /// [`WorkDetectorError`].
    pub fn open(senders: WorkSenders, named: Option<&[DiskNode]>) -> Result<WorkDetector, WorkDetectorError> {
        let own = match senders {
            WorkSenders::IdleClass => OwnBy::Class,
            WorkSenders::Cgroup(_) => OwnBy::Cgroup,
            WorkSenders::Threads(_) => OwnBy::Thread,
        };
        let requests = RequestRing::open(&Probes::of_all(own)?, Watched::All(own))?;
        let number = |disk: &DiskNode| disk.major << 20 | disk.minor;
        Ok(WorkDetector {
            requests,
            senders,
            lost_before: 0,
            records: Vec::new(),
            named: named.map(|disks| disks.iter().map(number).collect()),
            disks: Vec::new(),
            own: 0,
            last_reported: Nanos::ZERO,
            is_counted: false,
            is_loaded: false,
        })
    }

    /// Appends what was seen since the last call, in the order of time.
    pub fn drain(&mut self, events: &mut Vec<WorkEvent>) {
        let now = clock::now();
        let lossy = self.requests.lost() != self.lost_before;
        self.lost_before = self.requests.lost();
        let mut records = std::mem::take(&mut self.records);
        self.requests.take(&mut records);
        let mut own = Vec::new();
        let senders = self.senders;
        for record in records.drain(..) {
            let SeenRequest { sighting, disk, sector, .. } = record;
            let is_sent = match senders {
                WorkSenders::IdleClass => record.is_own,
                WorkSenders::Cgroup(group) => {
                    let sender = u64::from_ne_bytes(record.sender);
                    sender == group || record.is_own && sender == ROOT_CGROUP
                }
                WorkSenders::Threads(names) => names.contains(&record.sender),
            };
            if is_sent && sighting.kind == SightingKind::Arrival {
                self.own += 1;
                let recent = RECENT * self.disks.len().max(1) as f64;
                self.disks.iter_mut().for_each(|disk| disk.weight *= 1.0 - 1.0 / recent);
            }
            let weight = self.own.min(LOADING) as f64 / LOADING as f64;
            let Some(disk) = self.disk(disk, is_sent) else { continue };
            let is_own = match (senders, sighting.kind) {
                (WorkSenders::IdleClass, _) => is_sent,
                (_, SightingKind::Arrival) => is_sent && disk.remember(sector),
                (_, SightingKind::Completion) => disk.sectors.remove(&sector),
            };
            if is_own {
                disk.count_own(sighting, weight);
                own.push(sighting);
            } else {
                disk.sightings.push(sighting);
            }
        }
        self.records = records;
        self.judge();
        let from = events.len();
        let ended = own.iter().map(|sighting| sighting.at).max();
        events.extend(own.into_iter().map(|Sighting { at, kind }| match kind {
            SightingKind::Arrival => WorkEvent::OwnArrived { at, count: 1 },
            SightingKind::Completion => WorkEvent::OwnCompleted { at, count: 1 },
        }));
        let mut foreground = Vec::new();
        for (index, disk) in self.disks.iter_mut().enumerate() {
            foreground.extend(disk.drain(now, lossy).into_iter().map(|event| (index, event)));
        }
        let (mut merged, mut open) = (Vec::new(), self.disks.iter().map(|disk| disk.is_open).collect::<Vec<_>>());
        merge(&mut foreground, &mut open, &mut self.last_reported, &mut self.is_counted, &mut merged);
        self.disks.iter_mut().zip(open).for_each(|(disk, is_open)| disk.is_open = is_open);
        events.extend(merged.into_iter().map(WorkEvent::Foreground));
        // Which request of the work was there when one of the foreground arrived depends on the order of all.
        events[from..].sort_by_key(date);
        if self.disks.iter().all(|disk| disk.own == 0) {
            events.push(WorkEvent::OwnDrained { at: ended.unwrap_or(now) });
        }
    }

    /// The disk of this number, if it is watched. One that was not seen before is added with the first request of the work.
    fn disk(&mut self, number: u32, is_own: bool) -> Option<&mut WorkDisk> {
        let known = self.disks.iter().position(|disk| disk.number == number);
        let is_named = self.named.as_ref().is_none_or(|named| named.contains(&number));
        let index = match known {
            Some(index) => index,
            None if is_named && (is_own || self.named.is_some()) => {
                self.disks.push(WorkDisk::open(number, self.named.is_some())?);
                self.disks.len() - 1
            }
            None => return None,
        };
        Some(&mut self.disks[index])
    }

    /// Decides which disks are those of the work.
    fn judge(&mut self) {
        if self.named.is_some() {
            return;
        }
        let most = self.disks.iter().map(|disk| disk.weight).fold(0.0, f64::max);
        for disk in &mut self.disks {
            let was_of_work = std::mem::replace(&mut disk.is_of_work, disk.weight >= SHARE_MIN * most);
            self.is_loaded |= was_of_work && !disk.is_of_work && self.own <= LOADING;
        }
    }

    /// Has the work gone to its disk, from where it was loaded? True once, after what was seen of the foreground at the other.
    pub fn take_loaded(&mut self) -> bool {
        std::mem::take(&mut self.is_loaded)
    }

    /// From now on these threads send the work's requests.
    pub fn set_threads(&mut self, threads: &'static [[u8; 8]]) {
        self.senders = WorkSenders::Threads(threads);
    }

    /// The names of the disks of the work.
    pub fn disks(&self) -> Vec<&str> {
        self.disks.iter().filter(|disk| disk.is_of_work).map(|disk| disk.name.as_str()).collect()
    }

    /// Sightings that were lost so far because a ring was full.
    pub fn lost(&self) -> u64 {
        self.requests.lost()
    }
}

impl WorkDisk {
    fn open(number: u32, is_of_work: bool) -> Option<WorkDisk> {
        let disk = DiskNode::of_device(number >> 20, number & 0xf_ffff).ok()?;
        let in_flight = InFlightCounts::open(&disk).ok()?;
        Some(WorkDisk {
            number,
            name: disk.name,
            in_flight,
            activity: ForegroundActivity::default(),
            sightings: Vec::new(),
            own: 0,
            sectors: HashSet::new(),
            seen_at: Nanos::ZERO,
            weight: 0.0,
            is_of_work,
            is_open: false,
        })
    }

    /// Remembers the first sector of a request of the work; those whose completions were not seen are forgotten in the end.
    fn remember(&mut self, sector: u64) -> bool {
        if self.sectors.len() >= SECTORS_MAX {
            self.sectors.clear();
            self.own = 0;
        }
        self.sectors.insert(sector);
        true
    }

    fn count_own(&mut self, Sighting { at, kind }: Sighting, weight: f64) {
        match kind {
            SightingKind::Arrival => (self.own, self.weight) = (self.own + 1, self.weight + weight),
            SightingKind::Completion => self.own = self.own.saturating_sub(1),
        }
        self.seen_at = self.seen_at.max(at);
    }

    /// The foreground's events since the last call.
    fn drain(&mut self, now: Nanos, lossy: bool) -> Vec<Event> {
        let mut events = Vec::new();
        if !self.is_of_work {
            self.sightings.clear();
            if self.is_open {
                events.push(Event::ForegroundDrained { at: now });
            }
            (self.activity, self.own) = (ForegroundActivity::default(), 0);
            return events;
        }
        self.activity.report(&mut self.sightings, lossy, &mut events);
        if self.activity.is_open() || self.own > 0 {
            let at_disk = self.in_flight.current();
            if self.activity.is_open() {
                self.activity.reconcile(now, at_disk, self.own as u32, &mut events);
            }
            // Merged requests never complete by themselves: the kernel's count overrules the balance, as for the foreground.
            if at_disk == Some(0) && now.since(self.seen_at) >= LAG_MAX {
                self.own = 0;
                self.sectors.clear();
            }
        }
        events
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
