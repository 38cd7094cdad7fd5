//! What a check of an array found in this run, kept for the result: where members do not agree, what md repaired, why it ended.

use super::geometry::MdGeometry;
use super::judge::{self, JudgedPlace, MemberFiles};
use super::kernel_log::LoggedError;
use scrubjay_core::units::SectorRange;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many blocks that earlier runs found are read once more.
const RECALLED_MAX: usize = 1000;
/// So many places are kept.
const KEPT_MAX: usize = 10_000;

/// A place where an array's members do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MdMismatch {
    /// Where, in md's positions: sectors of each member's data, of a RAID-10 of the array.
    pub range: SectorRange,
    /// Sectors by which `mismatch_cnt` rose: of a mirror it counts whole requests, of parities pages.
    pub counted: u64,
    /// The member that alone explains it, if one does: the kernel's name of the disk or partition.
    pub member: Option<String>,
    /// What is known of it, in words.
    pub words: String,
    /// md was told to make them agree, and they do.
    pub is_repaired: bool,
}

/// All that a check found in this run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MdFound {
    /// Where members do not agree, in the order in which it was found.
    pub mismatches: Vec<MdMismatch>,
    /// Sectors that md wrote anew from the others, because a member could not read them: by the member's name. Of a mirror md does
    /// so with whole requests.
    pub repaired: BTreeMap<String, u64>,
    /// Where members could not be read, as far as the kernel's log told.
    pub errors: BTreeSet<LoggedError>,
    /// Sectors that were compared in md's cache of stripes and not read from the members.
    pub cached_sectors: u64,
    /// Why the check ended before it was done. Reads on after the array's name.
    pub stopped: Option<String>,
}

impl MdFound {
    /// Sectors that md wrote anew.
    pub fn repaired_sectors(&self) -> u64 {
        self.repaired.values().sum()
    }
}

/// Where it is noted. A clone is a handle on the same.
#[derive(Clone, Debug)]
pub struct MdLog {
    geometry: MdGeometry,
    found: Arc<Mutex<MdFound>>,
}

impl MdLog {
    /// Of this array; nothing was found yet.
    pub(super) fn new(geometry: MdGeometry) -> MdLog {
        MdLog { geometry, found: Arc::default() }
    }

    /// Explains what earlier runs of a pass found, as far as that can be told: its blocks are read once more from the members.
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
                self.note_mismatch(MdMismatch { range, counted: range.count(), member, words, is_repaired: false });
            }
        }
    }

    /// What was noted so far.
    pub fn found(&self) -> MdFound {
        self.lock().clone()
    }

    /// Notes a place; one that is known is replaced, and neighbours of which the same is to be said are joined.
    pub(super) fn note_mismatch(&self, mut mismatch: MdMismatch) {
        let mut found = self.lock();
        found.mismatches.retain(|known| {
            let is_like = (&known.member, &known.words, known.is_repaired)
                == (&mismatch.member, &mismatch.words, mismatch.is_repaired);
            let is_beside = known.range.end == mismatch.range.start || known.range.start == mismatch.range.end;
            if is_like && is_beside && known.member.is_none() {
                let (start, end) =
                    (known.range.start.min(mismatch.range.start), known.range.end.max(mismatch.range.end));
                (mismatch.range, mismatch.counted) = (SectorRange { start, end }, mismatch.counted + known.counted);
                return false;
            }
            known.range.intersection(mismatch.range).is_empty()
        });
        if found.mismatches.len() < KEPT_MAX {
            found.mismatches.push(mismatch);
        }
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

    pub(super) fn note_stopped(&self, why: String) {
        self.lock().stopped.get_or_insert(why);
    }

    fn lock(&self) -> MutexGuard<'_, MdFound> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
