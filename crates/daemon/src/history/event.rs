//! Events, in the order in which they were written, whatever the clock showed.

use super::spelling::{Spelled, spelled};
use super::values::{all, date, kind, second, signed, unsigned};
use rusqlite::{Connection, Result, ToSql, params};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::facts::DiskKey;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HistoryEventKind {
    /// A disk was seen for the first time.
    DiskSeen,
    /// The kernel gave the disk another name.
    DiskRenamed,
    /// The disk is gone.
    DiskGone,
    /// The disk is back.
    DiskBack,
    /// A person took the disk out for good.
    DiskForgotten,
    /// The disk took the place of another in an array.
    DiskReplaced,
    /// An incident opened.
    IncidentOpened,
    /// The incident grew beyond its worst.
    IncidentGrown,
    /// A person accepted the incident.
    IncidentAccepted,
    /// The incident is over.
    IncidentResolved,
    /// A message was written.
    MessageWritten,
    /// A channel accepted the message.
    MessageDelivered,
    /// The message was given up, because its channel was removed.
    MessageDropped,
    /// There is a new channel, or one with new settings.
    ChannelAdded,
    /// A person confirmed a code that came by the channel.
    ChannelProven,
    /// A channel was removed.
    ChannelRemoved,
    /// All of a disk was read.
    PassFinished,
    /// An array's own checker has covered all of it.
    CheckFinished,
    /// Sectors are unreadable that were readable before, or never read.
    UnreadableFound,
    /// Sectors are readable again.
    UnreadableGone,
}

spelled!(HistoryEventKind {
    DiskSeen = "disk-seen",
    DiskRenamed = "disk-renamed",
    DiskGone = "disk-gone",
    DiskBack = "disk-back",
    DiskForgotten = "disk-forgotten",
    DiskReplaced = "disk-replaced",
    IncidentOpened = "incident-opened",
    IncidentGrown = "incident-grown",
    IncidentAccepted = "incident-accepted",
    IncidentResolved = "incident-resolved",
    MessageWritten = "message-written",
    MessageDelivered = "message-delivered",
    MessageDropped = "message-dropped",
    ChannelAdded = "channel-added",
    ChannelProven = "channel-proven",
    ChannelRemoved = "channel-removed",
    PassFinished = "pass-finished",
    CheckFinished = "check-finished",
    UnreadableFound = "unreadable-found",
    UnreadableGone = "unreadable-gone",
});

impl HistoryEventKind {
    /// Its word in the data base and in JSON, such as `disk-seen`.
    pub fn word(self) -> &'static str {
        self.spelled()
    }
}

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
    database.execute(sql, params![second(now), kind.spelled(), disk, subject, words]).map(drop)
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
