//! Events, in the order in which they were written, whatever the clock showed.

use super::values::{all, date, kind, second, signed, unsigned};
use rusqlite::{Connection, Result, ToSql, params};
use scrubjay_control::past::HistoryEventKind;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::facts::DiskKey;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEvent {
    /// Its number: unique, rising in the order of writing.
    pub number: u64,
    /// The time that the clock showed.
    pub at: UnixSeconds,
    /// Its kind.
    pub kind: HistoryEventKind,
    /// The disk that it is about; `None`: it is about no disk.
    pub disk: Option<DiskKey>,
    /// Its subject for people: the kernel's name of a disk at that time, the UUID of an array, the name of a channel.
    pub subject: String,
    /// Further words, in one line.
    pub words: String,
}

/// Adds an event; `disk` is its number in `known_disk`.
pub fn add(
    database: &Connection,
    now: UnixSeconds,
    kind: HistoryEventKind,
    disk: Option<i64>,
    subject: &str,
    words: &str,
) -> Result<()> {
    let sql = "INSERT INTO event (at, kind, disk, subject, words) VALUES (?1, ?2, ?3, ?4, ?5)";
    database.execute(sql, params![second(now), kind.word(), disk, subject, words]).map(drop)
}

/// The newest events, of all disks or of one.
pub fn newest(database: &Connection, limit: usize, disk: Option<&DiskKey>) -> Result<Vec<HistoryEvent>> {
    let columns = "SELECT event.number, event.at, event.kind, known_disk.disk, event.subject, event.words FROM event";
    let (join, filter) = match disk {
        Some(_) => ("JOIN", "WHERE known_disk.disk = ?2"),
        None => ("LEFT JOIN", ""),
    };
    let sql = format!(
        "{columns} {join} known_disk ON known_disk.id = event.disk {filter} ORDER BY event.number DESC LIMIT ?1"
    );
    let limit = signed(limit as u64).max(0);
    let mut parameters: Vec<&dyn ToSql> = vec![&limit];
    let key = disk.map(|key| &key.0);
    if let Some(key) = &key {
        parameters.push(key);
    }
    all(database, &sql, &parameters, |row| {
        Ok(HistoryEvent {
            number: unsigned(row, "number")?,
            at: date(row, "at")?,
            kind: kind(row, "kind")?,
            disk: row.get::<_, Option<String>>("disk")?.map(DiskKey),
            subject: row.get("subject")?,
            words: row.get("words")?,
        })
    })
}
