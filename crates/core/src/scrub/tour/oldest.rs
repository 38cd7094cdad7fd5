//! Oldest first: regions in the order of their last complete verification (SnapRAID's plan, by region).

use super::{Grid, ScanOrder, SegmentPlace};
use crate::units::UnixSeconds;

/// A permutation of the regions, fixed when the tour begins; segments of a region are visited in ascending order.
#[derive(Clone, Debug)]
pub struct OldestFirst {
    regions: Vec<u32>,
    turns: Vec<u32>,
}

impl OldestFirst {
    /// Sorts the regions by the date of their last complete verification: never verified (zero) first; ties by address.
    pub fn new(verified: &[UnixSeconds]) -> OldestFirst {
        let mut regions: Vec<u32> = (0..verified.len() as u32).collect();
        regions.sort_by_key(|&region| verified[region as usize]);
        let mut turns = vec![0; regions.len()];
        for (turn, &region) in regions.iter().enumerate() {
            turns[region as usize] = turn as u32;
        }
        OldestFirst { regions, turns }
    }
}

impl ScanOrder for OldestFirst {
    fn place_at(&self, grid: &Grid, step: u64) -> SegmentPlace {
        let turn = step / grid.segments_per_region();
        SegmentPlace { region: u64::from(self.regions[turn as usize]), segment: step % grid.segments_per_region() }
    }

    fn step_of(&self, grid: &Grid, place: SegmentPlace) -> u64 {
        u64::from(self.turns[place.region as usize]) * grid.segments_per_region() + place.segment
    }
}
