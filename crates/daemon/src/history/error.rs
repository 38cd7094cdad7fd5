//! Errors of the history's file, each with what to do.

use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the file cannot be opened, read or written.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The file, or its folder, cannot be made.
    #[error("{} cannot be made: {source}", path.display())]
    Make {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot be opened.
    #[error("{} cannot be opened: try as root", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// It belongs to another program.
    #[error("{} is a data base of another program: name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer version wrote it.
    #[error("{} is of a newer Scrubjay (its tables are version {found}, known is {known}): install that one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its tables.
        found: i64,
        /// The latest version that this program knows.
        known: i64,
    },
    /// An older version wrote it, and it was opened for reading only.
    #[error("{} is of an older Scrubjay (its tables are version {found}, needed is {known}): start the daemon once", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// The version of its tables.
        found: i64,
        /// The version that is needed.
        known: i64,
    },
    /// It is damaged, and is left as it is.
    #[error("{} is damaged ({fault}): move it away and put a copy in its place, or start without one; it is left as it is", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage that was found.
        fault: String,
    },
    /// There is no space. Nothing of the last step was written, and the file is intact.
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
    /// Any other error.
    #[error("{} cannot be read or written: {source}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
}

/// `SQLITE_IOERR_SHMSIZE`: no space for the shared-memory file beside the data base.
const SHARED_MEMORY_SIZE: i32 = 10 | (19 << 8);

impl HistoryError {
    /// Classifies SQLite's error for this file.
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
            ) => HistoryError::Damaged { path, fault: source.to_string() },
            (Some(ErrorCode::DiskFull), _) => HistoryError::Full { path },
            (Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), _) => HistoryError::Busy { path },
            (Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied), _) => {
                HistoryError::Open { path, source }
            }
            _ => HistoryError::Failed { path, source },
        }
    }
}
