//! How many chunks of data and of parity a stripe has.

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

    /// The data slots.
    pub fn data_slots(self) -> PositionSet {
        PositionSet::range(0, self.data)
    }

    /// The parity slots.
    pub fn parity_slots(self) -> PositionSet {
        PositionSet::range(self.data, self.slots())
    }
}
