//! A disk in a member's place, as the volume's operations name it.

use crate::volume::member::MemberIndex;

/// A disk in a member's place. A disk that replaces it has another term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PlacedDisk {
    pub member: MemberIndex,
    pub term: u16,
}
