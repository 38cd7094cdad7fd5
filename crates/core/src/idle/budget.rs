//! Budget: chooses the wait, the request size and the pace from the live histogram of idle intervals, so that the
//! foreground is slowed down by no more than a stated mean and maximum.
//!
//! With N(t) idle intervals longer than t among M foreground requests, and a request of b bytes taking s(b), firing
//! back to back after a wait of t costs the foreground `N(t)/M * s(b)/2` a request (each such interval ends in one
//! collision, which on average meets the middle of our request), and reads `b/s(b) * U(t)` bytes, where U(t) is the
//! sum of what those intervals have beyond t. Both follow from the survival function of idle intervals alone, so one
//! histogram tunes everything (the method of Mi et al., TOS 5(2), on the two knobs of Amvrosiadis et al., DSN'12, V-C).
//!
//! A third knob serves disks whose idle intervals give nothing away by lasting: sending requests only for a share d of
//! the time costs and reads d times as much. For each (t, b) the greatest d inside the goal is known, and the triple
//! that reads most wins. When idle intervals are memoryless, U/N is the same for every t: waiting buys nothing, and
//! the answer is no wait and an even pace (Mi et al.: wait only if idle times vary).
//!
//! Two fences hold whatever the model says. The *ledger*: once the slowdown measured exceeds the goal for the requests
//! seen so far, only long idleness is used until it is made up, and that at a pace that would keep the goal by itself. The
//! *max goal*: no request is sent of a size that has lately taken longer; where even the smallest has, that one is tried
//! seldom, for how else would it be known that it no longer does?
//!
//! The same care is taken before enough has been seen, and when the disk is idle for longer than ever.

use super::service::{SIZE_MIN, SIZES};
use super::{DiskView, IdlePolicy, Observed, Setting, Turn};
use crate::stats::Survival;
use crate::units::{Bytes, Nanos};

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
const AIM: f64 = 0.9;
/// How careful to be where the histogram is no guide.
#[derive(Clone, Copy, Debug)]
struct Care {
    /// A request lasts at most this share of the time that the disk has already been idle. Long-tailed idleness (hazard
    /// about 1/x at age x) then makes a collision about as unlikely. A guess on the cautious side.
    share: f64,
    /// If every idle interval ended in a collision all the same, it would cost the goal divided by this.
    margin: f64,
}

/// Before enough has been seen, and when the disk is idle for longer than ever.
const CARE: Care = Care { share: 0.02, margin: 1.0 };
/// While the ledger is in the red.
const CARE_RED: Care = Care { share: 0.002, margin: 2.0 };
/// The ledger may be in the red by this many of our requests before it bites: chance, not a trend.
const LEDGER_SLACK: f64 = 3.0;
/// Enough has been seen: so many requests, and so many usable intervals or many more requests.
const REQUESTS_MIN: f64 = 32.0;
const REQUESTS_PLENTY: f64 = 1000.0;
const INTERVALS_MIN: f64 = 4.0;
/// What counts as usable there, in seconds: one request of a hard disk.
const INTERVAL_USABLE: f64 = 0.010;
/// Idle intervals with a coefficient of variation up to this are taken for memoryless (exactly 1 if exponential).
const VARIATION_MEMORYLESS: f64 = 1.25;
/// A choice that reads this share of what the best one reads is as good, and may be far gentler. A guess.
const NEAR_BEST: f64 = 0.96;
/// One request in so many may be of a size not tried of late.
const TRIAL_EVERY: u64 = 32;
/// The measured slowdown is compared with the predicted one as if this many collisions had gone as predicted.
const PREDICTION_PRIOR: f64 = 10.0;

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Budget {
    goal: Goal,
    setting: Setting,
    intervals_seen: u64,
    solved_at: (u64, u64),
    predicted: f64,
}

impl Budget {
    /// Starts cautious.
    pub fn new(goal: Goal) -> Budget {
        let setting = Setting { in_idle_only: true, cautious: true, ..Setting::back_to_back(SIZE_MIN) };
        Budget { goal, setting, intervals_seen: 0, solved_at: (0, 0), predicted: 0.0 }
    }

    /// Has the foreground lost more than it was to lose?
    fn is_overspent(&self, seen: &Observed) -> bool {
        let slack = LEDGER_SLACK * seen.service.mean(self.setting.size);
        seen.slowdown.lost().as_secs_f64() > self.goal.mean.as_secs_f64() * seen.workload.requests as f64 + slack
    }

