//! The watch's rows in their tables: `state` has those that are only read whole, the others have tables of their own.

mod idle;
mod incident;
mod message;
mod state;

use rusqlite::{Connection, Result};
use scrubjay_watch::rows::{RowKey, WatchRow};
pub use state::{arrays, find};

/// Stores a row in place of the one with its key.
pub fn keep(database: &Connection, row: &WatchRow) -> Result<()> {
    let key = row.key();
    match row {
        WatchRow::Host(row) => state::keep(database, &key, row),
        WatchRow::Disk(row) => state::keep(database, &key, row),
        WatchRow::Reading(_, row) => state::keep(database, &key, row),
        WatchRow::Idle(key, week) => idle::keep_idle(database, key, week),
        WatchRow::Array(facts) => state::keep(database, &key, facts),
        WatchRow::Incident(row) => incident::keep_incident(database, row),
        WatchRow::Past(row) => state::keep(database, &key, row),
        WatchRow::Message(row) => message::keep_message(database, row),
        WatchRow::Channel(row) => state::keep(database, &key, row),
    }
}

/// Removes a row, if it exists.
pub fn remove(database: &Connection, key: &RowKey) -> Result<()> {
    let removed = match key {
        RowKey::Idle(key) => {
            let sql = "DELETE FROM idle_week WHERE sort = ?1 AND subject = ?2";
            database.execute(sql, super::nested::subject_key(key))
        }
        RowKey::Incident(key) => {
            let (sort, subject) = super::nested::subject(&key.subject);
            let sql = "DELETE FROM incident WHERE sort = ?1 AND subject = ?2 AND kind = ?3";
            database.execute(sql, (sort, subject, key.kind.word()))
        }
        RowKey::Message(number) => {
            database.execute("DELETE FROM message WHERE number = ?1", [super::values::signed(*number)])
        }
        _ => state::remove(database, key),
    };
    removed.map(drop)
}

/// Loads all rows, in the order of their keys.
pub fn load(database: &Connection) -> Result<Vec<WatchRow>> {
    let mut rows = state::load(database)?;
    rows.extend(idle::load_idle(database)?);
    rows.extend(incident::load_incidents(database)?);
    rows.extend(message::load_messages(database)?);
    rows.sort_by_cached_key(WatchRow::key);
    Ok(rows)
}
