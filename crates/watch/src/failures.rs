//! Requests of programs that failed at a disk, as the kernel says in the second in which it happens.
//!
//! A program's error is no proof of what is wrong, nor of where: a request spans many sectors. So it is told, and the place is left alone until
//! the disk's next pass, which reads it in its turn, and says.

use crate::calendar::{DAY, elapsed};
use crate::health::HealthSign;
use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentSubject, Urgency};
use crate::known::DiskState;
use crate::problem::{DiskFailures, Problem};
use crate::state::Watch;
use crate::worded;
use scrubjay_core::units::{SectorRange, UnixSeconds};

/// Places that are remembered of a disk, at most.
const RUNS_MAX: usize = 8;
/// Without a whole pass it is over when nothing has failed for so long.
const OVER_AFTER: u64 = 30 * DAY;

/// Why a request failed, in the kernel's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureCause {
    /// The drive did not answer in time.
    TimedOut,
    /// The way to the drive failed.
    Transport,
    /// Checksums on the way did not match.
    Protection,
    /// Not told.
    Unknown,
    /// The drive refused.
    Target,
    /// The medium.
    Medium,
}

worded!(FailureCause {
    TimedOut = "timed-out",
    Transport = "transport",
    Protection = "protection",
    Unknown = "unknown",
    Target = "target",
    Medium = "medium",
});

impl FailureCause {
    /// Is the way to the drive more likely at fault than what it stores?
    pub fn is_of_the_way(self) -> bool {
        matches!(self, FailureCause::TimedOut | FailureCause::Transport | FailureCause::Protection)
    }
}

/// Requests that failed at a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FailedRequests {
    /// Reads (count).
    pub reads: u64,
    /// Writes (count).
    pub writes: u64,
    /// The gravest cause.
    pub cause: FailureCause,
    /// Their sectors, the earliest first; not all of many.
    pub runs: Vec<SectorRange>,
}

impl FailedRequests {
    /// Adds those that came later.
    pub fn add(&mut self, later: FailedRequests) {
        self.reads = self.reads.saturating_add(later.reads);
        self.writes = self.writes.saturating_add(later.writes);
        self.cause = self.cause.max(later.cause);
        for run in later.runs {
            let known = self.runs.iter().position(|known| known.start <= run.end && run.start <= known.end);
            match known {
                Some(place) => {
                    let known = self.runs[place];
                    self.runs[place] = SectorRange::new(known.start.0.min(run.start.0), known.end.0.max(run.end.0));
                }
                None if self.runs.len() < RUNS_MAX => self.runs.push(run),
                None => {}
            }
        }
    }
}

/// What failed at a disk since the watch began, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownFailures {
    all: FailedRequests,
    since: UnixSeconds,
    last: UnixSeconds,
}

impl Watch {
    /// Takes requests that failed at the disk of this name.
    pub(crate) fn failures(&mut self, now: UnixSeconds, name: &str, failed: FailedRequests) {
        let Some(disk) = self.seen.disk_by_name(name) else { return };
        let mut none = FailedRequests { reads: 0, writes: 0, runs: Vec::new(), ..failed };
        let known = disk.live.failures.get_or_insert_with(|| {
            none.cause = failed.cause;
            KnownFailures { all: none, since: now, last: now }
        });
        known.all.add(failed);
        known.last = now;
    }

    /// The sign of a disk at which requests of programs failed.
    pub(crate) fn failures_sign(&self, disk: &DiskState, now: UnixSeconds) -> Option<HealthSign> {
        let counts = disk.live.failures.as_ref().map_or((0, 0), |known| (known.all.reads, known.all.writes));
        let (reads, writes) = counts;
        (self.failed_since(disk, now).is_some()).then_some(HealthSign::FailedRequests { reads, writes })
    }

    /// When one failed last, unless that is over: a whole pass has read the disk since, and could read all of it; or it is long ago.
    fn failed_since(&self, disk: &DiskState, now: UnixSeconds) -> Option<UnixSeconds> {
        let subject = IncidentSubject::Disk(disk.row.facts.key.clone());
        let key = IncidentKey { subject, kind: IncidentKind::Failures };
        let opened = self.book.incidents.get(&key).map(|incident| incident.opened);
        let last = disk.live.failures.as_ref().map(|known| known.last).or(opened)?;
        // What cannot be read is not over; the disk's own incident tells of it from then on.
        let passes = &disk.reading.row.passes;
        let is_read_since =
            passes.oldest().is_some_and(|oldest| oldest >= last) && passes.unreadable_sectors() == 0;
        (!is_read_since && elapsed(now, last) < OVER_AFTER).then_some(last)
    }

    /// The condition of a disk at which requests of programs failed. `None`: none did, as far as is known now; then an incident from before
    /// the start stays until a whole pass has read the disk.
    pub(crate) fn failed_at(&self, disk: &DiskState, now: UnixSeconds) -> Result<Option<Condition>, StillOpen> {
        if self.failed_since(disk, now).is_none() {
            return Ok(None);
        }
        let Some(KnownFailures { all, since, .. }) = &disk.live.failures else { return Err(StillOpen) };
        let arrays = disk.live.name.as_deref().map(|name| self.memberships(name)).unwrap_or_default();
        // An array gives its user what it reads elsewhere.
        let is_healed = arrays.iter().any(|array| array.is_in_sync && array.left > 0);
        let urgency = if is_healed || all.cause.is_of_the_way() { Urgency::Notice } else { Urgency::Replace };
        let mut amounts = vec![("failed reads".to_owned(), all.reads), ("failed writes".to_owned(), all.writes)];
        amounts.retain(|(_, count)| *count > 0);
        let failures = DiskFailures { disk: disk.card(), failed: all.clone(), since: *since, arrays, is_healed };
        let is_found = disk.reading.row.passes.unreadable_sectors() > 0;
        let subject = IncidentSubject::Disk(disk.row.facts.key.clone());
        let cause = is_found.then_some(IncidentKey { subject, kind: IncidentKind::Health });
        let condition = Condition::of(urgency, Problem::Failures(Box::new(failures))).with_amounts(amounts);
        Ok(Some(Condition { cause, ..condition }))
    }
}

/// An incident from before the start of the watch, which is not known to be over.
pub(crate) struct StillOpen;
