//! Marks: which file the history was, and how far it had come.
//!
//! Each write counts up the file's *generation*, in the file itself; a mark beside it (`history.mark`), and one in the folder of sockets,
//! which is gone at a reboot, have the same. A file that is behind a mark is an older one.

use rusqlite::Connection;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Which file it is, and how often it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryMark {
    /// A random number, made with the file.
    pub id: i64,
    /// How often it was written.
    pub generation: i64,
}

impl HistoryMark {
    /// The mark of an open file.
    pub(super) fn of(database: &Connection) -> rusqlite::Result<HistoryMark> {
        database.query_row("SELECT id, generation FROM instance", [], |row| {
            Ok(HistoryMark { id: row.get(0)?, generation: row.get(1)? })
        })
    }

    /// Counts a write.
    pub(super) fn count(database: &Connection) -> rusqlite::Result<()> {
        database.execute("UPDATE instance SET generation = generation + 1", []).map(drop)
    }

    /// Reads a mark; `None`: there is none, or it makes no sense.
    pub fn read(path: &Path) -> Option<HistoryMark> {
        let text = fs::read_to_string(path).ok()?;
        let (id, generation) = text.trim().split_once(' ')?;
        Some(HistoryMark { id: id.parse().ok()?, generation: generation.parse().ok()? })
    }

    /// Writes a mark: in the same folder, renamed.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn write(self, path: &Path) -> io::Result<()> {
        let new = path.with_extension("mark-new");
        let _ = fs::remove_file(&new);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(format!("{} {}\n", self.id, self.generation).as_bytes())?;
        fs::rename(&new, path)
    }
}

/// Where the marks of a history lie: beside it, and in the folder of sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkPlaces(pub Vec<PathBuf>);

impl MarkPlaces {
    /// Writes all of them. That one cannot be written is no reason to stop: another may be.
    pub fn write(&self, mark: HistoryMark) {
        for path in &self.0 {
            let _ = mark.write(path);
        }
    }

    /// Those that can be read.
    pub(super) fn read(&self) -> Vec<HistoryMark> {
        self.0.iter().filter_map(|path| HistoryMark::read(path)).collect()
    }
}
