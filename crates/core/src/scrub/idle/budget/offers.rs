//! The offers: what may send the next request, when, and why it waits until then.
//!
//! [`OFFERS`] is the list: the plan, a trial of another size, the last resort of a slow disk, quiet time, and the first tries of a disk of
//! which nothing is known. [`Budget`] decides, says what it waits for, and says how long a decision lasts by asking each in turn. Another
//! exception to the plan is one more row.

use super::moment::{Moment, Offer, OfferSource};
use super::schedule::AgeAction;
use super::{Budget, LOOK_AGAIN, TRIAL_RISK, last_resort, quiet};
use crate::scrub::idle::followers::BURST_GAP;
use crate::scrub::idle::service::{SIZE_MIN, SIZES};
use crate::scrub::idle::{AccessPattern, Decision, DecisionHorizon, DiskView, Observed, WaitReason};
use crate::units::{Bytes, Nanos};
use std::cmp::Ordering;

/// The number of first scrub requests that may be sent without a plan: nothing can be planned before a service time is
/// known. They are of the smallest size, and the account must be able to pay for them.
const TRIES: u64 = 8;
/// Such a first request is sent when its hold is at most this share of the time the disk has been idle.
const TRIES_SHARE: f64 = 0.1;
/// One scrub request in this many may be a trial of a size not tried recently.
const TRIAL_EVERY: u64 = 32;
/// One scrub request in this many may be such a trial where requests delay arrivals for less than their service time:
/// there a larger one costs little more, and few are sent.
const TRIAL_EVERY_HELD: u64 = 4;

/// All offers. The soonest is taken; of two that may be sent at the same time the larger, or the first.
const OFFERS: [OfferSource; 5] = [
    OfferSource { offer: plan, lasts: plan_lasts },
    OfferSource { offer: trial, lasts: trial_lasts },
    OfferSource { offer: last_resort::offer, lasts: last_resort::lasts },
    OfferSource { offer: quiet::offer, lasts: quiet::lasts },
    OfferSource { offer: first_tries, lasts: |_, _, _, so_far| so_far },
];

impl Budget {
    /// The best of all offers.
    pub(super) fn best_offer(&self, view: &DiskView, seen: &Observed) -> Offer {
        let at = &Moment::new(self, view, seen);
        let start = |offer: &Offer| offer.decision.not_before.max(view.now);
        let mut best: Option<Offer> = None;
        for source in &OFFERS {
            let Some(other) = (source.offer)(self, at, best.as_ref()) else { continue };
            let is_better = |best: &Offer| match start(&other).cmp(&start(best)) {
                Ordering::Less => true,
                Ordering::Equal => other.decision.size > best.decision.size,
                Ordering::Greater => false,
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some(other);
            }
        }
        best.expect("where nothing may be planned the last resort says when to look again")
    }

    /// How long a decision lasts if no foreground request arrives.
    pub(super) fn shortest_horizon(&self, view: &DiskView, seen: &Observed, decision: Decision) -> DecisionHorizon {
        let at = &Moment::new(self, view, seen);
        let forever = DecisionHorizon { until: Nanos::MAX, requests: u64::MAX };
        OFFERS.iter().fold(forever, |so_far, source| (source.lasts)(self, at, decision, so_far))
    }

    /// What the plan does at this age, corrected by the clock if a period is believed.
    fn act(&self, Moment { view, seen, idle_for, .. }: &Moment) -> AgeAction {
        // While a foreground request is outstanding the plan is enough: the policy is asked again at its completion.
        match self.phases.clock(view.now, *idle_for).filter(|_| view.outstanding == 0) {
            Some(clock) => self.schedule.at_clock(*idle_for, seen.workload.intervals, view.access, clock),
            None => self.schedule.at(*idle_for, seen.workload.intervals, view.access),
        }
    }

    /// The largest size up to `size` that may be sent and that the account can pay for.
    pub(super) fn affordable(&self, size: Bytes, Moment { view, seen, idle_for, .. }: &Moment) -> Option<Bytes> {
        let smaller = SIZES.into_iter().rev().filter(|&candidate| candidate <= size);
        smaller.into_iter().find(|&candidate| {
            let cost = self.cost(candidate, view.access, *idle_for, seen);
            self.account.allows(view.now, cost) && self.keeps_p99(candidate, view.access, *idle_for, seen)
        })
    }
}

