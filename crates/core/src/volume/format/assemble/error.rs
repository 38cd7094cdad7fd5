//! Why members make no array, in one line each.

use super::super::superblock::{MemberState, SuperblockError};
use crate::index::MemberIndex;
use std::fmt;

/// Why there is no array. Labels are those that were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssembleError {
    /// No member at all.
    Nothing,
    /// Something that was given is no member, is damaged, or is of another version.
    Unread {
        /// Which.
        label: String,
        /// What is wrong.
        error: SuperblockError,
    },
    /// Members of different arrays.
    Foreign {
        /// A member of the array that most of them are of,
        label: String,
        /// and the array: `volume photos (1b4e28ba-...)`;
        array: String,
        /// the one that is of another,
        other: String,
        /// and that one.
        other_array: String,
    },
    /// The same member twice, or one and its copy.
    Duplicate {
        /// One,
        label: String,
        /// the other,
        other: String,
        /// and the slot of both.
        member: MemberIndex,
    },
    /// Members that contradict each other about what never changes, or about one generation.
    Contradiction {
        /// One,
        label: String,
        /// and the other.
        other: String,
    },
    /// Members that went on without each other: whichever is right, the other one's writes are lost.
    SplitBrain {
        /// One,
        label: String,
        /// its generation,
        generation: u64,
        /// one that calls it out,
        other: String,
        /// and the generation of that one.
        other_generation: u64,
    },
    /// A member is smaller than it was.
    Shrunk {
        /// Which.
        label: String,
        /// How many bytes it has,
        bytes: u64,
        /// and how many it should have at least.
        needed: u64,
    },
    /// Stripes could not be read.
    TooFew {
        /// The slots that nobody stands for, ascending, each with why.
        absent: Vec<(MemberIndex, MemberState)>,
        /// How many members a stripe can do without.
        parity: usize,
        /// The stale members that were given: their slots and labels.
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
