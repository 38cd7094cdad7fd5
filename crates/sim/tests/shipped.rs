//! The shipped scrubber in virtual time: the slowdown that it reports is the true one.

use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::coverage::Coverage;
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::idle::{Budget, Goal, IdlePolicy, IntervalAdapter, Waiting};
use scrubjay_core::scrub::recording::Recording;
use scrubjay_core::scrub::tour::{Grid, OrderKind};
use scrubjay_core::scrub::{Config, Pass, Scrub};
use scrubjay_core::units::{Bytes, Nanos, SectorRange, UnixSeconds};
use scrubjay_sim::disk::SimulatedDisk;
use scrubjay_sim::lse::ClusterModel;
use scrubjay_sim::pump::{ForegroundSight, RunEnd, RunReport, SimulatedPump};
use scrubjay_sim::replay::replay;
use scrubjay_sim::workload::{Bursts, TimeSpan};

/// Sectors in the smallest block of the modelled disks.
const GRANULE: u64 = 8;

/// The shipped scrubber over a whole grid.
fn scrub(grid: Grid, order: OrderKind, policy: impl IdlePolicy + 'static) -> Scrub {
    let config = Config {
        range: grid.disk(),
        granule: GRANULE,
        depth: 1,
        held_max: None,
        started: Nanos::ZERO,
        today: UnixSeconds(1),
    };
    let verified = vec![UnixSeconds(0); grid.region_count() as usize];
    Scrub::new(config, order.order(&verified), Box::new(policy), Coverage::new(grid), Pass::default())
}

/// 8 GiB in regions of 16 MiB and segments of 1 MiB: the shipped grid, an eighth as large.
fn small_grid() -> Grid {
    Grid::new(Bytes::gib(8).sectors(), Bytes::mib(16).sectors(), Bytes::mib(1).sectors())
}

/// Bursts of 30 requests, and idle times with a heavy tail.
fn bursty(seed: u64) -> Bursts {
    let think = TimeSpan::Pareto { minimum: Nanos::from_millis(20), shape: 0.9, maximum: Nanos::from_secs(120) };
    let gap = TimeSpan::Exponential { mean: Nanos::from_millis(5) };
    Bursts::new(30, gap, think, TimeSpan::Exponential { mean: Nanos::from_millis(4) }, Rng::new(seed))
}

/// Runs a policy with that foreground for a quarter of an hour, on a disk too large to finish.
fn quarter_hour(
    policy: impl IdlePolicy + 'static,
    foreground: impl Iterator<Item = ForegroundRequest>,
) -> (RunReport, Scrub) {
    let grid = Grid::new(Bytes::gib(200).sectors(), Bytes::mib(128).sectors(), Bytes::mib(8).sectors());
    let mut machine = scrub(grid, OrderKind::STAGGERED, policy);
    let disk = SimulatedDisk::new(grid.disk().count(), ServiceModel::default());
    let run = SimulatedPump::new(disk, foreground).until(Nanos::from_secs(900)).run(&mut machine);
    assert_eq!(run.report.end, RunEnd::TimeUp);
    (run.report, machine)
}

/// The scrubber's own sum of slowdowns is a lower bound of the exact one, and its count of collisions is not lower
/// (except for the verification that the end cuts off). A policy that waits for idleness delays no request by more than
/// one of its verifications.
#[test]
fn the_scrubbers_own_sum_of_slowdowns_is_a_lower_bound() {
    let size = Bytes::mib(1);
    let (exact, machine) =
        quarter_hour(IntervalAdapter::new(Waiting { wait: Nanos::from_millis(50), size }), bursty(1));
    let reported = machine.report(exact.elapsed).slowdown;
    assert!(exact.foreground.collisions > 100 && reported.collisions + 5 >= exact.foreground.collisions);
    assert!(reported.total <= exact.foreground.slowdown_total, "{:?} {:?}", reported.total, exact.foreground);
    assert!(reported.max <= exact.foreground.slowdown_max);
    assert!(exact.foreground.slowdown_max <= ServiceModel::default().service(size));
}

/// Waiting longer costs less and reads less (Amvrosiadis et al., DSN'12, figure 15), and costs at least half a
/// verification for each one that was hit.
#[test]
fn waiting_longer_costs_less_and_reads_less() {
    let size = Bytes::kib(1280);
    let run =
        |millis| quarter_hour(IntervalAdapter::new(Waiting { wait: Nanos::from_millis(millis), size }), bursty(1)).0;
    let runs = [10, 50, 200, 1000].map(run);
    let cost = runs.map(|report| report.foreground.slowdown_mean_seconds());
    let rate = runs.map(|report| report.scrub_bytes_per_second());
    assert!(cost.is_sorted_by(|shorter, longer| shorter > longer), "{cost:?}");
    assert!(rate.is_sorted_by(|shorter, longer| shorter > longer), "{rate:?}");
    for report in runs {
        let half = ServiceModel::default().service(size).as_secs_f64() / 2.0;
        let least = report.scrub.ops_hit as f64 * half / report.foreground.requests as f64;
        assert!(report.foreground.slowdown_mean_seconds() > 0.9 * least, "{report:?}");
    }
}

/// The budget keeps its goal, including the requests queued behind a delayed one, although the foreground's bursts load
/// the disk to 80 %; and the scrubber's own sum is the exact one, except for a few requests around the end.
#[test]
fn the_budget_is_kept_and_its_own_account_is_exact() {
    let goal = Goal { mean: Nanos::from_millis(1), ..Goal::default() };
    for seed in 1..4 {
        let (exact, machine) = quarter_hour(Budget::new(goal), bursty(seed));
        let reported = machine.report(exact.elapsed);
        let reported_mean = reported.slowdown.mean_seconds(reported.foreground_requests);
        let exact_mean = exact.foreground.slowdown_mean_seconds();
        // The budget is used; but its last tenth is left if it would buy next to nothing.
        assert!((0.5e-3..1.0e-3).contains(&exact_mean), "{exact_mean}");
        assert!((reported_mean / exact_mean - 1.0).abs() < 0.01, "{reported_mean} {exact_mean}");
        assert!(exact.foreground.slowdown_max <= goal.max, "{exact:?}");
    }
}

/// A seed gives one recording; and the recording's text, replayed, gives the same operations again.
#[test]
fn a_recorded_run_is_replayed() {
    let grid = small_grid();
    let errors = ClusterModel::NEARLINE.draw(grid.disk().count(), &mut Rng::new(3));
    let fresh = || scrub(grid, OrderKind::STAGGERED, Budget::new(Goal::default()));
    let record = |sight| {
        let disk = SimulatedDisk::new(grid.disk().count(), ServiceModel::default());
        let disk = disk.with_errors(errors.iter().map(|error| SectorRange::at(error.0, 1)));
        SimulatedPump::new(disk, bursty(4))
            .sight(sight)
            .until(Nanos::from_secs(60))
            .recorded()
            .run(&mut fresh())
            .recording
    };
    for sight in [ForegroundSight::Live, ForegroundSight::default()] {
        let recording = record(sight);
        assert_eq!(recording, record(sight));
        let read: Recording = recording.to_string().parse().expect("its text is a recording");
        assert_eq!(replay(&mut fresh(), &read).difference(&recording), None);
        assert!(recording.ops().count() > 50);
    }
}
