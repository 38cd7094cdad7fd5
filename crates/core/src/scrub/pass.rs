//! A pass: what has a verdict so far, and what was found.

use super::verdict::Cause;
use crate::finding::FoundList;
use crate::range_set::RangeSet;
use crate::units::{SectorRange, UnixSeconds};
use std::collections::BTreeMap;

/// A pass over the range: the state that survives a stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// When its first run began.
    pub begun: UnixSeconds,
    /// Sectors with a verdict.
    pub done: RangeSet,
    /// Runs of them that are unreadable or mismatched, those with like causes joined: start -> (sector count, cause).
    pub unreadable: BTreeMap<u64, (u64, Cause)>,
    /// Requests that failed although each of their blocks could be read afterwards (count).
    pub transient_errors: u64,
    /// The cause of the first of these failures.
    pub transient_cause: Option<Cause>,
    /// Rows of a volume, or blocks of a btrfs, that were wrong and whose right content is known (count).
    pub corrected: u64,
    /// Those of them that were only found, because nothing could be repaired then (count).
    pub found_only: u64,
    /// What the subject counts over all runs of a pass, under its own names (see [`Tallies`]); the scrub only keeps it.
    pub tallies: Tallies,
    /// What its subject found, beyond what is unreadable. Saved in a file of its own.
    pub findings: FoundList,
}

/// What a subject counts over all runs of a pass, by name: a word of lower-case letters and hyphens.
pub type Tallies = BTreeMap<String, u64>;

/// The tally of what [`Pass::corrected`] counts, and was right when it was read again.
pub const TRANSIENT: &str = "transient";

/// What is kept of a complete pass, besides the coverage map; see [`Pass`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedPass {
    /// Requests that failed although each of their blocks could be read afterwards (count).
    pub transient_errors: u64,
    /// Rows that were found wrong (count).
    pub corrected: u64,
}

impl Pass {
    /// What is kept of it once it is complete.
    pub fn ended(&self) -> EndedPass {
        let Pass { transient_errors, corrected, .. } = *self;
        EndedPass { transient_errors, corrected }
    }

    /// What was only found, and was not right when it was read again (count).
    pub fn left_wrong(&self) -> u64 {
        self.found_only.saturating_sub(self.tallies.get(TRANSIENT).copied().unwrap_or(0))
    }

    /// Forgets the verdicts on sectors that disagree, so that they are verified again. Returns how many they were.
    pub fn revisit_mismatches(&mut self) -> u64 {
        let disagrees = |&(_, (_, cause)): &(&u64, &(u64, Cause))| *cause == Cause::Mismatch;
        let runs = self.unreadable.iter().filter(disagrees).map(|(&start, &(count, _))| SectorRange::at(start, count));
        let runs: Vec<SectorRange> = runs.collect();
        for run in &runs {
            self.findings.forget_left(*run);
            self.unreadable.remove(&run.start.0);
            self.done.remove(*run);
        }
        runs.iter().map(|run| run.count()).sum()
    }

    /// The number of sectors inside `range` that were found unreadable or mismatched.
    pub fn unreadable_in(&self, range: SectorRange) -> u64 {
        let before = self.unreadable.range(..range.start.0).next_back();
        before
            .into_iter()
            .chain(self.unreadable.range(range.start.0..range.end.0))
            .map(|(&start, &(count, _))| SectorRange::at(start, count).intersection(range).count())
            .sum()
    }

    /// Shrinks `done` to whole blocks of `granule` sectors: the disk may have had smaller blocks in an earlier run. An unreadable
    /// run that is not made of whole blocks is forgotten, and its blocks are to be verified again.
    pub(super) fn keep_whole_blocks(&mut self, granule: u64) {
        let inward = |run: SectorRange| (run.start.0.next_multiple_of(granule), run.end.0 / granule * granule);
        let whole = self.done.iter().map(inward).filter(|(start, end)| start < end);
        let mut done: RangeSet = whole.map(|(start, end)| SectorRange::new(start, end)).collect();
        self.unreadable.retain(|&start, &mut (count, _)| {
            let end = start + count;
            let is_whole = start.is_multiple_of(granule) && end.is_multiple_of(granule);
            if !is_whole {
                done.remove(SectorRange::new(start / granule * granule, end.next_multiple_of(granule)));
            }
            is_whole
        });
        self.unreadable.retain(|&start, &mut (count, _)| done.covers(SectorRange::at(start, count)));
        self.done = done;
    }

    pub(super) fn add_unreadable(&mut self, range: SectorRange, cause: Cause) {
        let (mut start, mut count) = (range.start.0, range.count());
        if let Some((&before, &(length, neighbour))) = self.unreadable.range(..start).next_back()
            && before + length == start
            && neighbour.is_like(cause)
        {
            (start, count) = (before, length + count);
        }
        if let Some(&(length, neighbour)) = self.unreadable.get(&range.end.0)
            && neighbour.is_like(cause)
        {
            self.unreadable.remove(&range.end.0);
            count += length;
        }
        self.unreadable.entry(start).and_modify(|run| run.0 = count).or_insert((count, cause));
    }
}
