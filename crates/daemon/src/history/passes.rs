//! Finished passes, and unreadable sectors: since when, and until when.

use super::disks;
use super::event;
use super::values::{all, date, date_or_none, second, signed, unsigned};
use rusqlite::{Connection, Result, params};
use scrubjay_control::past::HistoryEventKind;
use scrubjay_core::units::{SectorRange, UnixSeconds};
use scrubjay_watch::facts::{DiskKey, PassReport};

/// Runs of one disk that are followed individually, at most; a pass has the number of all.
pub const RUNS_FOLLOWED: usize = 1024;

/// A finished pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassRecord {
    /// Its number; 0 if another program or a person began it.
    pub pass: u32,
    /// When it began.
    pub begun: UnixSeconds,
    /// When it ended.
    pub ended: UnixSeconds,
    /// Sectors with a verdict.
    pub sectors: u64,
    /// Unreadable sectors.
    pub unreadable: u64,
    /// Reads that succeeded only at the second attempt.
    pub retries: u64,
    /// Mean rate while it was read, in bytes a second; 0 if not measured.
    pub bytes_per_second: u64,
    /// Mean time of one read, in nanoseconds; 0 if not measured.
    pub service_nanos: u64,
}

/// A run of sectors that were found unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingRecord {
    /// The sectors.
    pub sectors: SectorRange,
    /// When they were first found unreadable.
    pub first_seen: UnixSeconds,
    /// When they were last found unreadable.
    pub last_seen: UnixSeconds,
    /// When a pass read them again; `None`: they are still unreadable.
    pub gone: Option<UnixSeconds>,
}

/// Records a pass. One that is reported twice, because the watch was killed in between, is recorded once.
pub fn note_pass(
    database: &Connection,
    now: UnixSeconds,
    disk: &DiskKey,
    report: &PassReport,
    begun: UnixSeconds,
) -> Result<()> {
    let PassReport { pass, done, unreadable, retries, bytes_per_second, service_nanos, .. } = report;
    let known = disks::find_or_add(database, now, disk)?;
    let count = unreadable.iter().map(|run| run.count()).fold(0, u64::saturating_add);
    let sql = "INSERT OR IGNORE INTO pass
               (disk, pass, begun, ended, sectors, unreadable, retries, bytes_per_second, service_nanos)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let (sectors, retried) = (signed(*done), signed(*retries));
    let (speed, service) = (signed(*bytes_per_second), signed(*service_nanos));
    let values = params![known.id, pass, second(begun), second(now), sectors, signed(count), retried, speed, service];
    if database.execute(sql, values)? == 0 {
        return Ok(());
    }
    let words = match count {
        0 => "every sector can be read".to_owned(),
        1 => "1 unreadable sector".to_owned(),
        _ => format!("{count} unreadable sectors"),
    };
    event::add(database, now, HistoryEventKind::PassFinished, Some(known.id), known.display_name(disk), &words)?;
    note_findings(database, now, disk, unreadable, true)
}

/// Records that the check of the array of this name is over, and its findings.
pub fn note_check(database: &Connection, now: UnixSeconds, array: &str, report: &PassReport) -> Result<()> {
    let lost = report.unreadable.iter().map(|run| run.count()).fold(0, u64::saturating_add);
    let counts = [
        (lost, "sectors could not be read or compared"),
        (report.corrected, "places were wrong, and are right now"),
        (report.mismatched, "places are wrong, or disagree, and were left as they are"),
    ];
    let found: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    let words = if found.is_empty() { "its members agree".to_owned() } else { found.join(", ") };
    event::add(database, now, HistoryEventKind::CheckFinished, None, array, &words)
}

