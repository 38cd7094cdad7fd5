//! Tests that the shipped scrubber detects latent errors at the times that the study's formula gives.

use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::coverage::Coverage;
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::BackToBack;
use scrubjay_core::scrub::machine::{Event, Op};
use scrubjay_core::scrub::recording::{Recording, RecordingEntry};
use scrubjay_core::scrub::tour::{Grid, OrderKind};
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::scrub::{Config, Pass, Scrub, ScrubState};
use scrubjay_core::units::{Bytes, Nanos, Sector, SectorRange, UnixSeconds};
use scrubjay_sim::disk::SimulatedDisk;
use scrubjay_sim::lse::ClusterModel;
use scrubjay_sim::pump::{RunEnd, SimulatedPump};
use scrubjay_study::mlet::{EscalationScope, delays};
use std::collections::{BTreeMap, BTreeSet};

/// Sectors in the smallest block of the modelled disks.
const GRANULE: u64 = 8;

/// 8 GiB in regions of 16 MiB and segments of 1 MiB: the shipped grid, with regions an eighth as large.
fn small_grid() -> Grid {
    Grid::new(Bytes::gib(8).sectors(), Bytes::mib(16).sectors(), Bytes::mib(1).sectors())
}

/// The shipped scrubber over a whole grid, without pauses.
fn scrub(grid: Grid, order: OrderKind) -> Scrub {
    let config = Config {
        range: grid.disk(),
        granule: GRANULE,
        depth: 1,
        held_max: None,
        started: Nanos::ZERO,
        today: UnixSeconds(1),
    };
    let policy = Box::new(BackToBack { size: Bytes::mib(1) });
    Scrub::new(config, order.order(&[]), policy, Coverage::new(grid), Pass::default())
}

/// Runs a whole pass over a disk with these bad sectors; returns when each was identified, in units of a pass without
/// errors.
fn detected(grid: Grid, order: OrderKind, errors: &[Sector]) -> Vec<f64> {
    let disk = SimulatedDisk::new(grid.disk().count(), ServiceModel::default());
    let flawless = grid.step_count() as f64 * disk.service(Bytes::mib(1)).as_secs_f64();
    let disk = disk.with_errors(errors.iter().map(|error| SectorRange::at(error.0, 1)));
    let mut machine = scrub(grid, order);
    let run = SimulatedPump::new(disk, []).recorded().run(&mut machine);
    assert_eq!((run.report.end, machine.state()), (RunEnd::Done, ScrubState::Complete));
    let blocks: BTreeSet<_> = errors.iter().map(|error| error.0 / GRANULE).collect();
    assert_eq!(machine.report(run.report.elapsed).unreadable_sectors(), blocks.len() as u64 * GRANULE);

    let found_at = found_at(&run.recording);
    errors.iter().map(|error| found_at[&(error.0 / GRANULE)].as_secs_f64() / flawless).collect()
}

/// The time at which each unreadable block was first verified on its own and failed.
fn found_at(recording: &Recording) -> BTreeMap<u64, Nanos> {
    let (mut issued, mut found_at) = (BTreeMap::new(), BTreeMap::new());
    for entry in recording.entries() {
        match *entry {
            RecordingEntry::Issued { op: Op::Verify { id, range }, .. } => {
                issued.insert(id, range);
            }
            RecordingEntry::Handled {
                event: Event::Completed { id, outcome: VerifyOutcome::Unreadable(_), finished, .. },
                ..
            } => {
                if issued[&id].count() == GRANULE {
                    found_at.entry(issued[&id].start.0 / GRANULE).or_insert(finished);
                }
            }
            RecordingEntry::Handled { .. } => {}
        }
    }
    found_at
}

/// Each error is found when the formula says, within a bound for what the formula omits: per error, 23 short
/// verifications of the bisection, and the 48 long ones of up to three regions verified early.
#[test]
fn the_shipped_scrubber_finds_errors_when_the_formula_says() {
    let grid = small_grid();
    for (kind, seed) in [(OrderKind::STAGGERED, 1), (OrderKind::STAGGERED, 2), (OrderKind::SEQUENTIAL, 3)] {
        let mut rng = Rng::new(seed);
        let model = ClusterModel { scale: 30.0, size_max: 12, ..ClusterModel::NEARLINE };
        let errors = model.draw(grid.disk().count(), &mut rng);
        assert!(errors.len() > 3);
        let expected = delays(kind.order(&[]).as_ref(), &grid, EscalationScope::RegionAndNeighbours, &errors, 0.0);
        let bound = errors.len() as f64 * (23.0 * 5e-3 + 3.0 * 16.0 * 14.77e-3) / (8192.0 * 14.77e-3);
        for (reached, expected) in detected(grid, kind, &errors).into_iter().zip(expected) {
            assert!((reached - expected).abs() < bound, "{kind:?}: {reached} for {expected}, bound {bound}");
        }
    }
}

/// The mean over a dozen disks, staggered and sequential: scrubber and formula agree within 0.02 of a period.
#[test]
fn the_shipped_scrubber_reaches_the_mean_latent_error_time_of_the_formula() {
    let grid = small_grid();
    let model = ClusterModel { size_max: 20, ..ClusterModel::NEARLINE };
    for kind in [OrderKind::STAGGERED, OrderKind::SEQUENTIAL] {
        let (mut reached, mut expected) = (0.0, 0.0);
        let disks = 12;
        for disk in 0..disks {
            let errors = model.draw(grid.disk().count(), &mut Rng::stream(5, disk));
            let mean = |delays: Vec<f64>| delays.iter().sum::<f64>() / delays.len() as f64 / disks as f64;
            let order = kind.order(&[]);
            expected += mean(delays(order.as_ref(), &grid, EscalationScope::RegionAndNeighbours, &errors, 0.0));
            reached += mean(detected(grid, kind, &errors));
        }
        assert!((reached - expected).abs() < 0.02, "{kind:?}: {reached} for {expected}");
    }
}
