//! Exit codes, and which of them an error is.

use crate::say;
use scrubjay_jobs::JobError;
use std::io;
use std::process::ExitCode;

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

/// The exit code of a program that ended so; what went wrong is said. `of` says which code an error is: `None` where nothing is left
/// to say, because the reader closed our output early (`| head`), which is no failure.
pub fn code(result: anyhow::Result<Exit>, of: fn(&anyhow::Error) -> Option<Exit>) -> ExitCode {
    let exit = result.unwrap_or_else(|error| {
        let exit = of(&error);
        if exit.is_some() {
            say::say(format_args!("scrubjay: {}", say::in_words(&error)));
        }
        exit.unwrap_or(Exit::Clean)
    });
    ExitCode::from(exit as u8)
}

/// The exit code of an error; `None` as for [`code`].
pub fn of(error: &anyhow::Error) -> Option<Exit> {
    match (error.downcast_ref(), error.downcast_ref::<io::Error>()) {
        (Some(job), _) => of_job(job),
        (None, Some(cause)) => of_system(cause),
        (None, None) if error.is::<Usage>() => Some(Exit::Usage),
        (None, None) => Some(Exit::Failed),
    }
}

/// The exit code of a job's error; `None` as for [`code`].
pub fn of_job(error: &JobError) -> Option<Exit> {
    match error {
        JobError::Input(_) | JobError::Unopened { .. } | JobError::UnusedParameter(_) => Some(Exit::Usage),
        JobError::Io { error, .. } => of_system(error),
        JobError::Output(_) | JobError::Unanswered { .. } | JobError::Client(_) => Some(Exit::Failed),
    }
}

fn of_system(error: &io::Error) -> Option<Exit> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => None,
        io::ErrorKind::PermissionDenied => Some(Exit::Permission),
        _ => Some(Exit::Failed),
    }
}
