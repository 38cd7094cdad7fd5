//! Rows that are only read whole: each is a row of the table `state`, as serde writes it.

use crate::history::nested;
use crate::history::values::{all, not_understood};
use rusqlite::{Connection, Error, OptionalExtension, Result, Row, params};
use scrubjay_watch::facts::{ArrayFacts, DiskKey};
use scrubjay_watch::incident::IncidentKey;
use scrubjay_watch::rows::{RowKey, WatchRow};
use serde::{Serialize, de::DeserializeOwned};

/// The kind of a row in a word, and what tells it from others of its kind.
fn address(key: &RowKey) -> (&'static str, String) {
    let of_incident = |kind, key: &IncidentKey| {
        let (sort, subject) = nested::subject(&key.subject);
        (kind, format!("{sort} {} {subject}", key.kind.word()))
    };
    let of_subject = |kind, key| {
        let (sort, subject) = nested::subject_key(key);
        (kind, format!("{sort} {subject}"))
    };
    match key {
        RowKey::Host => ("host", String::new()),
        RowKey::Disk(DiskKey(key)) => ("disk", key.clone()),
        RowKey::Reading(key) => of_subject("reading", key),
        RowKey::Idle(key) => of_subject("idle", key),
        RowKey::Array(key) => ("array", key.clone()),
        RowKey::Incident(key) => of_incident("incident", key),
        RowKey::Past(key) => of_incident("past", key),
        RowKey::Message(number) => ("message", number.to_string()),
        RowKey::Channel(name) => ("channel", name.clone()),
    }
}

/// Stores a row in place of the one with its key.
pub fn keep(database: &Connection, key: &RowKey, row: &impl Serialize) -> Result<()> {
    let (kind, key) = address(key);
    let text = serde_json::to_string(row).map_err(|error| Error::ToSqlConversionFailure(error.into()))?;
    database.execute("INSERT OR REPLACE INTO state VALUES (?1, ?2, ?3)", params![kind, key, text]).map(drop)
}

/// Removes a row, if it exists, and returns how many that were.
pub fn remove(database: &Connection, key: &RowKey) -> Result<usize> {
    database.execute("DELETE FROM state WHERE kind = ?1 AND key = ?2", address(key))
}

/// The row with this key, if there is one.
pub fn find<T: DeserializeOwned>(database: &Connection, key: &RowKey) -> Result<Option<T>> {
    database.query_row("SELECT * FROM state WHERE kind = ?1 AND key = ?2", address(key), parsed).optional()
}

/// All arrays.
pub fn arrays(database: &Connection) -> Result<Vec<ArrayFacts>> {
    all(database, "SELECT * FROM state WHERE kind = 'array'", &[], parsed)
}

/// Loads all rows.
pub fn load(database: &Connection) -> Result<Vec<WatchRow>> {
    all(database, "SELECT * FROM state", &[], |row| {
        let (kind, key): (String, String) = (row.get("kind")?, row.get("key")?);
        let loaded = match kind.as_str() {
            "host" => WatchRow::Host(parsed(row)?),
            "disk" => WatchRow::Disk(parsed(row)?),
            "reading" => {
                let (sort, subject) = key.split_once(' ').unwrap_or((&key, ""));
                WatchRow::Reading(nested::subject_key_of(sort, subject.to_owned())?, parsed(row)?)
            }
            "array" => WatchRow::Array(parsed(row)?),
            "incident" => WatchRow::Incident(parsed(row)?),
            "past" => WatchRow::Past(parsed(row)?),
            "message" => WatchRow::Message(parsed(row)?),
            "channel" => WatchRow::Channel(parsed(row)?),
            _ => return Err(not_understood(format!("the kind \"{kind}\" of a row"))),
        };
        // Who changed one by hand may have changed its key, too.
        let is_in_place = address(&loaded.key()) == (kind.as_str(), key.clone());
        is_in_place.then_some(loaded).ok_or_else(|| not_understood(format!("the row {kind} \"{key}\" of another key")))
    })
}

fn parsed<T: DeserializeOwned>(row: &Row) -> Result<T> {
    let (kind, key, text): (String, String, String) = (row.get("kind")?, row.get("key")?, row.get("row")?);
    serde_json::from_str(&text).map_err(|error| not_understood(format!("the row {kind} \"{key}\" ({error})")))
}
