//! The table of idle policies: what a user can choose from.

use super::{BackToBack, Budget, FixedDelay, Goal, IdlePolicy, Played, Waiting};
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
    pub fn policy(self) -> Box<dyn IdlePolicy> {
        match self {
            Choice::Budget(goal) => Box::new(Budget::new(goal)),
            Choice::Waiting { wait, size } => Box::new(Played::new(Waiting { wait, size })),
            Choice::Delay { delay, size } => Box::new(FixedDelay { delay, size }),
            Choice::None { size } => Box::new(BackToBack { size }),
        }
    }

    /// The greatest request it will ask for.
    pub fn size_max(self) -> Bytes {
        match self {
            Choice::Budget(_) => super::service::SIZES[super::service::SIZES.len() - 1],
            Choice::Waiting { size, .. } | Choice::Delay { size, .. } | Choice::None { size } => size,
        }
    }

    /// Does it wait for the foreground, and so need to see it?
    pub fn heeds_foreground(self) -> bool {
        matches!(self, Choice::Budget(_) | Choice::Waiting { .. })
    }

    /// Does it leave the disk to the foreground, so that more than one request of ours at a time would defeat it?
    pub fn is_considerate(self) -> bool {
        !matches!(self, Choice::None { .. })
    }
}
