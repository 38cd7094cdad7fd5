//! Readings over time: which are kept, how they are thinned, and the size of the file after a year.

use super::samples::{NOW, WORDING, database, disk_row, key, later, long_message, message};
use crate::history::{CounterPoint, HistoryDatabase, HistoryEventKind};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{DAY, HOUR};
use scrubjay_watch::counters::CounterKind;
use scrubjay_watch::facts::{AtaAttribute, PassReport, SmartFacts};
use scrubjay_watch::rows::{RowKey, WatchRow};

fn smart(pending: u64, celsius: u64) -> SmartFacts {
    let attributes = vec![AtaAttribute::usual(197, pending), AtaAttribute::usual(194, celsius)];
    SmartFacts { attributes, ..SmartFacts::default() }
}

fn points(history: &HistoryDatabase) -> Vec<(u64, u64)> {
    let points = history.counters_over_time(&key("ZL2"), UnixSeconds(0)).unwrap();
    points.iter().map(|point| (point.at.0.wrapping_sub(NOW.0), point.value)).collect()
}

#[test]
fn a_counter_is_kept_when_it_changes_and_once_a_day() {
    let (_folder, mut history) = database();
    for hour in 0..50 {
        let pending = if hour < 30 { 0 } else { 8 };
        history.note_smart(later(hour * HOUR), &key("ZL2"), &smart(pending, 30)).unwrap();
    }
    assert_eq!(points(&history), [(0, 0), (24 * HOUR, 0), (30 * HOUR, 8)]);
    let since = history.counters_over_time(&key("ZL2"), later(30 * HOUR)).unwrap();
    assert_eq!(since, [CounterPoint { at: later(30 * HOUR), kind: CounterKind::Pending, value: 8 }]);
    assert_eq!(history.counters_over_time(&key("other"), UnixSeconds(0)).unwrap(), []);
}

#[test]
fn temperatures_are_hourly_for_a_month_then_daily() {
    let (_folder, mut history) = database();
    // Twice an hour, warmer in the afternoon; the second reading of an hour is the higher one.
    for half_hour in 0..2 * 24 * 40 {
        let at = UnixSeconds(NOW.0 / DAY * DAY + half_hour * HOUR / 2);
        let celsius = 20 + (half_hour / 2) % 24 + half_hour % 2;
        history.note_smart(at, &key("ZL2"), &smart(0, celsius)).unwrap();
    }
    let end = UnixSeconds(NOW.0 / DAY * DAY + 40 * DAY);
    history.thin(end).unwrap();
    history.thin(end).unwrap();
    let points = history.temperatures(&key("ZL2"), UnixSeconds(0)).unwrap();
    assert_eq!(points.len(), 10 + 30 * 24);
    for day in &points[..10] {
        assert_eq!((day.min, day.mean, day.max), (21, 32.5, 44));
    }
    assert_eq!((points[10].min, points[10].max, points[33].max), (21, 21, 44));
    assert!(points.windows(2).all(|pair| pair[0].at < pair[1].at));
    // The clock is set back into a day that was thinned already.
    history.note_smart(points[0].at, &key("ZL2"), &smart(0, 57)).unwrap();
    history.thin(end).unwrap();
    let first = history.temperatures(&key("ZL2"), UnixSeconds(0)).unwrap()[0];
    assert_eq!((first.min, first.mean, first.max), (21, (24.0 * 32.5 + 57.0) / 25.0, 57));
}

#[test]
fn of_old_counter_readings_the_last_of_each_day_stays() {
    let (_folder, mut history) = database();
    let begin = UnixSeconds(NOW.0 / DAY * DAY);
    for hour in (0..100 * 24).step_by(4) {
        history.note_smart(UnixSeconds(begin.0 + hour * HOUR), &key("ZL2"), &smart(hour, 30)).unwrap();
    }
    history.thin(UnixSeconds(begin.0 + 100 * DAY)).unwrap();
    let points = history.counters_over_time(&key("ZL2"), UnixSeconds(0)).unwrap();
    assert_eq!(points.len(), 10 + 90 * 6);
    assert!(points[..10].iter().zip(0..).all(|(point, day)| point.value == day * 24 + 20), "{points:?}");
}

