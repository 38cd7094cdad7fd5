//! Exit codes: a program's last word to a program.

/// How a verb ended, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Clean = 0,
    /// It could not be done.
    Failed = 1,
    /// The command or a target makes no sense.
    Usage = 2,
    /// Done, and problems were found.
    Found = 3,
    /// No permission.
    Permission = 4,
    /// Stopped by a signal; to be continued.
    Paused = 130,
}

/// What the user asked for makes no sense, or the input is not what it should be: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);
