//! Exit codes.

/// How a verb ended, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Clean = 0,
    /// It could not be done.
    Failed = 1,
    /// The command or a target is wrong.
    Usage = 2,
    /// Done, and problems were found.
    Found = 3,
    /// No permission.
    Permission = 4,
    /// Stopped by a signal; can be resumed.
    Paused = 130,
}

/// The request is wrong, or the input is not what it should be: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);
