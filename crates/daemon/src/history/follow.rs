//! Events that follow from changes of the watch's rows: new rows are compared with those that they replace.

use super::disks;
use super::event;
use super::nested;
use super::stored;
use super::values::{second, signed};
use rusqlite::{Connection, OptionalExtension, Result, params};
use scrubjay_control::past::HistoryEventKind;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::channel::ChannelRow;
use scrubjay_watch::incident::{IncidentKey, IncidentRow, IncidentSubject, Urgency};
use scrubjay_watch::rows::{MessageRow, RowKey, WatchRow};
use scrubjay_words::{MessageText, MessageTexts};
use std::collections::BTreeMap;

/// What rows that are kept are put in words with.
#[derive(Clone, Copy)]
pub struct KeptWords<'a> {
    /// The local time.
    pub calendar: &'a dyn Calendar,
    /// What the messages say.
    pub texts: &'a MessageTexts,
}

/// Records the events of a row that is about to be kept.
pub fn before_keep(database: &Connection, now: UnixSeconds, row: &WatchRow, words: &KeptWords<'_>) -> Result<()> {
    match row {
        WatchRow::Disk(row) => disks::note_facts(database, now, &row.facts),
        WatchRow::Incident(row) => incident(database, now, row, words),
        WatchRow::Message(row) => message(database, now, row, &words.texts.of(row.number)),
        WatchRow::Channel(row) => channel(database, now, row),
        WatchRow::Host(_) | WatchRow::Reading(..) | WatchRow::Idle(..) | WatchRow::Array(_) | WatchRow::Past(_) => {
            Ok(())
        }
    }
}

/// Records the events of a row that is about to be removed.
pub fn before_remove(database: &Connection, now: UnixSeconds, key: &RowKey) -> Result<()> {
    match key {
        RowKey::Disk(key) => disks::note_forgotten(database, now, key),
        RowKey::Incident(key) => resolved(database, now, key),
        RowKey::Message(number) => message_ended(database, now, *number),
        RowKey::Channel(name) => {
            let note = || event::add(database, now, HistoryEventKind::ChannelRemoved, None, name, "");
            if stored::find::<ChannelRow>(database, key)?.is_some() { note() } else { Ok(()) }
        }
        RowKey::Array(key) => database.execute("DELETE FROM array_place WHERE array = ?1", [key]).map(drop),
        RowKey::Host | RowKey::Reading(_) | RowKey::Idle(_) | RowKey::Past(_) => Ok(()),
    }
}

/// The disk that an incident is about, and its name for people.
fn subject(database: &Connection, subject: &IncidentSubject) -> Result<(Option<i64>, String)> {
    let (_, key) = nested::subject(subject);
    let IncidentSubject::Disk(disk) = subject else { return Ok((None, key.to_owned())) };
    Ok(match disks::find(database, disk)? {
        Some(known) => (Some(known.id), known.display_name(disk).to_owned()),
        None => (None, key.to_owned()),
    })
}

/// A stored open incident: its number, its worst urgency and amounts, and whether it is accepted.
struct OpenIncident {
    number: i64,
    urgency: String,
    amounts: Vec<(String, u64)>,
    is_accepted: bool,
}

fn open_incident(database: &Connection, key: &IncidentKey) -> Result<Option<OpenIncident>> {
    let (sort, subject) = nested::subject(&key.subject);
    let sql = "SELECT number, worst_urgency, worst_amounts, accepted IS NOT NULL FROM incident_history
               WHERE sort = ?1 AND subject = ?2 AND kind = ?3 AND resolved IS NULL";
    let read = |row: &rusqlite::Row| {
        let amounts = nested::amounts_of(&row.get::<_, String>(2)?)?;
        Ok(OpenIncident { number: row.get(0)?, urgency: row.get(1)?, amounts, is_accepted: row.get(3)? })
    };
    database.query_row(sql, params![sort, subject, key.kind.word()], read).optional()
}

