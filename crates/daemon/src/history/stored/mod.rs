//! The watch's rows in their tables: `state` has those that are only read whole, the others have tables of their own.

mod idle;
mod state;

use super::values::{all, unsigned};
use rusqlite::{Connection, Result};
use scrubjay_watch::rows::{RowKey, WatchRow};
use scrubjay_words::{MessageText, MessageTexts};
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
        WatchRow::Incident(row) => state::keep(database, &key, row),
        WatchRow::Past(row) => state::keep(database, &key, row),
        WatchRow::Message(row) => state::keep(database, &key, row),
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
        _ => state::remove(database, key),
    };
    removed.map(drop)
}

/// Loads all rows, in the order of their keys.
pub fn load(database: &Connection) -> Result<Vec<WatchRow>> {
    let mut rows = state::load(database)?;
    rows.extend(idle::load_idle(database)?);
    rows.sort_by_cached_key(WatchRow::key);
    Ok(rows)
}

/// What the messages say that wait.
pub fn load_texts(database: &Connection) -> Result<MessageTexts> {
    let sql = "SELECT number, subject, body FROM message_history WHERE ended IS NULL";
    let texts = all(database, sql, &[], |row| {
        Ok((unsigned(row, "number")?, MessageText::kept(row.get("subject")?, row.get("body")?)))
    });
    texts.map(MessageTexts::kept)
}
