//! Answers about the past: read from the history in a thread of the requester, so that the pump is not held up.

use crate::history::{CounterPoint, FindingRecord, HistoryDatabase, HistoryError, HistoryEvent, PassRecord};
use crate::time::WatchClock;
use scrubjay_control::SCHEMA;
use scrubjay_control::past::{
    BenchEntry, BenchPast, CounterEntry, CounterTrend, DiskDetail, DiskPast, DriveReported, FindingEntry, MONTHS,
    PassEntry, PastDocument, PastEvent, SURFACE_PARTS, SurfacePart, SurfaceSpeed,
};
use scrubjay_core::bench::compare::{BenchComparison, PastBench, compare};
use scrubjay_core::units::{SECTOR_BYTES, UnixSeconds};
use scrubjay_device::inventory::{self, is_alike};
use scrubjay_device::store::StateStore;
use scrubjay_jobs::bench_log::BenchLog;
use scrubjay_jobs::surface::surface_speed;
use scrubjay_watch::calendar::DAY;
use scrubjay_watch::counters::CounterKind;
use scrubjay_watch::facts::{DiskKey, SubjectKey};
use scrubjay_watch::passes::PassHistory;
use scrubjay_watch::rows::{DiskRow, WatchRow};
use std::collections::BTreeMap;
use std::path::Path;

/// Events that are reported of all disks, at most: 1,000 disks have twice as many in a year.
const EVENTS_MAX: usize = 4096;
/// Events that are reported of one disk, at most.
const EVENTS_OF_DISK_MAX: usize = 200;
/// Benchmark results that are reported of a disk, at most.
const BENCH_MAX: usize = 24;
/// The length of a month of a trend, in seconds.
const MONTH: u64 = 365 * DAY / MONTHS as u64;
/// The last temperature is looked for in this many seconds of the past.
const TEMPERATURE_SPAN: u64 = 2 * DAY;

/// The past since a date, in short; in full for one disk, if it is named. `folder` has the history and the states of scrubs.
///
/// # Errors
/// The history cannot be read.
pub fn past(
    folder: &Path,
    clock: WatchClock,
    disk: Option<&str>,
    since: UnixSeconds,
) -> Result<PastDocument, HistoryError> {
    let history = HistoryDatabase::open_read_only(&folder.join("history.db"))?;
    past_from(&history, clock.now(), disk, since, &|row, passes| {
        let id = inventory::identity(&row.facts.name).filter(|id| id.is_certain).map(|id| id.key());
        DiskExtras {
            surface: id.as_deref().map_or_else(Vec::new, |id| surface(folder, clock, id, row, passes)),
            bench: bench(folder, clock, id.as_deref(), &row.facts.key),
            speed: id.as_deref().map_or_else(SurfaceSpeed::default, |id| {
                surface_speed(&StateStore::at(folder, id, None).speed().known(), |date| clock.by_watch(date))
            }),
        }
    })
}

/// Data about a disk from other files than the history.
#[derive(Debug, Default)]
pub struct DiskExtras {
    /// When each part of its surface was read.
    pub surface: Vec<SurfacePart>,
    /// Its benchmark results.
    pub bench: BenchPast,
    /// How fast its places answer.
    pub speed: SurfaceSpeed,
}

/// Finds the data from other files for a disk with this row and these passes.
pub type FindDiskExtras<'s> = dyn Fn(&DiskRow, Option<&PassHistory>) -> DiskExtras + 's;

/// Does what [`past`] does with a history that is open.
///
/// # Errors
/// The history cannot be read.
pub fn past_from(
    history: &HistoryDatabase,
    now: UnixSeconds,
    disk: Option<&str>,
    since: UnixSeconds,
    find_extras: &FindDiskExtras<'_>,
) -> Result<PastDocument, HistoryError> {
    let (mut disks, mut readings): (BTreeMap<DiskKey, DiskRow>, BTreeMap<DiskKey, PassHistory>) = Default::default();
    for row in history.rows()? {
        match row {
            WatchRow::Disk(row) => drop(disks.insert(row.facts.key.clone(), *row)),
            WatchRow::Reading(SubjectKey::Disk(key), row) => drop(readings.insert(key, row.passes)),
            _ => {}
        }
    }
    let wanted = |key: &DiskKey| disk.is_none_or(|disk| key.0 == disk);
    let mut entries = Vec::new();
    for (key, row) in disks.iter().filter(|(key, _)| wanted(key)) {
        let passes = readings.get(key);
        let mut entry = summary(history, row, passes, now)?;
        if disk.is_some() {
            entry.detail = Some(detail(history, key, since, find_extras(row, passes))?);
        }
        entries.push(entry);
    }
    let events = match disk {
        None => history.events(EVENTS_MAX, None)?,
        Some(_) => Vec::new(),
    };
    let events = events.into_iter().filter(|event| event.at >= since).map(event_entry).collect();
    Ok(PastDocument { schema: SCHEMA, events, disks: entries })
}

