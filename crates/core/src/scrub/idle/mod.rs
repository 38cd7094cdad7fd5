//! Idle policies: when may the next scrub request start, and how large may it be?
//!
//! The scrubber observes ([`Observed`]); a policy only decides. A new policy is one file here, its `mod` and `use`
//! below, and in `table.rs` its name in `use super` and one row of [`POLICIES`]. A wait, then requests back to back, of
//! one size or growing ([`RequestGrowth`]): [`IntervalPolicy`] (model: `waiting.rs`), also if it learns from interval to
//! interval. Anything else, pauses included: [`IdlePolicy`] (model: `fixed_delay.rs`).
//!
//! - Policies: `back_to_back`, `budget`, `fixed_delay`, `growing_requests`, `idle_class`, `predicted`, `waiting`.
//! - What they decide by: `observed` with its parts `followers`, `service` and `slowdown`; `learnt`, the observations
//!   of earlier runs; `predictor`, for `predicted`.
//! - Their form: `pattern` (all that happens in one idle interval), `parameters` (their settings), `table`.

mod back_to_back;
mod budget;
mod fixed_delay;
mod followers;
mod growing_requests;
mod idle_class;
mod learnt;
mod observed;
mod parameters;
mod pattern;
mod predicted;
mod predictor;
mod service;
mod slowdown;
mod table;
mod waiting;

pub use back_to_back::BackToBack;
pub use budget::{Budget, Goal, GoalForm};
pub use fixed_delay::FixedDelay;
pub use followers::Followers;
pub use growing_requests::GrowingRequests;
pub use idle_class::IdleClass;
pub use learnt::{BYTES_MAX as LEARNT_BYTES_MAX, ObservationsError, Periodicity, SavedObservations};
pub use observed::{Observed, ObservedWorkload};
pub use parameters::{Parameter, ParameterRange, ParameterRow, ParameterValue, PolicyParameters};
pub use pattern::{IdlePattern, IntervalAdapter, IntervalPolicy, RequestGrowth};
pub use predicted::{Cutoff, Predicted};
pub use predictor::{Method, Predictor};
pub use service::{AccessPattern, ServiceTimes, SliceTime};
pub use slowdown::Slowdown;
pub use table::{MadePolicy, POLICIES, Pacing, PolicyConfig, PolicyKind};
pub use waiting::Waiting;

use crate::units::{Bytes, Nanos};
use std::fmt;

/// The shortest time after which to look again while foreground requests are outstanding, even if the wait is shorter.
const LOOK_AGAIN_MIN: Nanos = Nanos::from_millis(1);

/// The state of the disk at the moment of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskView {
    /// The moment of the decision.
    pub now: Nanos,
    /// Foreground requests at the disk, as far as is known.
    pub outstanding: u64,
    /// The time since which the disk has been free of foreground requests; meaningless while some are outstanding.
    pub idle_since: Nanos,
    /// The time at which the last scrub request ended; zero before the first.
    pub own_finished: Nanos,
    /// The service time of the last scrub request, of whichever idle interval; zero before the first.
    pub own_service: Nanos,
    /// The size decided for the last scrub request, if it began in this idle interval; `None`: the next one is the first
    /// of the interval. Meaningless while foreground requests are outstanding, as `idle_since` is.
    pub own_size: Option<Bytes>,
    /// Whether the next scrub request has to be positioned for.
    pub access: AccessPattern,
}

impl DiskView {
    /// The time at which the disk will have been idle for `wait`.
    fn ready_after(&self, wait: Nanos) -> Nanos {
        if self.outstanding > 0 {
            // The disk cannot be idle sooner, even if the last of them ends at this very moment.
            return self.now.saturating_add(wait.max(LOOK_AGAIN_MIN));
        }
        self.idle_since.saturating_add(wait)
    }
}

/// The answer of a policy: the next scrub request may start at `not_before`, and read at most `size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The earliest start; in the past or now: at once.
    pub not_before: Nanos,
    /// The largest size, in bytes.
    pub size: Bytes,
}

/// Until when, and for how many requests, a policy decides the same if no foreground request arrives. The simulator skips
/// ahead by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionHorizon {
    /// The time from which the decision may be another one.
    pub until: Nanos,
    /// The number of requests, 1 or more, after which it may be another one, because the policy may learn from them.
    pub requests: u64,
}

/// Why no request is sent at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// A foreground request is at the disk.
    InUse,
    /// The disk has not been idle for long enough; the idle time required, where that is known.
    Idleness(Option<Nanos>),
    /// Less than this pause has passed since the last scrub request ended.
    Pause(Nanos),
    /// A request would cost more than the budget left.
    Budget,
    /// Requests of every size would delay a foreground request beyond the max goal.
    TooSlow,
}

