//! What is measured, for how long, in which order: pure arithmetic on the size of the disk.

use crate::units::{Bytes, Nanos};
use std::fmt;

/// The small request: what file systems and databases ask for at a time.
pub const RANDOM_BYTES: u64 = 4 << 10;
/// The large one: what copies and backups ask for.
pub const SEQUENTIAL_BYTES: u64 = 1 << 20;
/// The disk is looked at in so many places.
pub const ZONES_MAX: u64 = 64;
/// Large requests in a row at each place: the first one pays for the way there, the others tell the throughput.
pub const RUN_REQUESTS: u64 = 4;
/// The depths that are measured unless others are named.
pub const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// No queue is deeper: large requests of as many take 256 MiB.
pub const DEPTH_MAX: u32 = 256;
/// How long depth 1 is measured unless told otherwise: some 390 requests of a disk of 7200 rpm, whose mean is then known to
/// 2 %.
pub const TIME: Nanos = Nanos::from_secs(5);
/// What filling and emptying queues may take beside: with the usual depths and time, all is answered within 38 s.
pub const SLACK: Nanos = Nanos::from_secs(8);

/// Which requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BenchPattern {
    /// Small ones anywhere, no place twice.
    Random,
    /// Large ones, one behind the other, from the first byte on.
    Sequential,
    /// Large ones in runs, in all parts of the disk.
    Positions,
}

impl fmt::Display for BenchPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            BenchPattern::Random => "random",
            BenchPattern::Sequential => "sequential",
            BenchPattern::Positions => "by position",
        })
    }
}

/// One thing that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchStep {
    /// Which requests.
    pub pattern: BenchPattern,
    /// So many at a time.
    pub depth: u32,
    /// Bytes of each.
    pub request: u64,
    /// For so long, from when the queue is full.
    pub time: Nanos,
}

/// All that is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchPlan {
    /// Bytes of the disk, whole blocks.
    pub bytes: u64,
    /// In this order: what says the most comes first, so that a stop leaves the most.
    pub steps: Vec<BenchStep>,
    /// Are requests writes? Else they are reads.
    pub is_write: bool,
}

impl BenchPlan {
    /// For a disk of `bytes`, whose requests must be multiples of `block`: random requests at each depth, then positions, then
    /// sequential ones at each depth. Depth 1 is measured for `time`, the other random depths for half as long, sequential
    /// ones for a fifth, positions for half: 29.5 s with the usual depths and time.
    ///
    /// # Panics
    /// When the disk has no whole block, a block is no power of two, or there is no depth.
    pub fn new(bytes: u64, block: u64, depths: &[u32], time: Nanos, is_write: bool) -> BenchPlan {
        assert!(block.is_power_of_two() && bytes >= block && !depths.is_empty(), "a disk, and a depth");
        let bytes = bytes / block * block;
        let fitting = |request: u64| request.max(block).min(bytes);
        let (small, large) = (fitting(RANDOM_BYTES), fitting(SEQUENTIAL_BYTES));
        let share = |part: u64| Nanos(time.0 / part);
        let step = |pattern, depth, request, time| BenchStep { pattern, depth, request, time };
        let random = depths
            .iter()
            .map(|&depth| step(BenchPattern::Random, depth, small, if depth == depths[0] { time } else { share(2) }));
        let sequential = depths.iter().map(|&depth| step(BenchPattern::Sequential, depth, large, share(5)));
        let positions = (!is_write).then(|| step(BenchPattern::Positions, 1, large, share(2)));
        BenchPlan { bytes, steps: random.chain(positions).chain(sequential).collect(), is_write }
    }

    /// How long it takes, but for filling and emptying queues.
    pub fn time(&self) -> Nanos {
        Nanos(self.steps.iter().map(|step| step.time.0).sum())
    }

    /// How long it may take with that. Steps become shorter, or are left out, where it would take longer.
    pub fn limit(&self) -> Nanos {
        self.time().saturating_add(SLACK)
    }
}

