//! Temperatures: the highest of each hour, and after a month the lowest, the mean and the highest of each day (by UTC).

use super::values::{all, date, second};
use rusqlite::{Connection, Result, params};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{DAY, HOUR};
use scrubjay_watch::counters;
use scrubjay_watch::facts::{DiskKey, SmartFacts};

/// Temperatures of an hour or of a day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TemperaturePoint {
    /// When the hour or the day begins.
    pub at: UnixSeconds,
    /// The lowest, in degrees Celsius.
    pub min: i32,
    /// The mean, in degrees Celsius.
    pub mean: f64,
    /// The highest, in degrees Celsius.
    pub max: i32,
}

/// Keeps the temperature of a reading, if it has one; `disk` is its number in `known_disk`.
pub fn note(database: &Connection, now: UnixSeconds, disk: i64, facts: &SmartFacts) -> Result<()> {
    let Some(celsius) = counters::celsius(facts) else { return Ok(()) };
    let sql = "INSERT INTO temperature (disk, hour, celsius) VALUES (?1, ?2, ?3)
               ON CONFLICT (disk, hour) DO UPDATE SET celsius = max(celsius, excluded.celsius)";
    database.execute(sql, params![disk, second(UnixSeconds(now.0 / HOUR * HOUR)), celsius]).map(drop)
}

/// Merges the hours before `until` into one row a day. A day that has a row already, because the clock was set back, is
/// extended.
pub fn downsample(database: &Connection, until: UnixSeconds) -> Result<()> {
    let until = second(UnixSeconds(until.0 / DAY * DAY));
    let sql = format!(
        "INSERT INTO temperature_day (disk, day, readings, min, mean, max)
         SELECT disk, hour / {DAY} * {DAY}, count(*), min(celsius), avg(celsius), max(celsius)
         FROM temperature WHERE hour < ?1 GROUP BY 1, 2
         ON CONFLICT (disk, day) DO UPDATE SET
             mean = (mean * readings + excluded.mean * excluded.readings) / (readings + excluded.readings),
             readings = readings + excluded.readings, min = min(min, excluded.min), max = max(max, excluded.max)"
    );
    database.execute(&sql, [until])?;
    database.execute("DELETE FROM temperature WHERE hour < ?1", [until]).map(drop)
}

/// The temperatures of a disk since `from`, the oldest first: days, then hours.
pub fn since(database: &Connection, disk: &DiskKey, from: UnixSeconds) -> Result<Vec<TemperaturePoint>> {
    let sql = "SELECT day AS at, min, mean, max FROM temperature_day WHERE day >= ?2
               AND disk = (SELECT id FROM known_disk WHERE known_disk.disk = ?1)
               UNION ALL
               SELECT hour, celsius, CAST(celsius AS REAL), celsius FROM temperature WHERE hour >= ?2
               AND disk = (SELECT id FROM known_disk WHERE known_disk.disk = ?1) ORDER BY at";
    all(database, sql, &[&disk.0, &second(from)], |row| {
        Ok(TemperaturePoint {
            at: date(row, "at")?,
            min: row.get("min")?,
            mean: row.get("mean")?,
            max: row.get("max")?,
        })
    })
}
