//! A finding: where, what, how it ended, on which member, and what lies there.

use super::kind::{FindingKind, Resolution};
use crate::units::{Bytes, SectorRange, UnixSeconds};
use std::fmt;

/// Something that was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where, in the subject's addresses. Empty: nowhere in them, as a block of a volume's metadata.
    pub place: SectorRange,
    /// What was wrong.
    pub kind: FindingKind,
    /// How it ended.
    pub resolution: Resolution,
    /// The member, or device of a file system, that has it; `None`: not known, or there is but one disk.
    pub member: Option<FoundOn>,
    /// What lies there.
    pub content: FoundContent,
    /// When it was found first.
    pub since: UnixSeconds,
}

impl Finding {
    /// The number of the member; 0 where it is not known.
    pub fn member_number(&self) -> usize {
        self.member.as_ref().and_then(|on| on.number).map_or(0, |number| number as usize)
    }

    /// The path or name of the member, if it is known.
    pub fn member_name(&self) -> Option<&str> {
        self.member.as_ref()?.name.as_deref()
    }

    /// The first byte on the member; 0 where it is not known.
    pub fn member_offset(&self) -> u64 {
        self.member.as_ref().and_then(|on| on.offset).unwrap_or(0)
    }

    /// The stripe, of a part of one.
    pub fn stripe(&self) -> Option<u64> {
        match self.content {
            FoundContent::Stripe { stripe, .. } => Some(stripe),
            _ => None,
        }
    }
}

/// Where on a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundOn {
    /// Its number in the array or file system.
    pub number: Option<u64>,
    /// Its path, or the kernel's name of it.
    pub name: Option<String>,
    /// The first byte on it, where that is known.
    pub offset: Option<u64>,
    /// How much of it.
    pub bytes: Bytes,
}

/// What lies at a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FoundContent {
    /// Nobody says.
    #[default]
    Unknown,
    /// A part of a stripe of a volume.
    Stripe {
        /// Its number.
        stripe: u64,
        /// The part.
        chunk: FoundChunk,
    },
    /// A volume's own block: `superblock`, `map 3`.
    Metadata(String),
    /// A part of an extent of a file system.
    Extent {
        /// Its logical address, where it is known.
        logical: Option<u64>,
        /// The files that it belongs to, escaped for display; not all, if there are many.
        files: Vec<String>,
        /// Further files (count).
        files_untold: u64,
    },
}

/// A part of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundChunk {
    /// A data chunk, by its number.
    Data(usize),
    /// A parity chunk, by its number.
    Parity(usize),
}

/// `D2`, `P0`.
impl fmt::Display for FoundChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FoundChunk::Data(number) => write!(f, "D{number}"),
            FoundChunk::Parity(number) => write!(f, "P{number}"),
        }
    }
}

impl FoundChunk {
    /// The chunk of such a word.
    pub fn named(word: &str) -> Option<FoundChunk> {
        let number = |letter| word.strip_prefix(letter).and_then(|number: &str| number.parse().ok());
        number('D').map(FoundChunk::Data).or_else(|| number('P').map(FoundChunk::Parity))
    }
}
