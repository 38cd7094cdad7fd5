//! What a scrub reads inside a slowdown goal: Table III, with the shipped `budget` beside the paper's tuner.

use scrubjay_core::scrub::idle::Goal;
use scrubjay_sim::exact::ScrubFigures;
use scrubjay_sim::tune::Pair;

/// What was reached inside one goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachedGoal {
    /// The goal.
    pub goal: Goal,
    /// The best wait and size, tuned on the whole trace beforehand; `None`: none keeps the goal.
    pub tuned: Option<Pair>,
    /// The shipped policy, which learns as it goes.
    pub budget: ScrubFigures,
}

/// Megabytes (10^6) a second.
pub fn megabytes(outcome: &ScrubFigures) -> f64 {
    outcome.bytes_per_second() / 1e6
}
