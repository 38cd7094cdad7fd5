//! Rows of disks, with their counters.

use crate::history::nested;
use crate::history::values::{all, date, kind, put, second, signed, unsigned};
use rusqlite::{Connection, Result, Row};
use scrubjay_watch::counters::{CounterHistory, CounterKind};
use scrubjay_watch::facts::{DiskFacts, DiskKey, ScsiSense};
use scrubjay_watch::health::DriveReport;
use scrubjay_watch::rows::{DiskRow, WatchRow};
use std::collections::BTreeMap;

pub fn keep_disk(database: &Connection, row: &DiskRow) -> Result<()> {
    let DiskRow { facts, counters, word, smart_read, unknown_since, service_first, service_last } = row;
    let DiskFacts { key, name, model, serial, bay, controller, media, sectors, place } = facts;
    let DriveReport {
        passed,
        nvme_warning,
        spare_low,
        used,
        is_self_test_failed,
        self_test_lba,
        is_self_test_old,
        sense,
        hot,
    } = word;
    // The row that it replaces takes its counters with it.
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
            ("media", &media.word()),
            ("sectors", &signed(*sectors)),
            ("place", place),
            ("passed", passed),
            ("nvme_warning", nvme_warning),
            ("spare_low", spare_low),
            ("used", used),
            ("is_self_test_failed", is_self_test_failed),
            ("self_test_lba", &self_test_lba.map(signed)),
            ("is_self_test_old", is_self_test_old),
            ("sense", &sense.map(|sense| u16::from_be_bytes([sense.asc, sense.ascq]))),
            ("hot", hot),
            ("smart_read", &second(*smart_read)),
            ("unknown_since", &second(*unknown_since)),
            ("service_first", &nested::numbers(service_first)),
            ("service_last", &signed(*service_last)),
        ],
    )?;
    counters.iter().try_for_each(|(counter, history)| keep_counter(database, key, *counter, *history))
}

fn keep_counter(database: &Connection, key: &DiskKey, counter: CounterKind, history: CounterHistory) -> Result<()> {
    let CounterHistory { value, growth, since, grew, is_doubted, peak, zero_since } = history;
    put(
        database,
        "disk_counter",
        &[
            ("disk", &key.0),
            ("kind", &counter.word()),
            ("value", &signed(value)),
            ("growth", &signed(growth)),
            ("since", &second(since)),
            ("grew", &second(grew)),
            ("is_doubted", &is_doubted),
            ("peak", &signed(peak)),
            ("zero_since", &second(zero_since)),
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
            peak: unsigned(row, "peak")?,
            zero_since: date(row, "zero_since")?,
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
            counters,
            word: DriveReport {
                passed: row.get("passed")?,
                nvme_warning: row.get("nvme_warning")?,
                spare_low: row.get("spare_low")?,
                used: row.get("used")?,
                is_self_test_failed: row.get("is_self_test_failed")?,
                is_self_test_old: row.get("is_self_test_old")?,
                self_test_lba: row.get::<_, Option<i64>>("self_test_lba")?.map(i64::cast_unsigned),
                sense: row
                    .get::<_, Option<u16>>("sense")?
                    .map(u16::to_be_bytes)
                    .map(|[asc, ascq]| ScsiSense { asc, ascq }),
                hot: row.get("hot")?,
            },
            smart_read: date(row, "smart_read")?,
            unknown_since: date(row, "unknown_since")?,
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
        place: row.get("place")?,
    })
}
