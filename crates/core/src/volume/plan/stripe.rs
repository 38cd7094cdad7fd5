//! Types of a plan: a stripe's state, what is wanted of it, and the resulting accesses.

use crate::position_set::PositionSet;

/// What one request wants of one stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Read these data chunks.
    Read(PositionSet),
    /// Write new content to these data chunks.
    Write {
        /// All touched chunks, at least one.
        touched: PositionSet,
        /// Those touched chunks of which some bytes stay as they are. (Empty when counting as the paper does.)
        partial: PositionSet,
    },
}

/// What is known of a stripe when a plan is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripeState {
    /// The data chunks that were read, and found right, since they were last written (the read-status bitmap).
    pub is_read: PositionSet,
    /// The data and parity chunks whose members are missing.
    pub missing: PositionSet,
    /// Index of the remaining parity whose list is read, modulo their count (the volume uses the stripe's number, so
    /// that all parities take turns).
    pub list_rotation: usize,
}

/// How the plan reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanMode {
    /// Read the wanted chunks.
    Read,
    /// Read the remaining chunks, and decode the missing ones.
    Reconstruct,
    /// Write all data chunks and all parities.
    FullStripe,
    /// Read-modify-write: old data and parities, their difference, new data and parities.
    ReadModifyWrite,
    /// Reconstruct-write: the data chunks that stay, then new data and parities.
    ReconstructWrite,
}

/// Accesses to the disks: each position in each set is one I/O. All reads come before all writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripePlan {
    /// How the plan reads or writes.
    pub mode: PlanMode,
    /// Chunks read, each with its appendix in the same I/O.
    pub read_chunks: PositionSet,
    /// Appendices read alone; disjoint from `read_chunks`.
    pub read_appendices: PositionSet,
    /// Chunks written, each with its appendix in the same I/O.
    pub write_chunks: PositionSet,
    /// Appendices written alone; disjoint from `write_chunks`.
    pub write_appendices: PositionSet,
}

impl StripePlan {
    /// Number of disk I/Os.
    pub fn ios(&self) -> usize {
        [self.read_chunks, self.read_appendices, self.write_chunks, self.write_appendices]
            .into_iter()
            .map(PositionSet::count)
            .sum()
    }
}
