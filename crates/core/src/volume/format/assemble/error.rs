//! Why the given members make no array.

use super::super::superblock::{MemberState, SuperblockError};
use crate::index::MemberIndex;
use std::fmt;

/// Why the given members make no array. Labels are those that were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssembleError {
    /// No member was given.
    Nothing,
    /// One of those given is not a member, is damaged, or has another format version.
    Unread {
        /// Its label.
        label: String,
        /// What is wrong.
        error: SuperblockError,
    },
    /// The members are of different arrays.
    Foreign {
        /// Label of a member of the array that most members are of.
        label: String,
        /// That array, for example `volume photos (1b4e28ba-...)`.
        array: String,
        /// Label of a member of another array.
        other: String,
        /// That other array.
        other_array: String,
    },
    /// The same member was given twice, or a member and a copy of it.
    Duplicate {
        /// Label of one of the two.
        label: String,
        /// Label of the other.
        other: String,
        /// The slot of both.
        member: MemberIndex,
    },
    /// Members contradict each other about what never changes, or about one generation.
    Contradiction {
        /// Label of one of the two.
        label: String,
        /// Label of the other.
        other: String,
    },
    /// Members went on without each other: whichever is right, the other one's writes are lost.
    SplitBrain {
        /// Label of one of the two.
        label: String,
        /// Its generation.
        generation: u64,
        /// Label of the other, which calls the first one out or does not know its last start.
        other: String,
        /// Generation of the other.
        other_generation: u64,
    },
    /// A member is smaller than the array requires.
    Shrunk {
        /// Its label.
        label: String,
        /// Its size in bytes.
        bytes: u64,
        /// Bytes it should have, at least.
        needed: u64,
    },
    /// Some stripes have too few chunks to be read.
    TooFew {
        /// The slots without a member, ascending, each with the reason.
        absent: Vec<(MemberIndex, MemberState)>,
        /// Members that a stripe can do without.
        parity: usize,
        /// The stale members that were given: slots and labels.
        stale: Vec<(MemberIndex, String)>,
    },
}

impl fmt::Display for AssembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssembleError::Nothing => f.write_str("no member was given"),
            AssembleError::Unread { label, error: error @ SuperblockError::Damaged } => {
                write!(f, "{label} {error}: leave it out to start without it")
            }
            AssembleError::Unread { label, error } => write!(f, "{label} {error}"),
            AssembleError::Foreign { label, array, other, other_array } => {
                write!(f, "{other} is a member of {other_array}, not of {array} as {label} is")
            }
            AssembleError::Duplicate { label, other, member } => {
                write!(f, "{label} and {other} are the same member ({member}), or one is a copy of the other")
            }
            AssembleError::Contradiction { label, other } => {
                write!(f, "{label} and {other} contradict each other about their array: leave one of them out")
            }
            AssembleError::SplitBrain { label, generation, other, other_generation } => write!(
                f,
                "{label} (generation {generation}) and {other} (generation {other_generation}) went on without each \
                 other: start with one of them, and replace the other"
            ),
            AssembleError::Shrunk { label, bytes, needed } => {
                write!(f, "{label} has {bytes} bytes: it has shrunk, it had {needed} at least")
            }
            AssembleError::TooFew { absent, parity, stale } => fmt_too_few(f, absent, *parity, stale),
        }
    }
}

fn fmt_too_few(
    f: &mut fmt::Formatter<'_>,
    absent: &[(MemberIndex, MemberState)],
    parity: usize,
    stale: &[(MemberIndex, String)],
) -> fmt::Result {
    write!(f, "too few members: a stripe can do without {parity}, and these slots are empty: ")?;
    for (index, (member, state)) in absent.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        match stale.iter().find(|(stale, _)| stale == member) {
            Some((_, label)) => write!(f, "{comma}{member} ({label} is stale: {state})")?,
            None => write!(f, "{comma}{member} ({state})")?,
        }
    }
    Ok(())
}

impl std::error::Error for AssembleError {}
