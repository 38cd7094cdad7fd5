//! A disk, as the operations of a volume are meant for it.

use crate::volume::member::MemberIndex;

/// A disk in a member's place. When it is replaced, the next one has another term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PlacedDisk {
    pub member: MemberIndex,
    pub term: u16,
}