fn event_entry(event: HistoryEvent) -> PastEvent {
    PastEvent {
        at: event.at.0,
        kind: event.kind,
        disk: event.disk.map(|key| key.0),
        subject: event.subject,
        words: without_code(event.words),
    }
}

/// Hides a code: those who may see the page must not read there what proves that a message has arrived.
fn without_code(words: String) -> String {
    const BEFORE: &str = "code ";
    const DIGITS: usize = 6;
    let is_code = |at: usize| {
        let rest = &words.as_bytes()[at + BEFORE.len()..];
        rest.len() >= DIGITS && rest[..DIGITS].iter().all(u8::is_ascii_digit)
    };
    match words.match_indices(BEFORE).map(|(at, _)| at).find(|at| is_code(*at)) {
        Some(at) => format!("{}(not shown){}", &words[..at + BEFORE.len()], &words[at + BEFORE.len() + DIGITS..]),
        None => words,
    }
}

fn summary(
    history: &HistoryDatabase,
    row: &DiskRow,
    reading: Option<&PassHistory>,
    now: UnixSeconds,
) -> Result<DiskPast, HistoryError> {
    let key = &row.facts.key;
    let passes = history.passes(key)?;
    let findings = history.findings(key)?;
    let temperatures = history.temperatures(key, UnixSeconds(now.0.saturating_sub(TEMPERATURE_SPAN)))?;
    let sectors = passes.iter().map(|pass| pass.sectors).sum::<u64>() + reading.map_or(0, |reading| reading.done);
    let counters = row.counters.iter().map(|(kind, counter)| CounterEntry {
        key: kind.key().to_owned(),
        name: scrubjay_words::counter(*kind).into(),
        value: counter.value,
        growth: counter.growth_at(now),
        since: if counter.growth_at(now) > 0 { counter.since.0 } else { 0 },
        is_of_medium: kind.is_of_medium(),
    });
    let month_ago = now.0.saturating_sub(30 * DAY);
    let is_new = |finding: &&FindingRecord| finding.gone.is_none() && finding.first_seen.0 >= month_ago;
    Ok(DiskPast {
        key: key.0.clone(),
        drive: DriveReported {
            read: row.smart_read.0,
            passed: row.word.passed,
            celsius: temperatures.last().map(|point| point.max),
            // The log of an NVMe drive has both values; other drives have neither.
            used_percent: row.counters.contains_key(&CounterKind::MediaErrors).then_some(row.word.used),
            counters: counters.collect(),
        },
        passes_finished: reading.map_or(0, |reading| u64::from(reading.finished)),
        last_pass: passes.first().map_or(0, |pass| pass.ended.0),
        bytes_read: sectors.saturating_mul(SECTOR_BYTES),
        retries: reading.map_or(0, |reading| reading.retries.max(reading.retries_before)),
        service_nanos: row.service_last,
        unreadable_by_month: by_month(&findings, now),
        unreadable_new: findings.iter().filter(is_new).map(|finding| finding.sectors.count()).sum(),
        detail: None,
    })
}

/// The number of known unreadable sectors at the end of each month.
fn by_month(findings: &[FindingRecord], now: UnixSeconds) -> [u64; MONTHS] {
    let known_at = |at: u64| {
        let is_open =
            |finding: &&FindingRecord| finding.first_seen.0 <= at && finding.gone.is_none_or(|gone| gone.0 > at);
        findings.iter().filter(is_open).map(|finding| finding.sectors.count()).sum()
    };
    std::array::from_fn(|month| known_at(now.0.saturating_sub((MONTHS - 1 - month) as u64 * MONTH)))
}

