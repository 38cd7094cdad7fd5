//! The setup of a check: the stripe's shape and scheme, and which of the known mistakes are made on purpose.

use scrubjay_core::layout::Shape;
use scrubjay_core::volume::integrity::scheme::Scheme;

/// Data chunks of a modelled stripe, at most.
pub const DATA_MAX: usize = 5;
/// Parities of a modelled stripe, at most.
pub const PARITY_MAX: usize = 3;

/// The setup of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelSetup {
    /// The scheme.
    pub scheme: Scheme,
    /// The shape: 1 to [`DATA_MAX`] data chunks, 1 to [`PARITY_MAX`] parities.
    pub shape: Shape,
    /// The source of a new version in Hybrid-1.
    pub increment: Increment,
    /// The lists by which missing chunks are rebuilt.
    pub lists: Lists,
    /// Are there writes while a member is missing?
    pub writes_degraded: bool,
    /// Are writes done in either mode, or only in the one that takes fewer I/Os?
    pub every_mode: bool,
    /// Successive steps, at most; `None`: until no new state is found.
    pub steps_max: Option<usize>,
}

/// The source of a new version in Hybrid-1. (Other schemes ignore it.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Increment {
    /// The version found on the chunk, plus one (Li & Lee 2014, section IV-C).
    Found,
    /// The greatest version that the chunk or any list names, plus one. Every write then reads all lists.
    Greatest,
}

/// The lists by which missing chunks are rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// All lists that are left, compared with each other.
    All,
    /// The list of the used parity alone.
    One,
}

impl ModelSetup {
    /// The scheme as it ships, in all states that can be reached.
    ///
    /// # Panics
    /// When the shape is too large or empty.
    pub fn new(scheme: Scheme, data: usize, parity: usize) -> ModelSetup {
        assert!((1..=DATA_MAX).contains(&data) && (1..=PARITY_MAX).contains(&parity), "a small stripe");
        ModelSetup {
            scheme,
            shape: Shape { data, parity },
            increment: Increment::Found,
            lists: Lists::All,
            writes_degraded: true,
            every_mode: true,
            steps_max: None,
        }
    }

    /// The scheme as it ships, on every modelled shape of at most `slots_max` chunks: at least one parity, and for
    /// schemes with neighbours' copies at least two data chunks. (Without a neighbour, checksum mirroring has no third
    /// copy to decide between two.)
    pub fn all(scheme: Scheme, slots_max: usize) -> impl Iterator<Item = ModelSetup> {
        let data_min = if scheme.has_buddies() { 2 } else { 1 };
        let shapes = (data_min..=DATA_MAX).flat_map(|data| (1..=PARITY_MAX).map(move |parity| (data, parity)));
        let shapes = shapes.filter(move |(data, parity)| data + parity <= slots_max);
        shapes.map(move |(data, parity)| ModelSetup::new(scheme, data, parity))
    }

    /// Does a chunk carry a copy of a neighbour's checksum, and does it have a neighbour?
    pub fn has_buddies(&self) -> bool {
        self.scheme.has_buddies() && self.shape.data > 1
    }
}
