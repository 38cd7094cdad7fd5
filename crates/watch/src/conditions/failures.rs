//! Requests of programs that failed at disks: what is kept of them, and the problem that they are.

use crate::calendar::{DAY, elapsed};
use crate::failures::{FailedRequests, KnownFailures};
use crate::health::HealthSign;
use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentSubject, Urgency};
use crate::known::DiskState;
use crate::problem::{DiskFailures, Problem};
use crate::state::Watch;
use scrubjay_core::units::{SectorRange, UnixSeconds};

/// Without a whole pass it is over when nothing has failed for so long beyond the time in which one should have come.
const OVER_AFTER: u64 = 30 * DAY;

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
