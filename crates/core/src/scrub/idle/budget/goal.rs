//! The goal of a budget: how much the foreground may lose, and when that is to hold.

use crate::scrub::idle::service::{SIZE_MIN, ServiceEstimate};
use crate::units::{Bytes, Nanos};

/// What the foreground may lose at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// On average over all foreground requests.
    pub mean: Nanos,
    /// Each of them.
    pub max: Nanos,
    /// If given: all but one in a hundred of them.
    pub p99: Option<Nanos>,
    /// Of the mean: when it is to be kept.
    pub form: GoalForm,
}

/// When a mean goal is to be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GoalForm {
    /// The mean of all requests *so far*, at every moment from a warm-up of some hundred requests on: whoever stops the clock
    /// at any time finds it kept.
    #[default]
    Strict,
    /// The mean of all requests at the end. On the way what later requests will earn may be spent: up to one part in 25 of
    /// what was earned so far.
    Average,
}

impl Goal {
    /// Before that many foreground requests the mean may be above the goal, but no more is lost than these would earn: else
    /// nothing could be sent until the first few have paid for it.
    pub const WARM_UP_REQUESTS: u64 = 100;

    /// Of the requests so far, so many may lose more than `p99`.
    pub const P99_SHARE: f64 = 0.01;

    /// To be kept at every moment.
    pub const fn new(mean: Nanos, max: Nanos) -> Goal {
        Goal { mean, max, p99: None, form: GoalForm::Strict }
    }

    /// The same, and no more than one in a hundred is to lose more than this.
    pub const fn p99(self, p99: Option<Nanos>) -> Goal {
        Goal { p99, ..self }
    }

    /// The same, kept in another form.
    pub const fn form(self, form: GoalForm) -> Goal {
        Goal { form, ..self }
    }

    /// May a request of this size be sent at all? The smallest may, if it holds others up for longer than any may lose only now and
    /// then: any request of anybody does on such a disk.
    pub(super) fn allows_size(&self, size: Bytes, service: &ServiceEstimate) -> bool {
        let usual = if size == SIZE_MIN { service.mean } else { service.most };
        service.held(usual) <= self.max.as_secs_f64()
    }
}

impl Default for Goal {
    /// 1 ms and 50 ms: the first row of the paper's Table III.
    fn default() -> Goal {
        Goal::new(Nanos::from_millis(1), Nanos::from_millis(50))
    }
}
