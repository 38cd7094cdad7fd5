//! The goal of a budget: how much the foreground may lose, and when the mean must be kept.

use crate::scrub::idle::service::{SIZE_MIN, ServiceEstimate};
use crate::units::{Bytes, Nanos};

/// How much time the foreground may lose by waiting for scrub requests, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The mean over all foreground requests.
    pub mean: Nanos,
    /// The most that one foreground request may lose; about one in 10,000 exceeds it.
    pub max: Nanos,
    /// The most that all but one in a hundred foreground requests may lose; `None`: no such goal.
    pub p99: Option<Nanos>,
    /// When the mean must be kept.
    pub form: GoalForm,
}

/// When a mean goal must be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GoalForm {
    /// The mean of all requests *so far* must be kept at every moment, from a warm-up of some hundred requests on: it
    /// holds whenever the clock is stopped.
    #[default]
    Strict,
    /// The mean of all requests must be kept at the end, which only a player who knows the whole trace can do. The budget lets the mean so
    /// far exceed the goal by one part in 25, so that a burst stops the scrub for less long.
    Average,
}

impl Goal {
    /// The length of the warm-up, in foreground requests. Before that the mean may be above the goal, but no more is
    /// lost than these would earn; otherwise nothing could be sent until the first few have paid for it.
    pub const WARM_UP_REQUESTS: u64 = 100;

    /// The share of the requests so far that may lose more than `p99`.
    pub const P99_SHARE: f64 = 0.01;

    /// With a p99 goal, the mean that counts is one part in so many of it at the most. Where more may be lost on average, short requests are
    /// almost free beside it, so many are sent into bursts, where their delays add up to more than the p99 goal. On 30 random loads with a
    /// p99 goal of 5 ms, 13 % less was read with a mean of 4 ms than with the best below, and half as much on some.
    const P99_MEANS: u64 = 10;

    /// A goal that is to be kept at every moment, without one for the 99th percentile.
    pub const fn new(mean: Nanos, max: Nanos) -> Goal {
        Goal { mean, max, p99: None, form: GoalForm::Strict }
    }

    /// This goal, with another one for the 99th percentile.
    pub const fn p99(self, p99: Option<Nanos>) -> Goal {
        Goal { p99, ..self }
    }

    /// This goal, kept in another form.
    pub const fn form(self, form: GoalForm) -> Goal {
        Goal { form, ..self }
    }

    /// The mean that the plan and the account keep: that of the goal, or less beside a p99 goal.
    pub(super) fn mean_to_keep(&self) -> Nanos {
        self.p99.map_or(self.mean, |p99| self.mean.min(Nanos(p99.0 / Self::P99_MEANS)))
    }

    /// May a request of this size be sent at all? The smallest may if its mean is within the max goal, even if it
    /// exceeds that now and then: so does any request on such a disk.
    pub(super) fn allows_size(&self, size: Bytes, service: &ServiceEstimate) -> bool {
        let usual = if size == SIZE_MIN { service.mean } else { service.usual_high };
        service.held(usual) <= self.max.as_secs_f64()
    }
}

impl Default for Goal {
    /// 1 ms and 50 ms: the first row of the paper's Table III.
    fn default() -> Goal {
        Goal::new(Nanos::from_millis(1), Nanos::from_millis(50))
    }
}
