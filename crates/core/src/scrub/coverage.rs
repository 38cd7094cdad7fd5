//! Coverage: when each region of a disk was last verified completely, and with which verdict.
//!
//! Regions that have the same dates lie together, so runs of them are kept, and dates are rounded down where there are many. A map of any disk has
//! some thousand runs, as long as few of its regions have unreadable sectors.

use crate::scrub::tour::Grid;
use crate::units::{Sector, SectorRange, UnixSeconds};
use std::collections::BTreeMap;
use std::ops::Range;

/// Saved dates are rounded down to a multiple of this many seconds.
pub const DATE_STEP: u64 = 600;
/// With more runs than this the dates are rounded down further, to multiples of the next of [`STEPS`].
const RUNS_MAX: usize = 1024;
/// Each divides the next one, so that rounding twice changes nothing.
const STEPS: [u64; 3] = [1, 60, DATE_STEP];

/// The last complete verification of one region. All zero: never verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionRecord {
    /// When it began: none of the region's sectors was verified before that.
    pub begun: UnixSeconds,
    /// When it ended.
    pub verified: UnixSeconds,
    /// The number of the region's sectors that were unreadable then.
    pub unreadable: u32,
}

/// What is known of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RegionState {
    record: RegionRecord,
    /// When the pass under way first touched it; zero: not yet.
    touched: UnixSeconds,
}

impl RegionState {
    /// With dates that are multiples of `step`, and zero only where there is none.
    fn rounded(self, step: u64) -> RegionState {
        let round = |date: UnixSeconds| UnixSeconds((date.0 / step * step).max(date.0.min(1)));
        let RegionState { record: RegionRecord { begun, verified, unreadable }, touched } = self;
        let record = RegionRecord { begun: round(begun), verified: round(verified), unreadable };
        RegionState { record, touched: round(touched) }
    }
}

/// Regions next to each other of which the same is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverageRun {
    /// The regions.
    pub regions: Range<u64>,
    /// The last complete verification of each.
    pub record: RegionRecord,
    /// When the pass under way first touched them; zero: not yet.
    pub touched: UnixSeconds,
}

/// The coverage map of a disk: when each region was last verified completely, and which ones the pass under way has touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    grid: Grid,
    /// By the first region of each run, which lasts until the next one begins.
    runs: BTreeMap<u64, RegionState>,
    /// Dates are multiples of this many seconds.
    step: u64,
}

impl Coverage {
    /// The map of a disk on which no region was ever verified.
    pub fn new(grid: Grid) -> Coverage {
        Coverage { grid, runs: BTreeMap::from([(0, RegionState::default())]), step: STEPS[0] }
    }

    /// The map with these records, each of so many regions one after the other, and when the pass under way first touched them (zero: not yet).
    /// `None` when the counts do not match the grid.
    pub fn restore(grid: Grid, runs: impl IntoIterator<Item = (u64, RegionRecord, UnixSeconds)>) -> Option<Coverage> {
        let mut map = Coverage { grid, runs: BTreeMap::new(), step: STEPS[0] };
        let mut at = 0u64;
        for (count, record, touched) in runs {
            map.push(at, RegionState { record, touched });
            at = at.checked_add(count).filter(|&end| end <= grid.region_count())?;
        }
        map.coarsen();
        (at == grid.region_count()).then_some(map)
    }

    /// The grid: how the disk is divided into regions and segments.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The same map on another grid of the same disk. A new region is as old as the oldest region that it overlaps, and
    /// never verified if one of these was not. The dates of first touches in this pass are dropped.
    pub fn onto(self, grid: Grid) -> Coverage {
        if self.grid == grid || self.grid.disk() != grid.disk() {
            return if self.grid == grid { self } else { Coverage::new(grid) };
        }
        let new_region = |region: u64| {
            let SectorRange { start, end } = grid.region(region);
            let old_regions = self.grid.region_of(start)..self.grid.region_of(Sector(end.0 - 1)) + 1;
            let parts = self.runs_of(old_regions);
            let oldest = parts.clone().map(|part| part.record.begun).min().unwrap_or_default();
            let verified = parts.clone().map(|part| part.record.verified).min().unwrap_or_default();
            // Where in its old region an unreadable sector lay is not known: the new region of the old one's first
            // sector counts it.
            let bad = parts.filter(|part| part.record.unreadable > 0);
            let unreadable = bad.flat_map(|part| part.regions.map(move |index| (index, part.record.unreadable)));
            let starting = unreadable.filter(|(index, _)| grid.region_of(self.grid.region(*index).start) == region);
            let unreadable = starting.map(|(_, count)| count).sum();
            let is_known = oldest.0 > 0 && verified.0 > 0;
            let known = RegionRecord { begun: oldest, verified, unreadable };
            (1, if is_known { known } else { RegionRecord::default() }, UnixSeconds(0))
        };
        Coverage::restore(grid, (0..grid.region_count()).map(new_region)).expect("one record for each region")
    }

