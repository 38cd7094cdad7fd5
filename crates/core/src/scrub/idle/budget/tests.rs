//! Tests of the budget: its decisions, given observations.

use super::*;
use crate::rng::Rng;

/// A workload of idle intervals with `burst` requests between two of them, and the authors' drive.
fn seen(intervals: impl IntoIterator<Item = f64>, burst: u32) -> Observed {
    let mut seen = Observed::default();
    for length in intervals {
        seen.workload.add_requests(burst);
        seen.workload.add_idle(Nanos::ZERO, Nanos::from_secs_f64(length));
    }
    for size in SIZES {
        let service = 3.7e-3 + 11.07e-3 * size.as_mib_f64();
        (0..50).for_each(|_| {
            seen.service.add(size, AccessPattern::Sequential, Nanos::from_secs_f64(service), Nanos::ZERO)
        });
    }
    seen
}

/// The state of a budget that has lost exactly what it aims at.
fn solved(goal_ms: u64, mut seen: Observed) -> PolicyState {
    let mut budget = Budget::new(Goal { mean: Nanos::from_millis(goal_ms), ..Goal::default() });
    let spent = 970_000.0 * goal_ms as f64 * (seen.workload.requests as f64).powi(2);
    seen.slowdown.total = Nanos((spent / (seen.workload.requests as f64 + 200.0)) as u64);
    budget.learn(Nanos::ZERO, &seen);
    budget.state()
}

/// The disk at 100 s, after `millis` of idleness.
fn idle_for(millis: u64) -> DiskView {
    let now = Nanos::from_secs(100);
    let (idle_since, own_service) = (now - Nanos::from_millis(millis), Nanos::from_millis(10));
    DiskView {
        now,
        outstanding: 0,
        idle_since,
        own_finished: idle_since,
        own_service,
        own_size: None,
        access: AccessPattern::Sequential,
    }
}

#[test]
fn without_observations_the_policy_is_cautious() {
    let setting = solved(1, Observed::default());
    assert!(setting.cautious);
}

#[test]
fn rare_long_intervals_allow_the_largest_size_without_a_pace() {
    // One request between two intervals: a collision of 48/2 ms costs 8 ms a request.
    let setting = solved(10, seen((0..150).map(|i| if i % 3 == 2 { 1.0 } else { 0.0002 }), 1));
    assert!(setting.size == Bytes::mib(4) && setting.duty > 0.99, "{setting:?}");
    assert!(setting.wait < Nanos::from_millis(10), "{:?}", setting.wait);
}

#[test]
fn memoryless_intervals_are_used_for_a_share_only() {
    // Quantiles of an exponential distribution with a mean of 50 ms: age predicts nothing, so any ages are equally
    // good, and small requests cost least.
    let setting = solved(1, seen((1..1000).map(|i| -0.05 * (i as f64 / 1000.0).ln()), 1));
    let reached = (-setting.wait.as_secs_f64() / 0.05).exp();
    assert!(setting.size <= Bytes::kib(512) && setting.duty * reached < 0.5, "{setting:?}");
}

#[test]
fn long_tails_are_waited_for() {
    // Pareto with exponent 0.9 from 1 ms on: the older an interval, the longer it will still last.
    let setting = solved(1, seen((1..5000).map(|i| 0.001 * (i as f64 / 5000.0).powf(-1.0 / 0.9)), 1));
    assert!(setting.wait > Nanos::from_millis(10), "{setting:?}");
    assert!(setting.duty > 0.9, "waiting picks out the long ones, so no pace is needed: {setting:?}");
    assert!(setting.size >= Bytes::mib(1), "{setting:?}");
}

