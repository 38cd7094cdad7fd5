//! The watch's rows in their tables: each kind has a file that keeps, removes and loads it.
//!
//! Every row is destructured field by field, without `..`: a new field of the watch without a column does not compile.

mod array;
mod disk;
mod host;
mod incident;
mod message;
mod pool;
mod reading;

use rusqlite::{Connection, Result, params};
use scrubjay_watch::rows::{RowKey, WatchRow};

/// Stores a row in place of the one with its key.
pub fn keep(database: &Connection, row: &WatchRow) -> Result<()> {
    match row {
        WatchRow::Host(row) => host::keep_host(database, row),
        WatchRow::Disk(row) => disk::keep_disk(database, row),
        WatchRow::Reading(key, row) => reading::keep_reading(database, key, row),
        WatchRow::Idle(key, week) => reading::keep_idle(database, key, week),
        WatchRow::Array(facts) => array::keep_array(database, facts),
        WatchRow::Incident(row) => incident::keep_incident(database, row),
        WatchRow::Past(row) => incident::keep_past(database, row),
        WatchRow::Message(row) => message::keep_message(database, row),
        WatchRow::Channel(row) => host::keep_channel(database, row),
    }
}

/// Removes a row, if it exists.
pub fn remove(database: &Connection, key: &RowKey) -> Result<()> {
    let removed = match key {
        RowKey::Host => database.execute("DELETE FROM host", []),
        RowKey::Disk(key) => database.execute("DELETE FROM disk WHERE disk = ?1", [&key.0]),
        RowKey::Reading(key) => {
            let (sort, subject) = super::nested::subject_key(key);
            database.execute("DELETE FROM reading WHERE sort = ?1 AND subject = ?2", [sort, subject])
        }
        RowKey::Idle(key) => {
            let (sort, subject) = super::nested::subject_key(key);
            database.execute("DELETE FROM idle_week WHERE sort = ?1 AND subject = ?2", [sort, subject])
        }
        RowKey::Array(key) => database.execute("DELETE FROM array WHERE array = ?1", [key]),
        RowKey::Incident(key) => {
            let (sort, subject) = super::nested::subject(&key.subject);
            let kind = key.kind.word();
            let sql = "DELETE FROM incident WHERE sort = ?1 AND subject = ?2 AND kind = ?3";
            database.execute(sql, params![sort, subject, kind])
        }
        RowKey::Past(key) => {
            let (sort, subject) = super::nested::subject(&key.subject);
            let kind = key.kind.word();
            let sql = "DELETE FROM incident_past WHERE sort = ?1 AND subject = ?2 AND kind = ?3";
            database.execute(sql, params![sort, subject, kind])
        }
        RowKey::Message(number) => {
            database.execute("DELETE FROM message WHERE number = ?1", [super::values::signed(*number)])
        }
        RowKey::Channel(name) => database.execute("DELETE FROM channel WHERE channel = ?1", [name]),
    };
    removed.map(drop)
}

/// Loads all rows.
pub fn load(database: &Connection) -> Result<Vec<WatchRow>> {
    let mut rows = host::load_host(database)?;
    rows.extend(disk::load_disks(database)?);
    rows.extend(reading::load_readings(database)?);
    rows.extend(reading::load_idle(database)?);
    rows.extend(array::load_arrays(database)?);
    rows.extend(incident::load_incidents(database)?);
    rows.extend(incident::load_past(database)?);
    rows.extend(message::load_messages(database)?);
    rows.extend(host::load_channels(database)?);
    Ok(rows)
}

/// What the messages say that wait.
pub fn load_texts(_database: &Connection) -> Result<scrubjay_words::MessageTexts> {
    todo!()
}
