//! Back to back: sends the next request as soon as the last one has ended, whatever the foreground does.

use super::{Decision, DiskView, IdlePolicy, Observed, PolicyState};
use crate::units::{Bytes, Nanos};

/// Not an idle policy at all: the fastest scrub, and the worst neighbour.
#[derive(Clone, Copy, Debug)]
pub struct BackToBack {
    /// The size of one request.
    pub size: Bytes,
}

impl IdlePolicy for BackToBack {
    fn decide(&self, _: &DiskView, _: &Observed) -> Decision {
        Decision { not_before: Nanos::ZERO, size: self.size }
    }

    fn state(&self) -> PolicyState {
        PolicyState::back_to_back(self.size)
    }

    fn size_max(&self) -> Bytes {
        self.size
    }
}
