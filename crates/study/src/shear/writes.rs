//! Step 4: Figures 14, 15 and 16.

use super::effort::Effort;
use super::rig::{array, writes};
use scrubjay_chart::{Axis, Exhibit, Figure, Series, Style};
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::probe::io::{ProbeAccess, ProbeBatch, ProbeRequest};
use scrubjay_core::probe::paper::redundancy::MeasuredRedundancy;
use scrubjay_core::probe::paper::{TrialParameters, WriteGrowth};
use scrubjay_core::rng::Rng;
use scrubjay_sim::array::Array;
use scrubjay_sim::array::drives::atlas_10k;
use scrubjay_sim::array::mechanics::Mechanics;
use scrubjay_sim::array::queue::Discipline;
use scrubjay_sim::array::setup::{ArraySetup, Drive, ParityWrite};

/// One array of Figure 14.
#[derive(Clone, Debug)]
pub struct WriteCase {
    /// The name in the figure.
    pub name: &'static str,
    /// The array.
    pub setup: ArraySetup,
    /// The expected cost of a write, in reads.
    pub expected: f64,
}

/// The arrays of Figure 14: Linux's software RAID, which recomputes parity from the whole stripe, and a controller,
/// which reads the old data and the old parity.
pub fn cases() -> Vec<WriteCase> {
    let soft = |kind, disks| ArraySetup { parity_write: ParityWrite::Reconstruct, ..array(kind, disks, 64) };
    let hard = |kind, disks| array(kind, disks, 64);
    let case = |name, setup, expected| WriteCase { name, setup, expected };
    vec![
        case("software RAID-0 of 4", soft(LayoutKind::Raid0, 4), 1.0),
        case("software RAID-1 of 2", soft(LayoutKind::Raid1, 2), 2.0),
        case("software RAID-1 of 4", soft(LayoutKind::Raid1, 4), 2.0),
        case("software RAID-5 of 2", soft(LayoutKind::Raid5La, 2), 2.0),
        case("software RAID-5 of 4", soft(LayoutKind::Raid5La, 4), 4.0),
        case("software RAID-5 of 5", soft(LayoutKind::Raid5La, 5), 5.0),
        case("hardware RAID-0 of 4", hard(LayoutKind::Raid0, 4), 1.0),
        case("hardware RAID-1 of 2", hard(LayoutKind::Raid1, 2), 2.0),
        case("hardware RAID-5 of 3", hard(LayoutKind::Raid5La, 3), 4.0),
        case("hardware RAID-5 of 4", hard(LayoutKind::Raid5La, 4), 4.0),
    ]
}

/// Step 4, as the prober performs it.
pub fn measured(setup: &ArraySetup, effort: Effort, growth: WriteGrowth) -> MeasuredRedundancy {
    writes(setup, effort.parameters(), growth)
}

/// The mean ratio over `repeats` runs.
pub fn ratio_mean(setup: &ArraySetup, effort: Effort) -> f64 {
    let ratio = |run: u64| {
        measured(setup, Effort { seed: effort.seed.wrapping_add(run), ..effort }, WriteGrowth::Doubling).ratio()
    };
    (0..effort.repeats as u64).map(ratio).sum::<f64>() / effort.repeats as f64
}

/// Figure 14: the ratio of reads to writes.
pub fn figure_14(effort: Effort) -> Vec<Exhibit> {
    let cases = cases();
    let means = |discipline: Discipline| -> Vec<f64> {
        cases.iter().map(|case| ratio_mean(&ArraySetup { discipline, ..case.setup.clone() }, effort)).collect()
    };
    let [sorted, in_turn] = [Discipline::CLook, Discipline::Fcfs].map(means);
    let points = |values: &[f64]| -> Vec<(f64, f64)> {
        values.iter().enumerate().map(|(at, &value)| (at as f64 + 1.0, value)).collect()
    };
    let names: Vec<String> =
        cases.iter().enumerate().map(|(at, case)| format!("{}\u{a0}{}", at + 1, case.name)).collect();
    let expected: Vec<f64> = cases.iter().map(|case| case.expected).collect();
    let deviation = |ratios: &[f64]| {
        let deviation = ratios.iter().zip(&expected).map(|(ratio, expected)| (ratio / expected).ln().abs());
        100.0 * (deviation.fold(0.0, f64::max).exp() - 1.0)
    };
    let caption = format!(
        "1, 2 and 4; five for Linux' RAID-5 of five disks, which reads the whole stripe; RAID-5 of two disks is a mirror. Means of {} \
         runs: at most {:.0} % off where disks serve in turn, {:.0} % behind an elevator, whose ways depend on how much waits. \
         Arrays: {}.",
        effort.repeats,
        deviation(&in_turn),
        deviation(&sorted),
        names.join(", ")
    );
    vec![Exhibit::Figure(Figure {
        name: "shear-fig14".into(),
        title: "Read bandwidth over write bandwidth (its Figure 14)".into(),
        caption,
        x: Axis::linear("array"),
        y: Axis::linear("time of a write in reads"),
        series: vec![
            Series::new("behind an elevator", Style::Bars, points(&sorted)),
            Series::new("in turn", Style::Bars, points(&in_turn)),
            Series::new("expected", Style::Points, points(&expected)),
        ],
    })]
}

/// The additional settling time of writes of Figure 15's Quantum after each movement of the arm, in milliseconds.
/// Chosen to reproduce its curve: the measured 0.487 ms of an Atlas 10K cannot double anything.
const QUANTUM_SETTLE_MS: f64 = 4.0;

