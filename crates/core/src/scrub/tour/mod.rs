//! Tours: the order in which the segments of a disk are visited.
//!
//! A disk is divided into *regions*, and each region into *segments* ([`Grid`]). A scan order is a permutation of the
//! segments, defined in both directions, and nothing else: the scrubber keeps track of verified sectors, escalation and
//! request sizes. A new order is one file here and one row in [`OrderKind::ALL`].

mod oldest;
mod sequential;
mod staggered;

pub use crate::grid::{Grid, REGION_BYTES, SEGMENT_BYTES, SegmentPlace};
pub use oldest::OldestFirst;
pub use sequential::Sequential;
pub use staggered::Staggered;

use crate::units::UnixSeconds;
use std::fmt;

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
