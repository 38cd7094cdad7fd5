//! Verifiers: how one range of a target is verified. One question for every kind of target.

use scrubjay_core::machine::OpId;
use scrubjay_core::units::{Nanos, SectorRange};
use scrubjay_core::verdict::Outcome;

/// Puts the question "is this range readable?" to a target, one or a few ranges at a time.
pub trait Verifier: Send {
    /// Starts one verification. `range` is not empty, lies inside the target, and is a multiple of its logical block.
    ///
    /// A verifier that can only block does the work here and hands the answer out in [`Verifier::wait`].
    fn submit(&mut self, id: OpId, range: SectorRange);

    /// The next answer, or `None` when none comes within `timeout` or nothing was submitted.
    fn wait(&mut self, timeout: Nanos) -> Option<Answer>;
}

/// How one verification ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Which.
    pub id: OpId,
    /// What was found.
    pub outcome: Outcome,
    /// When the kernel got it (`CLOCK_MONOTONIC`).
    pub started: Nanos,
    /// When it was done.
    pub finished: Nanos,
    /// Sectors that the disk's counters in `/sys/block/X/stat` show for it: those of a read, none of a pass-through
    /// command.
    pub counted: u64,
}
