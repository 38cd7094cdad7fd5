//! Single values in columns: SQLite has signed numbers only, and no enums.

use rusqlite::types::Type;
use rusqlite::{Connection, Result, Row, ToSql};
use scrubjay_core::units::UnixSeconds;
use thiserror::Error;

/// A column has a value that Scrubjay never writes.
#[derive(Debug, Error)]
#[error("{0} is not understood")]
struct NotUnderstood(String);

/// The error of a value that is not what it should be.
pub fn not_understood(text: impl Into<String>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(NotUnderstood(text.into())))
}

/// Bit for bit, so that every number is restored; meaningful ones are far below 2^63, where both are equal.
pub fn signed(value: u64) -> i64 {
    value.cast_signed()
}

/// A date as a column's value.
pub fn second(date: UnixSeconds) -> i64 {
    signed(date.0)
}

/// Reads a number of 64 bits.
pub fn unsigned(row: &Row, column: &str) -> Result<u64> {
    Ok(row.get::<_, i64>(column)?.cast_unsigned())
}

/// Reads a number that may be absent.
pub fn unsigned_or_none(row: &Row, column: &str) -> Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(i64::cast_unsigned))
}

/// Reads a date.
pub fn date(row: &Row, column: &str) -> Result<UnixSeconds> {
    unsigned(row, column).map(UnixSeconds)
}

/// Reads a date that may be absent.
pub fn date_or_none(row: &Row, column: &str) -> Result<Option<UnixSeconds>> {
    Ok(unsigned_or_none(row, column)?.map(UnixSeconds))
}

/// Reads a kind by its word.
pub fn kind<T: scrubjay_watch::worded::Worded>(row: &Row, column: &str) -> Result<T> {
    let word: String = row.get(column)?;
    T::of_word(&word).ok_or_else(|| not_understood(format!("\"{word}\" in column {column}")))
}

/// Stores a row in a table, in place of the one with its key.
pub fn put(database: &Connection, table: &str, columns: &[(&str, &dyn ToSql)]) -> Result<()> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let marks: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
    let sql = format!("INSERT OR REPLACE INTO {table} ({}) VALUES ({})", names.join(", "), marks.join(", "));
    let values: Vec<&dyn ToSql> = columns.iter().map(|(_, value)| *value).collect();
    database.execute(&sql, values.as_slice()).map(drop)
}

/// All rows of a query, each converted by `read`.
pub fn all<T>(
    database: &Connection,
    sql: &str,
    parameters: &[&dyn ToSql],
    read: impl FnMut(&Row) -> Result<T>,
) -> Result<Vec<T>> {
    database.prepare(sql)?.query_map(parameters, read)?.collect()
}
