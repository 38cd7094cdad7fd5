//! Budget: chooses when to send and how much at a time from the live histogram of idle intervals, so that the
//! foreground is slowed down by no more than a stated mean and maximum.
//!
//! Three parts. [`ages`] turns the lengths of the idle intervals seen so far into a hazard: how likely is an interval of
//! this age to end now? [`schedule`] turns that into a plan: which size at which age reads most for the delay it causes.
//! And the *account*, here: what the foreground was to lose so far, less what it lost. Every request of the foreground
//! earns the goal; every collision spends. What was not spent makes delays cheaper for the plan, what was overspent makes
//! them dearer, without limit; so the goal is kept whatever is wrong with the plan, and nothing of it is left unused.
//!
//! Waiting (Amvrosiadis et al., DSN'12, V-C) is the special case of one size from one age on. On the paper's kind of
//! traces the plan reads more than the best such pair, chosen in hindsight (docs/papers.md); the paper's own attempts at
//! growing sizes did not, because they grew by the count of requests and not by the hazard. Where intervals have no
//! memory there is nothing to tell ages apart, and what comes out is an even pace (Mi et al., TOS 5(2): wait only if idle
//! times vary).
//!
//! The max goal is a fence of its own: no request is sent of a size that has lately taken longer; where even the smallest
//! has, that one is tried seldom, for how else would it be known that it no longer does?

mod ages;
mod schedule;

use super::service::{SIZE_MIN, SIZES};
use super::{DiskView, IdlePolicy, Observed, Setting, Turn};
use crate::units::{Bytes, Nanos};
use ages::Ages;
use schedule::{Request, Schedule};

/// What the foreground may lose at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// On average over all foreground requests.
    pub mean: Nanos,
    /// Each of them.
    pub max: Nanos,
}

impl Default for Goal {
    /// 1 ms and 50 ms: the first row of the paper's Table III.
    fn default() -> Goal {
        Goal { mean: Nanos::from_millis(1), max: Nanos::from_millis(50) }
    }
}

/// The share of the goal that is aimed at; the rest absorbs chance.
const AIM: f64 = 0.97;
/// What was saved is to be used up within this share of the requests seen so far, but no fewer than so many.
const SAVINGS_SHARE: f64 = 0.125;
const SAVINGS_REQUESTS_MIN: f64 = 200.0;
/// What is overspent by this share of all that was earned, and the goal of so many requests more, makes delays dearer by
/// `OVERSPENT_SLOPE` powers of e. A mean over a few hundred requests is chance: one burst can spend that much at once.
const OVERSPENT_SHARE: f64 = 0.04;
const OVERSPENT_REQUESTS: f64 = 500.0;
const OVERSPENT_SLOPE: f64 = 3.0;
/// Delays become cheaper and dearer by so many powers of e at the most.
const CHEAPER_MAX: f64 = 2.0;
const DEARER_MAX: f64 = 30.0;
/// When the disk is idle for longer than ever, a request lasts at most this share of the time that it has been idle. With
/// long-tailed idleness (hazard about 1/x at age x) that makes a collision about as unlikely. A guess.
const QUIET_SHARE: f64 = 0.02;
/// So much longer than the longest idle interval seen is longer than ever.
const QUIET_FACTOR: f64 = 2.0;
/// Where no size is within the max goal, the smallest is sent for this share of the time.
const LAST_RESORT_SHARE: f64 = 0.002;
/// Before anything is seen, so many foreground requests are imagined.
const REQUESTS_IMAGINED: f64 = 8.0;
/// Fewer requests than that make a cautious beginning.
const REQUESTS_MIN: u64 = 32;
/// One request in so many may be of a size not tried of late.
const TRIAL_EVERY: u64 = 32;
/// All lose so many times what those who end an interval lose, to begin with: as if it had been so in so many collisions.
/// The traces studied come to 1.3 to 3; one burst can be 16, and is not to be believed at once.
const FOLLOWERS: f64 = 1.5;
const FOLLOWERS_COLLISIONS: f64 = 30.0;
/// Where nothing is worth its price at any age, when to look again, in seconds.
const LOOK_AGAIN: f64 = 1.0;
/// The plan is made anew whenever the intervals have grown by an eighth, or by so many.
const INTERVALS_STEP: u64 = 1000;

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Budget {
    goal: Goal,
    setting: Setting,
    schedule: Schedule,
    solved_at: (u64, u64),
    /// Idle intervals whose end was seen, and what those who ended them were to lose, in seconds.
    intervals: u64,
    predicted: f64,
}

impl Budget {
    /// Starts cautious.
    pub fn new(goal: Goal) -> Budget {
        let setting = Setting { in_idle_only: true, cautious: true, ..Setting::back_to_back(SIZE_MIN) };
        let schedule = Schedule::default();
        let mut budget = Budget { goal, setting, schedule, solved_at: (0, 0), intervals: 0, predicted: 0.0 };
        budget.solve(&Observed::default());
        budget
    }

