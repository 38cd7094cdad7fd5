//! Idle class: what Linux's CFQ scheduler did for requests of the idle class, the paper's baseline (Amvrosiadis et al.,
//! DSN'12, Table III): after 10 ms without foreground requests, 64 KiB at a time.

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
