//! What the work is ordered to do, and what is known of its requests meanwhile.

use crate::units::Nanos;

/// What the work is ordered to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkOrder {
    /// It is held since `since`.
    Held { since: Nanos },
    /// It runs, in a slice.
    Going(Slice),
    /// It is to be held.
    Holding(HoldUnderWay),
}

/// A hold under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HoldUnderWay {
    pub(super) ordered: Nanos,
    /// Had any request of this run been completed when the hold was caused?
    pub(super) is_later: bool,
    /// Since when it sends nothing further; `None`: it may still.
    pub(super) frozen: Option<Nanos>,
}

/// The arrival that ends a slice, and the requests of the work that are in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Met {
    pub(super) arrived: Nanos,
    /// Requests of the work that were at the disk before it, and are not completed yet.
    pub(super) before: u64,
    /// When the last of these was completed.
    pub(super) passed: Nanos,
    /// Had any request of this run been completed before it?
    pub(super) is_later: bool,
}

/// A slice of time in which the work runs, as the policy knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) started: Nanos,
    /// When all that it sent is to have ended.
    pub(super) ends: Nanos,
    /// Until when it runs whatever happens.
    pub(super) respite_until: Nanos,
}

/// The requests of the work that are at the disk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnAtDisk {
    pub(super) outstanding: u64,
    /// Since when there are some.
    pub(super) since: Nanos,
    /// When the last was completed.
    pub(super) ended: Nanos,
    pub(super) total: u64,
    /// Was any completed since the work began to run?
    pub(super) completed: bool,
}
