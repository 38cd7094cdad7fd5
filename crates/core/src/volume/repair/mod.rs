//! What makes a volume whole again: repairs of stripes and of metadata, rebuilds, resyncs, and marks of what is lost.

pub(super) mod lost_mark;
pub(super) mod marks;
pub(super) mod metadata;
pub(super) mod pending_resync;
pub(super) mod rebuild;
pub(super) mod recover;
pub(super) mod remains;
pub(super) mod resync;
pub(super) mod settled;
pub(super) mod stripe_repair;
pub(super) mod taken_back;
pub(super) mod wipe;
