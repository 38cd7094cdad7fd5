//! The policy for work that cannot be held at once, such as ZFS's own scrub: it runs while the mean so far can pay for it.
//!
//! Such work runs for minutes and is held for minutes, and all foreground requests that come meanwhile lose a little, so there is no idle interval
//! to plan for. What counts is the account: each foreground request earns the goal, and the work may start when the savings pay for the
//! shortest run at the rate at which requests come, and goes on while they pay for the next step. Where nobody comes it costs nothing, and runs.

use crate::scrub::idle::{
    AccessPattern, Decision, DiskView, Goal, IdlePolicy, Observed, PolicyState, ServiceTimes, WaitReason,
};
use crate::units::{Bytes, Nanos};

/// Foreground requests whose earnings are credited in advance; otherwise nothing could run beside the first.
const WARM_UP: u64 = Goal::WARM_UP_REQUESTS;
/// What a run is likely to cost is raised by this factor before it is compared with the savings.
const MARGIN: f64 = 1.25;
/// The times over which the rate of requests is averaged, in seconds. The higher rate counts.
const SPANS: [f64; 2] = [30.0, 600.0];
/// When to look again where the savings do not pay.
const LOOK_AGAIN: Nanos = Nanos::from_secs(5);

/// The policy.
#[derive(Clone, Debug)]
pub struct Spending {
    goal: Nanos,
    /// Earned less lost, in seconds.
    saved: f64,
    /// Foreground requests a second, averaged over [`SPANS`].
    rates: [f64; 2],
    /// The count of requests and the time up to which the rates are computed; `None`: not yet.
    counted: Option<(u64, Nanos)>,
}

impl Spending {
    /// A policy that keeps the mean within this goal.
    pub fn new(goal: Nanos) -> Spending {
        let saved = goal.as_secs_f64() * WARM_UP as f64;
        Spending { goal, saved, rates: [0.0; 2], counted: None }
    }

    /// What a run costs that may take so long, in seconds of delay.
    fn cost(&self, seconds: f64, held: f64) -> f64 {
        MARGIN * self.rates[0].max(self.rates[1]) * seconds * held
    }

    fn is_paid(&self, access: AccessPattern, seen: &Observed) -> bool {
        let [seconds, held] = seen.service.slice(access);
        self.saved >= self.cost(seconds, held)
    }
}

impl IdlePolicy for Spending {
    fn decide(&self, view: &DiskView, seen: &Observed) -> Decision {
        let is_paid = self.is_paid(view.access, seen);
        let not_before = if is_paid { view.now } else { view.now.saturating_add(LOOK_AGAIN) };
        Decision { not_before, size: ServiceTimes::SLICE }
    }

    fn waits_for(&self, _: &DiskView, _: &Observed) -> WaitReason {
        WaitReason::Budget
    }

    fn learn(&mut self, now: Nanos, seen: &Observed) {
        let (requests, lost) = (seen.workload.requests, seen.slowdown.lost());
        self.saved = self.goal.as_secs_f64() * (requests + WARM_UP) as f64 - lost.as_secs_f64();
        let (before, at) = *self.counted.get_or_insert((requests, now));
        let seconds = now.since(at).as_secs_f64();
        if seconds < 1.0 {
            return;
        }
        let rate = (requests - before) as f64 / seconds;
        for (average, span) in self.rates.iter_mut().zip(SPANS) {
            *average += (rate - *average) * (1.0 - (-seconds / span).exp());
        }
        self.counted = Some((requests, now));
    }

    fn state(&self) -> PolicyState {
        let (wait, pause, size) = (Nanos::ZERO, Nanos::ZERO, ServiceTimes::SLICE);
        PolicyState { wait, size, duty: 1.0, pause, in_idle_only: false, cautious: false, for_max: 0.0 }
    }

    fn size_max(&self) -> Bytes {
        ServiceTimes::SLICE
    }
}
