//! Why a block is no superblock.

use std::fmt;

/// The format's version.
pub const VERSION: u32 = 2;

/// Why a block is no superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperblockError {
    /// It does not begin as one.
    Foreign,
    /// It is one of another version of the format.
    Version(u32),
    /// It begins as one, but the checksum does not match.
    Damaged,
    /// It needs abilities that this program does not have: these bits of its incompatible features.
    Feature(u64),
    /// The checksum matches, but this makes no sense: nothing that we wrote.
    Nonsense(&'static str),
}

impl SuperblockError {
    /// How much it tells.
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
            SuperblockError::Nonsense(what) => write!(f, "has a superblock that makes no sense: {what}"),
        }
    }
}

impl std::error::Error for SuperblockError {}
