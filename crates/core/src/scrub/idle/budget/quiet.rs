//! Quiet time: the disk has been idle for twice as long as ever before, or the load has stopped. Each such time is twice as long as the one
//! before, so there are few, and what they cost hardly matters; and nothing is known of it, so nothing can be planned.

use super::Budget;
use super::moment::{Moment, Offer};
use crate::scrub::idle::service::{SIZE_MIN, SIZES};
use crate::scrub::idle::{AccessPattern, Decision, DecisionHorizon, DiskView, Observed};
use crate::units::{Bytes, Nanos};

/// In quiet time the service time of a request is at most this share of the time the disk has been idle. With
/// long-tailed idleness (hazard about 1/x at age x) that makes a collision about as unlikely. A guess.
const SHARE: f64 = 0.02;
/// Quiet time begins at this multiple of the longest idle interval seen.
const FACTOR: f64 = 2.0;
/// Quiet time begins no earlier than at this idle time, in seconds.
const MIN: f64 = 60.0;
/// In quiet time nothing for which the account cannot pay is sent before this idle time, in seconds.
const UNPAID: f64 = 3600.0;

impl Budget {
    /// The age at which quiet time begins, in seconds; in debt, an hour at least.
    pub(super) fn quiet_from(&self, now: Nanos, seen: &Observed) -> f64 {
        let longest = FACTOR * seen.workload.idle.moments().max;
        let least = if self.account.allows(now, 0.0) { MIN } else { UNPAID };
        longest.max(least).max(seen.service.high(SIZE_MIN, AccessPattern::Random) / SHARE)
    }

    /// The size to send in quiet time: the largest that is short relative to the idle time, and for which the account can pay if a
    /// burst like the worst one seen comes. (Nothing can be held back for one that nothing announced.) After an hour it must pay
    /// for what usually comes at this age, or nearly, and where it can't the smallest size is sent: otherwise a load that stops
    /// would stop the scrub.
    fn quiet_size(&self, Moment { view, seen, idle_for, .. }: &Moment) -> Option<Bytes> {
        let is_short = |size: &Bytes| seen.service.high(*size, view.access) <= idle_for * SHARE;
        let mut short = self.sizes(view.access, seen).rev().skip_while(|size| !is_short(size));
        let is_unpaid = *idle_for >= UNPAID;
        let followers = &seen.workload.followers;
        let usual = |service| followers.queue_factor(*idle_for, service);
        let most = |service| if is_unpaid { usual(service) } else { usual(service).max(followers.worst(service)) };
        let paid = short.find(|&size| {
            let cost = self.cost_of(size, view.access, most, seen);
            self.account.allows_in_quiet_time(view.now, cost, is_unpaid)
                && self.keeps_p99_after(size, view.access, cost, seen)
        });
        paid.or(is_unpaid.then_some(SIZE_MIN))
    }
}

/// The earliest time at which quiet time may begin.
fn soonest(view: &DiskView) -> Nanos {
    view.idle_since.saturating_add(Nanos::from_secs_f64(MIN))
}

/// What quiet time sends, or when it begins.
pub(super) fn offer(budget: &Budget, at: &Moment, best: Option<&Offer>) -> Option<Offer> {
    let best = best.filter(|_| at.largest.is_some() && at.view.outstanding == 0)?;
    if at.idle_for <= MIN && best.decision.not_before <= soonest(at.view) {
        return None;
    }
    let from = budget.quiet_from(at.view.now, at.seen);
    let decision = if at.idle_for > from {
        Decision { not_before: at.view.now, size: budget.quiet_size(at)? }
    } else {
        Decision { not_before: at.after(from), size: SIZE_MIN }
    };
    Some(Offer { decision, ..*best })
}

/// Until quiet time begins, or its size may change.
pub(super) fn lasts(budget: &Budget, at: &Moment, _: Decision, so_far: DecisionHorizon) -> DecisionHorizon {
    let Moment { view, seen, idle_for, largest } = at;
    if so_far.until <= soonest(view) || largest.is_none() {
        return so_far;
    }
    let from = budget.quiet_from(view.now, seen);
    let sizes = SIZES.into_iter().map(|size| seen.service.high(size, view.access) / SHARE);
    let changes = sizes
        .chain([UNPAID])
        .filter(|&age| age > idle_for.max(from))
        .chain([from].into_iter().filter(|from| idle_for <= from));
    let until = view.idle_since.saturating_add(Nanos::from_secs_f64(changes.fold(f64::INFINITY, f64::min)));
    DecisionHorizon { until: so_far.until.min(until), ..so_far }
}