/// The disks of Figure 15, each an array of its own.
pub fn disks() -> [(&'static str, ArraySetup); 2] {
    let quantum = Mechanics { write_settle_ms: QUANTUM_SETTLE_MS, heads: 12, ..atlas_10k() };
    let single_disk = array(LayoutKind::Raid0, 1, 64);
    [
        ("IBM 9LZX", single_disk.clone()),
        ("Quantum Atlas 10K, slow to settle", ArraySetup { drive: Drive::Disk(quantum), ..single_disk }),
    ]
}

/// The ratio of sector-size writes to reads in a region of `region_bytes`.
pub fn ratio_in(setup: &ArraySetup, effort: Effort, region_bytes: u64) -> f64 {
    let parameters = TrialParameters { block_bytes: 512, step_bytes: 512, region_bytes, ..effort.parameters() };
    let found = writes(setup, parameters, WriteGrowth::Doubling);
    found.ratio()
}

/// Figure 15: the ratio by the region in which step 4 stays.
pub fn figure_15(effort: Effort) -> Vec<Exhibit> {
    // From 32 MiB to 8 GiB. In a smaller region, two of 500 sectors coincide: read again, the sector is in the disk's
    // cache; written again, it waits for a revolution.
    let regions: Vec<u64> = (25..=33).map(|power| 1 << power).collect();
    let curve = |(name, setup): &(&'static str, ArraySetup)| {
        let point = |&region: &u64| (region as f64 / 1e6, ratio_in(setup, effort, region));
        Series::new(*name, Style::Line, regions.iter().map(point))
    };
    let series: Vec<Series> = disks().iter().map(curve).collect();
    let end = |series: &Series, at: usize| series.points[at].y;
    let last = regions.len() - 1;
    let caption = format!(
        "The IBM stays at 1 ({:.2} to {:.2}). The Quantum begins at {:.2}, where 500 requests share few cylinders, and ends at {:.2}: a write \
         settles {QUANTUM_SETTLE_MS} ms longer whenever the arm has moved. So step 4 stays in a small region.",
        series[0].points.iter().map(|point| point.y).fold(f64::INFINITY, f64::min),
        series[0].points.iter().map(|point| point.y).fold(0.0, f64::max),
        end(&series[1], 0),
        end(&series[1], last)
    );
    vec![Exhibit::Figure(Figure {
        name: "shear-fig15".into(),
        title: "Ratio by region, one disk, 500 sectors (its Figure 15)".into(),
        caption,
        x: Axis::log("region (MB)"),
        y: Axis::from_zero("time of a write in reads"),
        series,
    })]
}

/// The controller of Figure 16: RAID-5 of four disks with a cache of 2048 blocks. (The paper does not give the size.)
pub fn cached() -> ArraySetup {
    ArraySetup { write_cache_bytes: Some(8 << 20), ..array(LayoutKind::Raid5La, 4, 64) }
}

/// The bandwidth of `count` random writes of 4 KiB, in MB/s, in the region that step 4 uses.
pub fn bandwidth(setup: &ArraySetup, effort: Effort, count: usize) -> f64 {
    let mut array = Array::new(setup.clone());
    let (mut rng, region) = (Rng::new(effort.seed), effort.parameters().region_bytes);
    let write = |rng: &mut Rng| ProbeRequest {
        kind: ProbeAccess::Rewrite,
        ..ProbeRequest::read(rng.below(region / 4096) * 4096, 4096)
    };
    let requests = (0..count).map(|_| write(&mut rng)).collect();
    (count as f64 * 4096.0) / array.run(&ProbeBatch { requests }).makespan().as_secs_f64() / 1e6
}

/// Figure 16: writes until the cache is full.
pub fn figure_16(effort: Effort) -> Vec<Exhibit> {
    let counts: Vec<usize> = (6..=16).map(|power| 1 << power).collect();
    let curve = |name: &str, style, setup: &ArraySetup| {
        Series::new(name, style, counts.iter().map(|&count| (count as f64, bandwidth(setup, effort, count))))
    };
    let bare = ArraySetup { write_cache_bytes: None, ..cached() };
    let growth_text = |growth: WriteGrowth| {
        let found = measured(&cached(), effort, growth);
        let (last, batches) = (found.writes.last().map_or(0, |&(count, _)| count), found.writes.len());
        format!("{batches} batches, up to {last} writes, and a ratio of {:.2}", found.ratio())
    };
    let caption = format!(
        "As long as the cache takes all, writes are as fast as a copy; beyond its 2048 blocks the disks decide. Doubling ends after \
         {}; adding {} each time after {} (without a cache {:.2}). What the threshold of \"significantly\" leaves, stays: the cache's \
         share of the last batch. (Without a cache all writes are at the disks at once, and the more there are, the shorter an \
         elevator's ways; a cache passes on no more than it holds.)",
        growth_text(WriteGrowth::Doubling),
        effort.requests,
        growth_text(WriteGrowth::Fixed(effort.requests)),
        measured(&bare, effort, WriteGrowth::Doubling).ratio()
    );
    vec![Exhibit::Figure(Figure {
        name: "shear-fig16".into(),
        title: "Writes until the cache is full: RAID-5, 4 disks (its Figure 16)".into(),
        caption,
        x: Axis::log("writes"),
        y: Axis::log("bandwidth (MB/s)"),
        series: vec![curve("cache of 8 MiB", Style::Line, &cached()), curve("no cache", Style::Dashed, &bare)],
    })]
}