/// What the plan sends, as far as the account can pay for it.
fn plan(budget: &Budget, at: &Moment, _: Option<&Offer>) -> Option<Offer> {
    let (largest, view) = (at.largest?, at.view);
    let AgeAction { size: planned, until } = budget.act(at);
    let not_before = match planned {
        Some(_) => view.ready_after(Nanos::ZERO).max(view.own_finished),
        None => {
            // One nanosecond later, so that the age then lies in the next part.
            let until = until.min(at.idle_for + LOOK_AGAIN.as_secs_f64());
            view.ready_after(Nanos::from_secs_f64(until).saturating_add(Nanos(1)))
        }
    };
    // The size that was planned may have become too slow since.
    let is_allowed =
        |&size: &Bytes| size <= planned.unwrap_or(SIZE_MIN) && budget.allows_size(size, view.access, at.seen);
    let size = SIZES.into_iter().rfind(is_allowed).unwrap_or(largest);
    Some(match budget.affordable(size, at) {
        Some(size) => {
            // During the cautious start the planned wait means nothing, so the reason is idleness without a length.
            let wait = Some(budget.setting.wait).filter(|wait| !budget.setting.cautious && *wait > Nanos::ZERO);
            Offer { decision: Decision { not_before, size }, waits_for: WaitReason::Idleness(wait) }
        }
        None => {
            let not_before = not_before.max(view.now.saturating_add(LOOK_AGAIN));
            Offer { decision: Decision { not_before, size }, waits_for: WaitReason::Budget }
        }
    })
}

/// The decision lasts for as long as the plan does the same at each age, until it is made anew, or until something is learnt.
fn plan_lasts(budget: &Budget, at: &Moment, decision: Decision, so_far: DecisionHorizon) -> DecisionHorizon {
    let Moment { view, seen, idle_for, .. } = at;
    if at.largest.is_none() {
        return so_far;
    }
    let intervals = seen.workload.intervals;
    let until = match budget.phases.clock(view.now, *idle_for) {
        None => budget.schedule.at(*idle_for, intervals, view.access).until,
        Some(clock) => budget.schedule.until_clock(*idle_for, intervals, view.access, decision.size, clock),
    };
    // What may be paid for changes when a burst is over.
    let until = if *idle_for < BURST_GAP { until.min(BURST_GAP) } else { until };
    let until = view.idle_since.saturating_add(Nanos::from_secs_f64(until));
    let is_learning = budget.account.is_fading()
        || !seen.service.is_known(decision.size, AccessPattern::Sequential)
        || view.access == AccessPattern::Random;
    let solved = budget.completions_due().saturating_sub(seen.service.completions());
    let requests = if is_learning { 1 } else { solved.max(1) };
    DecisionHorizon { until: so_far.until.min(until), requests: so_far.requests.min(requests) }
}

/// Now and then the next larger size: if it is unknown, because by its cautious estimate it would never be worth its price;
/// or if it recently exceeded the max goal, because that may have passed, but only where an arrival is very unlikely.
fn trial(budget: &Budget, at: &Moment, best: Option<&Offer>) -> Option<Offer> {
    let Moment { view, seen, idle_for, .. } = at;
    let best = best.filter(|best| at.is_due(best.decision))?;
    if !seen.service.completions().is_multiple_of(trial_every(seen)) {
        return None;
    }
    let max = budget.goal.max.as_secs_f64();
    let larger = seen.service.unknown_larger(best.decision.size, view.access, max)?;
    let service = seen.service.of(larger, view.access);
    let is_safe =
        !seen.service.is_known(larger, view.access) || budget.schedule.ending(*idle_for, service.high) <= TRIAL_RISK;
    let is_allowed = service.held(service.mean) <= max && is_safe;
    let size = is_allowed.then(|| budget.affordable(larger, at)).flatten()?;
    Some(Offer { decision: Decision { size, ..best.decision }, ..*best })
}

/// Until the next trial is due.
fn trial_lasts(budget: &Budget, at: &Moment, decision: Decision, so_far: DecisionHorizon) -> DecisionHorizon {
    let Moment { seen, .. } = at;
    let max = budget.goal.max.as_secs_f64();
    let requests = match seen.service.unknown_larger(decision.size, AccessPattern::Sequential, max) {
        Some(_) => match seen.service.completions() % trial_every(seen) {
            0 => 1,
            since => trial_every(seen) - since,
        },
        None => u64::MAX,
    };
    DecisionHorizon { requests: so_far.requests.min(requests), ..so_far }
}

/// One scrub request in this many may be of a size not tried recently.
fn trial_every(seen: &Observed) -> u64 {
    let service = seen.service.of(SIZE_MIN, AccessPattern::Sequential);
    if service.full_hold_time(service.mean) > 0.0 { TRIAL_EVERY_HELD } else { TRIAL_EVERY }
}

/// The first requests of a disk, which are sent without a plan.
fn first_tries(budget: &Budget, at: &Moment, best: Option<&Offer>) -> Option<Offer> {
    let Moment { view, seen, idle_for, largest } = at;
    if seen.service.completions() >= TRIES || view.outstanding > 0 || largest.is_none() {
        return None;
    }
    let service = seen.service.of(SIZE_MIN, AccessPattern::Random);
    let held = service.held(service.high);
    let age = held / TRIES_SHARE;
    let is_allowed = held <= budget.goal.max.as_secs_f64()
        && budget.account.allows(view.now, budget.cost(SIZE_MIN, AccessPattern::Random, age, seen));
    let not_before = if *idle_for > age { view.now } else { at.after(age) };
    let offer = |best: &Offer| Offer { decision: Decision { not_before, size: SIZE_MIN }, ..*best };
    best.filter(|_| is_allowed).map(offer)
}
