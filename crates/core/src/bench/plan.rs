//! The plan of a benchmark: which steps, how long, in which order. Pure arithmetic on the size of the disk.

use crate::units::{Bytes, Nanos};
use std::fmt;

/// The small request, in bytes: the usual size for file systems and databases.
pub const RANDOM_BYTES: u64 = 4 << 10;
/// The large request, in bytes: the usual size for copies and backups.
pub const SEQUENTIAL_BYTES: u64 = 1 << 20;
/// Zones in which the disk is measured, at most.
pub const ZONES_MAX: u64 = 64;
/// Large requests in a row at each place: the first one includes the seek, the others show the throughput.
pub const RUN_REQUESTS: u64 = 4;
/// The depths that are measured unless others are named.
pub const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The greatest depth: large requests of that number take 256 MiB.
pub const DEPTH_MAX: u32 = 256;
/// How long the first depth is measured by default: some 390 requests on a disk of 7200 rpm, whose mean is then known to 2 %.
pub const TIME: Nanos = Nanos::from_secs(5);
/// The additional time for filling and emptying queues: with the default depths and time, the benchmark takes at most 38 s.
pub const SLACK: Nanos = Nanos::from_secs(8);

/// A pattern of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BenchPattern {
    /// Small requests at random places, none of which comes twice.
    Random,
    /// Large requests in ascending order from the first byte on.
    Sequential,
    /// Runs of large requests in all zones of the disk.
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

/// One step of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchStep {
    /// The pattern of the requests.
    pub pattern: BenchPattern,
    /// Requests at the disk at the same time, 1..=[`DEPTH_MAX`].
    pub depth: u32,
    /// The size of each request, in bytes.
    pub request: u64,
    /// How long the step is measured, once the queue is full.
    pub time: Nanos,
}

/// The steps of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchPlan {
    /// The size of the disk in bytes, a multiple of its block.
    pub bytes: u64,
    /// The steps in their order: the most informative first, so that a stop loses the least.
    pub steps: Vec<BenchStep>,
    /// Are the requests writes instead of reads?
    pub is_write: bool,
}

impl BenchPlan {
    /// The plan for a disk of `bytes`, whose requests must be multiples of `block`: random requests at each depth, then
    /// (reads only) positions, then sequential requests at each depth. The first random depth is measured for `time`, the
    /// others for half as long, sequential ones for a fifth, positions for half: 29.5 s with the default depths and time.
    ///
    /// # Panics
    /// When the disk has no whole block, the block size is not a power of two, or there is no depth.
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

    /// The time of all steps, without filling and emptying queues.
    pub fn time(&self) -> Nanos {
        Nanos(self.steps.iter().map(|step| step.time.0).sum())
    }

    /// The longest time including these. Steps are shortened or left out to keep to it.
    pub fn limit(&self) -> Nanos {
        self.time().saturating_add(SLACK)
    }
}

/// The zones of a disk, and where runs of large requests begin in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneGrid {
    /// The size of each zone in bytes; the last one has the rest of the disk, too.
    pub zone: u64,
    /// The number of zones, 1..=[`ZONES_MAX`].
    pub zones: u64,
    /// The size of one run, in bytes.
    run: u64,
}

impl ZoneGrid {
    /// The zones of a disk of `bytes`, for requests of `request` bytes; a small disk has fewer of them.
    pub fn new(bytes: u64, request: u64) -> ZoneGrid {
        let run = request * RUN_REQUESTS.min(bytes / request);
        let zones = (bytes / run).clamp(1, ZONES_MAX);
        // Zones begin at multiples of a request, so that runs do.
        ZoneGrid { zone: bytes / zones / request * request, zones, run }
    }

    /// The zone in which a byte lies.
    pub fn zone_of(&self, offset: u64) -> usize {
        (offset / self.zone).min(self.zones - 1) as usize
    }

    /// The number of runs that fit in a zone.
    pub fn rounds(&self) -> u64 {
        self.zone / self.run
    }

    /// The first byte of a zone's run in this round.
    pub fn run_start(&self, zone: u64, round: u64) -> u64 {
        zone * self.zone + round * self.run
    }

    /// The size of one run.
    pub fn run_bytes(&self) -> Bytes {
        Bytes(self.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_plan_ends_within_forty_seconds_and_begins_at_depth_1() {
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
