//! The throughput of a scrub within a slowdown goal: Table III, with the shipped `budget` next to the paper's tuner.

use scrubjay_core::scrub::idle::Goal;
use scrubjay_sim::exact::ScrubFigures;
use scrubjay_sim::tune::Pair;

/// The results within one goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachedGoal {
    /// The goal.
    pub goal: Goal,
    /// The best wait and size, tuned on the whole trace beforehand; `None`: no pair keeps the goal.
    pub tuned: Option<Pair>,
    /// The result of the shipped policy, which learns during the run.
    pub budget: ScrubFigures,
}

/// The throughput in megabytes (10^6 bytes) per second.
pub fn megabytes(outcome: &ScrubFigures) -> f64 {
    outcome.bytes_per_second() / 1e6
}