    /// The number of sectors known to be unreadable.
    pub fn unreadable(&self) -> u64 {
        let of = |run: CoverageRun| u64::from(run.record.unreadable) * (run.regions.end - run.regions.start);
        self.runs().map(of).sum()
    }

    /// All runs of regions, in order.
    pub fn runs(&self) -> impl Iterator<Item = CoverageRun> + Clone + '_ {
        self.runs_of(0..self.grid.region_count())
    }

    /// The runs of these regions, in order, the first and the last one cut.
    fn runs_of(&self, regions: Range<u64>) -> impl Iterator<Item = CoverageRun> + Clone + '_ {
        let first = self.runs.range(..=regions.start).next_back().map_or(0, |(&start, _)| start);
        let starts = self.runs.range(first..regions.end.max(first));
        let ends = starts.clone().skip(1).map(|(&start, _)| start).chain([regions.end]);
        starts.zip(ends).map(move |((&start, &RegionState { record, touched }), end)| CoverageRun {
            regions: start.max(regions.start)..end,
            record,
            touched,
        })
    }

    /// The last complete verification of a region.
    pub fn region(&self, region: u64) -> RegionRecord {
        self.state(region).record
    }

    /// When each region was last verified completely; zero: never.
    pub fn verified(&self) -> Vec<UnixSeconds> {
        self.runs().flat_map(|run| run.regions.map(move |_| run.record.verified)).collect()
    }

    /// The date before which none of the sectors of these regions was verified; zero: one of them never was, or there are none.
    pub fn oldest(&self, regions: Range<u64>) -> UnixSeconds {
        self.runs_of(regions).map(|run| run.record.begun).min().unwrap_or_default()
    }

    /// Records that some sectors of `region` were verified in this pass.
    pub fn touch(&mut self, region: u64, today: UnixSeconds) {
        let state = self.state(region);
        if state.touched.0 == 0 {
            self.set(region, RegionState { touched: today, ..state });
        }
    }

    /// Forgets which regions a pass has touched: that pass is given up.
    pub fn forget_touches(&mut self) {
        self.change_all(|state| RegionState { touched: UnixSeconds(0), ..state });
    }

    /// Records that all sectors of `region` have been verified in this pass, of which `unreadable` could not be read.
    pub fn complete(&mut self, region: u64, today: UnixSeconds, unreadable: u32) {
        let touched = self.state(region).touched;
        let begun = if touched.0 == 0 { today } else { touched };
        let record = RegionRecord { begun, verified: today, unreadable };
        self.set(region, RegionState { record, touched: UnixSeconds(0) });
    }

    /// The time since the least recently verified sector inside `range` was verified, in seconds; `None` when one of
    /// them was never verified. It is never too small, and too large by at most the time that a region takes, and ten minutes.
    pub fn oldest_unread_seconds(&self, range: SectorRange, today: UnixSeconds) -> Option<u64> {
        if range.is_empty() {
            return Some(0);
        }
        let last = Sector(range.end.0 - 1);
        let oldest = self.oldest(self.grid.region_of(range.start)..self.grid.region_of(last) + 1);
        (oldest.0 > 0).then(|| today.0.saturating_sub(oldest.0))
    }

    fn state(&self, region: u64) -> RegionState {
        self.runs.range(..=region).next_back().map(|(_, state)| *state).unwrap_or_default()
    }

    fn set(&mut self, region: u64, state: RegionState) {
        let (state, old, next) = (state.rounded(self.step), self.state(region), region + 1);
        if state == old {
            return;
        }
        // Those behind it keep what they have.
        if next < self.grid.region_count() {
            self.runs.entry(next).or_insert(old);
        }
        let before = region.checked_sub(1).map(|before| self.state(before));
        if before == Some(state) {
            self.runs.remove(&region)
        } else {
            self.runs.insert(region, state)
        };
        if self.runs.get(&next) == Some(&state) {
            self.runs.remove(&next);
        }
        self.coarsen();
    }

    /// Adds a run behind all others.
    fn push(&mut self, start: u64, state: RegionState) {
        let state = state.rounded(self.step);
        if self.runs.last_key_value().is_none_or(|(_, last)| *last != state) {
            self.runs.insert(start, state);
        }
    }

    fn change_all(&mut self, change: impl Fn(RegionState) -> RegionState) {
        for (start, state) in std::mem::take(&mut self.runs) {
            self.push(start, change(state));
        }
    }

    /// Rounds the dates as far as there are too many runs.
    fn coarsen(&mut self) {
        while self.runs.len() > RUNS_MAX
            && let Some(step) = STEPS.into_iter().find(|&step| step > self.step)
        {
            self.step = step;
            self.change_all(|state| state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_grid_never_makes_a_sector_younger() {
        let disk = 97;
        let mut old = Coverage::new(Grid::new(disk, 10, 5));
        (0..9).for_each(|region| old.complete(region, UnixSeconds(1000 + region * 37 % 100), region as u32 % 2));
        for size in 1..=100 {
            let new = old.clone().onto(Grid::new(disk, size, size));
            for sector in 0..disk {
                let sector_range = SectorRange::at(sector, 1);
                let age =
                    |map: &Coverage| map.oldest_unread_seconds(sector_range, UnixSeconds(5000)).unwrap_or(u64::MAX);
                assert!(age(&new) >= age(&old), "sector {sector}, regions of {size}");
            }
            if size <= 10 {
                assert!(new.unreadable() <= old.unreadable());
            }
        }
        assert_eq!(old.clone().onto(*old.grid()), old);
    }

    #[test]
    fn the_oldest_sector_decides() {
        let mut coverage = Coverage::new(Grid::new(8, 4, 2));
        let disk = SectorRange::at(0, 8);
        coverage.touch(0, UnixSeconds(100));
        coverage.touch(0, UnixSeconds(150));
        coverage.complete(0, UnixSeconds(200), 0);
        assert_eq!(coverage.oldest_unread_seconds(disk, UnixSeconds(300)), None, "region 1 was never verified");
        assert_eq!(coverage.oldest_unread_seconds(SectorRange::at(0, 4), UnixSeconds(300)), Some(200));
        coverage.complete(1, UnixSeconds(250), 3);
        assert_eq!(coverage.oldest_unread_seconds(disk, UnixSeconds(300)), Some(200));
        assert_eq!(coverage.region(1).unreadable, 3);
    }

    /// The same map with one record for each region, exactly.
    #[derive(Default)]
    struct EachRegion(Vec<RegionState>);

    #[test]
    fn a_map_of_runs_is_that_of_each_region_but_for_minutes() {
        let grid = Grid::new(5000 * 8, 8, 8);
        let (mut map, mut each) = (Coverage::new(grid), EachRegion(vec![RegionState::default(); 5000]));
        let (mut seed, mut now) = (7u64, 1_800_000_000u64);
        for number in 0..60_000u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Mostly one region after the other, as a pass comes; now and then one anywhere.
            let region = if seed >> 56 == 0 { (seed >> 20) % 5000 } else { number % 5000 };
            now += seed >> 33 & 15;
            let state = &mut each.0[region as usize];
            match (number / 5000) % 3 {
                2 => {
                    let begun = if state.touched.0 == 0 { UnixSeconds(now) } else { state.touched };
                    let unreadable = u32::from(seed >> 50 & 255 == 0);
                    *state = RegionState {
                        record: RegionRecord { begun, verified: UnixSeconds(now), unreadable },
                        touched: UnixSeconds(0),
                    };
                    map.complete(region, UnixSeconds(now), unreadable);
                }
                _ => {
                    if state.touched.0 == 0 {
                        state.touched = UnixSeconds(now);
                    }
                    map.touch(region, UnixSeconds(now));
                }
            }
            if number == 30_000 {
                map.forget_touches();
                each.0.iter_mut().for_each(|state| state.touched = UnixSeconds(0));
            }
        }
        assert_eq!(map.step, DATE_STEP, "it was rounded");
        assert!(map.runs.len() < 1500, "{} runs", map.runs.len());
        let regions = map.runs().flat_map(|run| run.regions.map(move |_| (run.record, run.touched)));
        let mut seen = 0;
        for ((record, touched), state) in regions.zip(&each.0) {
            seen += 1;
            assert_eq!(record.unreadable, state.record.unreadable);
            let exact = [state.record.begun, state.record.verified, state.touched];
            for (rounded, exact) in [record.begun, record.verified, touched].into_iter().zip(exact) {
                assert!(rounded <= exact && exact.0 - rounded.0 < DATE_STEP, "{rounded:?} {exact:?}");
                assert_eq!(rounded.0 == 0, exact.0 == 0);
            }
        }
        assert_eq!(seen, 5000);
        let unreadable = each.0.iter().map(|state| u64::from(state.record.unreadable)).sum::<u64>();
        assert_eq!(map.unreadable(), unreadable);
        let runs = map.runs().map(|run| (run.regions.end - run.regions.start, run.record, run.touched));
        assert_eq!(Coverage::restore(grid, runs).unwrap().runs, map.runs);
        assert_eq!(Coverage::restore(grid, [(4999, RegionRecord::default(), UnixSeconds(0))]), None);
        assert_eq!(Coverage::restore(grid, [(u64::MAX, RegionRecord::default(), UnixSeconds(0))]), None);
    }
}
