//! Whether the history's file is still the one that this watch wrote: it may be deleted, damaged, exchanged, or replaced by an older copy.

use super::database::HistoryDatabase;
use super::error::HistoryError;
use super::mark::{HistoryMark, MarkPlaces};
use super::opening;
use super::upgrade::{self, HistoryUpgrade};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::loss::{HistoryLoss, LossKind};
use scrubjay_watch::rows::WatchRow;
use scrubjay_words::Wording;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files that were set aside and are kept, at most.
const ASIDE_MAX: u32 = 1000;

/// What was found when the history was opened.
#[derive(Debug)]
pub struct OpenedHistory {
    /// The history, for writing.
    pub history: HistoryDatabase,
    /// Its rows.
    pub rows: Vec<WatchRow>,
    /// What was lost before, if anything was.
    pub loss: Option<HistoryLoss>,
    /// Whether its tables were of an older version.
    pub upgrade: Option<HistoryUpgrade>,
}

fn loss(kind: LossKind, aside: Option<&Path>) -> HistoryLoss {
    let aside = aside.map(|path| path.display().to_string());
    HistoryLoss { at: UnixSeconds(0), kind, aside, is_rebuilt: false }
}

/// Opens the history for writing. A damaged file is set aside, and another is made: nobody would be alerted without. Of one whose tables
/// are of an older version, a copy is kept.
///
/// # Errors
/// It is of another program or of a newer version, it cannot be made or read, or a damaged one cannot be set aside.
pub fn open(path: &Path, marks: &MarkPlaces) -> Result<OpenedHistory, HistoryError> {
    let was_there = fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0);
    let upgrade = upgrade::keep_copy(path);
    let opened = HistoryDatabase::open(path).and_then(|history| {
        let (rows, mark) = (history.rows()?, history.mark()?);
        Ok((history, rows, mark))
    });
    let known = marks.read();
    match opened {
        Ok((history, rows, mark)) => {
            let is_behind = |known: &HistoryMark| known.id == mark.id && known.generation > mark.generation;
            let is_another = known.iter().any(|known| known.id != mark.id);
            let loss = match () {
                () if !was_there && !known.is_empty() => Some(loss(LossKind::Deleted, None)),
                () if known.iter().any(is_behind) => Some(loss(LossKind::Older, None)),
                // One that was there before marks were is no other.
                () if was_there && is_another => Some(loss(LossKind::Exchanged, None)),
                () => None,
            };
            Ok(OpenedHistory { history, rows, loss, upgrade })
        }
        Err(HistoryError::Damaged { .. }) => {
            let aside = set_aside(path)?;
            let history = HistoryDatabase::open(path)?;
            let rows = history.rows()?;
            let loss = Some(loss(LossKind::Damaged, Some(&aside)));
            Ok(OpenedHistory { history, rows, loss, upgrade: None })
        }
        Err(error) => Err(error),
    }
}

/// How the file of an open history stands; `None`: it is the one that was opened, as it was last written.
pub fn check(history: &HistoryDatabase) -> Option<LossKind> {
    let metadata = match fs::metadata(history.path()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(LossKind::Deleted),
        Err(_) => return None, // what cannot be looked at is not known to be lost
        Ok(metadata) => metadata,
    };
    if metadata.len() == 0 {
        return Some(LossKind::Deleted);
    }
    if Some((metadata.dev(), metadata.ino())) != history.file() {
        return Some(LossKind::Exchanged);
    }
    // A file that was overwritten in its place is read anew, past what this process has in memory.
    let now = opening::readable(history.path())
        .and_then(|database| HistoryMark::of(&database).map_err(|error| HistoryError::of(history.path(), error)));
    match (now, history.last_mark()) {
        (Ok(now), Some(last)) if now.id != last.id => Some(LossKind::Exchanged),
        (Ok(now), Some(last)) if now.generation < last.generation => Some(LossKind::Older),
        (Err(HistoryError::Damaged { .. } | HistoryError::Foreign { .. } | HistoryError::Older { .. }), _) => {
            Some(LossKind::Damaged)
        }
        _ => None,
    }
}

/// Are the pages of its file whole, read anew, past what this process has in memory? It reads all of them.
pub fn is_whole(history: &HistoryDatabase) -> bool {
    let checked =
        opening::readable(history.path()).and_then(|database| opening::check_pages(history.path(), &database));
    !matches!(checked, Err(HistoryError::Damaged { .. } | HistoryError::Foreign { .. }))
}

/// Writes the history anew from these rows, in the place of one that was lost. What lies there now is set aside.
///
/// # Errors
/// It cannot be set aside, made or written: then nothing can be kept, until this is called again.
pub fn rebuild(
    history: &mut HistoryDatabase,
    now: UnixSeconds,
    kind: LossKind,
    rows: &[WatchRow],
    wording: &Wording<'_>,
) -> Result<HistoryLoss, HistoryError> {
    let path = history.path().to_owned();
    // The old one is closed first: at its end SQLite removes the log of this name.
    let texts = std::mem::take(&mut history.texts);
    *history = HistoryDatabase::closed(&path)?;
    history.texts = texts;
    let aside = if path.exists() { Some(set_aside(&path)?) } else { None };
    for beside in logs_of(&path) {
        let _ = fs::remove_file(beside);
    }
    let mut new = HistoryDatabase::open(&path)?;
    new.texts = history.texts.clone();
    new.keep(now, rows, &[], wording)?;
    *history = new;
    Ok(HistoryLoss { is_rebuilt: true, ..loss(kind, aside.as_deref()) })
}

/// The files that SQLite has beside this one.
fn logs_of(path: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    })
}

/// Renames the file, with its logs, to `history.db.aside-1` and so on.
fn set_aside(path: &Path) -> Result<PathBuf, HistoryError> {
    let fail = |source| HistoryError::Make { path: path.to_owned(), source };
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".aside-{number}"));
        PathBuf::from(name)
    };
    let free = (1..=ASIDE_MAX).map(named).find(|aside| fs::symlink_metadata(aside).is_err());
    let free = free.ok_or_else(|| fail(io::Error::other("a thousand files were set aside: remove some")))?;
    fs::rename(path, &free).map_err(fail)?;
    for (from, to) in logs_of(path).into_iter().zip(logs_of(&free)) {
        let _ = fs::rename(from, to);
    }
    Ok(free)
}

#[cfg(test)]
mod tests;
