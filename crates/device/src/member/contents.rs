//! Checks whether a disk or file that is to become a member holds something that would be lost.

use super::open::OpenMember;
use scrubjay_core::units::MemberOffset;
use scrubjay_core::volume::format::superblock::SuperblockError;
use std::fmt;
use std::io;

/// Bytes that are read at either end: everything that identifies the use of a disk is there.
const LOOK_BYTES: u64 = 1 << 20;

/// Data that would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// It is a member of a volume.
    Member {
        /// The volume's name, or its UUID when it has none.
        volume: String,
        /// Its member index.
        member: usize,
    },
    /// It is a member of a volume, but its superblocks cannot be read.
    DamagedMember,
    /// It has partitions.
    Partitions,
    /// It holds other data.
    Something,
}

impl OpenMember {
    /// What would be lost if it were overwritten; `None` when both its ends are empty.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn contents(&self) -> io::Result<Option<Contents>> {
        match self.superblock() {
            Ok(superblock) => {
                let volume = if superblock.name.is_empty() { superblock.array.to_string() } else { superblock.name };
                return Ok(Some(Contents::Member { volume, member: superblock.member.get() }));
            }
            Err(SuperblockError::Foreign) => {}
            Err(_) => return Ok(Some(Contents::DamagedMember)),
        }
        let end_bytes = LOOK_BYTES.min(self.bytes);
        let head = self.read(MemberOffset(0), end_bytes as usize)?;
        let tail = self.read(MemberOffset(self.bytes - end_bytes), end_bytes as usize)?;
        if has_partitions(&head, self.block_bytes) {
            return Ok(Some(Contents::Partitions));
        }
        let is_empty = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
        Ok((!is_empty(&head) || !is_empty(&tail)).then_some(Contents::Something))
    }
}

/// Whether there is an MBR with any partition in it (a GPT has one there, too, for its protection), or a GPT.
fn has_partitions(head: &[u8], block_bytes: u64) -> bool {
    /// Offset of the four entries of an MBR's table; the type of a partition is the fifth of 16 bytes.
    const TABLE_AT: usize = 446;
    let Some(table) = head.get(TABLE_AT..512) else { return false };
    let is_mbr = table.ends_with(&[0x55, 0xaa]) && table.chunks_exact(16).any(is_partition);
    is_mbr || head.get(block_bytes as usize..).is_some_and(|second| second.starts_with(b"EFI PART"))
}

/// Whether an entry is a partition. The boot sector of FAT and NTFS ends like an MBR, but has code or text in place of the table.
fn is_partition(line: &[u8]) -> bool {
    matches!(line[0], 0 | 0x80) && line[4] != 0 && line[12..] != [0; 4]
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contents::Member { volume, member } => write!(f, "is member {member} of volume {volume}"),
            Contents::DamagedMember => f.write_str("is a member of a volume, a damaged one"),
            Contents::Partitions => f.write_str("has partitions"),
            Contents::Something => f.write_str("is not empty"),
        }
    }
}
