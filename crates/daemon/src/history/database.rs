//! The data base as the pump and readers use it.

use super::counters::{self, CounterPoint};
use super::error::HistoryError;
use super::event::{self, HistoryEvent};
use super::follow::KeptWords;
use super::mark::HistoryMark;
use super::passes::{self, FindingRecord, PassRecord};
use super::temperatures::{self, TemperaturePoint};
use super::{disks, follow, opening, stored, thin};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use scrubjay_core::units::{SectorRange, UnixSeconds};
use scrubjay_watch::facts::{DiskKey, PassReport, SmartFacts};
use scrubjay_watch::rows::{RowKey, WatchRow};
use scrubjay_words::{MessageText, MessageTexts, Wording};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The watch's rows and the history of the disks, in one SQLite file. Each method that changes it is atomic, and
/// durable when it returns.
#[derive(Debug)]
pub struct HistoryDatabase {
    path: PathBuf,
    pub(super) connection: Connection,
    /// Device and inode of the file.
    file: Option<(u64, u64)>,
    /// How far it had come when it was last written or opened.
    last_mark: Option<HistoryMark>,
    /// What the messages say that wait.
    pub(super) texts: MessageTexts,
}

impl HistoryDatabase {
    /// Opens the file for writing. An absent file is made, with mode 0600, and its folder with it.
    ///
    /// # Errors
    /// When it cannot be made or opened, belongs to another program or a newer version, or is damaged: then it is left
    /// as it is.
    pub fn open(path: &Path) -> Result<HistoryDatabase, HistoryError> {
        let connection = opening::writable(path)?;
        let last_mark = HistoryMark::of(&connection).map_err(|error| HistoryError::of(path, error))?;
        let file = fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
        let texts = stored::load_texts(&connection).map_err(|error| HistoryError::of(path, error))?;
        Ok(HistoryDatabase { path: path.to_owned(), connection, file, last_mark: Some(last_mark), texts })
    }

