//! Counters over time: a reading is kept when a value changes, and at least once a day.

use super::values::{all, date, kind, second, signed, unsigned};
use rusqlite::{Connection, OptionalExtension, Result, params};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::DAY;
use scrubjay_watch::counters::{self, CounterKind};
use scrubjay_watch::facts::{DiskKey, SmartFacts};

/// One reading of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterPoint {
    /// When it was read.
    pub at: UnixSeconds,
    /// The counter.
    pub kind: CounterKind,
    /// Its value, decoded.
    pub value: u64,
}

/// Keeps the counters of a reading; `disk` is its number in `known_disk`.
pub fn note(database: &Connection, now: UnixSeconds, disk: i64, facts: &SmartFacts) -> Result<()> {
    for (counter, value) in counters::decode(facts) {
        // A reading with a date in the future, from a clock that was ahead, is not compared.
        let sql = "SELECT at, value FROM counter_reading WHERE disk = ?1 AND kind = ?2 AND at <= ?3
                   ORDER BY at DESC LIMIT 1";
        let read = |row: &rusqlite::Row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let last = database.query_row(sql, params![disk, counter.word(), second(now)], read).optional()?;
        if last.is_some_and(|(at, old)| old == signed(value) && second(now).saturating_sub(at) < signed(DAY)) {
            continue;
        }
        let sql = "INSERT OR REPLACE INTO counter_reading (disk, kind, at, value) VALUES (?1, ?2, ?3, ?4)";
        database.execute(sql, params![disk, counter.word(), second(now), signed(value)])?;
    }
    Ok(())
}

/// The readings of a disk since `from`, the oldest first.
pub fn over_time(database: &Connection, disk: &DiskKey, from: UnixSeconds) -> Result<Vec<CounterPoint>> {
    let sql = "SELECT at, kind, value FROM counter_reading WHERE at >= ?2
               AND disk = (SELECT id FROM known_disk WHERE known_disk.disk = ?1) ORDER BY at, kind";
    all(database, sql, &[&disk.0, &second(from)], |row| {
        Ok(CounterPoint { at: date(row, "at")?, kind: kind(row, "kind")?, value: unsigned(row, "value")? })
    })
}