fn detail(
    history: &HistoryDatabase,
    key: &DiskKey,
    since: UnixSeconds,
    extras: DiskExtras,
) -> Result<DiskDetail, HistoryError> {
    let mut counters: BTreeMap<CounterKind, Vec<(u64, u64)>> = BTreeMap::new();
    for CounterPoint { at, kind, value } in history.counters_over_time(key, since)? {
        counters.entry(kind).or_default().push((at.0, value));
    }
    counters.retain(|_, points| points.iter().any(|(_, value)| *value > 0));
    let trend = |(kind, points): (CounterKind, Vec<(u64, u64)>)| CounterTrend {
        name: scrubjay_words::counter(kind).into(),
        points,
    };
    let pass = |pass: PassRecord| PassEntry {
        begun: pass.begun.0,
        ended: pass.ended.0,
        unreadable: pass.unreadable,
        retries: pass.retries,
        bytes_per_second: pass.bytes_per_second,
    };
    let finding = |finding: FindingRecord| FindingEntry {
        start: finding.sectors.start.0,
        count: finding.sectors.count(),
        found: finding.first_seen.0,
        gone: finding.gone.map(|gone| gone.0),
    };
    let mut temperatures: BTreeMap<u64, i32> = BTreeMap::new();
    for point in history.temperatures(key, since)? {
        let day = temperatures.entry(point.at.0 / DAY * DAY).or_insert(point.max);
        *day = (*day).max(point.max);
    }
    Ok(DiskDetail {
        surface: extras.surface,
        bench: extras.bench,
        speed: extras.speed,
        events: history.events(EVENTS_OF_DISK_MAX, Some(key))?.into_iter().map(event_entry).collect(),
        passes: history.passes(key)?.into_iter().take(100).map(pass).collect(),
        findings: history.findings(key)?.into_iter().take(256).map(finding).collect(),
        counters: counters.into_iter().map(trend).collect(),
        temperatures: temperatures.into_iter().collect(),
    })
}

/// The results that `bench disk` kept in that folder for a disk: a present disk is found by its identity, another by
/// its serial number or WWN. An error of the file is reported with the results that can be read.
fn bench(folder: &Path, clock: WatchClock, id: Option<&str>, key: &DiskKey) -> BenchPast {
    let log = BenchLog::new(folder);
    let (all, bad_lines) = match log.look() {
        Ok(read) => read,
        Err(error) => {
            let trouble = Some(format!("{}: {error}", log.path().display()));
            return BenchPast { trouble, ..BenchPast::default() };
        }
    };
    let is_of_disk = |known: &str| match id {
        Some(id) => known == id,
        None => known.split_whitespace().any(|word| is_alike(word, &key.0)),
    };
    let of_disk = all.iter().enumerate().rev().filter(|(_, past)| is_of_disk(&past.key)).take(BENCH_MAX);
    let entry = |(number, past): (usize, &PastBench)| {
        let BenchComparison { past: before, warnings, .. } = compare(past, &all[..number]);
        BenchEntry {
            at: clock.by_watch(past.at).0,
            iops: past.iops,
            mean_seconds: past.mean,
            past: before.map_or(0, |before| before.0 as u64),
            past_median_seconds: before.map(|before| before.1),
            warnings: warnings.into_iter().map(|warning| warning.words).collect(),
        }
    };
    let trouble = (bad_lines > 0).then(|| {
        let lines = if bad_lines == 1 { "1 line of it makes" } else { &format!("{bad_lines} lines of it make") };
        format!("{}: {lines} no sense, and what stood there is not shown", log.path().display())
    });
    BenchPast { results: of_disk.map(entry).collect(), trouble }
}