    /// The greatest size whose requests take at most `limit` seconds, and never more than the max goal.
    fn size_within(&self, limit: f64, seen: &Observed) -> Option<Bytes> {
        self.sizes_within(limit, seen).last()
    }

    fn sizes_within<'a>(&self, limit: f64, seen: &'a Observed) -> impl DoubleEndedIterator<Item = Bytes> + use<'a> {
        let limit = limit.min(self.goal.max.as_secs_f64());
        SIZES.into_iter().filter(move |&size| seen.service.high(size) <= limit)
    }

    /// A turn that rests on nothing but how long the disk has been idle.
    fn careful_turn(&self, care: Care, view: &DiskView, seen: &Observed) -> Turn {
        let idle_for = if view.outstanding == 0 { view.now.since(view.idle_since).as_secs_f64() } else { 0.0 };
        // Nobody has come for longer than ever, or at all: no need to expect that each interval ends in a collision.
        let is_quiet = seen.workload.requests == 0 || idle_for > 2.0 * seen.workload.idle.moments().max;
        let duty = |service: f64| {
            if is_quiet { 1.0 } else { (2.0 * self.goal.mean.as_secs_f64() / (care.margin * service)).min(1.0) }
        };
        let rate = |size: Bytes| {
            let service = seen.service.mean(size).max(1e-6);
            size.0 as f64 / service * duty(service)
        };
        let best = self.sizes_within(idle_for * care.share, seen).max_by(|one, two| rate(*one).total_cmp(&rate(*two)));
        if let Some(size) = best {
            let service = seen.service.mean(size).max(1e-6);
            let pause = Nanos::from_secs_f64(service * (1.0 / duty(service) - 1.0));
            return Turn { not_before: view.own_finished.saturating_add(pause), size };
        }
        // No longer than for a request that takes as long as any may: the smallest must be tried now and then, or it
        // would never be known that the disk has become faster again.
        let wait = Nanos::from_secs_f64(seen.service.high(SIZE_MIN).min(self.goal.max.as_secs_f64()) / care.share);
        let ready = view.ready_after(wait);
        if ready > view.now {
            return Turn { not_before: ready, size: SIZE_MIN };
        }
        // Idle for long, and still no size is within the max goal: this disk cannot keep it. The smallest, seldom.
        Turn { not_before: view.own_finished.saturating_add(wait).max(view.now), size: SIZE_MIN }
    }

    /// The wait, size and pace that read most inside the goal, from what has been seen; `None` before there is enough.
    fn solve(&self, seen: &Observed) -> Option<Setting> {
        let requests = seen.workload.requests_recent;
        let survival = seen.workload.idle.survival();
        let usable = survival.iter().find(|point| point.threshold >= INTERVAL_USABLE).map_or(0.0, |point| point.longer);
        if requests < REQUESTS_MIN || (usable < INTERVALS_MIN && requests < REQUESTS_PLENTY) {
            return None;
        }
        let memoryless = seen.workload.idle.moments().variation() <= VARIATION_MEMORYLESS;
        let thresholds = if memoryless { &survival[..1] } else { &survival[..] };
        let goal = AIM * self.goal.mean.as_secs_f64() / self.correction(seen);
        let mut candidates = Vec::new();
        for size in self.sizes_within(f64::INFINITY, seen) {
            let service = seen.service.mean(size).max(1e-6);
            for &Survival { threshold, longer, residual } in thresholds {
                // One interval more than were seen: few intervals make a cautious guess.
                let full_cost = (longer + 1.0) / requests * service / 2.0;
                let duty = (goal / full_cost).min(1.0);
                let rate = size.0 as f64 / service * residual * duty;
                let wait = Nanos::from_secs_f64(threshold);
                let setting = Setting { wait, duty, in_idle_only: true, ..Setting::back_to_back(size) };
                candidates.push((rate, full_cost * duty, setting));
            }
        }
        // Among those that read almost as much as the best, the one that costs the foreground least.
        let best = candidates.iter().map(|(rate, ..)| *rate).fold(0.0, f64::max);
        let near = candidates.into_iter().filter(|(rate, ..)| *rate > 0.0 && *rate >= best * NEAR_BEST);
        near.min_by(|one, two| one.1.total_cmp(&two.1)).map(|(_, _, setting)| setting)
    }

    /// How many times more slowdown is measured than the model predicts.
    fn correction(&self, seen: &Observed) -> f64 {
        let prior = PREDICTION_PRIOR * seen.service.mean(self.setting.size) / 2.0;
        ((seen.slowdown.lost().as_secs_f64() + prior) / (self.predicted + prior)).clamp(0.5, 4.0)
    }
}