/// Follows the unreadable sectors of a disk: `runs` are those of this pass, ascending. If the pass is over
/// (`is_whole`), all others are readable again.
pub fn note_findings(
    database: &Connection,
    now: UnixSeconds,
    disk: &DiskKey,
    runs: &[SectorRange],
    is_whole: bool,
) -> Result<()> {
    let known = disks::find_or_add(database, now, disk)?;
    let mut found: Vec<SectorRange> = runs.iter().copied().filter(|run| !run.is_empty()).collect();
    found.sort_by_key(|run| run.start);
    // Nothing is concluded about sectors behind the last run that is followed.
    let judged_end = if found.len() > RUNS_FOLLOWED { found[RUNS_FOLLOWED].start.0 } else { u64::MAX };
    found.truncate(RUNS_FOLLOWED);
    let open = all(
        database,
        "SELECT * FROM finding WHERE disk = ?1 AND gone IS NULL ORDER BY start_sector",
        &[&known.id],
        |row| Ok((row.get::<_, i64>("number")?, finding(row)?)),
    )?;
    let before: Vec<SectorRange> = open.iter().map(|(_, finding)| finding.sectors).collect();
    let mut gone = Vec::new();
    for (number, old) in &open {
        let readable = match is_whole {
            true => subtract(old.sectors, &found).into_iter().filter(|run| run.end.0 <= judged_end).collect(),
            false => Vec::new(),
        };
        // The row is replaced by its parts: those that are still unreadable, and those that are readable again.
        let kept = subtract(old.sectors, &readable);
        database.execute("DELETE FROM finding WHERE number = ?1", [number])?;
        for run in kept {
            let is_seen = found.iter().any(|found| found.start < run.end && run.start < found.end);
            let last_seen = if is_seen { now } else { old.last_seen };
            insert_finding(database, known.id, &FindingRecord { sectors: run, last_seen, gone: None, ..*old })?;
        }
        for &run in &readable {
            insert_finding(database, known.id, &FindingRecord { sectors: run, gone: Some(now), ..*old })?;
        }
        gone.extend(readable);
    }
    let new: Vec<SectorRange> = found.iter().flat_map(|&run| subtract(run, &before)).collect();
    for &sectors in &new {
        insert_finding(database, known.id, &FindingRecord { sectors, first_seen: now, last_seen: now, gone: None })?;
    }
    for (kind, runs) in [(HistoryEventKind::UnreadableFound, new), (HistoryEventKind::UnreadableGone, gone)] {
        if let Some(first) = runs.first() {
            let count = runs.iter().map(|run| run.count()).fold(0, u64::saturating_add);
            let unit = if count == 1 { "sector" } else { "sectors" };
            let words = format!("{count} {unit}, the first is {}", first.start.0);
            event::add(database, now, kind, Some(known.id), known.display_name(disk), &words)?;
        }
    }
    Ok(())
}

/// The parts of `run` that are in none of `others`, which are ascending.
fn subtract(run: SectorRange, others: &[SectorRange]) -> Vec<SectorRange> {
    let (mut parts, mut start) = (Vec::new(), run.start.0);
    for other in others {
        if other.end.0 <= start || other.start.0 >= run.end.0 {
            continue;
        }
        if other.start.0 > start {
            parts.push(SectorRange::new(start, other.start.0));
        }
        start = start.max(other.end.0);
    }
    if start < run.end.0 {
        parts.push(SectorRange::new(start, run.end.0));
    }
    parts
}

fn insert_finding(database: &Connection, disk: i64, finding: &FindingRecord) -> Result<()> {
    let FindingRecord { sectors, first_seen, last_seen, gone } = finding;
    let sql = "INSERT INTO finding (disk, start_sector, end_sector, first_seen, last_seen, gone)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (start, end) = (signed(sectors.start.0), signed(sectors.end.0));
    let values = params![disk, start, end, second(*first_seen), second(*last_seen), gone.map(second)];
    database.execute(sql, values).map(drop)
}

fn finding(row: &rusqlite::Row) -> Result<FindingRecord> {
    let (start, end) = (unsigned(row, "start_sector")?, unsigned(row, "end_sector")?);
    Ok(FindingRecord {
        sectors: SectorRange::new(start.min(end), end),
        first_seen: date(row, "first_seen")?,
        last_seen: date(row, "last_seen")?,
        gone: date_or_none(row, "gone")?,
    })
}

/// The passes of a disk, the newest first.
pub fn passes(database: &Connection, disk: &DiskKey) -> Result<Vec<PassRecord>> {
    let sql = "SELECT pass.* FROM pass JOIN known_disk ON known_disk.id = pass.disk WHERE known_disk.disk = ?1
               ORDER BY pass.number DESC";
    all(database, sql, &[&disk.0], |row| {
        Ok(PassRecord {
            pass: row.get("pass")?,
            begun: date(row, "begun")?,
            ended: date(row, "ended")?,
            sectors: unsigned(row, "sectors")?,
            unreadable: unsigned(row, "unreadable")?,
            retries: unsigned(row, "retries")?,
            bytes_per_second: unsigned(row, "bytes_per_second")?,
            service_nanos: unsigned(row, "service_nanos")?,
        })
    })
}

/// The unreadable sectors of a disk: first those that still are, then those that were.
pub fn findings(database: &Connection, disk: &DiskKey) -> Result<Vec<FindingRecord>> {
    let sql = "SELECT finding.* FROM finding JOIN known_disk ON known_disk.id = finding.disk WHERE known_disk.disk = ?1
               ORDER BY gone IS NOT NULL, start_sector, finding.number";
    all(database, sql, &[&disk.0], finding)
}
