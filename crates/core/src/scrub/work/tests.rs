//! Tests of the machine, event by event.

use super::*;
use crate::scrub::idle::{Budget, Goal};

const fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// A policy that sends whatever happens while `allows`, and otherwise never.
#[derive(Clone, Debug)]
struct Always {
    allows: bool,
}

impl IdlePolicy for Always {
    fn decide(&self, view: &DiskView, _: &Observed) -> crate::scrub::idle::Decision {
        let is_now = self.allows && view.outstanding == 0;
        let not_before = if is_now { view.now } else { Nanos::MAX };
        crate::scrub::idle::Decision { not_before, size: ServiceTimes::SLICE }
    }

    fn state(&self) -> crate::scrub::idle::PolicyState {
        Budget::new(Goal::default()).state()
    }

    fn size_max(&self) -> crate::units::Bytes {
        ServiceTimes::SLICE
    }
}

fn work(allows: bool) -> Work {
    let config = WorkConfig {
        started: Nanos::ZERO,
        hold_guess: [ms(10), ms(3)],
        longest: Some(Nanos::from_secs(30)),
        holding: WorkHolding::AtOnce,
    };
    Work::new(config, Box::new(Always { allows }))
}

fn arrived(at: Nanos) -> WorkEvent {
    WorkEvent::Foreground(Event::ForegroundArrived { at, count: 1 })
}

fn completed(at: Nanos) -> WorkEvent {
    WorkEvent::Foreground(Event::ForegroundCompleted { at, count: 1 })
}

#[test]
fn an_arrival_holds_it_and_the_hold_is_what_the_arrival_waited_for() {
    let mut work = work(true);
    // What the foreground takes alone.
    for at in 0..40 {
        work.handle(ms(at), arrived(Nanos(ms(at).0 / 4)));
        work.handle(ms(at), completed(Nanos(ms(at).0 / 4 + 200_000)));
    }
    let at = ms(40);
    work.handle(at, WorkEvent::Foreground(Event::ForegroundDrained { at }));
    assert_eq!(work.poll_op(at), Some(WorkOp::GoOn));
    for at in 41..=100 {
        work.handle(ms(at), WorkEvent::OwnArrived { at: ms(at), count: 1 });
        work.handle(ms(at), WorkEvent::OwnCompleted { at: Nanos(ms(at).0 + 500_000), count: 1 });
        assert_eq!(work.poll_op(ms(at)), None, "it goes on, slice after slice");
    }
    work.handle(ms(101), WorkEvent::OwnArrived { at: ms(101), count: 1 });
    work.handle(ms(102), arrived(ms(102)));
    assert_eq!(work.poll_op(ms(103)), Some(WorkOp::Hold));
    assert_eq!((work.poll_op(ms(103)), work.activity()), (None, WorkActivity::Holding));
    // One that was sent after the arrival is served behind it.
    work.handle(ms(103), WorkEvent::OwnArrived { at: ms(103), count: 1 });
    work.handle(ms(104), WorkEvent::Frozen { at: ms(104) });
    work.handle(ms(106), WorkEvent::OwnCompleted { at: ms(105), count: 1 });
    work.handle(ms(110), completed(Nanos(105_200_000)));
    work.handle(ms(115), WorkEvent::OwnCompleted { at: ms(115), count: 1 });
    let report = work.report(ms(115));
    assert_eq!((report.activity, report.holds, report.hold_median), (WorkActivity::Held, 1, Some(ms(3))));
    assert_eq!((report.slowdown.collisions, report.slowdown.lost()), (1, ms(3)));
    assert_eq!(work.poll_op(ms(116)), Some(WorkOp::GoOn), "the foreground has gone");
}

#[test]
fn what_was_at_no_disk_delayed_nobody() {
    let mut work = work(true);
    assert_eq!(work.poll_op(ms(0)), Some(WorkOp::GoOn));
    work.handle(ms(50), arrived(ms(50)));
    assert_eq!(work.poll_op(ms(51)), Some(WorkOp::Hold));
    work.handle(ms(52), WorkEvent::Frozen { at: ms(52) });
    work.handle(ms(58), completed(ms(58)));
    let report = work.report(ms(58));
    assert_eq!((report.slowdown.lost(), report.slowdown.collisions), (Nanos::ZERO, 0));
    assert_eq!(report.hold_median, Some(Nanos::ZERO));
}

#[test]
fn it_is_never_held_for_longer_than_it_may_be() {
    let mut work = work(false);
    assert_eq!((work.poll_op(ms(29_999)), work.poll_timeout(ms(0))), (None, Nanos::from_secs(30)));
    assert_eq!(work.poll_op(Nanos::from_secs(30)), Some(WorkOp::GoOn));
    work.handle(ms(30_010), arrived(ms(30_010)));
    assert_eq!(work.poll_op(ms(30_100)), None, "a respite lasts whatever the foreground does");
    assert_eq!(work.poll_op(Nanos::from_secs(30) + RESPITE), Some(WorkOp::Hold));
    assert_eq!(work.report(ms(30_300)).respites, 1);
}

