//! Keeps the file bounded: old readings are thinned, and of tables without end only the newest rows stay.
//!
//! Rows to delete are chosen by number and not by age: a clock that is years ahead for an hour deletes nothing.

use super::temperatures;
use rusqlite::{Connection, Result};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::DAY;

/// Seconds for which hourly temperatures are kept.
const HOURLY: u64 = 30 * DAY;
/// Seconds for which all readings of counters are kept; of earlier days the last one stays.
const READINGS: u64 = 90 * DAY;

/// Which rows of a table stay: of each group by `group`, the newest `count` by `order`.
struct Newest {
    table: &'static str,
    group: &'static str,
    key: &'static str,
    order: &'static str,
    filter: &'static str,
    count: u32,
}

/// Ten years of daily rows, and of rarer rows more than a person would ever read.
const NEWEST: [Newest; 7] = [
    Newest { table: "event", group: "1", key: "number", order: "number", filter: "1", count: 100_000 },
    Newest {
        table: "message_history",
        group: "1",
        key: "number",
        order: "number",
        filter: "ended IS NOT NULL", // what waits is still to be sent
        count: 10_000,
    },
    Newest {
        table: "incident_history",
        group: "1",
        key: "number",
        order: "number",
        filter: "resolved IS NOT NULL",
        count: 20_000,
    },
    Newest { table: "pass", group: "disk", key: "number", order: "number", filter: "1", count: 1000 },
    Newest { table: "finding", group: "disk", key: "number", order: "number", filter: "gone IS NOT NULL", count: 4096 },
    Newest { table: "temperature_day", group: "disk", key: "disk, day", order: "day", filter: "1", count: 3660 },
    Newest {
        table: "counter_reading",
        group: "disk, kind",
        key: "disk, kind, at",
        order: "at",
        filter: "1",
        count: 4200,
    },
];
/// Forgotten disks that keep their history, at most; beyond that, those that were seen first are deleted with all their data.
const FORGOTTEN_MAX: u32 = 1000;

/// Thins all tables.
pub fn thin(database: &Connection, now: UnixSeconds) -> Result<()> {
    temperatures::downsample(database, UnixSeconds(now.0.saturating_sub(HOURLY)))?;
    let sql = format!(
        "DELETE FROM counter_reading WHERE at < ?1 AND EXISTS (
             SELECT 1 FROM counter_reading AS later
             WHERE later.disk = counter_reading.disk AND later.kind = counter_reading.kind
             AND later.at > counter_reading.at AND later.at < (counter_reading.at / {DAY} + 1) * {DAY})"
    );
    let until = now.0.saturating_sub(READINGS) / DAY * DAY;
    database.execute(&sql, [super::values::signed(until)])?;
    for Newest { table, group, key, order, filter, count } in &NEWEST {
        let sql = format!(
            "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM (
                 SELECT {key}, row_number() OVER (PARTITION BY {group} ORDER BY {order} DESC) AS place
                 FROM {table} WHERE {filter}) WHERE place > ?1)"
        );
        database.execute(&sql, [count])?;
    }
    let sql = "DELETE FROM known_disk WHERE id IN (
                   SELECT id FROM known_disk WHERE forgotten IS NOT NULL ORDER BY id DESC LIMIT -1 OFFSET ?1)";
    database.execute(sql, [FORGOTTEN_MAX]).map(drop)
}
