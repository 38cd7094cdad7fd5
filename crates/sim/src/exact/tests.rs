//! The exact simulator against the pump with the shipped scrubber, request by request; and the fast path against it.

use super::*;
use crate::disk::SimulatedDisk;
use crate::pump::{ForegroundSight, SimulatedPump};
use crate::workload::{Bursts, TimeSpan};
use proptest::prelude::*;
use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::coverage::Coverage;
use scrubjay_core::scrub::disk_server::ForegroundRequest;
use scrubjay_core::scrub::idle::{Goal, GoalForm, GrowingRequests, IntervalAdapter, RequestGrowth, Waiting};
use scrubjay_core::scrub::tour::{Grid, OrderKind};
use scrubjay_core::scrub::{Config, Pass, Scrub};
use scrubjay_core::units::UnixSeconds;

const DISK: ServiceModel = ServiceModel::ULTRASTAR_15K450;

/// A few dozen requests, the first at time zero; the last one is long, and nothing after it counts.
fn requests() -> impl Strategy<Value = Vec<ForegroundRequest>> {
    let gap = prop_oneof![0u64..30_000_000, 0u64..300_000_000];
    let request = (gap, prop_oneof![Just(0u64), 1u64..20_000_000]);
    prop::collection::vec(request, 1..60).prop_map(|drawn| {
        let mut at = Nanos::ZERO;
        let mut requests: Vec<ForegroundRequest> = Vec::new();
        for (gap, service) in drawn {
            requests.push(ForegroundRequest { at, service: Nanos(service) });
            at += Nanos(gap);
        }
        requests.push(ForegroundRequest { at, service: Nanos::from_secs(10) });
        requests
    })
}

fn patterns() -> impl Strategy<Value = IdlePattern> {
    let growth = prop_oneof![
        Just(RequestGrowth::Fixed),
        (1.0..3.0f64, 0u64..100).prop_map(|(factor, kib)| RequestGrowth::By {
            factor,
            plus: Bytes::kib(kib),
            max: Bytes::mib(4)
        }),
        (0u64..200).prop_map(|ms| RequestGrowth::Swap { after: Nanos::from_millis(ms), to: Bytes::mib(4) }),
    ];
    (0u64..50_000_000, 1u64..64, growth).prop_map(|(wait, size, growth)| IdlePattern {
        wait: Nanos(wait),
        first: Bytes::kib(64 * size),
        growth,
    })
}

/// Plays the shipped scrubber on a disk too large to finish, with blocks of one sector, so that no size is rounded.
fn played(requests: &[ForegroundRequest], pattern: IdlePattern) -> crate::pump::RunReport {
    let grid = Grid::new(Bytes::gib(64).sectors(), Bytes::gib(64).sectors(), Bytes::gib(64).sectors());
    let config = Config {
        range: grid.disk(),
        granule: 1,
        depth: 1,
        held_max: None,
        started: Nanos::ZERO,
        today: UnixSeconds(1),
    };
    let policy = Box::new(IntervalAdapter::new(GrowingRequests { pattern }));
    let mut scrub = Scrub::new(config, OrderKind::SEQUENTIAL.order(&[]), policy, Coverage::new(grid), Pass::default());
    let periods: Periods = requests.iter().copied().collect();
    let until = periods.span() - Nanos::from_secs(5);
    let disk = SimulatedDisk::new(grid.disk().count(), DISK);
    SimulatedPump::new(disk, requests.iter().copied()).sight(ForegroundSight::Live).until(until).run(&mut scrub).report
}

proptest! {
    #[test]
    fn the_computed_figures_are_those_of_the_pump(requests in requests(), pattern in patterns()) {
        let report = played(&requests, pattern);
        let periods: Periods = requests.iter().copied().collect();
        let outcome = simulate(&periods, DISK, &mut GrowingRequests { pattern });
        let foreground = report.foreground;
        prop_assert_eq!(outcome.slowdown_total, u128::from(foreground.slowdown_total.0));
        prop_assert_eq!(outcome.slowdown_max, foreground.slowdown_max);
        prop_assert_eq!((outcome.scrub_requests, outcome.scrub_bytes), (report.scrub.ops, report.scrub.bytes.0));
        prop_assert_eq!(outcome.idle_total, foreground.idle_total);
        prop_assert_eq!(outcome.intervals, foreground.idle_intervals);
    }

    #[test]
    fn the_fast_path_gives_the_result_of_the_general_simulator(
        requests in requests(), wait in 0u64..50_000_000, size in 1u64..64
    ) {
        let (wait, size) = (Nanos(wait), Bytes::kib(64 * size));
        let periods: Periods = requests.into_iter().collect();
        let outcome = simulate(&periods, DISK, &mut Waiting { wait, size });
        let service = DISK.service(size);
        prop_assert_eq!(waiting(&periods, wait, size, service, Limit::None), Some(outcome));
        prop_assert_eq!(waiting(&periods, wait, size, service, Limit::InAll(outcome.slowdown_total)), Some(outcome));
        if outcome.slowdown_total > 0 {
            prop_assert_eq!(waiting(&periods, wait, size, service, Limit::InAll(outcome.slowdown_total - 1)), None);
        }
    }
}