    /// How much dearer than planned a delay is now, by the account.
    fn dear(&self, seen: &Observed) -> f64 {
        let goal = self.goal.mean.as_secs_f64();
        let earned = AIM * goal * seen.workload.requests as f64;
        let overspent = seen.slowdown.lost().as_secs_f64() - earned;
        let exponent = if overspent > 0.0 {
            let limit = OVERSPENT_SHARE * earned + OVERSPENT_REQUESTS * goal;
            (OVERSPENT_SLOPE * overspent / limit).min(DEARER_MAX)
        } else {
            let horizon = (SAVINGS_SHARE * earned).max(SAVINGS_REQUESTS_MIN * goal);
            (overspent / horizon).max(-CHEAPER_MAX)
        };
        exponent.exp()
    }

    /// The sizes whose requests take no longer than any may, by all that is known.
    fn sizes<'a>(&self, seen: &'a Observed) -> impl DoubleEndedIterator<Item = Bytes> + use<'a> {
        let limit = self.goal.max.as_secs_f64();
        SIZES.into_iter().filter(move |&size| seen.service.high(size) <= limit)
    }

    /// Nobody has come for longer than ever, or at all: the largest size that is short beside that time.
    fn quiet(&self, idle_for: f64, seen: &Observed) -> Option<Bytes> {
        let is_quiet = seen.workload.requests == 0 || idle_for > QUIET_FACTOR * seen.workload.idle.moments().max;
        self.sizes(seen).rfind(|&size| is_quiet && seen.service.high(size) <= idle_for * QUIET_SHARE)
    }

    /// This disk cannot keep the max goal at any size. The smallest must be tried now and then, or it would never be known
    /// that the disk has become faster again.
    fn last_resort(&self, view: &DiskView, seen: &Observed) -> Turn {
        let wait = seen.service.high(SIZE_MIN).min(self.goal.max.as_secs_f64()) / LAST_RESORT_SHARE;
        let wait = Nanos::from_secs_f64(wait);
        Turn { not_before: view.ready_after(wait).max(view.own_finished.saturating_add(wait)), size: SIZE_MIN }
    }

    /// What the plan says now.
    fn planned(&self, view: &DiskView, idle_for: f64, seen: &Observed) -> Turn {
        let dear = self.dear(seen);
        let now = if view.outstanding == 0 { self.schedule.at(idle_for, dear) } else { None };
        let Some((request, duty)) = now else {
            let next = self.schedule.next(idle_for, dear).unwrap_or(idle_for + LOOK_AGAIN);
            // A nanosecond more: at that moment the age must be in the cell.
            let wait = Nanos::from_secs_f64(next).saturating_add(Nanos(1));
            return Turn { not_before: view.ready_after(wait), size: SIZE_MIN };
        };
        let pause = Nanos::from_secs_f64(view.own_service.as_secs_f64() * (1.0 / duty - 1.0));
        Turn { not_before: view.own_finished.saturating_add(pause), size: request.size }
    }

    /// Makes a new plan of what has been seen.
    fn solve(&mut self, seen: &Observed) {
        let request = |size| Request { size, service: seen.service.mean(size).max(1e-6) };
        let requests: Vec<Request> = self.sizes(seen).map(request).collect();
        let target = AIM * self.goal.mean.as_secs_f64() * (seen.workload.requests_recent + REQUESTS_IMAGINED);
        self.schedule = Schedule::new(Ages::new(&seen.workload.idle), requests, target, self.followers(seen));
        let cautious = seen.workload.requests < REQUESTS_MIN;
        self.setting = Setting { in_idle_only: true, cautious, ..self.setting };
        if let Some((wait, request, duty)) = self.schedule.summary() {
            self.setting = Setting { wait: Nanos::from_secs_f64(wait), size: request.size, duty, ..self.setting };
        }
    }

    /// How many times the delay of the one who ends an interval all lose together.
    fn followers(&self, seen: &Observed) -> f64 {
        let prior = FOLLOWERS_COLLISIONS * seen.service.mean(self.setting.size) / 2.0;
        let lost = seen.slowdown.lost().as_secs_f64() + FOLLOWERS * prior;
        (lost / (self.predicted + prior)).clamp(0.5, 100.0)
    }
}

