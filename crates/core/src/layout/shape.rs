//! How many chunks of data and of parity a stripe has.

use crate::index::StripePosition;
use crate::position_set::PositionSet;

/// The chunks of a stripe: slots `0..data` hold data, `data..data + parity` parities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// k, at least 1.
    pub data: usize,
    /// m; zero for a stripe without redundancy.
    pub parity: usize,
}

impl Shape {
    /// n = k + m.
    pub const fn slots(self) -> usize {
        self.data + self.parity
    }

    /// The place of the chunk of parity number `index`, from 0.
    pub const fn parity_position(self, index: usize) -> StripePosition {
        StripePosition(self.data + index)
    }

    /// Is it a data chunk that has this place?
    pub const fn is_data(self, position: StripePosition) -> bool {
        position.get() < self.data
    }

    /// The number of the parity that has this place, from 0; nothing of a data chunk.
    pub fn parity_index(self, position: StripePosition) -> Option<usize> {
        position.get().checked_sub(self.data)
    }

    /// The data chunk behind this one, round the ring of them.
    pub const fn after(self, position: StripePosition) -> StripePosition {
        StripePosition((position.get() + 1) % self.data)
    }

    /// The data chunk before this one, round the ring of them.
    pub const fn before(self, position: StripePosition) -> StripePosition {
        StripePosition((position.get() + self.data - 1) % self.data)
    }

    /// All places, ascending.
    pub fn positions(self) -> impl Iterator<Item = StripePosition> {
        StripePosition::first(self.slots())
    }

    /// Those of the data chunks, ascending.
    pub fn data_positions(self) -> impl Iterator<Item = StripePosition> {
        StripePosition::first(self.data)
    }

    /// The data slots.
    pub fn data_slots(self) -> PositionSet {
        PositionSet::range(0, self.data)
    }

    /// The parity slots.
    pub fn parity_slots(self) -> PositionSet {
        PositionSet::range(self.data, self.slots())
    }
}
