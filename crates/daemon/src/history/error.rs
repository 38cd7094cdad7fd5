//! What can go wrong with the file, each with what to do.

use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The file cannot be opened, read or written.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// It, or its folder, cannot be made.
    #[error("{} cannot be made: {source}", path.display())]
    Make {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be opened.
    #[error("{} cannot be opened: try as root", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// It belongs to another program.
    #[error("{} is a data base of another program: name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A later version wrote it.
    #[error("{} is of a newer Scrubjay (its tables are version {found}, known is {known}): install that one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its tables.
        found: i64,
        /// The latest that is known here.
        known: i64,
    },
    /// An earlier version wrote it, and it was opened to be read only.
    #[error("{} is of an older Scrubjay (its tables are version {found}, needed is {known}): start the daemon once", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// The version of its tables.
        found: i64,
        /// The one that is needed.
        known: i64,
    },
    /// It is damaged. It is left as it is.
    #[error("{} is damaged ({what}): move it away and put a copy in its place, or start without one; it is left as it is", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// There is no space. What was to be written was not, and what was there is whole.
    #[error("there is no space for {}: make some on its file system; nothing of the last step was kept", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process writes to it.
    #[error("{} is being written by another process: stop that one, or wait", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Anything else.
    #[error("{} cannot be read or written: {source}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}

/// `SQLITE_IOERR_SHMSIZE`: no space for the file beside it through which processes speak to each other.
const SHARED_MEMORY_SIZE: i32 = 10 | (19 << 8);

impl HistoryError {
    /// What SQLite said of this file.
    pub(super) fn of(path: &Path, source: rusqlite::Error) -> HistoryError {
        let path = path.to_owned();
        let is_of_memory = source.sqlite_error().is_some_and(|error| error.extended_code == SHARED_MEMORY_SIZE);
        match (source.sqlite_error_code(), &source) {
            _ if is_of_memory => HistoryError::Full { path },
            (Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase), _)
            | (
                None,
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::Utf8Error(..),
            ) => HistoryError::Damaged { path, what: source.to_string() },
            (Some(ErrorCode::DiskFull), _) => HistoryError::Full { path },
            (Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), _) => HistoryError::Busy { path },
            (Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied), _) => {
                HistoryError::Open { path, source }
            }
            _ => HistoryError::Failed { path, source },
        }
    }
}