fn incident(database: &Connection, now: UnixSeconds, row: &IncidentRow, words: &KeptWords<'_>) -> Result<()> {
    let condition = &row.condition;
    let headline: String = scrubjay_words::headline(condition, words.calendar).into();
    let urgency = condition.urgency.word();
    let (disk, name) = subject(database, &row.key.subject)?;
    let add = |kind| event::add(database, now, kind, disk, &name, &headline);
    let Some(known) = open_incident(database, &row.key)? else {
        let (sort, key) = nested::subject(&row.key.subject);
        let (kind, opened, accepted) = (row.key.kind.word(), second(row.opened), row.is_accepted.then(|| second(now)));
        let sql = "INSERT INTO incident_history
                   (sort, subject, kind, opened, accepted, worst_urgency, worst_amounts, headline)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let amounts = nested::amounts(&condition.amounts);
        database.execute(sql, params![sort, key, kind, opened, accepted, urgency, amounts, headline])?;
        return add(HistoryEventKind::IncidentOpened);
    };
    let worst = Urgency::of_word(&known.urgency);
    if condition.is_beyond(&known.amounts, worst.unwrap_or(Urgency::Notice)) {
        let worst = worst.max(Some(condition.urgency)).map_or(urgency, Urgency::word);
        let mut amounts: BTreeMap<String, u64> = known.amounts.into_iter().collect();
        for (sign, amount) in &condition.amounts {
            let most = amounts.entry(sign.clone()).or_default();
            *most = (*most).max(*amount);
        }
        let amounts = nested::amounts(&amounts.into_iter().collect::<Vec<_>>());
        let sql = "UPDATE incident_history SET worst_urgency = ?2, worst_amounts = ?3, headline = ?4 WHERE number = ?1";
        database.execute(sql, params![known.number, worst, amounts, headline])?;
        add(HistoryEventKind::IncidentGrown)?;
    }
    if row.is_accepted != known.is_accepted {
        let accepted = row.is_accepted.then(|| second(now));
        let sql = "UPDATE incident_history SET accepted = ?2 WHERE number = ?1";
        database.execute(sql, params![known.number, accepted])?;
        // The end of an acceptance is recorded as growth.
        if accepted.is_some() {
            add(HistoryEventKind::IncidentAccepted)?;
        }
    }
    Ok(())
}

fn resolved(database: &Connection, now: UnixSeconds, key: &IncidentKey) -> Result<()> {
    let Some(known) = open_incident(database, key)? else { return Ok(()) };
    let sql = "UPDATE incident_history SET resolved = ?2 WHERE number = ?1 RETURNING headline";
    let headline: String = database.query_row(sql, params![known.number, second(now)], |row| row.get(0))?;
    let (disk, name) = subject(database, &key.subject)?;
    event::add(database, now, HistoryEventKind::IncidentResolved, disk, &name, &headline)
}

fn message(database: &Connection, now: UnixSeconds, row: &MessageRow, text: &MessageText) -> Result<()> {
    let number = signed(row.number);
    let attempts = "UPDATE message_history SET attempts = ?2 WHERE number = ?1";
    if database.execute(attempts, params![number, row.attempts])? > 0 {
        return Ok(());
    }
    let (reason, urgency) = (nested::reason(row.reason).0, row.urgency.word());
    let sql = "INSERT INTO message_history (number, channel, reason, urgency, subject, body, written, attempts)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let written = second(row.written);
    database.execute(
        sql,
        params![number, row.channel, reason, urgency, text.subject(), text.body(), written, row.attempts],
    )?;
    let disk = match row.about.as_slice() {
        [key] => subject(database, &key.subject)?.0,
        _ => None,
    };
    event::add(database, now, HistoryEventKind::MessageWritten, disk, &row.channel, text.subject())
}

/// Ends a message whose row is removed: it was delivered, or its channel was removed.
fn message_ended(database: &Connection, now: UnixSeconds, number: u64) -> Result<()> {
    let sql = "UPDATE message_history SET ended = ?2 WHERE number = ?1 AND ended IS NULL
               RETURNING delivered IS NULL, channel, subject";
    let read = |row: &rusqlite::Row| Ok((row.get::<_, bool>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?));
    match database.query_row(sql, params![signed(number), second(now)], read).optional()? {
        Some((true, channel, words)) => {
            event::add(database, now, HistoryEventKind::MessageDropped, None, &channel, &words)
        }
        _ => Ok(()),
    }
}

/// Records that a channel accepted a message.
pub fn note_delivered(database: &Connection, now: UnixSeconds, number: u64) -> Result<()> {
    let sql = "UPDATE message_history SET delivered = ?2 WHERE number = ?1 RETURNING channel, subject";
    let read = |row: &rusqlite::Row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    match database.query_row(sql, params![signed(number), second(now)], read).optional()? {
        Some((channel, words)) => event::add(database, now, HistoryEventKind::MessageDelivered, None, &channel, &words),
        None => Ok(()),
    }
}

fn channel(database: &Connection, now: UnixSeconds, row: &ChannelRow) -> Result<()> {
    let known: Option<ChannelRow> = stored::find(database, &RowKey::Channel(row.name.clone()))?;
    let known = known.filter(|known| known.fingerprint == row.fingerprint);
    let add = |kind| event::add(database, now, kind, None, &row.name, "");
    if known.is_none() {
        add(HistoryEventKind::ChannelAdded)?;
    }
    // A clock that was set back only makes the date earlier.
    if row.proven > known.and_then(|known| known.proven) { add(HistoryEventKind::ChannelProven) } else { Ok(()) }
}
