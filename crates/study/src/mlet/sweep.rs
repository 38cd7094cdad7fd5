//! The mean latent error time by order, region size and segment size, for a tour that advances evenly.

use super::sample::{EscalationScope, Mlet};
use scrubjay_core::scrub::tour::{Grid, OrderKind};
use scrubjay_core::units::Bytes;
use scrubjay_sim::lse::ClusterModel;

/// The regions of Schroeder, Damouras & Gill (FAST'10): 128 MB.
pub(super) const REGION: Bytes = Bytes::mib(128);
/// The segments of Schroeder, Damouras & Gill (FAST'10): 1 MB.
pub(super) const SEGMENT: Bytes = Bytes::mib(1);
/// The number of regions into which Amvrosiadis et al. (DSN'12, IV-B) divide a disk of any size.
const REGIONS: u64 = 128;

/// Both models of error clusters, with their names.
pub(super) const MODELS: [(ClusterModel, &str); 2] =
    [(ClusterModel::NEARLINE, "nearline"), (ClusterModel::ENTERPRISE, "enterprise")];

/// The sample to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepSetup {
    /// The size of a disk: at least [`SweepSetup::DISK_MIN`], at most [`SweepSetup::DISK_MAX`].
    pub disk: Bytes,
    /// The number of disks.
    pub disks: u32,
    /// The seed of all random draws.
    pub seed: u64,
}

impl SweepSetup {
    /// The smallest disk: a smaller one has only a few regions.
    pub const DISK_MIN: Bytes = Bytes::gib(1);
    /// The largest disk: a larger one has more regions of 128 MiB than are kept.
    pub const DISK_MAX: Bytes = Bytes(Grid::REGIONS_MAX * REGION.0);

    pub(super) fn grid(&self, region: Bytes, segment: Bytes) -> Grid {
        Grid::new(self.disk.sectors(), region.sectors(), segment.sectors())
    }

    /// The size of a 128th of the disk, or of one segment if that is more.
    pub(super) fn region_128(&self) -> Bytes {
        Bytes(self.disk.sectors().div_ceil(REGIONS).max(SEGMENT.sectors()) * 512)
    }
}

/// One way to scan, and its latent error times with each model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanCase {
    /// The order of the scan.
    pub order: OrderKind,
    /// The size of a region.
    pub region: Bytes,
    /// The size of a segment.
    pub segment: Bytes,
    /// What is verified when an error is found.
    pub escalation: EscalationScope,
    /// The times on nearline disks.
    pub nearline: Mlet,
    /// The times on enterprise disks.
    pub enterprise: Mlet,
}

impl ScanCase {
    /// The times by model, in the order of [`MODELS`].
    pub(super) fn models(&self) -> [Mlet; 2] {
        [self.nearline, self.enterprise]
    }
}

/// All ways to scan that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The sample that was drawn.
    pub setup: SweepSetup,
    /// Every order with every escalation; regions of 128 MiB, segments of 1 MiB.
    pub orders: Vec<ScanCase>,
    /// Staggered, regions of 32 MiB to 8 GiB, then of a 128th of the disk (the last two cases); segments of 1 MiB.
    pub regions: Vec<ScanCase>,
    /// Staggered, regions of 128 MiB, segments of 64 KiB to 64 MiB.
    pub segments: Vec<ScanCase>,
}

impl Sweep {
    /// Draws all cases.
    ///
    /// # Panics
    /// If the setup is out of its bounds.
    pub fn of(setup: SweepSetup) -> Sweep {
        let case = |order, region, segment, escalation| {
            let grid = setup.grid(region, segment);
            let mlet = |model| Mlet::sample(order, &grid, model, escalation, setup.disks, setup.seed);
            let (nearline, enterprise) = (mlet(&MODELS[0].0), mlet(&MODELS[1].0));
            ScanCase { order, region, segment, escalation, nearline, enterprise }
        };
        let staggered = |(region, segment)| {
            let escalations = [EscalationScope::Region, EscalationScope::RegionAndNeighbours];
            escalations.map(|escalation| case(OrderKind::STAGGERED, region, segment, escalation))
        };
        let orders = OrderKind::ALL.iter().flat_map(|&order| {
            EscalationScope::ALL.iter().map(move |&(escalation, _)| case(order, REGION, SEGMENT, escalation))
        });
        let regions = (5..=13)
            .map(|log2| Bytes::mib(1 << log2))
            .filter(|&region| region <= setup.disk && setup.disk.0.div_ceil(region.0) <= Grid::REGIONS_MAX);
        let regions = regions.chain([setup.region_128()]).map(|region| (region, SEGMENT));
        let segments = (6..=16).map(|log2| (REGION, Bytes::kib(1 << log2)));
        Sweep {
            setup,
            orders: orders.collect(),
            regions: regions.flat_map(staggered).collect(),
            segments: segments.flat_map(staggered).collect(),
        }
    }
}
