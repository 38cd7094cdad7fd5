//! Sequential: ascending addresses, as md, ZFS (within a pass), btrfs and the drives' own self-tests do.

use super::{Grid, ScanOrder, SegmentPlace};

/// All segments from the first sector to the last.
#[derive(Clone, Copy, Debug)]
pub struct Sequential;

impl ScanOrder for Sequential {
    fn place_at(&self, grid: &Grid, step: u64) -> SegmentPlace {
        SegmentPlace { region: step / grid.segments_per_region(), segment: step % grid.segments_per_region() }
    }

    fn step_of(&self, grid: &Grid, place: SegmentPlace) -> u64 {
        place.region * grid.segments_per_region() + place.segment
    }
}
