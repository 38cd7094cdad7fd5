//! A moment of decision, and what may be offered at it.

use super::Budget;
use crate::scrub::idle::{Decision, DecisionHorizon, DiskView, Observed, WaitReason};
use crate::units::{Bytes, Nanos};

/// A request that may be sent, and what is waited for until then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) decision: Decision,
    pub(super) waits_for: WaitReason,
}

/// The moment of a decision.
#[derive(Debug)]
pub(super) struct Moment<'a> {
    pub(super) view: &'a DiskView,
    pub(super) seen: &'a Observed,
    /// How long the disk has been idle, in seconds.
    pub(super) idle_for: f64,
    /// The largest size that may be sent; `None`: none, for now.
    pub(super) largest: Option<Bytes>,
}

/// One of the offers.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfferSource {
    /// What it offers, if the best of those before it is this; `None`: nothing, or nothing better.
    pub(super) offer: fn(&Budget, &Moment, Option<&Offer>) -> Option<Offer>,
    /// How long, as far as it is concerned, that decision lasts: at most as long as the last argument says.
    pub(super) lasts: fn(&Budget, &Moment, Decision, DecisionHorizon) -> DecisionHorizon,
}

impl<'a> Moment<'a> {
    pub(super) fn new(budget: &Budget, view: &'a DiskView, seen: &'a Observed) -> Moment<'a> {
        let idle_for = if view.outstanding == 0 { view.now.since(view.idle_since).as_secs_f64() } else { 0.0 };
        Moment { view, seen, idle_for, largest: budget.largest(view.access, seen) }
    }

    /// The time at which the disk will have been idle for longer than `age` seconds: a nanosecond later.
    pub(super) fn after(&self, age: f64) -> Nanos {
        let DiskView { idle_since, own_finished, .. } = self.view;
        idle_since.saturating_add(Nanos::from_secs_f64(age)).saturating_add(Nanos(1)).max(*own_finished)
    }

    /// May this be sent now?
    pub(super) fn is_due(&self, decision: Decision) -> bool {
        decision.not_before <= self.view.now
    }
}
