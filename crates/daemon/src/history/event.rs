//! Events: what happened, in the order in which it was written down, whatever the clock said then.

use super::spelling::{Spelled, spelled};
use super::values::{all, date, kind, second, signed, unsigned};
use rusqlite::{Connection, Result, ToSql, params};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::facts::DiskKey;

/// What sort of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HistoryEventKind {
    /// A disk was seen for the first time.
    DiskSeen,
    /// The kernel gave it another name.
    DiskRenamed,
    /// It is not there any more.
    DiskGone,
    /// It is there again.
    DiskBack,
    /// A person said that it was taken out for good.
    DiskForgotten,
    /// It took the place of another in an array.
    DiskReplaced,
    /// Something is wrong.
    IncidentOpened,
    /// It has become more than it ever was.
    IncidentGrown,
    /// A person accepts it.
    IncidentAccepted,
    /// It is over.
    IncidentResolved,
    /// A message was written.
    MessageWritten,
    /// Its channel accepted it.
    MessageDelivered,
    /// It was given up: its channel was removed.
    MessageDropped,
    /// There is a new channel, or one with new settings.
    ChannelAdded,
    /// A person read a code that came this way.
    ChannelProven,
    /// A channel was removed.
    ChannelRemoved,
    /// All of a disk was read.
    PassFinished,
    /// An array's own checker has gone over all of it.
    CheckFinished,
    /// Sectors cannot be read that could before, or were never read.
    UnreadableFound,
    /// Sectors can be read again.
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
    /// Its word, as it is stored and as JSON has it: `disk-seen`.
    pub fn word(self) -> &'static str {
        self.spelled()
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEvent {
    /// Unique, rising in the order of writing.
    pub number: u64,
    /// What the clock said.
    pub at: UnixSeconds,
    /// What sort of thing it was.
    pub kind: HistoryEventKind,
    /// The disk that it is about, if it is about one.
    pub disk: Option<DiskKey>,
    /// What it is about, for people: the kernel's name of a disk at that time, the UUID of an array, the name of a channel.
    pub subject: String,
    /// What there is to say, in one line.
    pub words: String,
}

/// Adds one; `disk` is its number in `known_disk`.
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

/// The newest, of all or of one disk.
pub fn newest(database: &Connection, limit: usize, disk: Option<&DiskKey>) -> Result<Vec<HistoryEvent>> {
    let columns = "SELECT event.number, event.at, event.kind, known_disk.disk, event.subject, event.words FROM event";
    let (join, which) = match disk {
        Some(_) => ("JOIN", "WHERE known_disk.disk = ?2"),
        None => ("LEFT JOIN", ""),
    };
    let sql = format!(
        "{columns} {join} known_disk ON known_disk.id = event.disk {which} ORDER BY event.number DESC LIMIT ?1"
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
