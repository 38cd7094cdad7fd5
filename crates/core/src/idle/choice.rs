//! The table of idle policies: what a user can choose from.

use super::{
    Adaptive, BackToBack, Budget, Cutoff, FixedDelay, Goal, Growth, IdleClass, IdlePolicy, Method, Pattern, Played,
    Predicted, Waiting,
};
use crate::units::{Bytes, Nanos};

/// A policy and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Tune the wait, the size and the pace to a slowdown goal.
    Budget(Goal),
    /// Wait for idleness, then back to back.
    Waiting {
        /// How long.
        wait: Nanos,
        /// The size of one request.
        size: Bytes,
    },
    /// What Linux's CFQ did for its idle class: [`IdleClass`].
    IdleClass,
    /// Only in idle intervals that are predicted to be long: [`Predicted`].
    Predicted {
        /// How to predict.
        method: Method,
        /// How long they must be.
        cutoff: Cutoff,
        /// How long to wait even so; zero: not at all.
        wait: Nanos,
        /// The size of one request.
        size: Bytes,
    },
    /// Wait for idleness, then requests that grow: the paper's exponential approach, with a `plus` the linear one.
    Growing {
        /// How long.
        wait: Nanos,
        /// The size of the first request.
        size: Bytes,
        /// Each is so many percent of the last one, at least 100,
        factor_pct: u32,
        /// and so much larger,
        plus: Bytes,
        /// but no larger than this.
        max: Bytes,
    },
    /// Wait for idleness, then back to back; larger requests once the disk has been idle for long.
    Swapping {
        /// How long to wait.
        wait: Nanos,
        /// The size of one request.
        size: Bytes,
        /// The idle time from which requests are larger.
        after: Nanos,
        /// The size of one request from then on.
        to: Bytes,
    },
    /// A fixed pause after each request.
    Delay {
        /// How long.
        delay: Nanos,
        /// The size of one request.
        size: Bytes,
    },
    /// Back to back, whoever else uses the disk.
    None {
        /// The size of one request.
        size: Bytes,
    },
}

impl Choice {
    /// A new policy of this kind.
    ///
    /// # Panics
    /// When a percentile is above 100 %.
    pub fn policy(self) -> Box<dyn IdlePolicy> {
        match self {
            Choice::Budget(goal) => Box::new(Budget::new(goal)),
            Choice::Waiting { wait, size } => Box::new(Played::new(Waiting { wait, size })),
            Choice::IdleClass => Box::new(Played::new(IdleClass)),
            Choice::Predicted { method, cutoff, wait, size } => {
                Box::new(Played::new(Predicted::new(method, cutoff, wait, size)))
            }
            Choice::Growing { wait, size, factor_pct, plus, max } => {
                let factor = f64::from(factor_pct) / 100.0;
                adaptive(wait, size, Growth::By { factor, plus, max })
            }
            Choice::Swapping { wait, size, after, to } => adaptive(wait, size, Growth::Swap { after, to }),
            Choice::Delay { delay, size } => Box::new(FixedDelay { delay, size }),
            Choice::None { size } => Box::new(BackToBack { size }),
        }
    }

    /// The greatest request it will ask for.
    pub fn size_max(self) -> Bytes {
        match self {
            Choice::Budget(_) => super::service::SIZES[super::service::SIZES.len() - 1],
            Choice::IdleClass => super::IntervalPolicy::pattern(&IdleClass).first,
            Choice::Growing { size, max, .. } | Choice::Swapping { size, to: max, .. } => size.max(max),
            Choice::Waiting { size, .. }
            | Choice::Predicted { size, .. }
            | Choice::Delay { size, .. }
            | Choice::None { size } => size,
        }
    }

    /// Does it wait for the foreground, and so need to see it?
    pub fn heeds_foreground(self) -> bool {
        !matches!(self, Choice::Delay { .. } | Choice::None { .. })
    }

    /// Does it leave the disk to the foreground, so that more than one request of ours at a time would defeat it?
    pub fn is_considerate(self) -> bool {
        !matches!(self, Choice::None { .. })
    }
}

fn adaptive(wait: Nanos, first: Bytes, growth: Growth) -> Box<dyn IdlePolicy> {
    Box::new(Played::new(Adaptive { pattern: Pattern { wait, first, growth } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_makes_the_policy_of_its_name() {
        let (wait, size) = (Nanos::from_millis(10), Bytes::kib(64));
        let predicted = |method, wait| Choice::Predicted { method, cutoff: Cutoff::Percentile(8000), wait, size };
        let growing = |plus| Choice::Growing { wait, size, factor_pct: 200, plus, max: Bytes::mib(4) };
        let rows = [
            (Choice::Budget(Goal::default()), "budget", true),
            (Choice::Waiting { wait, size }, "waiting", true),
            (Choice::IdleClass, "idle-class", true),
            (predicted(Method::AutoRegressive, Nanos::ZERO), "ar", true),
            (predicted(Method::AutoRegressive, wait), "ar+waiting", true),
            (predicted(Method::Acd, Nanos::ZERO), "acd", true),
            (predicted(Method::Acd, wait), "acd+waiting", true),
            (growing(Bytes(0)), "exponential", true),
            (growing(size), "linear", true),
            (Choice::Swapping { wait, size, after: wait, to: Bytes::mib(4) }, "swapping", true),
            (Choice::Delay { delay: wait, size }, "delay", false),
            (Choice::None { size }, "none", false),
        ];
        for (choice, name, heeds_foreground) in rows {
            assert_eq!((choice.policy().name(), choice.heeds_foreground()), (name, heeds_foreground));
            assert!(choice.size_max() >= size);
        }
    }
}
