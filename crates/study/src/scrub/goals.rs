//! The throughput of a scrub within a slowdown goal: Table III, with the shipped `budget` next to the paper's tuner.

use scrubjay_core::scrub::idle::Goal;
use scrubjay_sim::exact::ScrubFigures;
use scrubjay_sim::tune::Pair;

/// The results within one goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachedGoal {
    /// The goal, of which the mean at the end is meant, as in the paper.
    pub goal: Goal,
    /// The best wait and size, tuned on the whole trace beforehand; `None`: no pair keeps the goal.
    pub tuned: Option<Pair>,
    /// The result of the policy that ships, which learns during the run: the mean so far is within the goal all the time (`strict`).
    pub budget: ScrubFigures,
    /// The same, if the mean so far may be 4 % above the goal (`average`).
    pub average: ScrubFigures,
}

/// The throughput in megabytes (10^6 bytes) per second.
pub fn megabytes(outcome: &ScrubFigures) -> f64 {
    outcome.bytes_per_second() / 1e6
}
