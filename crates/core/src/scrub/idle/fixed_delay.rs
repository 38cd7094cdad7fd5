//! Fixed delay: the classical rate limit, a pause after each request, whatever the foreground does.

use super::{Decision, DiskView, IdlePolicy, Observed, PolicyState};
use crate::units::{Bytes, Nanos};

/// Pauses after each request of `size` bytes (Amvrosiadis et al., DSN'12, IV-B: 0 to 256 ms).
#[derive(Clone, Copy, Debug)]
pub struct FixedDelay {
    /// The pause from the end of one request to the start of the next.
    pub pause: Nanos,
    /// The size of one request.
    pub size: Bytes,
}

impl IdlePolicy for FixedDelay {
    fn decide(&self, view: &DiskView, _: &Observed) -> Decision {
        Decision { not_before: view.own_finished.saturating_add(self.pause), size: self.size }
    }

    fn state(&self) -> PolicyState {
        PolicyState { pause: self.pause, ..PolicyState::back_to_back(self.size) }
    }

    fn size_max(&self) -> Bytes {
        self.size
    }
}
