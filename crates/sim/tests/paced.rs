//! Work that runs by itself, beside foregrounds of every kind: what it gets, what they lose, and what is said of both.

use super::budget::ms;
use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::idle::{Budget, Goal};
use scrubjay_core::scrub::work::{Work, WorkConfig, WorkHolding};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_sim::work::{WorkModel, WorkRun, run};
use scrubjay_sim::workload::{Bursts, TimeSpan};

/// A disk of 8 ms and 100 MB/s.
const DISK: ServiceModel = ServiceModel { positioning: Nanos(8_000_000), per_mib: Nanos(10_500_000) };
/// The longest hold.
const LONGEST: Nanos = Nanos::from_secs(30);

fn paced(model: WorkModel, goal: Goal, load: impl IntoIterator<Item = ForegroundRequest>, seconds: u64) -> WorkRun {
    let config = WorkConfig {
        started: Nanos::ZERO,
        hold_guess: [ms(10), ms(3)],
        longest: Some(LONGEST),
        holding: WorkHolding::AtOnce,
    };
    let mut work = Work::new(config, Box::new(Budget::new(goal)));
    run(&model, DISK, load, Nanos::from_secs(seconds), &mut work)
}

/// Single requests of 8 ms, with such times from one arrival to the next.
fn single(between: TimeSpan, seed: u64) -> impl Iterator<Item = ForegroundRequest> {
    Bursts::new(1, between, between, TimeSpan::Fixed(ms(8)), Rng::new(seed))
}

fn rate(run: &WorkRun) -> f64 {
    run.read.0 as f64 / run.report.elapsed.as_secs_f64() / 1e6
}

#[test]
fn alone_it_runs_as_if_nobody_paced_it() {
    for seconds in [2, 60, 600] {
        let run = paced(WorkModel::default(), Goal::default(), [], seconds);
        assert!(rate(&run) > 85.0, "{seconds} s: {} MB/s", rate(&run));
    }
}

/// What it says that others lost is what they lost, and that is within the goal; over loads of which none was used to tune anything.
#[test]
fn the_goal_is_kept_and_what_is_said_is_true() {
    let programs = [
        WorkModel::default(),
        WorkModel { depth: 1, piece: Bytes::kib(16), computes: Nanos(50_000), ..WorkModel::default() },
        WorkModel { depth: 8, piece: Bytes::kib(256), computes: Nanos::ZERO, ..WorkModel::default() },
        WorkModel { computes: ms(30), order_takes: ms(2), ..WorkModel::default() },
    ];
    for (number, model) in programs.into_iter().enumerate() {
        for (between, seed) in
            [20, 45, 70, 130, 300].into_iter().flat_map(|between| (0..4).map(move |seed| (between, seed)))
        {
            let between = if seed % 2 == 0 {
                TimeSpan::Exponential { mean: ms(between) }
            } else {
                TimeSpan::Pareto { minimum: ms(between / 3), shape: 1.5, maximum: Nanos::from_secs(60) }
            };
            let goal = Goal::new(ms(1 + seed), ms(50));
            let run = paced(model, goal, single(between, 100 + seed), 120);
            let said = run.report.slowdown.mean_seconds(run.report.foreground_requests);
            let place = format!("program {number}, {between:?}, {goal:?}: {run:?}");
            assert!(run.lost_mean <= 1.05 * goal.mean.as_secs_f64(), "{place}");
            assert!((said - run.lost_mean).abs() <= 0.05 * run.lost_mean + 20e-6, "{said}: {place}");
            assert!(run.report.held_longest <= LONGEST + ms(100), "{place}");
        }
    }
}

/// At regular intervals it gets at least half of what a disk gives that has to seek once in each.
#[test]
fn it_gets_a_good_part_of_what_is_left() {
    for (between, goal) in [(50, 1), (50, 2), (120, 1), (200, 1), (200, 2), (1000, 1)] {
        let run =
            paced(WorkModel::default(), Goal::new(ms(goal), ms(50)), single(TimeSpan::Fixed(ms(between)), 1), 120);
        let left = (between as f64 - 8.0 - 8.0) / between as f64 * 95.0;
        assert!(rate(&run) > 0.5 * left, "{between} ms, {goal} ms: {} of {left} MB/s", rate(&run));
    }
}

/// A disk that is never idle: the work gets its respites, and no more.
#[test]
fn a_disk_in_use_is_left_alone_but_for_respites() {
    let between = TimeSpan::Fixed(Nanos(8_950_000));
    let load = Bursts::new(1, between, between, TimeSpan::Fixed(ms(9)), Rng::new(1));
    let run = paced(WorkModel::default(), Goal::default(), load, 200);
    assert!((4..=6).contains(&run.report.respites), "{run:?}");
    assert!(run.report.ran < Nanos::from_secs(12), "{run:?}");
    assert!(run.report.held_longest <= LONGEST + ms(100), "{run:?}");
}
