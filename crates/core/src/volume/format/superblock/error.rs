//! Why a block is not a superblock.

use std::fmt;

/// Version of the format.
pub const VERSION: u32 = 2;

/// Why a block is not a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperblockError {
    /// It does not begin like one.
    Foreign,
    /// It has this other version of the format.
    Version(u32),
    /// It begins like one, but the checksum does not match.
    Damaged,
    /// It needs features that this program does not know: these bits of its incompatible features.
    Feature(u64),
    /// The checksum matches, but this part of it makes no sense: this program did not write it.
    Nonsense(&'static str),
}

impl SuperblockError {
    /// How much the error reveals: of a member's copies, the error with the highest rank is reported.
    pub(super) fn rank(self) -> u8 {
        match self {
            SuperblockError::Foreign => 0,
            SuperblockError::Damaged => 1,
            SuperblockError::Nonsense(_) => 2,
            SuperblockError::Version(_) | SuperblockError::Feature(_) => 3,
        }
    }
}

impl fmt::Display for SuperblockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SuperblockError::Foreign => f.write_str("is no member of a volume"),
            SuperblockError::Version(version) => {
                write!(f, "is a member of a volume in format {version}; this program knows format {VERSION}")
            }
            SuperblockError::Feature(bits) => {
                write!(f, "is a member of a volume that needs a newer program (features {bits:#x})")
            }
            SuperblockError::Damaged => f.write_str("is a member of a volume, but all its superblocks are damaged"),
            SuperblockError::Nonsense(part) => write!(f, "has a superblock that makes no sense: {part}"),
        }
    }
}

impl std::error::Error for SuperblockError {}