#[test]
fn it_is_let_go_while_somebody_waits_for_its_lock() {
    let mut work = work(false);
    assert_eq!(work.poll_op(ms(5)), None);
    work.handle(ms(6), WorkEvent::Wanted(true));
    assert_eq!(work.poll_op(ms(6)), Some(WorkOp::GoOn));
    work.handle(ms(7), arrived(ms(7)));
    assert_eq!(work.poll_op(ms(900)), None);
    work.handle(ms(901), WorkEvent::Wanted(false));
    assert_eq!(work.poll_op(ms(901)), Some(WorkOp::Hold));
}

#[test]
fn requests_that_were_merged_do_not_keep_a_hold_open() {
    let mut work = work(true);
    assert_eq!(work.poll_op(ms(0)), Some(WorkOp::GoOn));
    work.handle(ms(1), WorkEvent::OwnArrived { at: ms(1), count: 3 });
    work.handle(ms(2), WorkEvent::OwnCompleted { at: ms(2), count: 1 });
    work.handle(ms(3), arrived(ms(3)));
    assert_eq!(work.poll_op(ms(3)), Some(WorkOp::Hold));
    work.handle(ms(4), WorkEvent::Frozen { at: ms(4) });
    assert_eq!(work.activity(), WorkActivity::Holding);
    work.handle(ms(5), WorkEvent::OwnDrained { at: ms(5) });
    assert_eq!(work.activity(), WorkActivity::Held);
}

#[test]
fn what_hangs_while_it_is_to_be_held_does_not_stay_frozen() {
    let mut work = work(true);
    assert_eq!(work.poll_op(ms(0)), Some(WorkOp::GoOn));
    work.handle(ms(3), arrived(ms(3)));
    assert_eq!(work.poll_op(ms(3)), Some(WorkOp::Hold));
    assert_eq!(work.poll_op(ms(29_000)), None, "a process of it is in a system call that does not end");
    assert_eq!(work.poll_op(ms(30_003)), Some(WorkOp::GoOn));
}

#[test]
fn a_completion_that_was_not_seen_does_not_keep_a_hold_open_on_a_busy_disk() {
    let mut work = work(true);
    assert_eq!(work.poll_op(ms(0)), Some(WorkOp::GoOn));
    work.handle(ms(1), WorkEvent::OwnArrived { at: ms(1), count: 1 });
    work.handle(ms(3), arrived(ms(3)));
    assert_eq!(work.poll_op(ms(3)), Some(WorkOp::Hold));
    work.handle(ms(4), WorkEvent::Frozen { at: ms(4) });
    work.handle(ms(4000), WorkEvent::Foreground(Event::Tick));
    assert_eq!(work.activity(), WorkActivity::Holding);
    work.handle(ms(5004), WorkEvent::Foreground(Event::Tick));
    assert_eq!(work.activity(), WorkActivity::Held);
}

#[test]
fn the_times_add_up() {
    let mut work = work(true);
    work.poll_op(ms(100));
    work.handle(ms(300), arrived(ms(300)));
    work.poll_op(ms(300));
    work.handle(ms(310), WorkEvent::Frozen { at: ms(310) });
    let report = work.report(ms(1000));
    assert_eq!((report.ran, report.held), (ms(200), ms(100 + 700)));
    assert_eq!(report.held_longest, ms(700), "from the order on");
}

