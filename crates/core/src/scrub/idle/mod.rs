//! Idle policies: when may the next request of the scrub start, and how large may it be?
//!
//! The scrubber observes ([`Observed`]); a policy only decides. A new policy is one file here, its `mod` and `use` below, and one row
//! of [`POLICIES`]. One that decides once an idle interval is an [`IntervalPolicy`] (model: `waiting.rs`); one that decides anew
//! at each request is an [`IdlePolicy`] (model: `fixed_delay.rs`).

mod adaptive;
mod back_to_back;
mod budget;
mod fixed_delay;
mod followers;
mod idle_class;
mod learnt;
mod observed;
mod parameters;
mod pattern;
mod predicted;
mod prediction;
mod service;
mod slowdown;
mod table;
mod waiting;

pub use adaptive::Adaptive;
pub use back_to_back::BackToBack;
pub use budget::{Budget, Goal, GoalForm};
pub use fixed_delay::FixedDelay;
pub use followers::Followers;
pub use idle_class::IdleClass;
pub use learnt::{BYTES_MAX as LEARNT_BYTES_MAX, Beat, Learnt, NotLearnt};
pub use observed::{Observed, ObservedWorkload};
pub use parameters::{Parameter, ParameterRange, ParameterRow, ParameterValue, PolicyParameters};
pub use pattern::{IdlePattern, IntervalAdapter, IntervalPolicy, RequestGrowth};
pub use predicted::{Cutoff, Predicted};
pub use prediction::{Method, Prediction};
pub use service::{DiskHead, ServiceTimes};
pub use slowdown::Slowdown;
pub use table::{MadePolicy, POLICIES, PolicyConfig, PolicyKind, Regard};
pub use waiting::Waiting;

use crate::units::{Bytes, Nanos};
use std::fmt;

/// While requests are outstanding, how soon to look again at the latest, whatever the wait: a millisecond.
const LOOK_AGAIN_MIN: Nanos = Nanos::from_millis(1);

/// The disk as it stands at the moment of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskView {
    /// The moment.
    pub now: Nanos,
    /// Foreground requests at the disk, as far as is known.
    pub outstanding: u64,
    /// Since when the disk has been free of foreground requests; meaningless while some are outstanding.
    pub idle_since: Nanos,
    /// When our last request ended; zero before the first.
    pub own_finished: Nanos,
    /// How long it took.
    pub own_service: Nanos,
    /// The size of our last request of this idle interval; `None` before the first.
    pub own_size: Option<Bytes>,
    /// Where the head is for our next request.
    pub head: DiskHead,
}

impl DiskView {
    /// When the disk will have been idle for `wait`.
    fn ready_after(&self, wait: Nanos) -> Nanos {
        if self.outstanding > 0 {
            // It cannot be sooner, even if the last of them ends at this very moment.
            return self.now.saturating_add(wait.max(LOOK_AGAIN_MIN));
        }
        self.idle_since.saturating_add(wait)
    }
}

/// A policy's answer: the next request may start at `not_before`, and `size` is the most that it may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Not before this; in the past or now: at once.
    pub not_before: Nanos,
    /// At most this many bytes.
    pub size: Bytes,
}

/// For how long a policy would decide the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// From this moment on the decision may be another one.
    pub until: Nanos,
    /// And after so many requests, 1 or more: the policy may then learn from them.
    pub requests: u64,
}

/// Why no request is sent at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// Somebody else uses the disk.
    InUse,
    /// The disk has not been idle for long enough; so long it must have been, where that is known.
    Idleness(Option<Nanos>),
    /// The last request was not long enough ago.
    Pause(Nanos),
    /// A request would cost more than is left of the budget.
    Budget,
    /// At each size requests take longer than any request of others may lose.
    TooSlow,
}

/// What a policy is set to at the moment, for the report and the forecast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyState {
    /// How long the disk must have been idle before the first request of an idle interval.
    pub wait: Nanos,
    /// The size of one request.
    pub size: Bytes,
    /// The share of the time, once the wait is over, in which a request is at the disk: 0..=1.
    pub duty: f64,
    /// From the end of one request to the start of the next.
    pub pause: Nanos,
    /// Are requests sent in idle intervals only?
    pub in_idle_only: bool,
    /// Is this still the cautious beginning, before enough of the workload has been seen?
    pub cautious: bool,
    /// Of the total cost of delays in the plan, the share that is the penalty for breaking the goal for the maximum: 0..=1.
    pub for_max: f64,
}

impl PolicyState {
    /// Back to back, in requests of `size`.
    const fn back_to_back(size: Bytes) -> PolicyState {
        let (wait, pause) = (Nanos::ZERO, Nanos::ZERO);
        PolicyState { wait, size, duty: 1.0, pause, in_idle_only: false, cautious: false, for_max: 0.0 }
    }
}

/// Decides when the next request of the scrub may start, and how large it may be.
///
/// What an author has to know:
/// - [`IdlePolicy::decide`] is also asked while the foreground is at the disk (`outstanding > 0`). A `not_before` in the past sends a
///   request beside it; a policy that waits for idle time answers with a moment in the future then (`DiskView::ready_after`).
/// - It is asked whenever a request might start, and when the pump wants to know how long to sleep: the same question may
///   come many times, and the answer may change nothing.
/// - [`Decision::size`] is rounded down to whole blocks of the disk, and up to one. It never exceeds [`IdlePolicy::size_max`]: buffers
///   are made of that size.
/// - [`IdlePolicy::learn`] comes after every event. What takes long is done there only now and then.
/// - `Debug` shows every parameter: a test compares it with what the policy's row says that it heeds.
pub trait IdlePolicy: fmt::Debug + Send {
    /// May a request start now? Pure: the same view and the same observations give the same decision.
    fn decide(&self, view: &DiskView, seen: &Observed) -> Decision;

    /// `decision` lets a request start now. For how long will the policy decide the same, if each request is sent when the one
    /// before has ended, and no foreground request arrives? The simulator skips ahead by it.
    fn stays(&self, decision: Decision, view: &DiskView, seen: &Observed) -> Stay {
        let _ = (decision, view, seen);
        Stay { until: Nanos::MAX, requests: 1 }
    }

    /// Why [`IdlePolicy::decide`] does not let a request start now.
    fn waits_for(&self, view: &DiskView, seen: &Observed) -> WaitReason {
        let _ = seen;
        let PolicyState { wait, pause, in_idle_only, .. } = self.state();
        match view.outstanding {
            _ if !in_idle_only => WaitReason::Pause(pause),
            0 => WaitReason::Idleness(Some(wait)),
            _ => WaitReason::InUse,
        }
    }

    /// What is known has changed; a policy that tunes itself does it here.
    fn learn(&mut self, now: Nanos, seen: &Observed) {
        let _ = (now, seen);
    }

    /// What it is set to.
    fn state(&self) -> PolicyState;

    /// The largest request that it will ask for.
    fn size_max(&self) -> Bytes;

    /// The period by which others work, if one is believed: all that a policy knows and [`Observed`] does not hold.
    fn beat(&self) -> Option<Beat> {
        None
    }

    /// Begins with that of an earlier run, on the same clock.
    fn recall(&mut self, beat: &Beat) {
        let _ = beat;
    }
}
