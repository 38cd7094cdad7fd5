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
/// Without a whole pass it is over when nothing has failed for so long beyond the time in which one should have come.
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

/// What failed at a disk, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownFailures {
    all: FailedRequests,
    pub(crate) since: UnixSeconds,
    pub(crate) last: UnixSeconds,
    /// Could an array of which it is a member read elsewhere what failed, each time?
    is_healed: bool,
}

impl Watch {
    /// Takes requests that failed at the disk of this name.
    pub(crate) fn failures(&mut self, now: UnixSeconds, name: &str, failed: FailedRequests) {
        // Judged when it happens: an array may give the disk up because of it.
        let is_healed = self.memberships(name).iter().any(|array| array.is_in_sync && array.left > 0);
        let Some(disk) = self.seen.disk_by_name(name) else { return };
        let key = disk.row.facts.key.clone();
        let known = self.seen.disks.get(&key).and_then(|disk| self.open_failures(disk, now));
        let known = match known {
            None => KnownFailures { all: failed, since: now, last: now, is_healed },
            Some(mut known) => {
                known.all.add(failed);
                KnownFailures { last: now, is_healed: known.is_healed && is_healed, ..known }
            }
        };
        self.seen.disks.get_mut(&key).into_iter().for_each(|disk| disk.live.failures = Some(known.clone()));
    }

    /// The key of the incident of a disk at which requests failed.
    fn failures_key(disk: &DiskState, kind: IncidentKind) -> IncidentKey {
        IncidentKey { subject: IncidentSubject::Disk(disk.row.facts.key.clone()), kind }
    }

    /// What failed at a disk, unless that is over: a whole pass has read the disk since, and could read all of it; or it is long ago.
    fn open_failures(&self, disk: &DiskState, now: UnixSeconds) -> Option<KnownFailures> {
        // After a start the incident knows.
        let recorded = || {
            let incident = self.book.incidents.get(&Watch::failures_key(disk, IncidentKind::Failures))?;
            let Problem::Failures(failures) = &incident.condition.problem else { return None };
            let DiskFailures { failed, since, last, is_healed, .. } = &**failures;
            Some(KnownFailures { all: failed.clone(), since: *since, last: *last, is_healed: *is_healed })
        };
        let known = disk.live.failures.clone().or_else(recorded)?;
        let passes = &disk.reading.row.passes;
        let is_readable = passes.unreadable_sectors() == 0;
        let is_read_since = passes.oldest().is_some_and(|oldest| oldest >= known.last);
        let is_over = is_readable && (is_read_since || elapsed(now, known.last) >= self.settings.every + OVER_AFTER);
        (!is_over).then_some(known)
    }

    /// The sign of a disk at which requests of programs failed.
    pub(crate) fn failures_sign(&self, disk: &DiskState, now: UnixSeconds) -> Option<HealthSign> {
        let KnownFailures { all, .. } = self.open_failures(disk, now)?;
        Some(HealthSign::FailedRequests { reads: all.reads, writes: all.writes })
    }

    /// The condition of a disk at which requests of programs failed; `None`: none did, as far as is known, or it is over.
    pub(crate) fn failed_at(&self, disk: &DiskState, now: UnixSeconds) -> Option<Condition> {
        let KnownFailures { all, since, last, is_healed } = self.open_failures(disk, now)?;
        let arrays = disk.live.name.as_deref().map(|name| self.memberships(name)).unwrap_or_default();
        let urgency = if is_healed || all.cause.is_of_the_way() { Urgency::Notice } else { Urgency::Replace };
        let mut amounts = vec![("failed reads".to_owned(), all.reads), ("failed writes".to_owned(), all.writes)];
        amounts.retain(|(_, count)| *count > 0);
        // What a pass has found is told as that, if it is all, and was told when it happened.
        let found = disk.reading.row.passes.known_unreadable();
        let is_known = |run: &SectorRange| found.iter().any(|bad| bad.start.0 < run.end.0 && run.start.0 < bad.end.0);
        let incident = self.book.incidents.get(&Watch::failures_key(disk, IncidentKind::Failures));
        let is_told = incident.is_some_and(|incident| incident.last_message.is_some());
        let is_found = is_told && all.writes == 0 && !all.runs.is_empty() && all.runs.iter().all(is_known);
        let cause = is_found.then(|| Watch::failures_key(disk, IncidentKind::Health));
        let failures = DiskFailures { disk: disk.card(), failed: all, since, last, arrays, is_healed };
        let condition = Condition::of(urgency, Problem::Failures(Box::new(failures))).with_amounts(amounts);
        Some(Condition { cause, ..condition })
    }
}
