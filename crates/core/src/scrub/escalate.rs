//! Escalation: ranges that are verified out of turn, because a sector near them was found unreadable.
//!
//! An unreadable range is bisected down to the disk's smallest block, so that exactly the unreadable sectors are named.
//! Then the region in which one was found is finished at once, and then its two neighbours: latent errors come in
//! clusters (Bairavasundaram et al., SIGMETRICS'07), and a staggered tour gains nothing without this step.

use crate::range_set::RangeSet;
use crate::scrub::tour::Grid;
use crate::scrub::verdict::Cause;
use crate::units::{Sector, SectorRange};
use std::collections::{BTreeSet, VecDeque};

/// After this many unreadable blocks in a row the area is taken for dead: until a request is clean again, the rest of
/// each segment that fails is put off to the end of the pass. A dying head must not keep the scrub from the rest of the
/// disk. A guess: at up to seconds per block, some minutes.
const UNREADABLE_RUN_MAX: u64 = 64;

/// A request that was unreadable, until each of its blocks has a verdict; `found`: one of them was unreadable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Root {
    pub(super) range: SectorRange,
    pub(super) cause: Cause,
    pub(super) found: bool,
}

/// Failed requests followed at the same time, at most, until all their blocks have a verdict.
pub(super) const ROOTS_MAX: usize = 64;

/// Ranges waiting to be verified out of turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Escalation {
    suspects: Vec<Suspect>,
    regions: VecDeque<u64>,
    escalated: BTreeSet<u64>,
    put_off: RangeSet,
    unreadable_run: u64,
}

/// A range of which at least a part lies in a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Suspect {
    range: SectorRange,
    /// If this is the second half of an unreadable range: its first half.
    first_half: Option<SectorRange>,
    /// The first half was then read, so this half must be unreadable: it is split without a request of its own.
    is_proven: bool,
}

impl Escalation {
    /// The next suspect range, at most `sectors_max` long; smallest blocks are `granule` sectors.
    pub(super) fn next_suspect(&mut self, granule: u64, sectors_max: u64) -> Option<SectorRange> {
        while let Some(suspect) = self.suspects.pop() {
            if suspect.range.count() > granule && suspect.is_proven {
                self.bisect(suspect.range, granule);
                continue;
            }
            if suspect.range.count() > sectors_max.max(granule) {
                self.cut(suspect.range, granule, false);
                continue;
            }
            return Some(suspect.range);
        }
        None
    }

    /// The next piece of the regions to be finished; `gap_in` returns the first range left to verify in a region.
    pub(super) fn next_region(&mut self, mut gap_in: impl FnMut(u64) -> Option<SectorRange>) -> Option<SectorRange> {
        while let Some(&region) = self.regions.front() {
            if let Some(gap) = gap_in(region) {
                return Some(gap);
            }
            self.regions.pop_front();
        }
        None
    }

    /// What was put off and comes next, once all else is done.
    pub(super) fn first_put_off(&self) -> Option<SectorRange> {
        self.put_off.iter().next()
    }

    /// The next range that was put off, once all else is done: inside one region, at most `sectors_max` long.
    pub(super) fn next_put_off(&mut self, sectors_max: u64, grid: &Grid) -> Option<SectorRange> {
        let start = self.put_off.iter().next()?.start;
        let in_region = grid.region(grid.region_of(start)).end.0 - start.0;
        self.put_off.take_first(sectors_max.min(in_region))
    }

    /// The suspect range that comes next.
    pub(super) fn first_suspect(&self) -> Option<SectorRange> {
        self.suspects.last().map(|suspect| suspect.range)
    }

    /// Whether the area is taken for dead, to be left for the end of the pass.
    pub(super) fn is_area_dead(&self) -> bool {
        self.unreadable_run >= UNREADABLE_RUN_MAX
    }

    /// Puts off `range`, and all suspects, to the end of the pass.
    pub(super) fn put_off(&mut self, range: SectorRange) {
        self.put_off.insert(range);
        for suspect in self.suspects.drain(..) {
            self.put_off.insert(suspect.range);
        }
    }

    /// The verification of `range` was inconclusive: it is to be asked for again.
    pub(super) fn retry(&mut self, range: SectorRange) {
        self.suspects.push(Suspect { range, first_half: None, is_proven: false });
    }

    /// `range` was read.
    pub(super) fn on_clean(&mut self, range: SectorRange) {
        self.unreadable_run = 0;
        if let Some(sibling) = self.suspects.last_mut()
            && sibling.first_half == Some(range)
        {
            sibling.is_proven = true;
        }
    }

    /// One block of `granule` sectors is unreadable: its region is to be finished, then the region's neighbours.
    pub(super) fn on_unreadable_block(&mut self, block: SectorRange, grid: &Grid) {
        self.unreadable_run += 1;
        let region = grid.region_of(block.start);
        if !self.escalated.insert(region) {
            return;
        }
        let neighbours = [Some(region), region.checked_sub(1), Some(region + 1).filter(|&r| r < grid.region_count())];
        self.regions.extend(neighbours.into_iter().flatten());
    }

    /// `range` is unreadable somewhere: both halves become suspects, and if the first is read, the second is at fault.
    pub(super) fn bisect(&mut self, range: SectorRange, granule: u64) {
        self.cut(range, granule, true);
    }

    /// Both halves of `range` become suspects, the first one to be asked for first.
    fn cut(&mut self, range: SectorRange, granule: u64, is_unreadable: bool) {
        let blocks = range.count() / granule;
        assert!(blocks >= 2, "one block has no halves");
        let middle = Sector(range.start.0 + blocks / 2 * granule);
        let first = SectorRange { start: range.start, end: middle };
        let second = SectorRange { start: middle, end: range.end };
        self.suspects.push(Suspect { range: second, first_half: is_unreadable.then_some(first), is_proven: false });
        self.suspects.push(Suspect { range: first, first_half: None, is_proven: false });
    }
}
