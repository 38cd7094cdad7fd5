//! The words of a plan: a stripe's state, what is wanted of it, and the accesses that come of it.

use crate::position_set::PositionSet;

/// What one request wants of one stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// These data chunks.
    Read(PositionSet),
    /// New content for these data chunks.
    Write {
        /// All that are touched, at least one.
        touched: PositionSet,
        /// Those of them of which some bytes stay as they are. (Empty when counting as the paper does.)
        partial: PositionSet,
    },
}

/// What is known of a stripe when a plan is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripeState {
    /// The data chunks that were read, and found right, since they were last written (the read-status bitmap).
    pub is_read: PositionSet,
    /// The chunks whose member is missing, of data or parity.
    pub missing: PositionSet,
    /// Which surviving parity to ask for its list, counted from here on (the volume rotates it by the stripe's number).
    pub turn: usize,
}

/// How.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanMode {
    /// Read what was asked for.
    Read,
    /// Read what is left, and reckon up what is missing.
    Reconstruct,
    /// Write all data chunks and all parities.
    FullStripe,
    /// Read-modify-write: old data and parities, their difference, new data and parities.
    ReadModifyWrite,
    /// Reconstruct-write: the data chunks that stay, then new data and parities.
    ReconstructWrite,
}

/// Accesses to the disks: each position in each set is one I/O. First all reads, then all writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripePlan {
    /// How.
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
    /// How many disk I/Os.
    pub fn ios(&self) -> usize {
        [self.read_chunks, self.read_appendices, self.write_chunks, self.write_appendices]
            .into_iter()
            .map(PositionSet::count)
            .sum()
    }
}
