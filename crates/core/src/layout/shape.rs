//! The shape of a stripe: its numbers of data and parity chunks.

use crate::index::StripePosition;
use crate::position_set::PositionSet;
use std::fmt;

/// The chunks of a stripe: slots `0..data` hold data, slots `data..data + parity` parities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The number of data chunks: k, at least 1.
    pub data: usize,
    /// The number of parity chunks: m; zero for a stripe without redundancy.
    pub parity: usize,
}

/// As in `4+2`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.data, self.parity)
    }
}

impl Shape {
    /// The number of chunks: n = k + m.
    pub const fn width(self) -> usize {
        self.data + self.parity
    }

    /// The position of parity number `index`, from 0.
    pub const fn parity_position(self, index: usize) -> StripePosition {
        StripePosition(self.data + index)
    }

    /// Whether the chunk at `position` is a data chunk.
    pub const fn is_data(self, position: StripePosition) -> bool {
        position.get() < self.data
    }

    /// The number of the parity at `position`, from 0; `None` for a data chunk.
    pub fn parity_index(self, position: StripePosition) -> Option<usize> {
        position.get().checked_sub(self.data)
    }

    /// The position of the next data chunk; after the last comes the first.
    pub const fn after(self, position: StripePosition) -> StripePosition {
        StripePosition((position.get() + 1) % self.data)
    }

    /// The position of the data chunk before; before the first comes the last.
    pub const fn before(self, position: StripePosition) -> StripePosition {
        StripePosition((position.get() + self.data - 1) % self.data)
    }

    /// All positions, ascending.
    pub fn positions(self) -> impl Iterator<Item = StripePosition> {
        StripePosition::first(self.width())
    }

    /// The positions of the data chunks, ascending.
    pub fn data_positions(self) -> impl Iterator<Item = StripePosition> {
        StripePosition::first(self.data)
    }

    /// The positions of the data chunks.
    pub fn data_set(self) -> PositionSet {
        PositionSet::range(0, self.data)
    }

    /// The positions of the parity chunks.
    pub fn parity_set(self) -> PositionSet {
        PositionSet::range(self.data, self.width())
    }
}
