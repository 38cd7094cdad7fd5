//! Adaptive: waits, then sends requests that grow while the disk stays idle (Amvrosiadis et al., DSN'12, V-C: none of
//! these beats one well-chosen size).

use super::pattern::{Growth, IntervalPolicy, Pattern};

/// A pattern that is the same in every idle interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptive {
    /// What it does.
    pub pattern: Pattern,
}

impl IntervalPolicy for Adaptive {
    fn name(&self) -> &'static str {
        match self.pattern.growth {
            Growth::Fixed => "waiting",
            Growth::By { plus, .. } if plus.0 == 0 => "exponential",
            Growth::By { .. } => "linear",
            Growth::Swap { .. } => "swapping",
        }
    }

    fn pattern(&self) -> Pattern {
        self.pattern
    }
}