/// `SoFar` keeps the mean within the goal at the end of each busy period, from the 300th request on.
#[test]
fn a_limit_so_far_is_kept_at_the_end_of_each_busy_period() {
    let ms = Nanos::from_millis;
    // Two requests collide with scrub requests and lose 5 ms each; a thousand follow that lose nothing.
    let arrivals_ms = [0, 100, 200].into_iter().chain((0..1000).map(|i| 205 + i));
    let periods: Periods = arrivals_ms.map(|at| ForegroundRequest { at: ms(at), service: Nanos(1000) }).collect();
    let until: Vec<u64> = (1..=periods.requests_by_period().len() as u64).collect();
    let played = |each: u64| {
        let limit = Limit::SoFar { each: Nanos(each), until: &until };
        waiting(&periods, ms(50), Bytes::mib(1), ms(11), limit).map(|outcome| outcome.slowdown_total)
    };
    let lost = waiting(&periods, ms(50), Bytes::mib(1), ms(11), Limit::None).unwrap().slowdown_total;
    assert!(played((lost / 300) as u64 + 1) == Some(lost) && played((lost / 1003) as u64 + 1).is_none(), "{lost}");
}

/// Three intervals of 10, 100 and 1000 ms; requests of 25 ms.
#[test]
fn players_that_know_the_future_use_the_intervals_that_they_chose() {
    let (ms, service) = (Nanos::from_millis, Nanos::from_millis(1));
    let periods: Periods = [0, 11, 112, 1113].iter().map(|&at| ForegroundRequest { at: ms(at), service }).collect();
    let (size, disk) = (Bytes::mib(1), ServiceModel { positioning: ms(25), per_mib: Nanos::ZERO });
    let used = |player: &mut dyn Player| simulate(&periods, disk, player).used;
    assert_eq!(used(&mut Oracle::longest(0.34, periods.intervals(), size)), ms(1000));
    assert_eq!(used(&mut Oracle::longest(1.0, periods.intervals(), size)), ms(10 + (100 - 15) + (1000 - 15)));
    assert_eq!(used(&mut Oracle::longest(0.0, periods.intervals(), size)), Nanos::ZERO);
    let even: Periods = (0..11).map(|i| ForegroundRequest { at: ms(i * 101), service }).collect();
    let third = simulate(&even, disk, &mut Oracle::longest(0.3, even.intervals(), size));
    assert_eq!((third.used, third.collisions), (ms(300), 0), "three of ten alike");
    assert_eq!(used(&mut Lossless { wait: ms(50), size }), ms(1100));
    assert_eq!(used(&mut Waiting { wait: ms(50), size }), ms(1000));
}

/// With the goal for the mean at the end, the oracle reads as much as the best share of the longest intervals. With that
/// for the mean so far, it spends nothing before it is earned, and everything earned before a burst is spent by then.
#[test]
fn the_oracle_spends_what_is_earned() {
    let think = TimeSpan::Pareto { minimum: Nanos::from_millis(30), shape: 1.1, maximum: Nanos::from_secs(100) };
    let gap = TimeSpan::Exponential { mean: Nanos::from_millis(10) };
    let load =
        |count, seed| Bursts::new(4, gap, think, TimeSpan::Fixed(Nanos::from_millis(2)), Rng::new(seed)).take(count);
    let mut requests: Vec<ForegroundRequest> = load(8000, 1).collect();
    let (middle, size) = (requests[4000].at, Bytes::mib(1));
    requests.extend(
        (0..20_000).map(|i| ForegroundRequest { at: middle + Nanos::from_millis(i), service: Nanos::from_millis(2) }),
    );
    requests.sort_by_key(|request| request.at);
    let periods: Periods = requests.into_iter().collect();
    for goal in [200, 1000, 3000] {
        let goal = Goal::new(Nanos(goal * 1000), Nanos::from_millis(50));
        let play = |form| {
            let mut oracle = Oracle::within(goal.form(form), &periods, DISK, size);
            simulate(&periods, DISK, &mut oracle)
        };
        let (average, strict) = (play(GoalForm::Average), play(GoalForm::Strict));
        let goal_share = |outcome: &ScrubFigures| outcome.slowdown_mean_seconds() / goal.mean.as_secs_f64();
        assert!(goal_share(&average) <= 1.0, "{goal:?}: {}", goal_share(&average));
        let shares = (0..=100).map(|percent| {
            let mut longest = Oracle::longest(f64::from(percent) / 100.0, periods.intervals(), size);
            simulate(&periods, DISK, &mut longest)
        });
        let best = shares.filter(|outcome| goal_share(outcome) <= 1.0).map(|outcome| outcome.scrub_bytes).max();
        let best = best.expect("nobody loses by nothing") as f64;
        assert!(average.scrub_bytes as f64 > 0.97 * best, "{goal:?}: {best} and {average:?}");
        assert!(
            strict.scrub_bytes < average.scrub_bytes && goal_share(&strict) < 1.0,
            "{goal:?}: {strict:?} and {average:?}"
        );
        assert!(strict.scrub_bytes > average.scrub_bytes / 2, "{goal:?}: {strict:?} and {average:?}");
    }
}
