//! A verification at the modelled disk.

use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::{Nanos, SectorRange};

/// One verification, from its start to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpAtDisk {
    pub(super) id: OpId,
    pub(super) range: SectorRange,
    pub(super) outcome: VerifyOutcome,
    pub(super) started: Nanos,
    pub(super) finished: Nanos,
    /// Did a foreground request arrive while the disk worked on it?
    pub(super) hit: bool,
}
