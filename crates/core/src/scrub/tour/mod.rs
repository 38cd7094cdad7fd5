//! Tours: the order in which the segments of a disk are visited.
//!
//! A disk is divided into *regions*, and each region into *segments* ([`Grid`]). A scan order is a permutation of the
//! segments, defined in both directions, and nothing else: the scrubber keeps track of verified sectors, escalation and
//! request sizes. A new order is one file here and one row in [`OrderKind::ALL`].

mod oldest;
mod sequential;
mod staggered;

pub use oldest::OldestFirst;
pub use sequential::Sequential;
pub use staggered::Staggered;

use crate::units::{Bytes, SectorRange, UnixSeconds};
use std::fmt;

/// The size of a region. 128 MiB keeps the gain of staggering (the paper's artefact; Schroeder, Damouras & Gill, FAST'10).
pub const REGION_BYTES: Bytes = Bytes::mib(128);
/// The size of a segment. Any size up to 32 MiB detects equally early (Schroeder et al., FAST'10); 8 MiB keeps a hard
/// disk near its sequential speed.
pub const SEGMENT_BYTES: Bytes = Bytes::mib(8);

/// The place of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentPlace {
    /// The index of its region on the disk, from 0.
    pub region: u64,
    /// Its index in that region, from 0.
    pub segment: u64,
}

/// The division of a disk into regions of equal size from sector 0 on, and of each region into segments of equal size;
/// the last of each is clipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    disk: SectorRange,
    region_sectors: u64,
    segment_sectors: u64,
}

impl Grid {
    /// Regions of a coverage map, at most.
    pub const REGIONS_MAX: u64 = 1 << 20;

    /// Divides a disk of `disk_sectors` sectors.
    ///
    /// # Panics
    /// When a size is zero, a segment is greater than a region, or there are more than [`Grid::REGIONS_MAX`] regions.
    pub fn new(disk_sectors: u64, region_sectors: u64, segment_sectors: u64) -> Grid {
        assert!(disk_sectors > 0 && segment_sectors > 0, "a grid divides something");
        assert!(segment_sectors <= region_sectors, "segments lie inside regions");
        let grid = Grid { disk: SectorRange::at(0, disk_sectors), region_sectors, segment_sectors };
        assert!(grid.region_count() <= Grid::REGIONS_MAX, "too many regions to keep a map of");
        grid
    }

    /// The whole disk.
    pub fn disk(&self) -> SectorRange {
        self.disk
    }

    /// Sectors in a region that is not clipped.
    pub fn region_sectors(&self) -> u64 {
        self.region_sectors
    }

    /// Sectors in a segment that is not clipped.
    pub fn segment_sectors(&self) -> u64 {
        self.segment_sectors
    }

    /// The number of regions, at least 1.
    pub fn region_count(&self) -> u64 {
        self.disk.count().div_ceil(self.region_sectors)
    }

    /// The number of segments in a region that is not clipped: the rounds of a staggered tour.
    pub fn segments_per_region(&self) -> u64 {
        self.region_sectors.div_ceil(self.segment_sectors)
    }

    /// The number of steps of a tour. Some of them may be empty: the last region may have fewer segments.
    pub fn step_count(&self) -> u64 {
        self.region_count() * self.segments_per_region()
    }

    /// The sectors of a region.
    ///
    /// # Panics
    /// When there is no such region.
    pub fn region(&self, region: u64) -> SectorRange {
        assert!(region < self.region_count(), "region {region} of {}", self.region_count());
        SectorRange::at(region * self.region_sectors, self.region_sectors).intersection(self.disk)
    }

    /// The sectors of a segment, clipped to its region and to the disk: possibly none.
    pub fn segment(&self, place: SegmentPlace) -> SectorRange {
        let region = self.region(place.region);
        let start = place.region * self.region_sectors + place.segment * self.segment_sectors;
        SectorRange::at(start, self.segment_sectors).intersection(region)
    }

    /// The region in which a sector lies.
    pub fn region_of(&self, sector: crate::units::Sector) -> u64 {
        sector.0 / self.region_sectors
    }

    /// The segment in which a sector lies.
    pub fn place_of(&self, sector: crate::units::Sector) -> SegmentPlace {
        let region = self.region_of(sector);
        SegmentPlace { region, segment: (sector.0 - region * self.region_sectors) / self.segment_sectors }
    }
}