/// When each part of a disk was last read: by the map of regions that its scrub keeps. Without a map only the date of
/// the whole disk is known, which is reported elsewhere.
fn surface(
    folder: &Path,
    clock: WatchClock,
    id: &str,
    row: &DiskRow,
    reading: Option<&PassHistory>,
) -> Vec<SurfacePart> {
    let sectors = row.facts.sectors;
    let known = reading.map(PassHistory::known_unreadable).unwrap_or_default();
    let Ok(Some(saved)) = StateStore::at(folder, id, None).load(id, sectors) else { return Vec::new() };
    if sectors == 0 {
        return Vec::new();
    }
    let regions = saved.coverage.grid().region_count();
    let count = (SURFACE_PARTS as u64).min(regions);
    let part = |part: u64| {
        let (first, end) = (part * regions / count, (part + 1) * regions / count);
        let region_sectors = saved.coverage.grid().region_sectors();
        let (start, stop) = (first * region_sectors, (end * region_sectors).min(sectors));
        let is_inside = |at: u64| (start..stop).contains(&at);
        let oldest = saved.coverage.oldest(first..end).0;
        SurfacePart {
            read: if oldest == 0 { 0 } else { clock.by_watch(UnixSeconds(oldest)).0 },
            unreadable: known.iter().filter(|run| is_inside(run.start.0)).map(|run| run.count()).sum(),
        }
    };
    (0..count).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::SectorRange;

    #[test]
    fn the_code_of_a_test_as_it_is_written_is_not_shown() {
        use scrubjay_watch::letter::{Letter, LetterContent};
        let content = LetterContent::Test { channel: "email".into(), code: "004711".into() };
        let wording = scrubjay_words::Wording { calendar: &scrubjay_watch::calendar::UtcCalendar, host: "nas1" };
        let text = wording.message(&Letter { content, blind_since: None }).unwrap();
        assert!(text.subject().contains("004711"));
        assert!(!without_code(text.subject().to_owned()).contains("004711"), "{}", text.subject());
    }

    #[test]
    fn benchmark_results_are_listed_with_their_past_and_damage_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let clock = WatchClock::new(None);
        let bench_of = |id: Option<&str>| bench(folder.path(), clock, id, &DiskKey("ZL2".into()));
        assert_eq!(bench_of(Some("naa.5 ZL2")), BenchPast::default(), "nothing was measured, and nothing is wrong");
        let line = |id: &str, at: u64, mean: f64| {
            format!(
                "{{\"id\":\"{id}\",\"model\":\"M\",\"measured\":{at},\"iops\":{},\"mean_seconds\":{mean}}}\n",
                1.0 / mean
            )
        };
        let lines =
            [line("naa.5 ZL2", 100, 0.0125), line("other", 150, 0.001), "torn\n".into(), line("naa.5 ZL2", 200, 0.025)];
        let path = BenchLog::new(folder.path()).path().to_owned();
        std::fs::write(&path, lines.concat()).unwrap();
        let past = bench_of(Some("naa.5 ZL2"));
        let dates: Vec<u64> = past.results.iter().map(|result| result.at).collect();
        assert_eq!(dates, [200, 100], "the newest first");
        assert_eq!((past.results[0].past, past.results[0].past_median_seconds), (1, Some(0.0125)));
        assert!(past.results[0].warnings[0].contains("12.5 ms"), "{past:?}");
        assert_eq!((past.results[1].past, past.results[1].warnings.len()), (0, 0), "what came later is not its past");
        assert!(past.trouble.as_ref().is_some_and(|why| why.contains("1 line of it makes no sense")), "{past:?}");
        assert_eq!(bench_of(None).results, past.results, "a disk that is gone is found by its serial number");
        assert_eq!(bench_of(Some("naa.6 ZL2")).results, []);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        let past = bench_of(Some("naa.5 ZL2"));
        assert!(past.results.is_empty() && past.trouble.is_some(), "{past:?}");
    }

    #[test]
    fn a_code_that_proves_a_channel_is_not_shown_on_the_page() {
        let shown = |words: &str| without_code(words.to_owned());
        assert_eq!(shown("[nas1] [TEST] code 513251"), "[nas1] [TEST] code (not shown)");
        assert_eq!(
            shown("(may reach you twice) [nas1] [TEST] code 004711."),
            "(may reach you twice) [nas1] [TEST] code (not shown)."
        );
        for other in ["code", "code 51325", "the code code x", "", "encode 12345ü", "8 sectors from 513251 on"] {
            assert_eq!(shown(other), other);
        }
        let event = HistoryEvent {
            number: 1,
            at: UnixSeconds(1),
            kind: crate::history::HistoryEventKind::MessageDelivered,
            disk: None,
            subject: "email".into(),
            words: "[nas1] [TEST] code 513251".into(),
        };
        assert!(!event_entry(event).words.contains("513251"));
    }

    #[test]
    fn each_month_counts_the_findings_known_at_its_end() {
        let now = UnixSeconds(1_800_000_000);
        let finding = |count, found: u64, gone: Option<u64>| FindingRecord {
            sectors: SectorRange::at(100, count),
            first_seen: UnixSeconds(now.0 - found * DAY),
            last_seen: now,
            gone: gone.map(|gone| UnixSeconds(now.0 - gone * DAY)),
        };
        let months = by_month(&[finding(8, 100, Some(20)), finding(5, 11, None), finding(1, 3000, Some(2000))], now);
        assert_eq!(months, [0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 5]);
    }
}