#[test]
fn a_clock_that_is_set_back_or_far_ahead_breaks_nothing_and_deletes_nothing() {
    let (_folder, mut history) = database();
    let report = |pass| PassReport { pass, done: 1, ..PassReport::default() };
    history.keep(later(2 * DAY), &[disk_row("ZL2", "sda")], &[], &WORDING).unwrap();
    for at in [later(2 * DAY), later(DAY), later(DAY), later(DAY + 60), later(2 * DAY)] {
        history.note_smart(at, &key("ZL2"), &smart(at.0 % 7, 30)).unwrap();
        history.note_pass(at, &key("ZL2"), &report(at.0 as u32), at).unwrap();
        history.keep(at, &[disk_row("ZL2", "sda"), disk_row("ZL3", "sdb")], &[], &WORDING).unwrap();
        history.keep(at, &[WatchRow::Message(Box::new(message(1)))], &[], &WORDING).unwrap();
        history.keep(at, &[], &[RowKey::Disk(key("ZL3")), RowKey::Message(1)], &WORDING).unwrap();
        history.thin(at).unwrap();
    }
    let events = history.events(100, None).unwrap();
    assert!(events.windows(2).all(|pair| pair[0].number > pair[1].number), "the order of writing");
    assert_eq!(events.iter().filter(|event| event.kind == HistoryEventKind::PassFinished).count(), 3);
    // Readings dated tomorrow by a wrong clock do not prevent that today's are kept once a day only.
    for hour in 0..4 {
        history.note_smart(later(HOUR * hour), &key("ZL2"), &smart(5, 30)).unwrap();
    }
    assert_eq!(points(&history).iter().filter(|(at, _)| *at < DAY).count(), 1);
    let before = (points(&history).len(), history.events(1000, None).unwrap(), history.passes(&key("ZL2")).unwrap());
    history.thin(later(70 * 365 * DAY)).unwrap();
    let after = (points(&history).len(), history.events(1000, None).unwrap(), history.passes(&key("ZL2")).unwrap());
    assert!(after.0 >= before.0 - 2 && after.0 > 0, "at most the earlier ones of a day");
    assert_eq!((after.1, after.2), (before.1, before.2));
}

#[test]
fn each_unbounded_table_keeps_its_newest_rows_and_all_that_are_open() {
    let (_folder, mut history) = database();
    let disks: Vec<_> = (0..1003).map(|disk| disk_row(&format!("D{disk}"), &format!("sd{disk}"))).collect();
    history.keep(NOW, &disks, &[], &WORDING).unwrap();
    let forgotten: Vec<RowKey> = (0..1002).map(|disk| RowKey::Disk(key(&format!("D{disk}")))).collect();
    history.keep(NOW, &[], &forgotten, &WORDING).unwrap();
    let fill = |table: &str, values: &str| {
        let sql = format!(
            "WITH RECURSIVE turn (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM turn WHERE i < 101000)
             INSERT INTO {table} SELECT {values} FROM turn"
        );
        history.connection.execute_batch(&sql).unwrap();
    };
    // Disk 1003 is not forgotten.
    fill("event (at, kind, disk, subject, words)", "i, 'pass-finished', 1003, 'sda', ''");
    fill("message_history", "i, 'email', 'test', 'notice', '', '', i, 0, i, i");
    fill("incident_history", "i, 'disk', i, 'health', i, NULL, iif(i > 5, i, NULL), 'notice', 1, ''");
    fill("pass", "i, 1003, 1, i, i, 1, 0, 0, 0, 0");
    fill("finding", "i, 1003, i, i + 1, i, i, iif(i > 5, i, NULL)");
    fill("temperature_day", "1003, i * 86400, 6, 30, 30.0, 30");
    fill("counter_reading", "1003, 'pending', i * 86400, 1");
    fill("counter_reading", "1003, 'reported', i * 86400, 1");
    history.thin(UnixSeconds(101_001 * DAY)).unwrap();
    let count = |sql: &str| history.connection.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    let rows = |table: &str| count(&format!("SELECT count(*) FROM {table}"));
    assert_eq!((rows("message_history"), rows("pass"), rows("temperature_day")), (10_000, 1000, 3660));
    assert_eq!((rows("event"), rows("counter_reading")), (100_000, 2 * 4200));
    assert_eq!((rows("incident_history"), rows("finding")), (20_005, 4101), "and five each that are open");
    assert_eq!((rows("known_disk"), count("SELECT min(id) FROM known_disk")), (1001, 3));
    assert_eq!(history.events(1, None).unwrap()[0].at, UnixSeconds(101_000));
    assert_eq!(count("SELECT min(at) / 86400 FROM counter_reading"), 101_000 - 4199);
}

