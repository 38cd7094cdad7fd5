//! Whether a member that was out may come back and lacks only what was written since.

use super::superblock::{MemberState, Superblock};
use std::fmt;

/// Why a member may not come back with its content; it is then rebuilt as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoReturn {
    /// It is not a member of this volume.
    Foreign,
    /// The member in its slot is not out, or is another one.
    NotOut,
    /// It did not hold everything it should when it left.
    Incomplete,
    /// Its superblock is older than when it left: it is a copy, or a snapshot.
    Older,
    /// It was started without the others since it left, or left too long ago to tell.
    WentOn,
    /// It has not ended all its operations from before it was taken out.
    Busy,
}

impl fmt::Display for NoReturn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoReturn::Foreign => "it is no member of this volume",
            NoReturn::NotOut => "its place is taken, or was taken by another one since",
            NoReturn::Incomplete => "it did not hold all that it should when it left",
            NoReturn::Older => "what is on it is older than what was there when it left",
            NoReturn::WentOn => "it was started without the others since it left, or left too long ago to tell",
            NoReturn::Busy => "it has not ended what it was asked before it was taken out",
        })
    }
}

impl Superblock {
    /// Whether the member with superblock `theirs` may come back to the array of this one, with the content it had when it
    /// left.
    ///
    /// # Errors
    /// Why it may not.
    pub fn takes_back(&self, theirs: &Superblock) -> Result<(), NoReturn> {
        if (theirs.array, theirs.created, theirs.geometry) != (self.array, self.created, self.geometry) {
            return Err(NoReturn::Foreign);
        }
        let record = self.members.get(theirs.member.get()).ok_or(NoReturn::Foreign)?;
        let is_out = matches!(record.state, MemberState::Failed(_) | MemberState::Missing);
        if !is_out || (record.uuid, record.term) != (theirs.own().uuid, theirs.own().term) {
            return Err(NoReturn::NotOut);
        }
        if theirs.own().state != MemberState::Active {
            return Err(NoReturn::Incomplete);
        }
        if record.left == 0 || theirs.generation < record.left {
            return Err(NoReturn::Older);
        }
        let last = theirs.starts[theirs.starts.len() - 1];
        let is_known = self.starts.contains(&last) && theirs.generation <= self.generation;
        let calls_out = self.members.iter().zip(&theirs.members).any(|(known, claimed)| {
            let is_out = matches!(claimed.state, MemberState::Failed(_) | MemberState::Missing);
            // Or it knows a later disk in some member's place than this superblock does.
            claimed.term > known.term || known.uuid == claimed.uuid && known.state == MemberState::Active && is_out
        });
        if is_known && !calls_out { Ok(()) } else { Err(NoReturn::WentOn) }
    }
}
