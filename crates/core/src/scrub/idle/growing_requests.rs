//! Growing requests: waits, then sends requests that grow while the disk stays idle (the paper's adaptive sizes).
//!
//! Amvrosiadis et al. (DSN'12, V-C) found that none of these beats one well-chosen size.

use super::pattern::{IdlePattern, IntervalPolicy};
use crate::units::Bytes;

/// A pattern that is the same in every idle interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowingRequests {
    /// The pattern of each idle interval.
    pub pattern: IdlePattern,
}

impl IntervalPolicy for GrowingRequests {
    fn pattern(&self) -> IdlePattern {
        self.pattern
    }

    fn size_max(&self) -> Bytes {
        self.pattern().size_max()
    }
}