    /// A data base in memory that is gone with the value: for a modelled machine.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn in_memory() -> Result<HistoryDatabase, HistoryError> {
        let path = PathBuf::from(":memory:");
        let connection = opening::in_memory().map_err(|error| HistoryError::of(&path, error))?;
        Ok(HistoryDatabase::of(&path, connection))
    }

    /// One of this path that takes nothing: while the file itself cannot be written.
    pub(super) fn closed(path: &Path) -> Result<HistoryDatabase, HistoryError> {
        let closed = || {
            let connection = opening::in_memory()?;
            connection.pragma_update(None, "query_only", true)?;
            Ok(connection)
        };
        let connection = closed().map_err(|error| HistoryError::of(path, error))?;
        Ok(HistoryDatabase::of(path, connection))
    }

    /// Opens the file for reading, while a daemon may write it.
    ///
    /// # Errors
    /// Like [`HistoryDatabase::open`]; also when it is absent, or of an older version.
    pub fn open_read_only(path: &Path) -> Result<HistoryDatabase, HistoryError> {
        Ok(HistoryDatabase::of(path, opening::readable(path)?))
    }

    fn of(path: &Path, connection: Connection) -> HistoryDatabase {
        let (path, texts) = (path.to_owned(), MessageTexts::default());
        HistoryDatabase { path, connection, file: None, last_mark: None, texts }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode of the file that was opened for writing.
    pub(super) fn file(&self) -> Option<(u64, u64)> {
        self.file
    }

    /// How far it had come when it was last written or opened.
    pub fn last_mark(&self) -> Option<HistoryMark> {
        self.last_mark
    }

    /// Which file it is, and how far it has come.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn mark(&self) -> Result<HistoryMark, HistoryError> {
        self.read(HistoryMark::of)
    }

    /// The watch's rows, as they were kept.
    ///
    /// # Errors
    /// When the file cannot be read, or has values that Scrubjay never writes.
    pub fn rows(&self) -> Result<Vec<WatchRow>, HistoryError> {
        // One transaction for all tables: otherwise a writer may change them in between.
        self.read(|database| {
            let transaction = database.unchecked_transaction()?;
            stored::load(&transaction)
        })
    }

    /// Makes these rows durable and removes others, all or none, and records the events that follow: incidents,
    /// messages, channels, disks that are new, renamed, forgotten, or replace others. What is told of for the first time is put in
    /// words, and stays in these.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed, and the call may be repeated.
    pub fn keep(
        &mut self,
        now: UnixSeconds,
        rows: &[WatchRow],
        dropped: &[RowKey],
        wording: &Wording<'_>,
    ) -> Result<(), HistoryError> {
        let is_new = |row: &&WatchRow| matches!(row, WatchRow::Message(row) if !self.texts.has(row.number));
        let new: Vec<WatchRow> = rows.iter().filter(is_new).cloned().collect();
        self.texts.word(&new, wording);
        let texts = std::mem::take(&mut self.texts);
        let words = KeptWords { calendar: wording.calendar, texts: &texts };
        let kept = self.change(|database| {
            for key in dropped {
                follow::before_remove(database, now, key)?;
                stored::remove(database, key)?;
            }
            // Disks first, because other rows refer to them.
            let (disk_rows, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| matches!(row, WatchRow::Disk(_)));
            for row in disk_rows.into_iter().chain(others) {
                follow::before_keep(database, now, row, &words)?;
                stored::keep(database, row)?;
            }
            if rows.iter().any(|row| matches!(row, WatchRow::Disk(_) | WatchRow::Array(_))) {
                disks::note_members(database, now)?;
            }
            Ok(())
        });
        self.texts = texts;
        if kept.is_ok() {
            self.texts.forget(dropped);
        }
        kept
    }

    /// Puts messages in words that are new among rows that wait to be kept.
    pub fn word(&mut self, rows: &[WatchRow], wording: &Wording<'_>) {
        self.texts.word(rows, wording);
    }

    /// What the message of this number says, while it waits.
    pub fn text(&self, number: u64) -> MessageText {
        self.texts.of(number)
    }

    /// Records a SMART reading: counters when they change and at least once a day, the temperature once an hour.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn note_smart(&mut self, now: UnixSeconds, disk: &DiskKey, facts: &SmartFacts) -> Result<(), HistoryError> {
        self.change(|database| {
            let known = disks::find_or_add(database, now, disk)?;
            counters::note(database, now, known.id, facts)?;
            temperatures::note(database, now, known.id, facts)
        })
    }

    /// Records a finished pass that began at `begun`, and its unreadable sectors. A repeated call does no harm.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn note_pass(
        &mut self,
        now: UnixSeconds,
        disk: &DiskKey,
        report: &PassReport,
        begun: UnixSeconds,
    ) -> Result<(), HistoryError> {
        self.change(|database| passes::note_pass(database, now, disk, report, begun))
    }

    /// Records that the check of the array of this name is over. A repeated call records it again.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn note_check(&mut self, now: UnixSeconds, array: &str, report: &PassReport) -> Result<(), HistoryError> {
        self.change(|database| passes::note_check(database, now, array, report))
    }

    /// Records the unreadable sectors that the pass under way has found so far, ascending. Earlier ones stay
    /// unreadable: only [`HistoryDatabase::note_pass`] ends them.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn note_findings(
        &mut self,
        now: UnixSeconds,
        disk: &DiskKey,
        runs: &[SectorRange],
    ) -> Result<(), HistoryError> {
        self.change(|database| passes::note_findings(database, now, disk, runs, false))
    }

    /// Records whether a disk is present. A repeated call records nothing new.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn note_presence(&mut self, now: UnixSeconds, disk: &DiskKey, is_present: bool) -> Result<(), HistoryError> {
        self.change(|database| disks::note_presence(database, now, disk, is_present))
    }

    /// Records that a channel accepted the message of this number. It must be called before the watch learns of it and
    /// drops the message.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn note_delivered(&mut self, now: UnixSeconds, number: u64) -> Result<(), HistoryError> {
        self.change(|database| follow::note_delivered(database, now, number))
    }

    /// Thins old readings, once a day, so that the file stays bounded.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn thin(&mut self, now: UnixSeconds) -> Result<(), HistoryError> {
        self.change(|database| thin::thin(database, now))?;
        // The log beside the file is truncated. If a reader prevents that, it is done tomorrow.
        self.read(|database| {
            database.execute_batch("PRAGMA optimize")?;
            database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        })
    }

    /// The newest events, the newest first, of all disks or of one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn events(&self, limit: usize, disk: Option<&DiskKey>) -> Result<Vec<HistoryEvent>, HistoryError> {
        self.read(|database| event::newest(database, limit, disk))
    }

    /// Temperatures of a disk since `from`, the oldest first: one a day, and one an hour in the last month.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn temperatures(&self, disk: &DiskKey, from: UnixSeconds) -> Result<Vec<TemperaturePoint>, HistoryError> {
        self.read(|database| temperatures::since(database, disk, from))
    }

    /// Counters of a disk since `from`, the oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn counters_over_time(&self, disk: &DiskKey, from: UnixSeconds) -> Result<Vec<CounterPoint>, HistoryError> {
        self.read(|database| counters::over_time(database, disk, from))
    }

    /// Finished passes of a disk, the newest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn passes(&self, disk: &DiskKey) -> Result<Vec<PassRecord>, HistoryError> {
        self.read(|database| passes::passes(database, disk))
    }

    /// Unreadable sectors of a disk: first those that still are, then those that were.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn findings(&self, disk: &DiskKey) -> Result<Vec<FindingRecord>, HistoryError> {
        self.read(|database| passes::findings(database, disk))
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, HistoryError> {
        work(&self.connection).map_err(|error| HistoryError::of(&self.path, error))
    }

    /// Does all of the work or, at the first error, none of it.
    fn change(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> Result<(), HistoryError> {
        let changed =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|transaction| {
                work(&transaction)?;
                HistoryMark::count(&transaction)?;
                let mark = HistoryMark::of(&transaction)?;
                transaction.commit().map(|()| mark)
            });
        let changed = changed.map(|mark| self.last_mark = Some(mark));
        changed.map_err(|error| HistoryError::of(&self.path, error))
    }
}
