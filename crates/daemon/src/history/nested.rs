//! Lists inside a row: JSON where a person may want to read them, bytes where each bit matters.

use super::values::not_understood;
use rusqlite::Result;
use scrubjay_watch::facts::{DiskKey, SubjectKey};
use scrubjay_watch::incident::{IncidentSubject, MessageReason};
use serde::{Serialize, de::DeserializeOwned};

fn to_json(value: &impl Serialize) -> String {
    // Numbers, strings and lists of them can always be written.
    serde_json::to_string(value).unwrap_or_default()
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| not_understood(format!("the list {text} ({error})")))
}

/// Signs with their amounts as JSON: `[["pending",8]]`.
pub fn amounts(amounts: &[(String, u64)]) -> String {
    to_json(&amounts)
}

/// Reads [`amounts`].
pub fn amounts_of(text: &str) -> Result<Vec<(String, u64)>> {
    from_json(text)
}

/// Shares as four bytes each, little-endian: every bit is restored, even of values that are not numbers.
pub fn shares<'a>(shares: impl IntoIterator<Item = &'a f32>) -> Vec<u8> {
    shares.into_iter().flat_map(|share| share.to_le_bytes()).collect()
}

/// Reads [`shares`].
pub fn shares_of(bytes: &[u8]) -> Result<Vec<f32>> {
    let (shares, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(not_understood("a list of shares that was cut"));
    }
    Ok(shares.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

/// Counts of weeks as two bytes each, little-endian.
pub fn weeks(weeks: &[u16]) -> Vec<u8> {
    weeks.iter().flat_map(|week| week.to_le_bytes()).collect()
}

/// Reads [`weeks`].
pub fn weeks_of(bytes: &[u8]) -> Result<Vec<u16>> {
    let (weeks, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(not_understood("a list of weeks that was cut"));
    }
    Ok(weeks.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect())
}

/// What is read in passes: its kind in a word, and its key.
pub fn subject_key(subject: &SubjectKey) -> (&'static str, &str) {
    match subject {
        SubjectKey::Disk(key) => ("disk", &key.0),
        SubjectKey::Array(key) => ("array", key),
    }
}

/// Reads [`subject_key`].
pub fn subject_key_of(sort: &str, key: String) -> Result<SubjectKey> {
    match sort {
        "disk" => Ok(SubjectKey::Disk(DiskKey(key))),
        "array" => Ok(SubjectKey::Array(key)),
        _ => Err(not_understood(format!("the sort \"{sort}\""))),
    }
}

/// The subject of an incident: its kind in a word, and its key.
pub fn subject(subject: &IncidentSubject) -> (&'static str, &str) {
    match subject {
        IncidentSubject::Disk(key) => ("disk", &key.0),
        IncidentSubject::Array(key) => ("array", key),
        IncidentSubject::Channel(name) => ("channel", name),
        IncidentSubject::Watch => ("watch", ""),
    }
}

/// The reason for a message in a word, and the number of a reminder.
pub fn reason(reason: MessageReason) -> (&'static str, Option<u32>) {
    match reason {
        MessageReason::Opened => ("opened", None),
        MessageReason::Grown => ("grown", None),
        MessageReason::Reminder(number) => ("reminder", Some(number)),
        MessageReason::Resolved => ("resolved", None),
        MessageReason::Report => ("report", None),
        MessageReason::Test => ("test", None),
    }
}
