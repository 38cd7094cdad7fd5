//! Losses of the watch's own history: its file was deleted, damaged, exchanged, or replaced by an older one.

use crate::worded;
use scrubjay_core::units::UnixSeconds;

/// How the history's file was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// It was deleted, or emptied.
    Deleted,
    /// It could not be understood.
    Damaged,
    /// It is older than what this machine had kept: a backup or a snapshot was put back.
    Older,
    /// It is another file than the watch wrote.
    Exchanged,
}

worded!(LossKind { Deleted = "deleted", Damaged = "damaged", Older = "older", Exchanged = "exchanged", });

/// A loss of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HistoryLoss {
    /// When it was noticed; the watch sets it.
    pub at: UnixSeconds,
    /// How it was lost.
    pub kind: LossKind,
    /// Where the file that was found lies now.
    pub aside: Option<String>,
    /// Was the watch's own state written anew from memory? Else it is gone, or as old as the file.
    pub is_rebuilt: bool,
}
