//! The last resort: where no size is within the max goal, or slow requests of late make all too dear, one of the smallest is sent
//! now and then, because otherwise nothing would show that the disk has become faster.
//!
//! While a machine that compiles keeps a disk busy, such a request may take half a second, and a minute later 5 ms. Arrivals that meet
//! it lose more than the max goal. So the time between two of them grows with the likely number of arrivals that one
//! meets at that age; and once more foreground requests than planned have lost more than the max goal, no more than planned are likely to
//! from then on. (A long idle time is not waited for: a disk on which a file system writes every five seconds has none.) None is sent in
//! debt, except in quiet time.

use super::moment::{Moment, Offer};
use super::{BROKEN_SHARE, Budget, GoalForm, LOOK_AGAIN, TRIAL_RISK, overrun};
use crate::scrub::idle::service::{Overrun, SIZE_MIN};
use crate::scrub::idle::{AccessPattern, Decision, DecisionHorizon, Observed, WaitReason};
use crate::units::Nanos;

/// Where an arrival is unlikely, the next request is sent after this multiple of the service time of the last ...
const APART: f64 = 500.0;
/// ... and after no more than this time, in seconds.
const APART_MAX: f64 = 25.0;
/// So many foreground requests, besides those planned, may lose more than the max goal before these requests become rarer.
const BROKEN_MIN: f64 = 1.0;
/// A plan that sends only at ages that a smaller share of the idle intervals reach is as good as none.
const PLAN_REACH: f64 = 0.01;
/// An idle interval is looked at again after the time that it has lasted so far, and no sooner than after this.
const LOOK_AGAIN_MIN: Nanos = Nanos::from_millis(10);

/// Where no size is within the max goal, or where, while [`Budget::is_slow`], the plan sends nothing at all or cannot pay for it.
pub(super) fn offer(budget: &Budget, at: &Moment, best: Option<&Offer>) -> Option<Offer> {
    let waits_for = match best.filter(|_| at.largest.is_some()) {
        None => WaitReason::TooSlow,
        Some(best)
            if at.view.outstanding > 0 || at.is_due(best.decision) || !budget.is_slow(at.view.access, at.seen) =>
        {
            return None;
        }
        Some(best) if best.waits_for == WaitReason::Budget || budget.is_seldom_planned() => best.waits_for,
        Some(_) => return None,
    };
    Some(Offer { decision: budget.last_resort(at), waits_for })
}

/// Each request may show that the disk has become faster.
pub(super) fn lasts(budget: &Budget, at: &Moment, _: Decision, so_far: DecisionHorizon) -> DecisionHorizon {
    let is_slow = at.largest.is_none() || budget.is_slow(at.view.access, at.seen);
    if is_slow { DecisionHorizon { requests: 1, ..so_far } } else { so_far }
}

impl Budget {
    /// Is any size within the max goal, for the first request of an idle interval? (For one that follows another it may be a guess.)
    pub(super) fn is_any_size(&self, seen: &Observed) -> bool {
        self.sizes(AccessPattern::Random, seen).next().is_some()
    }

    /// Have requests even of the smallest size taken longer than the max goal of late? Not where arrivals pass a request: faster ones
    /// show nothing of the next delay.
    pub(super) fn is_slow(&self, access: AccessPattern, seen: &Observed) -> bool {
        seen.service.is_slow(access, self.goal.max.as_secs_f64()) && {
            let service = seen.service.of(SIZE_MIN, access);
            service.full_hold_time(service.mean) <= 0.0
        }
    }

    /// Does the plan send nothing, or only at ages that hardly any idle interval reaches?
    pub(super) fn is_seldom_planned(&self) -> bool {
        let reach = |age| self.schedule.ages().reach(age);
        self.schedule.sends_from().is_none_or(|age| reach(age) < PLAN_REACH * reach(0.0))
    }

    /// When one is sent, and what.
    fn last_resort(&self, Moment { view, seen, .. }: &Moment) -> Decision {
        let size = SIZE_MIN;
        if view.outstanding > 0 {
            return Decision { not_before: view.ready_after(LOOK_AGAIN), size };
        }
        let idle_for = view.now.since(view.idle_since);
        let age = idle_for.as_secs_f64();
        let known = seen.service.high(size, view.access);
        let own = if view.own_service > Nanos::ZERO { view.own_service.as_secs_f64() } else { known };
        let apart = (APART * own).min(APART_MAX);
        let last = view.own_finished.max(self.began.unwrap_or(Nanos::ZERO));
        let after = |seconds: f64| last.saturating_add(Nanos::from_secs_f64(seconds));
        let quiet = Nanos::from_secs_f64(self.quiet_from(view.now, seen));
        let quiet = view.idle_since.saturating_add(quiet).max(after(apart));

        let rare = self.seconds_to_make_up(view.now, seen);
        let max = self.goal.max.as_secs_f64();
        // By the last one, so that it is soon known for certain that the disk has become faster.
        let (service, share) = if rare.is_some() && own <= max {
            let Overrun { window, share } = overrun(size, view.access, max, seen);
            (window, share)
        } else {
            (own, 1.0)
        };
        // The likely number of arrivals that it delays: those queued behind the first are delayed by about as much.
        let queue_factor = seen.workload.followers.queue_factor(age, service);
        let risk = share * self.schedule.ending(age, service) * queue_factor;
        let cost = self.cost(size, view.access, age, seen);
        // One request's cost above the mean is within the strict form. But while requests come without a pause, as many may wait for this
        // one as have come.
        let going_on = |service| seen.workload.followers.going_on(age, service);
        let price = match self.goal.form {
            GoalForm::Strict => self.cost_of(size, view.access, going_on, seen),
            GoalForm::Average => cost,
        };
        let is_paid = self.account.allows(view.now, price) && self.keeps_p99(size, view.access, age, seen);
        let due = after((apart * (risk / TRIAL_RISK).max(1.0)).max(risk * rare.unwrap_or(0.0)));
        if is_paid && due <= view.now || quiet <= view.now {
            return Decision { not_before: view.now, size };
        }
        let again = view.now.saturating_add(idle_for.clamp(LOOK_AGAIN_MIN, LOOK_AGAIN));
        Decision { not_before: quiet.min(again.max(after(apart))), size }
    }

    /// The time, in seconds, in which as many foreground requests come as allow one of them to lose more than the max goal; `None` unless
    /// more than planned have.
    fn seconds_to_make_up(&self, now: Nanos, seen: &Observed) -> Option<f64> {
        let planned = BROKEN_SHARE * seen.workload.requests.max(1) as f64;
        let broken = seen.slowdown.collisions_longer_than(self.goal.max) as f64;
        let elapsed = now.since(self.began.unwrap_or(Nanos::ZERO)).as_secs_f64();
        (broken >= BROKEN_MIN + planned).then_some(elapsed / planned)
    }
}
