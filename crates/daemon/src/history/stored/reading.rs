//! Rows of the reading of disks and arrays, and of their idleness.

use crate::history::nested;
use crate::history::values::{
    all, date, date_or_none, not_understood, put, second, second_or_none, signed, unsigned, unsigned_or_none,
};
use rusqlite::{Connection, Result, Row};
use scrubjay_core::units::{SectorRange, UnixSeconds};
use scrubjay_watch::facts::SubjectKey;
use scrubjay_watch::forecast::{IdleWeek, PassForecast};
use scrubjay_watch::passes::{ArrayFlaws, PassHistory};
use scrubjay_watch::rows::{ReadingRow, SessionRefusal, WatchRow};

pub fn keep_reading(database: &Connection, subject: &SubjectKey, row: &ReadingRow) -> Result<()> {
    let ReadingRow { passes, failed_sessions, refused, forecast } = row;
    let PassHistory {
        sectors,
        known_since,
        begun,
        done,
        touched,
        read,
        finished,
        unreadable,
        unreadable_before,
        retries,
        retries_before,
        flaws,
        flaws_before,
        unjudged,
        reported,
    } = passes;
    let forecast = forecast.map(|(PassForecast { low, likely, high }, seconds)| {
        (second(low), second(likely), second(high), signed(seconds))
    });
    let (sort, key) = nested::subject_key(subject);
    put(
        database,
        "reading",
        &[
            ("sort", &sort),
            ("subject", &key),
            ("pass_sectors", &signed(*sectors)),
            ("known_since", &second(*known_since)),
            ("begun", &second(*begun)),
            ("done", &signed(*done)),
            ("touched", &nested::dates(touched)),
            ("read", &nested::dates(read)),
            ("oldest_read", &second_or_none(passes.oldest())),
            ("finished", finished),
            ("unreadable", &nested::runs(unreadable)),
            ("unreadable_before", &nested::runs(unreadable_before)),
            ("unreadable_sectors", &signed(sum(&passes.known_unreadable()))),
            ("retries", &signed(*retries)),
            ("retries_before", &signed(*retries_before)),
            ("corrected", &signed(flaws.corrected)),
            ("corrected_before", &signed(flaws_before.corrected)),
            ("mismatched", &signed(flaws.mismatched)),
            ("mismatched_before", &signed(flaws_before.mismatched)),
            ("unjudged", &signed(*unjudged)),
            ("reported", &second(*reported)),
            ("failed_sessions", failed_sessions),
            ("refused_since", &refused.as_ref().map(|refusal| second(refusal.since))),
            ("refused_last", &refused.as_ref().map(|refusal| second(refusal.last))),
            ("refused_why", &refused.clone().map(|refusal| String::from(refusal.why))),
            ("forecast_low", &forecast.map(|parts| parts.0)),
            ("forecast_likely", &forecast.map(|parts| parts.1)),
            ("forecast_high", &forecast.map(|parts| parts.2)),
            ("forecast_seconds", &forecast.map(|parts| parts.3)),
        ],
    )
}

fn sum(runs: &[SectorRange]) -> u64 {
    runs.iter().map(|run| run.count()).fold(0, u64::saturating_add)
}

pub fn load_readings(database: &Connection) -> Result<Vec<WatchRow>> {
    all(database, "SELECT * FROM reading ORDER BY sort, subject", &[], |row| {
        let reading = ReadingRow {
            passes: passes(row)?,
            failed_sessions: row.get("failed_sessions")?,
            refused: refused(row)?,
            forecast: forecast(row)?,
        };
        Ok(WatchRow::Reading(key(row)?, Box::new(reading)))
    })
}

fn key(row: &Row) -> Result<SubjectKey> {
    nested::subject_key_of(&row.get::<_, String>("sort")?, row.get("subject")?)
}

fn passes(row: &Row) -> Result<PassHistory> {
    let text = |column: &str| row.get::<_, String>(column);
    let flaws = |corrected: &str, mismatched: &str| {
        Ok::<_, rusqlite::Error>(ArrayFlaws {
            corrected: unsigned(row, corrected)?,
            mismatched: unsigned(row, mismatched)?,
        })
    };
    Ok(PassHistory {
        sectors: unsigned(row, "pass_sectors")?,
        known_since: date(row, "known_since")?,
        begun: date(row, "begun")?,
        done: unsigned(row, "done")?,
        touched: nested::dates_of(&text("touched")?)?,
        read: nested::dates_of(&text("read")?)?,
        finished: row.get("finished")?,
        unreadable: nested::runs_of(&text("unreadable")?)?,
        unreadable_before: nested::runs_of(&text("unreadable_before")?)?,
        retries: unsigned(row, "retries")?,
        retries_before: unsigned(row, "retries_before")?,
        flaws: flaws("corrected", "mismatched")?,
        flaws_before: flaws("corrected_before", "mismatched_before")?,
        unjudged: unsigned(row, "unjudged")?,
        reported: date(row, "reported")?,
    })
}

fn refused(row: &Row) -> Result<Option<SessionRefusal>> {
    match (
        date_or_none(row, "refused_since")?,
        date_or_none(row, "refused_last")?,
        row.get::<_, Option<String>>("refused_why")?,
    ) {
        (Some(since), Some(last), Some(why)) => Ok(Some(SessionRefusal { since, last, why: why.into() })),
        (None, None, None) => Ok(None),
        _ => Err(not_understood("half a refusal")),
    }
}

fn forecast(row: &Row) -> Result<Option<(PassForecast, u64)>> {
    let part = |column: &str| unsigned_or_none(row, column);
    let parts = (part("forecast_low")?, part("forecast_likely")?, part("forecast_high")?, part("forecast_seconds")?);
    match parts {
        (Some(low), Some(likely), Some(high), Some(seconds)) => {
            let [low, likely, high] = [low, likely, high].map(UnixSeconds);
            Ok(Some((PassForecast { low, likely, high }, seconds)))
        }
        (None, None, None, None) => Ok(None),
        _ => Err(not_understood("half a forecast")),
    }
}

pub fn keep_idle(database: &Connection, subject: &SubjectKey, week: &IdleWeek) -> Result<()> {
    let IdleWeek { share, weeks, bytes_per_second } = week;
    let (sort, key) = nested::subject_key(subject);
    put(
        database,
        "idle_week",
        &[
            ("sort", &sort),
            ("subject", &key),
            ("bytes_per_second", &signed(*bytes_per_second)),
            ("share", &nested::shares(share)),
            ("weeks", &nested::weeks(weeks)),
        ],
    )
}

pub fn load_idle(database: &Connection) -> Result<Vec<WatchRow>> {
    all(database, "SELECT * FROM idle_week ORDER BY sort, subject", &[], |row| {
        let share: Vec<f32> = nested::shares_of(&row.get::<_, Vec<u8>>("share")?)?;
        let weeks: Vec<u16> = nested::weeks_of(&row.get::<_, Vec<u8>>("weeks")?)?;
        let week = IdleWeek {
            share: share.try_into().map_err(|_| not_understood("a week of other than 168 hours"))?,
            weeks: weeks.try_into().map_err(|_| not_understood("a week of other than 168 hours"))?,
            bytes_per_second: unsigned(row, "bytes_per_second")?,
        };
        Ok(WatchRow::Idle(key(row)?, Box::new(week)))
    })
}