/// Where runs of large requests begin, to see all parts of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneGrid {
    /// Bytes of each zone but the last, which has the rest, too.
    pub zone: u64,
    /// How many zones.
    pub zones: u64,
    /// Bytes of one run.
    run: u64,
}

impl ZoneGrid {
    /// Of a disk of `bytes`, for requests of `request` bytes; a small disk has fewer zones.
    pub fn new(bytes: u64, request: u64) -> ZoneGrid {
        let run = request * RUN_REQUESTS.min(bytes / request);
        let zones = (bytes / run).clamp(1, ZONES_MAX);
        // Runs begin at multiples of a request.
        ZoneGrid { zone: bytes / zones / request * request, zones, run }
    }

    /// The zone in which a byte lies.
    pub fn zone_of(&self, offset: u64) -> usize {
        (offset / self.zone).min(self.zones - 1) as usize
    }

    /// Runs that each zone has room for.
    pub fn rounds(&self) -> u64 {
        self.zone / self.run
    }

    /// Where the run of this round begins in a zone.
    pub fn run_start(&self, zone: u64, round: u64) -> u64 {
        zone * self.zone + round * self.run
    }

    /// Bytes of one run.
    pub fn run_bytes(&self) -> Bytes {
        Bytes(self.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_plan_ends_within_forty_seconds_and_begins_with_what_counts() {
        let plan = BenchPlan::new(1 << 40, 512, &DEPTHS, TIME, false);
        assert_eq!(plan.steps[0], BenchStep { pattern: BenchPattern::Random, depth: 1, request: 4096, time: TIME });
        assert_eq!(plan.steps.len(), 15);
        assert_eq!(plan.time(), Nanos::from_millis(29_500));
        assert!(plan.limit() < Nanos::from_secs(40), "{:?}", plan.limit());
        assert_eq!(plan.steps.iter().filter(|step| step.pattern == BenchPattern::Positions).count(), 1);
        assert!(plan.steps[8..].iter().all(|step| step.request == 1 << 20));
    }

    #[test]
    fn requests_fit_blocks_and_small_disks() {
        let requests = |bytes, block| {
            let plan = BenchPlan::new(bytes, block, &[1], TIME, false);
            (plan.bytes, plan.steps[0].request, plan.steps[2].request)
        };
        assert_eq!(requests(512, 512), (512, 512, 512), "a file shorter than a request");
        assert_eq!(requests(3 * 512, 512), (1536, 1536, 1536));
        assert_eq!(requests(5000 * 512, 512), (5000 * 512, 4096, 1 << 20));
        assert_eq!(requests(1 << 30, 16_384), (1 << 30, 16_384, 1 << 20), "blocks of 16 KiB");
        assert_eq!(requests((64 << 10) + 512, 512), ((64 << 10) + 512, 4096, (64 << 10) + 512));
    }

    #[test]
    fn runs_of_all_rounds_lie_inside_and_apart() {
        for bytes in [512u64, 4096, 1 << 20, 3 << 20, 100 << 20, (7 << 30) + 512] {
            let request = (1 << 20).min(bytes);
            let grid = ZoneGrid::new(bytes, request);
            assert!((1..=ZONES_MAX).contains(&grid.zones) && grid.rounds() >= 1, "{bytes}: {grid:?}");
            let mut runs: Vec<u64> = (0..grid.zones)
                .flat_map(|zone| (0..grid.rounds().min(9)).map(move |round| grid.run_start(zone, round)))
                .collect();
            runs.sort_unstable();
            assert!(runs.windows(2).all(|pair| pair[1] - pair[0] >= grid.run_bytes().0), "{bytes}");
            assert!(
                runs.iter().all(|start| start + grid.run_bytes().0 <= bytes && start.is_multiple_of(request)),
                "{bytes}"
            );
            assert_eq!(grid.zone_of(bytes - 1), grid.zones as usize - 1);
        }
    }
}