impl IdlePolicy for Budget {
    fn name(&self) -> &'static str {
        "budget"
    }

    fn turn(&self, view: &DiskView, seen: &Observed) -> Turn {
        let Some(largest) = self.sizes(seen).next_back() else { return self.last_resort(view, seen) };
        let idle_for = if view.outstanding == 0 { view.now.since(view.idle_since).as_secs_f64() } else { 0.0 };
        let planned = self.planned(view, idle_for, seen);
        if let Some(size) =
            self.quiet(idle_for, seen).filter(|&size| planned.not_before > view.now || size > planned.size)
        {
            return Turn { not_before: view.now, size };
        }
        // What was chosen may have become too long since.
        let size = planned.size.min(largest);
        // Now and then the next size up, if it is not known: by a cautious guess it never looks worth it.
        let is_trial = seen.service.completions().is_multiple_of(TRIAL_EVERY);
        let trial = seen.service.unknown_above(size).filter(|_| is_trial);
        let limit = self.goal.max.as_secs_f64();
        Turn { size: trial.filter(|&size| seen.service.mean(size) <= limit).unwrap_or(size), ..planned }
    }

    fn learn(&mut self, seen: &Observed) {
        if seen.workload.intervals > self.intervals {
            self.intervals = seen.workload.intervals;
            let age = seen.workload.idle_last.as_secs_f64();
            if let Some((request, duty)) = self.schedule.at(age, self.dear(seen)) {
                self.predicted += duty * request.service / 2.0;
            }
        }
        let grown = |now: u64, then: u64, step_max: u64| now >= then + (then / 8).clamp(1, step_max);
        let completions = seen.service.completions();
        if grown(self.intervals, self.solved_at.0, INTERVALS_STEP) || grown(completions, self.solved_at.1, u64::MAX) {
            self.solved_at = (self.intervals, completions);
            self.solve(seen);
        }
    }

    fn setting(&self) -> Setting {
        self.setting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workload of idle intervals with `burst` requests between two of them, and the authors' drive.
    fn seen(intervals: impl IntoIterator<Item = f64>, burst: u32) -> Observed {
        let mut seen = Observed::default();
        for length in intervals {
            seen.workload.add_requests(burst);
            seen.workload.add_idle(Nanos::from_secs_f64(length));
        }
        for size in SIZES {
            let service = 3.7e-3 + 11.07e-3 * size.as_mib_f64();
            (0..50).for_each(|_| seen.service.add(size, Nanos::from_secs_f64(service), Nanos::ZERO));
        }
        seen
    }

    fn solved(goal_ms: u64, seen: &Observed) -> Setting {
        let mut budget = Budget::new(Goal { mean: Nanos::from_millis(goal_ms), ..Goal::default() });
        budget.learn(seen);
        budget.setting()
    }

    #[test]
    fn nothing_seen_is_cautious() {
        let setting = solved(1, &Observed::default());
        assert!(setting.cautious);
    }

    #[test]
    fn rare_long_intervals_allow_the_largest_size_without_a_pace() {
        // 100 requests between two intervals of a second: a collision of 48/2 ms costs 0.24 ms a request.
        let setting = solved(1, &seen((0..50).flat_map(|_| [0.0002, 0.0002, 1.0]), 33));
        assert_eq!((setting.size, setting.duty), (Bytes::mib(4), 1.0));
        assert!(setting.wait < Nanos::from_millis(10), "{:?}", setting.wait);
    }

    #[test]
    fn memoryless_intervals_are_used_for_a_share_only() {
        // Quantiles of an exponential distribution with a mean of 50 ms: age says nothing, so any ages will do, and small
        // requests cost least.
        let setting = solved(1, &seen((1..1000).map(|i| -0.05 * (i as f64 / 1000.0).ln()), 1));
        let service = 3.7e-3 + 11.07e-3 * setting.size.as_mib_f64();
        let reached = (-setting.wait.as_secs_f64() / 0.05).exp();
        let cost = reached * setting.duty * service / 2.0;
        assert!((0.5e-3..1e-3).contains(&cost), "inside the goal, and not for nothing: {cost} {setting:?}");
        assert!(setting.size <= Bytes::kib(512), "{setting:?}");
    }

    #[test]
    fn long_tails_are_waited_for() {
        // Pareto with exponent 0.9 from 1 ms on: the older an interval, the longer it will still last.
        let setting = solved(1, &seen((1..5000).map(|i| 0.001 * (i as f64 / 5000.0).powf(-1.0 / 0.9)), 1));
        assert!(setting.wait > Nanos::from_millis(10), "{setting:?}");
        assert_eq!(setting.duty, 1.0, "waiting picks out the long ones, so no pace is needed");
        assert!(setting.size >= Bytes::mib(1), "{setting:?}");
    }

    /// Idle intervals without memory, in a mixed order. Each collision costs all of them together twice what it costs the
    /// one who is hit.
    #[test]
    fn what_those_behind_lose_is_learned_and_planned_for() {
        const INTERVALS: u64 = 10_000;
        let length = |interval: u64| -0.05 * (((interval * 6181 % INTERVALS) as f64 + 0.5) / INTERVALS as f64).ln();
        let lost = |(request, duty): (Request, f64)| 2.0 * duty * request.service / 2.0;
        let mut seen = seen([], 0);
        let mut budget = Budget::new(Goal::default());
        for interval in 0..INTERVALS {
            seen.workload.add_requests(1);
            seen.workload.add_idle(Nanos::from_secs_f64(length(interval)));
            let delay = budget.schedule.at(length(interval), budget.dear(&seen)).map_or(0.0, lost);
            budget.learn(&seen);
            seen.slowdown.add(Nanos::from_secs_f64(delay));
        }
        assert!((1.95..2.05).contains(&budget.followers(&seen)), "{}", budget.followers(&seen));
        let chosen = |interval| budget.schedule.at(length(interval), 1.0);
        let mean = (0..INTERVALS).filter_map(chosen).map(lost).sum::<f64>() / INTERVALS as f64;
        assert!((0.9e-3..1e-3).contains(&mean), "inside the goal, and not for nothing: {mean} s a request");
    }

    #[test]
    fn what_is_sent_for_a_share_of_the_time_is_expected_to_be_met_that_often() {
        let mut seen = seen((1..1000).map(|i| -0.05 * (i as f64 / 1000.0).ln()), 1);
        let mut budget = Budget::new(Goal::default());
        budget.learn(&seen);
        let at = |millis: u64| budget.schedule.at(millis as f64 / 1e3, 1.0).map(|planned| (millis, planned));
        let paced = (0..1000).filter_map(at).find(|&(_, (_, duty))| duty < 0.9).expect("an age that is just worth it");
        let (millis, (request, duty)) = paced;
        let before = budget.predicted;
        seen.workload.add_requests(1);
        seen.workload.add_idle(Nanos::from_millis(millis));
        // So much was lost as was to be: delays are as dear as planned.
        seen.slowdown.total =
            Nanos::from_secs_f64(AIM * budget.goal.mean.as_secs_f64() * seen.workload.requests as f64);
        budget.learn(&seen);
        let expected = duty * request.service / 2.0;
        assert!((budget.predicted - before - expected).abs() < 1e-9, "{} {expected} {duty}", budget.predicted - before);
    }

    #[test]
    fn the_max_goal_bounds_the_size() {
        let seen = seen((0..50).map(|_| 1.0), 100);
        let mut budget = Budget::new(Goal { mean: Nanos::from_millis(1), max: Nanos::from_millis(20) });
        budget.learn(&seen);
        assert_eq!(budget.setting().size, Bytes::mib(1), "14.8 ms; 2 MiB would take 25.8 ms");
    }

    #[test]
    fn a_disk_that_becomes_slow_is_asked_for_less_at_once() {
        let mut seen = seen((0..50).flat_map(|_| [0.0002, 0.0002, 1.0]), 33);
        let mut budget = Budget::new(Goal::default());
        budget.learn(&seen);
        let view = DiskView {
            now: Nanos::from_secs(100),
            outstanding: 0,
            idle_since: Nanos::from_secs(99),
            own_finished: Nanos::from_secs(99),
            own_service: Nanos::from_millis(10),
            own_size: None,
        };
        let before = budget.turn(&view, &seen).size;
        assert!(before >= Bytes::mib(1));
        (0..8).for_each(|_| seen.service.add(before, Nanos::from_millis(300), Nanos::ZERO));
        let after = budget.turn(&view, &seen).size;
        assert!(after < before && seen.service.high(after) <= 0.05, "{before} {after}");
        for size in SIZES {
            (0..200).for_each(|_| seen.service.add(size, Nanos::from_millis(400), Nanos::ZERO));
        }
        budget.learn(&seen);
        let turn = budget.turn(&view, &seen);
        assert!(turn.not_before > view.now, "no size is within the max goal: the smallest, seldom: {turn:?}");
    }

    #[test]
    fn an_overspent_ledger_needs_long_idleness() {
        let mut seen = seen((0..50).flat_map(|_| [0.0002, 1.0]), 50);
        let mut budget = Budget::new(Goal::default());
        budget.learn(&seen);
        let view = |idle_ms| DiskView {
            now: Nanos::from_secs(100),
            outstanding: 0,
            idle_since: Nanos::from_secs(100) - Nanos::from_millis(idle_ms),
            own_finished: Nanos::from_secs(99),
            own_service: Nanos::from_millis(10),
            own_size: None,
        };
        assert!(budget.turn(&view(500), &seen).not_before <= Nanos::from_secs(100));
        seen.slowdown.add(Nanos::from_secs(20));
        assert!(budget.turn(&view(500), &seen).not_before > Nanos::from_secs(100), "5 s were allowed");
        assert!(budget.turn(&view(60_000), &seen).not_before <= Nanos::from_secs(100), "never for ever");
    }
}