/// Idle intervals without memory. Each collision costs the foreground twice what it costs the request that ends the interval.
#[test]
fn delays_of_queued_requests_are_learned_and_planned_for() {
    const INTERVALS: u64 = 10_000;
    let mut rng = Rng::new(1);
    let lengths: Vec<f64> = (0..INTERVALS).map(|_| rng.exponential(0.05)).collect();
    let length = |interval: u64| lengths[interval as usize];
    let lost = |budget: &Budget, interval: u64| 2.0 * budget.schedule.expected_cost(length(interval), interval);
    let mut seen = seen([], 0);
    let mut budget = Budget::new(Goal::default());
    for interval in 0..INTERVALS {
        seen.workload.add_requests(1);
        let delay = lost(&budget, interval);
        seen.workload.add_idle(Nanos::ZERO, Nanos::from_secs_f64(length(interval)));
        budget.learn(Nanos::ZERO, &seen);
        seen.slowdown.add(Nanos::from_secs_f64(delay));
    }
    let factor = budget.calibration.factor();
    assert!((1.9..2.1).contains(&factor), "{factor}");
    budget.schedule.set_target(0.97e-3 * INTERVALS as f64 / factor, 0.0, 0.0, late::LateIntervals::default);
    let mean = (0..INTERVALS).map(|interval| lost(&budget, interval)).sum::<f64>() / INTERVALS as f64;
    assert!((0.9e-3..1.05e-3).contains(&mean), "inside the goal, and not for nothing: {mean} s a request");
}

#[test]
fn the_max_goal_bounds_the_size() {
    let seen = seen((0..50).map(|_| 1.0), 100);
    let mut budget = Budget::new(Goal::new(Nanos::from_millis(1), Nanos::from_millis(20)));
    budget.learn(Nanos::ZERO, &seen);
    assert_eq!(budget.state().size, Bytes::mib(1), "14.8 ms; 2 MiB would take 25.8 ms");
}

#[test]
fn a_disk_that_becomes_slow_gets_smaller_requests_at_once() {
    let mut seen = seen((0..50).flat_map(|_| [0.0002, 0.0002, 1.0]), 33);
    let mut budget = Budget::new(Goal::default());
    budget.learn(Nanos::ZERO, &seen);
    let view = idle_for(500);
    let before = budget.decide(&view, &seen).size;
    assert!(before >= Bytes::mib(1));
    (0..8).for_each(|_| seen.service.add(before, AccessPattern::Sequential, Nanos::from_millis(300), Nanos::ZERO));
    let after = budget.decide(&view, &seen).size;
    assert!(after < before && seen.service.high(after, AccessPattern::Sequential) <= 0.05, "{before} {after}");
    for size in SIZES {
        (0..200).for_each(|_| seen.service.add(size, AccessPattern::Sequential, Nanos::from_millis(400), Nanos::ZERO));
    }
    budget.learn(Nanos::ZERO, &seen);
    let decision = budget.decide(&view, &seen);
    assert!(decision.not_before > view.now, "no size is within the max goal: the smallest, seldom: {decision:?}");
}

#[test]
fn an_overspent_ledger_needs_long_idleness() {
    let mut seen = seen((0..50).flat_map(|_| [0.0002, 1.0]), 50);
    let mut budget = Budget::new(Goal::default());
    budget.learn(Nanos::ZERO, &seen);
    assert!(budget.decide(&idle_for(500), &seen).not_before <= Nanos::from_secs(100));
    seen.slowdown.add(Nanos::from_secs(20));
    budget.learn(Nanos::ZERO, &seen);
    assert!(budget.decide(&idle_for(500), &seen).not_before > Nanos::from_secs(100), "5 s were allowed");
    assert!(
        budget.decide(&idle_for(60_000), &seen).not_before > Nanos::from_secs(100),
        "longer than ever, and in debt"
    );
    let quiet = budget.decide(&DiskView { now: Nanos::from_secs(4000), ..idle_for(60_000) }, &seen);
    assert_eq!((quiet.not_before, quiet.size), (Nanos::from_secs(4000), SIZE_MIN), "never for ever");
}

#[test]
fn a_load_that_stops_does_not_stop_the_scrub() {
    // All is spent, to the last request that the account could pay for.
    let mut seen = seen((0..300).map(|_| 0.05), 1);
    seen.slowdown.total = Nanos::from_millis(299);
    let mut budget = Budget::new(Goal::default());
    budget.learn(Nanos::ZERO, &seen);
    assert!(budget.decide(&idle_for(40), &seen).not_before > Nanos::from_secs(100), "nothing is left");
    assert!(budget.decide(&idle_for(61_000), &seen).not_before > Nanos::from_secs(100), "nor after a minute");
    let at = Nanos::from_secs(3701);
    let night = budget.decide(&DiskView { now: at, ..idle_for(60_000) }, &seen);
    assert_eq!((night.not_before, night.size), (at, Bytes::kib(512)), "as much as costs a small share of all");
}