impl IdlePolicy for Budget {
    fn name(&self) -> &'static str {
        "budget"
    }

    fn turn(&self, view: &DiskView, seen: &Observed) -> Turn {
        if self.is_overspent(seen) {
            return self.careful_turn(CARE_RED, view, seen);
        }
        if self.setting.cautious {
            return self.careful_turn(CARE, view, seen);
        }
        let Setting { wait, size, duty, .. } = self.setting;
        // What was chosen may have become too long since.
        let Some(size) = self.size_within(f64::INFINITY, seen).map(|largest| largest.min(size)) else {
            return self.careful_turn(CARE_RED, view, seen);
        };
        // Now and then the next size up, if it is not known: by the cautious guess it never looks worth it.
        let is_trial = seen.service.completions().is_multiple_of(TRIAL_EVERY);
        let trial = seen.service.unknown_above(size).filter(|_| is_trial);
        let size =
            trial.filter(|&size| self.sizes_within(f64::INFINITY, seen).any(|known| known == size)).unwrap_or(size);
        let pause = Nanos::from_secs_f64(view.own_service.as_secs_f64() * (1.0 / duty - 1.0));
        let paced = view.ready_after(wait).max(view.own_finished.saturating_add(pause));
        let idle_for = view.now.since(view.idle_since).as_secs_f64();
        if view.outstanding == 0 && idle_for > 2.0 * seen.workload.idle.moments().max {
            // Idle for longer than ever: the histogram says nothing of this; its length does.
            let careful = self.careful_turn(CARE, view, seen);
            let sooner = careful.not_before < paced.max(view.now);
            let larger = careful.not_before <= view.now && careful.size > size;
            if sooner || larger {
                return careful;
            }
        }
        Turn { not_before: paced, size }
    }

    fn learn(&mut self, seen: &Observed) {
        let intervals = seen.workload.intervals;
        if intervals > self.intervals_seen {
            self.intervals_seen = intervals;
            if !self.setting.cautious && seen.workload.idle_last > self.setting.wait {
                self.predicted += self.setting.duty * seen.service.mean(self.setting.size) / 2.0;
            }
        }
        // Solved anew whenever what it rests on has grown by an eighth.
        let grown = |now: u64, then: u64| now >= then + (then / 8).clamp(1, 1000);
        let completions = seen.service.completions();
        if grown(intervals, self.solved_at.0) || grown(completions, self.solved_at.1) {
            self.solved_at = (intervals, completions);
            match self.solve(seen) {
                Some(setting) => self.setting = setting,
                None => self.setting.cautious = true,
            }
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
    fn memoryless_intervals_are_paced_evenly_without_a_wait() {
        // Quantiles of an exponential distribution with a mean of 50 ms.
        let setting = solved(1, &seen((1..1000).map(|i| -0.05 * (i as f64 / 1000.0).ln()), 1));
        assert!(setting.wait < Nanos::from_millis(1), "{setting:?}");
        assert!(setting.duty < 0.6, "{setting:?}");
        let cost = setting.duty * (3.7e-3 + 11.07e-3 * setting.size.as_mib_f64()) / 2.0;
        assert!(cost < 1e-3, "inside the goal: {cost}");
    }

    #[test]
    fn long_tails_are_waited_for() {
        // Pareto with exponent 0.9 from 1 ms on: the older an interval, the longer it will still last.
        let setting = solved(1, &seen((1..5000).map(|i| 0.001 * (i as f64 / 5000.0).powf(-1.0 / 0.9)), 1));
        assert!(setting.wait > Nanos::from_millis(20), "{setting:?}");
        assert_eq!(setting.duty, 1.0, "waiting picks out the long ones, so no pace is needed");
        assert!(setting.size >= Bytes::mib(1), "{setting:?}");
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
        seen.slowdown.add(Nanos::from_secs(6));
        assert!(budget.turn(&view(500), &seen).not_before > Nanos::from_secs(100), "5 s were allowed");
        assert!(budget.turn(&view(60_000), &seen).not_before <= Nanos::from_secs(100), "never for ever");
    }
}
