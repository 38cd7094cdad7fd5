//! Staggered: round s verifies segment s of every region (Oprea & Juels, FAST'10; Amvrosiadis et al., DSN'12, IV-A).
//!
//! Latent errors come in clusters. Touching every region early and often finds the first error of a cluster sooner,
//! and escalation then finds the rest of it at once.

use super::{Grid, ScanOrder, SegmentPlace};

/// The first segment of each region, then the second of each, and so on.
#[derive(Clone, Copy, Debug)]
pub struct Staggered;

impl ScanOrder for Staggered {
    fn place_at(&self, grid: &Grid, step: u64) -> SegmentPlace {
        SegmentPlace { region: step % grid.region_count(), segment: step / grid.region_count() }
    }

    fn step_of(&self, grid: &Grid, place: SegmentPlace) -> u64 {
        place.segment * grid.region_count() + place.region
    }
}
