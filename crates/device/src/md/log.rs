//! The findings of a check in this run: where members do not agree, what md repaired, why the check ended.

use super::geometry::MdGeometry;
use super::judge::{self, JudgedPlace, MemberFiles};
use super::kernel_log::LoggedError;
use scrubjay_core::scrub::Tallies;
use scrubjay_core::units::SectorRange;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Blocks that earlier runs found and that are read once more, at most.
const RECALLED_MAX: usize = 1000;
/// Mismatches, and read errors, that are kept, at most.
const KEPT_MAX: usize = 10_000;
/// Tallies of a pass: [`MdFound::overwritten`].
const OVERWRITTEN: &str = "overwritten";
const OVERWRITTEN_COUNTED: &str = "overwritten-counted";
const REPAIRS_IN_VAIN: &str = "repairs-in-vain";

/// A place where an array's members do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MdMismatch {
    /// Where, in md's positions: sectors of each member's data, or of the array for RAID-10.
    pub range: SectorRange,
    /// The kernel's name of the member that alone explains it, if there is one.
    pub member: Option<String>,
    /// The explanation, for people.
    pub words: String,
    /// What md was made to do about it.
    pub repair: MdRepair,
}

/// What md was made to do where members do not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdRepair {
    /// Nothing: what lay there lies there still.
    NotRun,
    /// Its repair, which overwrites one side; they agree now.
    Agree,
    /// Its repair, which may have overwritten one side; a check after it still found a difference.
    StillDiffer,
    /// Its repair, which may have overwritten one side; whether they agree could not be found out then.
    Unchecked,
}

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

/// All findings of a check in this run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MdFound {
    /// Where members do not agree, in the order of discovery.
    pub mismatches: Vec<MdMismatch>,
    /// Sectors that md rewrote from the other members because a member could not read them, by that member's name. For a mirror md
    /// rewrites whole requests.
    pub repaired: BTreeMap<String, u64>,
    /// Where members could not be read, as far as the kernel's log reports it.
    pub errors: BTreeSet<LoggedError>,
    /// Sectors that were compared in md's stripe cache and not read from the members.
    pub cached_sectors: u64,
    /// What md's repairs overwrote, in all runs of the pass.
    pub overwritten: Overwritten,
    /// Why the check ended early, in words that continue the array's name.
    pub stopped: Option<String>,
}

impl MdFound {
    /// Sectors that md rewrote, on all members.
    pub fn repaired_sectors(&self) -> u64 {
        self.repaired.values().sum()
    }
}

/// Collects the findings. A clone is a handle on the same log.
#[derive(Clone, Debug)]
pub struct MdLog {
    geometry: MdGeometry,
    found: Arc<Mutex<MdFound>>,
}

impl MdLog {
    /// An empty log for this array.
    pub(super) fn new(geometry: MdGeometry) -> MdLog {
        MdLog { geometry, found: Arc::default() }
    }

    /// Explains findings of earlier runs of a pass where possible: reads their blocks once more from the members.
    pub fn recall(&self, ranges: &[SectorRange]) {
        let block = self.geometry.block();
        let of_range = |range: &SectorRange| (range.start.0..range.end.0).step_by(block as usize);
        let blocks = ranges.iter().flat_map(of_range).map(|start| SectorRange::at(start, block));
        let known = self.found().mismatches;
        let is_unknown = |block: &SectorRange| known.iter().all(|found| found.range.intersection(*block).is_empty());
        let unknown: Vec<SectorRange> = blocks.filter(is_unknown).take(RECALLED_MAX).collect();
        if unknown.is_empty() {
            return;
        }
        let files = MemberFiles::open(&self.geometry);
        for block in unknown {
            for JudgedPlace { range, member, words, .. } in judge::explain(&self.geometry, &files, block) {
                self.note_mismatch(MdMismatch { range, member, words, repair: MdRepair::NotRun });
            }
        }
    }

    /// The findings so far.
    pub fn found(&self) -> MdFound {
        self.lock().clone()
    }

    /// Notes a mismatch; replaces a known one at that place, and joins neighbours with the same explanation.
    pub(super) fn note_mismatch(&self, mut mismatch: MdMismatch) {
        let mut found = self.lock();
        found.mismatches.retain(|known| {
            let is_here = !known.range.intersection(mismatch.range).is_empty();
            if is_here && mismatch.repair == MdRepair::NotRun && known.repair != MdRepair::NotRun {
                // It was not run again, but what it did is done.
                mismatch.repair = MdRepair::StillDiffer;
                mismatch.words += "; md's repair ran there before, and may have overwritten one side";
            }
            let has_same_explanation =
                (&known.member, &known.words, known.repair) == (&mismatch.member, &mismatch.words, mismatch.repair);
            let is_adjacent = known.range.end == mismatch.range.start || known.range.start == mismatch.range.end;
            if has_same_explanation && is_adjacent && known.member.is_none() {
                let (start, end) =
                    (known.range.start.min(mismatch.range.start), known.range.end.max(mismatch.range.end));
                mismatch.range = SectorRange { start, end };
                return false;
            }
            known.range.intersection(mismatch.range).is_empty()
        });
        if found.mismatches.len() < KEPT_MAX {
            found.mismatches.push(mismatch);
        }
    }

    /// Notes that md's repair ran.
    pub(super) fn note_overwritten(&self, more: Overwritten) {
        let known = &mut self.lock().overwritten;
        known.sectors += more.sectors;
        known.counted += more.counted;
        known.in_vain += more.in_vain;
    }

    /// What is kept for the next run of the pass.
    pub(super) fn tallies(&self) -> Tallies {
        let Overwritten { sectors, counted, in_vain } = self.lock().overwritten;
        let all = [(OVERWRITTEN, sectors), (OVERWRITTEN_COUNTED, counted), (REPAIRS_IN_VAIN, in_vain)];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// Takes what earlier runs of the pass kept.
    pub(super) fn resume(&self, tallies: &Tallies) {
        let kept = |name| tallies.get(name).copied().unwrap_or(0);
        let (sectors, counted) = (kept(OVERWRITTEN), kept(OVERWRITTEN_COUNTED));
        self.lock().overwritten = Overwritten { sectors, counted, in_vain: kept(REPAIRS_IN_VAIN) };
    }

    pub(super) fn note_repaired(&self, member: &str, sectors: u64) {
        *self.lock().repaired.entry(member.to_owned()).or_default() += sectors;
    }

    pub(super) fn note_errors(&self, errors: Vec<LoggedError>) {
        let mut found = self.lock();
        for error in errors {
            if found.errors.len() < KEPT_MAX {
                found.errors.insert(error);
            }
        }
    }

    pub(super) fn note_cached(&self, sectors: u64) {
        self.lock().cached_sectors += sectors;
    }

    pub(super) fn note_stopped(&self, reason: String) {
        self.lock().stopped.get_or_insert(reason);
    }

    fn lock(&self) -> MutexGuard<'_, MdFound> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
