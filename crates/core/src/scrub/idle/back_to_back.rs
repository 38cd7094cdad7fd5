//! Back to back: the next request as soon as the last one has ended, whoever else uses the disk.

use super::{Decision, DiskView, IdlePolicy, Observed, PolicyState};
use crate::units::{Bytes, Nanos};

/// No idle policy at all: the fastest scrub, and the worst neighbour.
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
