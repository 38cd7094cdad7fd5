//! Coverage: when each region of a disk was last verified completely, and with which verdict.

use crate::scrub::tour::Grid;
use crate::units::{Sector, SectorRange, UnixSeconds};

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

/// The coverage map of a disk: one record per region, and which regions the pass under way has touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    grid: Grid,
    regions: Vec<RegionRecord>,
    begun: Vec<UnixSeconds>,
}

impl Coverage {
    /// The map of a disk on which no region was ever verified.
    pub fn new(grid: Grid) -> Coverage {
        let count = grid.region_count() as usize;
        Coverage { grid, regions: vec![RegionRecord::default(); count], begun: vec![UnixSeconds::default(); count] }
    }

    /// The map with these records. `begun` holds, per region, when the pass under way first touched it (zero: not yet).
    /// `None` when the counts do not match the grid.
    pub fn restore(grid: Grid, regions: Vec<RegionRecord>, begun: Vec<UnixSeconds>) -> Option<Coverage> {
        let count = grid.region_count() as usize;
        (regions.len() == count && begun.len() == count).then_some(Coverage { grid, regions, begun })
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
        let mut map = Coverage::new(grid);
        for region in 0..grid.region_count() {
            let SectorRange { start, end } = grid.region(region);
            let old_regions = self.grid.region_of(start)..=self.grid.region_of(Sector(end.0 - 1));
            let parts = old_regions.map(|index| (index, self.regions[index as usize]));
            let oldest = parts.clone().map(|(_, part)| part.begun).min().unwrap_or_default();
            let verified = parts.clone().map(|(_, part)| part.verified).min().unwrap_or_default();
            // Where in its old region an unreadable sector lay is not known: the new region of the old one's first
            // sector counts it.
            let starting_parts = parts.filter(|(index, _)| grid.region_of(self.grid.region(*index).start) == region);
            let unreadable = starting_parts.map(|(_, part)| part.unreadable).sum();
            if oldest.0 > 0 && verified.0 > 0 {
                map.regions[region as usize] = RegionRecord { begun: oldest, verified, unreadable };
            }
        }
        map
    }

    /// The number of sectors known to be unreadable.
    pub fn unreadable(&self) -> u64 {
        self.regions.iter().map(|region| u64::from(region.unreadable)).sum()
    }

    /// The records, one per region.
    pub fn regions(&self) -> &[RegionRecord] {
        &self.regions
    }

    /// When the pass under way first touched each region; zero: not yet.
    pub fn begun(&self) -> &[UnixSeconds] {
        &self.begun
    }

    /// When each region was last verified completely; zero: never.
    pub fn verified(&self) -> Vec<UnixSeconds> {
        self.regions.iter().map(|region| region.verified).collect()
    }

    /// Records that some sectors of `region` were verified in this pass.
    pub fn touch(&mut self, region: u64, today: UnixSeconds) {
        let begun = &mut self.begun[region as usize];
        if begun.0 == 0 {
            *begun = today;
        }
    }

    /// Forgets which regions a pass has touched: that pass is given up.
    pub fn forget_touches(&mut self) {
        self.begun.fill(UnixSeconds(0));
    }

    /// Records that all sectors of `region` have been verified in this pass, of which `unreadable` could not be read.
    pub fn complete(&mut self, region: u64, today: UnixSeconds, unreadable: u32) {
        let begun = std::mem::take(&mut self.begun[region as usize]);
        let begun = if begun.0 == 0 { today } else { begun };
        self.regions[region as usize] = RegionRecord { begun, verified: today, unreadable };
    }

    /// The time since the least recently verified sector inside `range` was verified, in seconds; `None` when one of
    /// them was never verified. It is never too small, and too large by at most the time that a region takes.
    pub fn oldest_unread_seconds(&self, range: SectorRange, today: UnixSeconds) -> Option<u64> {
        if range.is_empty() {
            return Some(0);
        }
        let last = Sector(range.end.0 - 1);
        let regions = self.grid.region_of(range.start) as usize..=self.grid.region_of(last) as usize;
        let oldest = self.regions[regions].iter().map(|region| region.begun).min()?;
        (oldest.0 > 0).then(|| today.0.saturating_sub(oldest.0))
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
        assert_eq!(coverage.regions()[1].unreadable, 3);
    }
}
