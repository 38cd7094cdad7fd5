//! The way back: before older tables are updated, a copy of the file as it was is kept beside it, for the program that wrote it.

use super::opening::{self, KNOWN_VERSION};
use rusqlite::Connection;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// That the tables of an older version are updated.
#[derive(Debug)]
pub struct HistoryUpgrade {
    /// The version of the tables before.
    pub from: i64,
    /// The copy of the file as it was; else why there is none. The upgrade goes on without: who does not watch alerts nobody.
    pub copy: Result<PathBuf, CopyError>,
}

/// Why no copy of the history could be kept.
#[derive(Debug, Error)]
pub enum CopyError {
    /// The kernel's error.
    #[error("{0}")]
    System(#[from] io::Error),
    /// SQLite's error.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// Keeps a copy of a file whose tables are of an older version, `history.db.version-1` and so on, with access for its owner only. One of an
/// earlier upgrade from the same version is replaced. `None`: nothing will be upgraded, or the file cannot be opened (who opens it to write says why).
pub(super) fn keep_copy(path: &Path) -> Option<HistoryUpgrade> {
    let (connection, from) = opening::older(path)?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".version-{from}"));
    let copy = copy_to(&connection, PathBuf::from(name));
    Some(HistoryUpgrade { from, copy })
}

/// Whole under its name, or not there.
fn copy_to(connection: &Connection, copy: PathBuf) -> Result<PathBuf, CopyError> {
    let new = copy.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let written = || -> Result<(), CopyError> {
        let name = new.to_str().ok_or_else(|| io::Error::other("its name is no text"))?;
        connection.execute("VACUUM INTO ?1", [name])?; // with what still stands in the log beside the file
        File::open(&new)?.sync_all()?;
        fs::rename(&new, &copy)?;
        copy.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())?;
        Ok(())
    };
    written().inspect_err(|_| drop(fs::remove_file(&new)))?;
    Ok(copy)
}

impl HistoryUpgrade {
    /// What happened, in one line for the log.
    pub fn described(&self) -> String {
        let from = self.from;
        let head = format!("the history's tables are version {KNOWN_VERSION} from now on (they were version {from})");
        match &self.copy {
            Ok(copy) => format!("{head}; a copy for an older program is kept: {}", copy.display()),
            Err(error) => format!("{head}; no copy for an older program could be kept: {error}"),
        }
    }
}

#[cfg(test)]
mod tests;
