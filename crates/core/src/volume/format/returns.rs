//! Whether a member that was out may come back and lacks only what was written since.

use super::superblock::{MemberState, Superblock};
use std::fmt;

/// Why a member may not come back with its content; it is then rebuilt as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnRefusal {
    /// It is not a member of this volume.
    Foreign,
    /// The member in its slot is not out, or is another one.
    NotOut,
    /// It did not hold everything it should when it left.
    Incomplete,
    /// Its superblock is older than when it left: it is a copy, or a snapshot.
    Older,
    /// It was started without the others since it left, or left too long ago to tell.
    StartedSeparately,
    /// It has not ended all its operations from before it was taken out.
    Busy,
}

impl fmt::Display for ReturnRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReturnRefusal::Foreign => "it is no member of this volume",
            ReturnRefusal::NotOut => "its place is taken, or was taken by another one since",
            ReturnRefusal::Incomplete => "it did not hold all that it should when it left",
            ReturnRefusal::Older => "what is on it is older than what was there when it left",
            ReturnRefusal::StartedSeparately => {
                "it was started without the others since it left, or left too long ago to tell"
            }
            ReturnRefusal::Busy => "it has not ended what it was asked before it was taken out",
        })
    }
}

impl Superblock {
    /// Whether the member with superblock `theirs` may come back to the array of this one, with the content it had when it
    /// left.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check_return(&self, theirs: &Superblock) -> Result<(), ReturnRefusal> {
        if (theirs.array, theirs.created, theirs.geometry) != (self.array, self.created, self.geometry) {
            return Err(ReturnRefusal::Foreign);
        }
        let record = self.members.get(theirs.member.get()).ok_or(ReturnRefusal::Foreign)?;
        let is_out = matches!(record.state, MemberState::Failed(_) | MemberState::Missing);
        if !is_out || (record.uuid, record.term) != (theirs.own().uuid, theirs.own().term) {
            return Err(ReturnRefusal::NotOut);
        }
        if theirs.own().state != MemberState::Active {
            return Err(ReturnRefusal::Incomplete);
        }
        if record.departure_generation == 0 || theirs.generation < record.departure_generation {
            return Err(ReturnRefusal::Older);
        }
        let last = theirs.starts[theirs.starts.len() - 1];
        let is_known = self.starts.contains(&last) && theirs.generation <= self.generation;
        let calls_out = self.members.iter().zip(&theirs.members).any(|(known, claimed)| {
            let is_out = matches!(claimed.state, MemberState::Failed(_) | MemberState::Missing);
            // Or it knows a later disk in some member's place than this superblock does.
            claimed.term > known.term || known.uuid == claimed.uuid && known.state == MemberState::Active && is_out
        });
        if is_known && !calls_out { Ok(()) } else { Err(ReturnRefusal::StartedSeparately) }
    }
}
