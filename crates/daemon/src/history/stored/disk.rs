//! Rows of disks, with their counters, and of their idleness.

use crate::history::nested;
use crate::history::spelling::Spelled;
use crate::history::values::{
    all, date, date_or_none, kind, not_understood, put, second, second_or_none, signed, unsigned, unsigned_or_none,
};
use rusqlite::{Connection, Result, Row};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::counters::{CounterHistory, CounterKind};
use scrubjay_watch::facts::{DiskFacts, DiskKey};
use scrubjay_watch::forecast::{IdleWeek, PassForecast};
use scrubjay_watch::health::DriveWord;
use scrubjay_watch::passes::PassHistory;
use scrubjay_watch::rows::{DiskRow, SessionRefusal, WatchRow};
use std::collections::BTreeMap;

pub fn keep_disk(database: &Connection, row: &DiskRow) -> Result<()> {
    let DiskRow {
        facts,
        passes,
        counters,
        word,
        smart_read,
        unknown_since,
        failed_sessions,
        refused,
        forecast,
        service_first,
        service_last,
    } = row;
    let DiskFacts { key, name, model, serial, bay, controller, media, sectors } = facts;
    let PassHistory {
        sectors: pass_sectors,
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
        unjudged,
        reported,
    } = passes;
    let DriveWord { passed, nvme_warning, spare_low, used, is_self_test_failed } = word;
    let forecast = forecast.map(|(PassForecast { low, likely, high }, seconds)| {
        (second(low), second(likely), second(high), signed(seconds))
    });
    // The one that it replaces takes its counters with it.
    put(
        database,
        "disk",
        &[
            ("disk", &key.0),
            ("name", name),
            ("model", model),
            ("serial", serial),
            ("bay", bay),
            ("controller", controller),
            ("media", &media.spelled()),
            ("sectors", &signed(*sectors)),
            ("pass_sectors", &signed(*pass_sectors)),
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
            ("unjudged", &signed(*unjudged)),
            ("reported", &second(*reported)),
            ("passed", passed),
            ("nvme_warning", nvme_warning),
            ("spare_low", spare_low),
            ("used", used),
            ("is_self_test_failed", is_self_test_failed),
            ("smart_read", &second(*smart_read)),
            ("unknown_since", &second(*unknown_since)),
            ("failed_sessions", failed_sessions),
            ("refused_since", &refused.as_ref().map(|refusal| second(refusal.since))),
            ("refused_last", &refused.as_ref().map(|refusal| second(refusal.last))),
            ("refused_why", &refused.as_ref().map(|refusal| &refusal.why)),
            ("forecast_low", &forecast.map(|parts| parts.0)),
            ("forecast_likely", &forecast.map(|parts| parts.1)),
            ("forecast_high", &forecast.map(|parts| parts.2)),
            ("forecast_seconds", &forecast.map(|parts| parts.3)),
            ("service_first", &nested::numbers(service_first)),
            ("service_last", &signed(*service_last)),
        ],
    )?;
    counters.iter().try_for_each(|(counter, history)| keep_counter(database, key, *counter, *history))
}

fn sum(runs: &[scrubjay_core::units::SectorRange]) -> u64 {
    runs.iter().map(|run| run.count()).fold(0, u64::saturating_add)
}

fn keep_counter(database: &Connection, key: &DiskKey, counter: CounterKind, history: CounterHistory) -> Result<()> {
    let CounterHistory { value, growth, since, grew, is_doubted } = history;
    put(
        database,
        "disk_counter",
        &[
            ("disk", &key.0),
            ("kind", &counter.spelled()),
            ("value", &signed(value)),
            ("growth", &signed(growth)),
            ("since", &second(since)),
            ("grew", &second(grew)),
            ("is_doubted", &is_doubted),
        ],
    )
}

pub fn load_disks(database: &Connection) -> Result<Vec<WatchRow>> {
    let mut counters: BTreeMap<String, BTreeMap<CounterKind, CounterHistory>> = BTreeMap::new();
    let readings = all(database, "SELECT * FROM disk_counter", &[], |row| {
        let history = CounterHistory {
            value: unsigned(row, "value")?,
            growth: unsigned(row, "growth")?,
            since: date(row, "since")?,
            grew: date(row, "grew")?,
            is_doubted: row.get("is_doubted")?,
        };
        Ok((row.get("disk")?, kind(row, "kind")?, history))
    })?;
    for (disk, counter, history) in readings {
        counters.entry(disk).or_default().insert(counter, history);
    }
    all(database, "SELECT * FROM disk ORDER BY disk", &[], |row| {
        let facts = facts(row)?;
        let counters = counters.remove(&facts.key.0).unwrap_or_default();
        Ok(WatchRow::Disk(Box::new(DiskRow {
            facts,
            passes: passes(row)?,
            counters,
            word: DriveWord {
                passed: row.get("passed")?,
                nvme_warning: row.get("nvme_warning")?,
                spare_low: row.get("spare_low")?,
                used: row.get("used")?,
                is_self_test_failed: row.get("is_self_test_failed")?,
            },
            smart_read: date(row, "smart_read")?,
            unknown_since: date(row, "unknown_since")?,
            failed_sessions: row.get("failed_sessions")?,
            refused: refused(row)?,
            forecast: forecast(row)?,
            service_first: nested::numbers_of(&row.get::<_, String>("service_first")?)?,
            service_last: unsigned(row, "service_last")?,
        })))
    })
}

fn facts(row: &Row) -> Result<DiskFacts> {
    Ok(DiskFacts {
        key: DiskKey(row.get("disk")?),
        name: row.get("name")?,
        model: row.get("model")?,
        serial: row.get("serial")?,
        bay: row.get("bay")?,
        controller: row.get("controller")?,
        media: kind(row, "media")?,
        sectors: unsigned(row, "sectors")?,
    })
}

fn passes(row: &Row) -> Result<PassHistory> {
    let text = |column: &str| row.get::<_, String>(column);
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
        unjudged: unsigned(row, "unjudged")?,
        reported: date(row, "reported")?,
    })
}

fn refused(row: &Row) -> Result<Option<SessionRefusal>> {
    match (date_or_none(row, "refused_since")?, date_or_none(row, "refused_last")?, row.get("refused_why")?) {
        (Some(since), Some(last), Some(why)) => Ok(Some(SessionRefusal { since, last, why })),
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

pub fn keep_idle(database: &Connection, key: &DiskKey, week: &IdleWeek) -> Result<()> {
    let IdleWeek { share, weeks, bytes_per_second } = week;
    put(
        database,
        "idle_week",
        &[
            ("disk", &key.0),
            ("bytes_per_second", &signed(*bytes_per_second)),
            ("share", &nested::shares(share)),
            ("weeks", &nested::weeks(weeks)),
        ],
    )
}

pub fn load_idle(database: &Connection) -> Result<Vec<WatchRow>> {
    all(database, "SELECT * FROM idle_week ORDER BY disk", &[], |row| {
        let share: Vec<f32> = nested::shares_of(&row.get::<_, Vec<u8>>("share")?)?;
        let weeks: Vec<u16> = nested::weeks_of(&row.get::<_, Vec<u8>>("weeks")?)?;
        let week = IdleWeek {
            share: share.try_into().map_err(|_| not_understood("a week of other than 168 hours"))?,
            weeks: weeks.try_into().map_err(|_| not_understood("a week of other than 168 hours"))?,
            bytes_per_second: unsigned(row, "bytes_per_second")?,
        };
        Ok(WatchRow::Idle(DiskKey(row.get("disk")?), Box::new(week)))
    })
}
