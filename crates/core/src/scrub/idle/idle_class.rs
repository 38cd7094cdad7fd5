//! Idle class: the wait and the size that Linux's CFQ scheduler used for requests of the idle class.
//!
//! It is the baseline of Amvrosiadis et al. (DSN'12, Table III): after 10 ms without foreground requests, 64 KiB at a
//! time.

use super::pattern::{IdlePattern, IntervalPolicy, RequestGrowth};
use crate::units::{Bytes, Nanos};

/// The fixed wait and size of the paper's baseline.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdleClass;

impl IntervalPolicy for IdleClass {
    fn pattern(&self) -> IdlePattern {
        IdlePattern { wait: Nanos::from_millis(10), first: Bytes::kib(64), growth: RequestGrowth::Fixed }
    }

    fn size_max(&self) -> Bytes {
        self.pattern().size_max()
    }
}