/// Counters of a dying disk: nearly every reading has a change.
fn dying(rng: &mut Rng, reading: u64) -> SmartFacts {
    let mut attributes: Vec<AtaAttribute> = [5, 187, 188, 197, 198, 199]
        .map(|id| AtaAttribute::usual(id, reading * 3 / 4 + rng.below(4) * u64::from(id % 3)))
        .to_vec();
    attributes.push(AtaAttribute::usual(194, 25 + rng.below(20)));
    SmartFacts { attributes, ..SmartFacts::default() }
}

/// A year of `disks` disks, with a reading every four hours, a pass a month, and a message and a row kept at each;
/// returns the file's size in bytes first.
fn year(disks: u64) -> (u64, usize, HistoryDatabase, tempfile::TempDir) {
    let (folder, mut history) = database();
    history.connection.pragma_update(None, "synchronous", "OFF").unwrap();
    let mut rng = Rng::new(3);
    let begin = NOW.0 / DAY * DAY;
    for reading in 0..365 * 6 {
        let now = UnixSeconds(begin + reading * 4 * HOUR);
        for disk in 0..disks {
            let key = key(&format!("5000c500{disk:08x}"));
            history.note_smart(now, &key, &dying(&mut rng, reading)).unwrap();
            if reading % 6 == 0 {
                history.keep(now, &[disk_row(&key.0, &format!("sd{disk}"))], &[], &WORDING).unwrap();
            }
            if reading % 180 == 179 {
                let pass = (reading / 180) as u32;
                let unreadable =
                    (0..20).map(|run| scrubjay_core::units::SectorRange::at(run * 1000 + reading, 8)).collect();
                let report = PassReport { pass, done: 1 << 34, unreadable, ..PassReport::default() };
                history.note_pass(now, &key, &report, UnixSeconds(now.0 - 10 * DAY)).unwrap();
            }
        }
        if reading % 6 == 0 {
            let row = WatchRow::Message(Box::new(long_message(reading + 1)));
            history.keep(now, &[row], &[RowKey::Message(reading.saturating_sub(5))], &WORDING).unwrap();
            history.thin(now).unwrap();
        }
    }
    let size = std::fs::metadata(folder.path().join("history.db")).unwrap().len();
    let kept = history.counters_over_time(&key("5000c50000000000"), UnixSeconds(0)).unwrap().len();
    (size, kept, history, folder)
}

/// With `SCRUBJAY_TEST_HISTORY_DISKS=60` it is the year of a large host (docs/history.md has the figure), and takes minutes.
#[test]
fn a_year_of_a_disk_takes_little_space() {
    let disks = std::env::var("SCRUBJAY_TEST_HISTORY_DISKS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (size, kept, mut history, _folder) = year(disks);
    let began = std::time::Instant::now();
    history.thin(later(365 * DAY)).unwrap();
    println!("to thin once more took {:?}", began.elapsed());
    println!("{disks} disks: {size} bytes after a year, {kept} readings of counters of the first");
    assert!(size < 300_000 + 250_000 * disks, "{size} bytes, {kept} readings");
    assert!(kept > 365 * 6 && kept < 90 * 6 * 6 + 280 * 6, "{kept}");
    let days = history.temperatures(&key("5000c50000000000"), UnixSeconds(0)).unwrap();
    assert_eq!(days.len(), 335 + 30 * 6, "days, and the readings of the last month");
}
