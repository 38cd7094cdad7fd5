//! The data base as the pump and the readers see it.

use super::counters::{self, CounterPoint};
use super::error::HistoryError;
use super::event::{self, HistoryEvent};
use super::passes::{self, FindingRecord, PassRecord};
use super::temperatures::{self, TemperaturePoint};
use super::{disks, follow, opening, stored, thin};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use scrubjay_core::units::{SectorRange, UnixSeconds};
use scrubjay_watch::facts::{DiskKey, PassReport, SmartFacts};
use scrubjay_watch::rows::{RowKey, WatchRow};
use std::path::{Path, PathBuf};

/// The watch's rows and the history of the disks, in one SQLite file. Each method that changes it does all or nothing, and has
/// it on the disk when it returns.
#[derive(Debug)]
pub struct HistoryDatabase {
    path: PathBuf,
    pub(super) connection: Connection,
}

impl HistoryDatabase {
    /// Opens the file to be written. One that is absent is made, mode 0600, and its folder with it.
    ///
    /// # Errors
    /// When it cannot be made or opened, belongs to another program or a newer version, or is damaged: it is then left as it is.
    pub fn open(path: &Path) -> Result<HistoryDatabase, HistoryError> {
        Ok(HistoryDatabase { path: path.to_owned(), connection: opening::writable(path)? })
    }

    /// One that lies in memory and is gone with the value: of a modelled machine.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn of_a_model() -> Result<HistoryDatabase, HistoryError> {
        let path = PathBuf::from(":memory:");
        let connection = opening::in_memory().map_err(|error| HistoryError::of(&path, error))?;
        Ok(HistoryDatabase { path, connection })
    }

    /// Opens the file to be read, beside a daemon that writes it.
    ///
    /// # Errors
    /// As [`HistoryDatabase::open`]; and when it is absent, or an older version's.
    pub fn open_read_only(path: &Path) -> Result<HistoryDatabase, HistoryError> {
        Ok(HistoryDatabase { path: path.to_owned(), connection: opening::readable(path)? })
    }

    /// The watch's rows, as they were kept.
    ///
    /// # Errors
    /// When the file cannot be read, or holds what nobody wrote there.
    pub fn rows(&self) -> Result<Vec<WatchRow>, HistoryError> {
        // One look at all tables: a writer may be between them otherwise.
        self.read(|database| {
            let look = database.unchecked_transaction()?;
            stored::load(&look)
        })
    }

    /// Makes these rows durable and removes those, all or none, and writes down what follows from them: incidents, messages,
    /// channels, disks that are new, have another name, are forgotten, or replace others.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed, and the same call may be made again.
    pub fn keep(&mut self, now: UnixSeconds, rows: &[WatchRow], dropped: &[RowKey]) -> Result<(), HistoryError> {
        self.change(|database| {
            for key in dropped {
                follow::before_remove(database, now, key)?;
                stored::remove(database, key)?;
            }
            // Disks first: what else there is refers to them.
            let (of_disks, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| matches!(row, WatchRow::Disk(_)));
            for row in of_disks.into_iter().chain(others) {
                follow::before_keep(database, now, row)?;
                stored::keep(database, row)?;
            }
            if rows.iter().any(|row| matches!(row, WatchRow::Disk(_) | WatchRow::Array(_))) {
                disks::note_members(database, now)?;
            }
            Ok(())
        })
    }

    /// SMART of a disk was read: its counters are kept when they change and at least once a day, its temperature once an hour.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn note_smart(&mut self, now: UnixSeconds, disk: &DiskKey, facts: &SmartFacts) -> Result<(), HistoryError> {
        self.change(|database| {
            let known = disks::find_or_enter(database, now, disk)?;
            counters::note(database, now, known.id, facts)?;
            temperatures::note(database, now, known.id, facts)
        })
    }

    /// A pass that began then is finished, and its unreadable sectors are those of the report. To tell it twice does no harm.
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

    /// The check of an array that is called so is over. Told twice, it is noted twice.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn note_check(&mut self, now: UnixSeconds, array: &str, report: &PassReport) -> Result<(), HistoryError> {
        self.change(|database| passes::note_check(database, now, array, report))
    }

    /// A pass that goes on has found these unreadable sectors so far, ascending. Earlier ones stay what they are: only
    /// [`HistoryDatabase::note_pass`] says that they can be read again.
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

    /// A disk is there, or is not any more. Told again, it is no news.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn note_presence(&mut self, now: UnixSeconds, disk: &DiskKey, is_there: bool) -> Result<(), HistoryError> {
        self.change(|database| disks::note_presence(database, now, disk, is_there))
    }

    /// A channel accepted the message of this number. To be told before the watch hears of it, which then drops the message.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn note_delivered(&mut self, now: UnixSeconds, number: u64) -> Result<(), HistoryError> {
        self.change(|database| follow::note_delivered(database, now, number))
    }

    /// Once a day: old readings become fewer, so that the file stays bounded.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn thin(&mut self, now: UnixSeconds) -> Result<(), HistoryError> {
        self.change(|database| thin::thin(database, now))?;
        // The log beside the file gives its space back. A reader may be in the way: then tomorrow.
        self.read(|database| {
            database.execute_batch("PRAGMA optimize")?;
            database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        })
    }

    /// The newest events, the newest first, of all or of one disk.
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

    /// Unreadable sectors of a disk: those that are so still, then those that were.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn findings(&self, disk: &DiskKey) -> Result<Vec<FindingRecord>, HistoryError> {
        self.read(|database| passes::findings(database, disk))
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, HistoryError> {
        work(&self.connection).map_err(|error| HistoryError::of(&self.path, error))
    }

    /// All of the work or, at the first error, none of it.
    fn change(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> Result<(), HistoryError> {
        let changed =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|transaction| {
                work(&transaction)?;
                transaction.commit()
            });
        changed.map_err(|error| HistoryError::of(&self.path, error))
    }
}
