//! What a check of an array tells beside its verdicts: its findings, until the scrub takes them, and facts of this run.

use super::kernel_log::LoggedError;
use scrubjay_core::finding::{Finding, FindingKind, FoundContent, FoundOn, Resolution};
use scrubjay_core::scrub::Tallies;
use scrubjay_core::units::{Bytes, SECTOR_BYTES, SectorRange, UnixSeconds};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tallies of a pass: [`MdFacts::overwritten`].
const OVERWRITTEN: &str = "overwritten";
const OVERWRITTEN_COUNTED: &str = "overwritten-counted";
const REPAIRS_IN_VAIN: &str = "repairs-in-vain";

/// What md's repairs overwrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overwritten {
    /// Sectors in which members differed, and agree now.
    pub sectors: u64,
    /// Sectors by which `mismatch_cnt` rose there: for a mirror it counts whole requests, for parities pages.
    pub counted: u64,
    /// Repairs (count) after which members still differed, or of which the end was not seen: each may have overwritten one side.
    pub in_vain: u64,
}

/// Facts of a check beside what it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MdFacts {
    /// Sectors that were compared in md's stripe cache and not read from the members, in this run.
    pub cached_sectors: u64,
    /// What md's repairs overwrote, in all runs of the pass.
    pub overwritten: Overwritten,
    /// Why the check ended early, in words that continue the array's name.
    pub stopped: Option<String>,
}

/// Collects both. A clone is a handle on the same log.
#[derive(Clone, Debug, Default)]
pub struct MdLog {
    inner: Arc<Mutex<MdNotes>>,
}

#[derive(Debug, Default)]
struct MdNotes {
    facts: MdFacts,
    /// Findings that the scrub has not taken yet.
    new: Vec<Finding>,
}

impl MdLog {
    /// The facts so far.
    pub fn facts(&self) -> MdFacts {
        self.lock().facts.clone()
    }

    /// The findings since the last call.
    pub(super) fn take(&self) -> Vec<Finding> {
        std::mem::take(&mut self.lock().new)
    }

    pub(super) fn note(&self, finding: Finding) {
        self.lock().new.push(finding);
    }

    /// Notes sectors of a range that md rewrote because this member could not read them all. For a mirror md rewrites whole requests.
    pub(super) fn note_rewritten(&self, range: SectorRange, member: &str, sectors: u64) {
        self.note(unread(range, member, None, sectors));
    }

    /// Notes where members could not be read in a range, as far as the kernel's log reports it.
    pub(super) fn note_errors(&self, range: SectorRange, errors: Vec<LoggedError>) {
        for LoggedError { member, range: own } in errors {
            self.note(unread(range, &member, Some(own.start.byte()), own.count()));
        }
    }

    /// Notes that md's repair ran.
    pub(super) fn note_overwritten(&self, more: Overwritten) {
        let known = &mut self.lock().facts.overwritten;
        known.sectors += more.sectors;
        known.counted += more.counted;
        known.in_vain += more.in_vain;
    }

    pub(super) fn note_cached(&self, sectors: u64) {
        self.lock().facts.cached_sectors += sectors;
    }

    pub(super) fn note_stopped(&self, reason: String) {
        self.lock().facts.stopped.get_or_insert(reason);
    }

    /// What is kept for the next run of the pass.
    pub(super) fn tallies(&self) -> Tallies {
        let Overwritten { sectors, counted, in_vain } = self.lock().facts.overwritten;
        let all = [(OVERWRITTEN, sectors), (OVERWRITTEN_COUNTED, counted), (REPAIRS_IN_VAIN, in_vain)];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// Takes what earlier runs of the pass kept.
    pub(super) fn resume(&self, tallies: &Tallies) {
        let kept = |name| tallies.get(name).copied().unwrap_or(0);
        let (sectors, counted) = (kept(OVERWRITTEN), kept(OVERWRITTEN_COUNTED));
        self.lock().facts.overwritten = Overwritten { sectors, counted, in_vain: kept(REPAIRS_IN_VAIN) };
    }

    fn lock(&self) -> MutexGuard<'_, MdNotes> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a member could not read in a range, and md rewrote from the others; `offset`: where on the member, if that is known.
fn unread(place: SectorRange, member: &str, offset: Option<u64>, sectors: u64) -> Finding {
    Finding {
        place,
        kind: FindingKind::Unreadable(None),
        resolution: Resolution::Repaired,
        member: Some(FoundOn {
            number: None,
            name: Some(member.to_owned()),
            offset,
            bytes: Bytes(sectors * SECTOR_BYTES),
        }),
        content: FoundContent::Unknown,
        since: UnixSeconds(0),
    }
}