/// The current settings of a policy. The report and the forecast show and use them all; what the scrubber does depends
/// on `in_idle_only` alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyState {
    /// How long the disk must have been idle before the first scrub request of an idle interval.
    pub wait: Nanos,
    /// The size of one request.
    pub size: Bytes,
    /// The share of the idle time beyond the wait in which requests follow each other, 0..=1. Pauses do not lower it:
    /// the forecast adds `pause` to each request's time.
    pub duty: f64,
    /// The time from the end of one request to the start of the next.
    pub pause: Nanos,
    /// Are requests sent in idle intervals only? True if and only if the policy's row says [`Pacing::IdleTime`] (a test
    /// compares them). Only then does the scrubber look for arrivals before the policy wants to send.
    pub in_idle_only: bool,
    /// Is this still the cautious beginning, before enough of the workload has been seen?
    pub cautious: bool,
    /// The share of the total cost of delays in the plan that is the penalty for breaking the max goal: 0..=1.
    pub for_max: f64,
}

impl PolicyState {
    /// Requests of `size`, back to back, whether the disk is in use or not (`in_idle_only` is false).
    const fn back_to_back(size: Bytes) -> PolicyState {
        let (wait, pause) = (Nanos::ZERO, Nanos::ZERO);
        PolicyState { wait, size, duty: 1.0, pause, in_idle_only: false, cautious: false, for_max: 0.0 }
    }
}

/// Decides when the next scrub request may start, and how large it may be.
///
/// For authors of policies:
/// - [`IdlePolicy::decide`] is also called while foreground requests are at the disk (`outstanding > 0`). A
///   `not_before` in the past sends a request all the same; a policy that waits for idle time then returns a time in
///   the future (`DiskView::ready_after`).
/// - It is called whenever a request might start, and when the pump computes how long to sleep: the same call may come
///   many times, and must change nothing.
/// - [`Decision::size`] is rounded down to whole blocks of the disk, and up to one. It never exceeds
///   [`IdlePolicy::size_max`]: buffers have that size.
/// - [`IdlePolicy::learn`] is called after every event. Expensive work should be done there only now and then.
/// - `Debug` shows every parameter: a test compares it with the `uses` of the policy's row. (That holds for an
///   [`IntervalPolicy`], too.)
pub trait IdlePolicy: fmt::Debug + Send {
    /// May a request start now? Pure: the same view and the same observations give the same decision.
    fn decide(&self, view: &DiskView, seen: &Observed) -> Decision;

    /// `decision` lets a request start now. For how long will the policy decide the same, if each request is sent
    /// when the one before has ended, and no foreground request arrives? The default is always right, only slow; it
    /// matters for policies of [`Pacing::IdleTime`] in the simulator's `exact::learner`. A policy that pauses keeps the
    /// default: requests within a horizon are back to back.
    fn horizon(&self, decision: Decision, view: &DiskView, seen: &Observed) -> DecisionHorizon {
        let _ = (decision, view, seen);
        DecisionHorizon { until: Nanos::MAX, requests: 1 }
    }

    /// Why [`IdlePolicy::decide`] does not let a request start now. The default answers from [`IdlePolicy::state`]: the
    /// pause, of a policy that sends whatever the foreground does; else a foreground request at the disk, or the wait.
    /// It knows a pause or a wait, never both: a policy that has both, or other reasons, overrides it.
    fn waits_for(&self, view: &DiskView, seen: &Observed) -> WaitReason {
        let _ = seen;
        let PolicyState { wait, pause, in_idle_only, .. } = self.state();
        match view.outstanding {
            _ if !in_idle_only => WaitReason::Pause(pause),
            0 => WaitReason::Idleness(Some(wait)),
            _ => WaitReason::InUse,
        }
    }

    /// The observations have changed; a policy that tunes itself does it here.
    fn learn(&mut self, now: Nanos, seen: &Observed) {
        let _ = (now, seen);
    }

    /// The current settings.
    fn state(&self) -> PolicyState;

    /// The largest request that the policy will ask for.
    fn size_max(&self) -> Bytes;

    /// The period by which other programs work, if one is believed. It is all that a policy knows and [`Observed`] does not hold.
    fn periodicity(&self) -> Option<Periodicity> {
        None
    }

    /// Starts with the period of an earlier run, on the same clock.
    fn recall(&mut self, periodicity: &Periodicity) {
        let _ = periodicity;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn the_head_of_this_file_names_each_module() {
        let text = include_str!("mod.rs");
        let modules: BTreeSet<&str> =
            text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
        let list =
            text.lines().skip_while(|line| !line.starts_with("//! - ")).take_while(|line| line.starts_with("//!"));
        let named: BTreeSet<&str> = list.flat_map(|line| line.split('`').skip(1).step_by(2)).collect();
        assert_eq!(named, modules);
    }
}