/// Work that is held slowly, beside requests that lose 4 ms each while it runs: it runs for minutes, rests for minutes, and keeps the mean.
#[test]
fn what_is_held_slowly_runs_and_rests_for_minutes_and_keeps_the_mean() {
    let holding = WorkHolding::Slowly { run: Nanos::from_secs(120), rest: Nanos::from_secs(60) };
    let config = WorkConfig { started: Nanos::ZERO, hold_guess: [ms(5000); 2], longest: None, holding };
    let mut work = Work::new(config, Box::new(Spending::new(ms(1))));
    let (mut runs, mut changed, mut last) = (false, Nanos::ZERO, Nanos::ZERO);
    for step in 0..8 * 36_000 {
        let now = ms(100 * step);
        if runs {
            work.handle(now, WorkEvent::OwnArrived { at: now, count: 1 });
        }
        let at = Nanos(now.0 + 1_000_000);
        work.handle(at, arrived(at));
        if runs {
            let at = Nanos(at.0 + 4_000_000);
            work.handle(at, WorkEvent::OwnCompleted { at, count: 1 });
        }
        let end = Nanos(at.0 + if runs { 9_000_000 } else { 5_000_000 });
        work.handle(end, completed(end));
        work.handle(end, WorkEvent::Foreground(Event::ForegroundDrained { at: end }));
        let report = work.report(end);
        if report.foreground_requests > 300 {
            assert!(report.slowdown.mean_seconds(report.foreground_requests) < 1.02e-3, "{report:?}");
        }
        if let Some(op) = work.poll_op(end) {
            assert_ne!(op == WorkOp::GoOn, runs);
            if changed > Nanos::ZERO {
                last = end.since(changed);
                let least = if runs && end > Nanos::from_secs(1200) {
                    119
                } else if runs {
                    9
                } else {
                    59
                };
                assert!(last >= Nanos::from_secs(least), "{last:?} {runs}");
            }
            (runs, changed) = (!runs, end);
            if !runs {
                work.handle(end, WorkEvent::Frozen { at: end });
            }
        }
    }
    let report = work.report(ms(8 * 3_600_000));
    assert!(last > Nanos::ZERO && report.holds > 10, "{report:?}");
    let share = report.ran.as_secs_f64() / report.elapsed.as_secs_f64();
    assert!((0.2..0.27).contains(&share), "a quarter of the time pays for 4 ms with 1 ms: {share}");
}

#[test]
fn what_is_held_slowly_runs_on_where_nobody_comes() {
    let holding = WorkHolding::Slowly { run: Nanos::from_secs(120), rest: Nanos::from_secs(60) };
    let config = WorkConfig { started: Nanos::ZERO, hold_guess: [ms(5000); 2], longest: None, holding };
    let mut work = Work::new(config, Box::new(Spending::new(ms(1))));
    assert_eq!(work.poll_op(Nanos::from_secs(60)), Some(WorkOp::GoOn));
    for second in 61..100_000 {
        let now = Nanos::from_secs(second);
        work.handle(now, WorkEvent::Foreground(Event::Tick));
        assert_eq!(work.poll_op(now), None);
    }
}

#[test]
fn one_long_hold_does_not_keep_it_held_for_good() {
    let mut work = work(true);
    let at = ms(10);
    work.handle(at, WorkEvent::Foreground(Event::ForegroundDrained { at }));
    assert_eq!(work.poll_op(at), Some(WorkOp::GoOn));
    work.handle(ms(11), WorkEvent::OwnArrived { at: ms(11), count: 1 });
    work.handle(ms(12), WorkEvent::OwnCompleted { at: ms(12), count: 1 });
    work.handle(ms(13), WorkEvent::OwnArrived { at: ms(13), count: 1 });
    work.handle(ms(14), arrived(ms(14)));
    assert_eq!(work.poll_op(ms(14)), Some(WorkOp::Hold));
    work.handle(ms(74), WorkEvent::Frozen { at: ms(74) });
    work.handle(ms(74), WorkEvent::OwnCompleted { at: ms(74), count: 1 });
    assert_eq!(work.report(ms(75)).hold_times, [ms(10), ms(60)]);
    assert_eq!(work.report(ms(75)).hold_median, Some(ms(60)));
    for (at, hold_times) in [(ms(1500), [ms(10), ms(60)]), (ms(2100), [ms(10), ms(3)]), (ms(9000), [ms(10), ms(3)])] {
        work.handle(at, WorkEvent::Foreground(Event::Tick));
        let report = work.report(at);
        assert_eq!((report.hold_times, report.hold_median), (hold_times, Some(ms(60))), "{at:?}");
    }
}

#[test]
fn what_was_learnt_at_other_disks_is_forgotten_and_what_was_lost_is_not() {
    let mut work = work(true);
    let at = ms(10);
    work.handle(at, WorkEvent::Foreground(Event::ForegroundDrained { at }));
    assert_eq!(work.poll_op(at), Some(WorkOp::GoOn));
    work.handle(ms(11), WorkEvent::OwnArrived { at: ms(11), count: 1 });
    work.handle(ms(12), arrived(ms(12)));
    work.handle(ms(17), WorkEvent::OwnCompleted { at: ms(17), count: 1 });
    work.handle(ms(18), completed(ms(18)));
    let report = work.report(ms(19));
    assert_eq!((report.foreground_requests, report.slowdown.lost()), (1, ms(5)));
    assert_eq!(work.seen.workload.intervals, 1);
    work.learn_anew(Box::new(Always { allows: true }));
    let report = work.report(ms(21));
    assert_eq!((report.foreground_requests, report.slowdown.lost(), report.requests), (1, ms(5), 1));
    assert_eq!(work.seen.workload.intervals, 0);
}