/// A scan order: a permutation of the grid's segments, defined in both directions.
pub trait ScanOrder: fmt::Debug + Send {
    /// The segment visited at `step`, for `step < grid.step_count()`.
    fn place_at(&self, grid: &Grid, step: u64) -> SegmentPlace;

    /// The step at which `place` is visited: the inverse of [`ScanOrder::place_at`].
    fn step_of(&self, grid: &Grid, place: SegmentPlace) -> u64;
}

/// A scan order that users can choose: a row of the table [`OrderKind::ALL`].
#[derive(Clone, Copy)]
pub struct OrderKind {
    name: &'static str,
    about: &'static str,
    make: fn(&[UnixSeconds]) -> Box<dyn ScanOrder>,
}

impl OrderKind {
    /// Ascending addresses.
    pub const SEQUENTIAL: OrderKind =
        OrderKind { name: "sequential", about: "Ascending addresses", make: |_| Box::new(Sequential) };

    /// Segment s of every region, then segment s+1 of every region.
    pub const STAGGERED: OrderKind = OrderKind {
        name: "staggered",
        about: "One segment of every region, then the next of every region: finds clusters of errors early",
        make: |_| Box::new(Staggered),
    };

    /// Regions in the order of their last complete verification, the least recent first.
    pub const OLDEST: OrderKind = OrderKind {
        name: "oldest",
        about: "What was read longest ago comes first",
        make: |verified| Box::new(OldestFirst::new(verified)),
    };

    /// All scan orders.
    pub const ALL: [OrderKind; 3] = [OrderKind::SEQUENTIAL, OrderKind::STAGGERED, OrderKind::OLDEST];

    /// Creates the order. `verified` holds, per region, the date of its last complete verification (zero: never).
    pub fn order(self, verified: &[UnixSeconds]) -> Box<dyn ScanOrder> {
        (self.make)(verified)
    }

    /// The order's name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// A line of help about the order.
    pub const fn about(self) -> &'static str {
        self.about
    }
}

crate::named_row!(OrderKind, OrderKind::ALL.to_vec());

impl Default for OrderKind {
    fn default() -> OrderKind {
        OrderKind::STAGGERED
    }
}

impl PartialEq for OrderKind {
    fn eq(&self, other: &OrderKind) -> bool {
        self.name == other.name
    }
}

impl Eq for OrderKind {}

impl fmt::Debug for OrderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Sector;

    /// Every order on every small grid visits each sector exactly once, and both directions agree.
    #[test]
    fn every_order_is_a_permutation_of_every_small_grid() {
        for kind in OrderKind::ALL {
            let name = kind.name();
            for disk in 1..40 {
                for region in 1..=disk + 2 {
                    for segment in 1..=region {
                        let grid = Grid::new(disk, region, segment);
                        let ages: Vec<_> = (0..grid.region_count()).map(|r| UnixSeconds(r * 7 % 5)).collect();
                        let order = kind.order(&ages);
                        let mut seen = vec![0; disk as usize];
                        for step in 0..grid.step_count() {
                            let place = order.place_at(&grid, step);
                            assert_eq!(order.step_of(&grid, place), step, "{name} {grid:?}");
                            let range = grid.segment(place);
                            for sector in range.start.0..range.end.0 {
                                seen[sector as usize] += 1;
                                assert_eq!(grid.place_of(Sector(sector)), place);
                            }
                        }
                        assert!(seen.iter().all(|&times| times == 1), "{name} {grid:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn staggered_is_the_papers_double_loop() {
        let grid = Grid::new(10, 4, 2);
        let order = OrderKind::STAGGERED.order(&[]);
        let starts: Vec<_> = (0..grid.step_count()).map(|s| grid.segment(order.place_at(&grid, s)).start.0).collect();
        assert_eq!(starts, [0, 4, 8, 2, 6, 10], "the last step is clipped to nothing at the end of the disk");
    }

    #[test]
    fn oldest_first_begins_with_the_never_verified() {
        let ages = [50, 0, 70, 0].map(UnixSeconds);
        let grid = Grid::new(8, 2, 1);
        let order = OrderKind::OLDEST.order(&ages);
        let regions: Vec<_> = (0..8).map(|step| order.place_at(&grid, step).region).collect();
        assert_eq!(regions, [1, 1, 3, 3, 0, 0, 2, 2]);
    }
}
