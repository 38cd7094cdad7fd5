//! Histories of older versions: updated with nothing lost, and the way back.

use super::*;
use crate::history::standing::{self, OpenedHistory};
use crate::history::tests::round_trip::by_key;
use crate::history::tests::samples::{Draw, NOW, WORDING};
use crate::history::{HistoryDatabase, HistoryError, MarkPlaces};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::Watch;
use scrubjay_watch::calendar::UtcCalendar;
use scrubjay_watch::facts::{DiskKey, SubjectKey};
use scrubjay_watch::incident::{
    Condition, IncidentKey, IncidentKind, IncidentRow, IncidentSubject, MessageId, MessageReason, Urgency,
};
use scrubjay_watch::loss::{HistoryLoss, LossKind};
use scrubjay_watch::pool::LastScrub;
use scrubjay_watch::problem::Problem;
use scrubjay_watch::rows::{HostRow, MessageRow, RowKey, WatchRow};
use scrubjay_watch::settings::WatchSettings;
use scrubjay_words::{headline, verdict};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

/// A year of three disks as the program of version 1 kept it (how: tests/lab/upgrade.sh).
const VERSION_1: &str = include_str!("../../../tests/fixtures/history-version-1.sql");

/// The rows that version 3 loaded of that year, those of `state` as version 4 keeps them.
const VERSION_1_STATE: &str = include_str!("../../../tests/fixtures/history-version-1-state.sql");

/// The samples as the program of version 3 kept them.
const VERSION_3: &str = include_str!("../../../tests/fixtures/history-version-3.sql");

/// Rows of each kind with odd texts and extreme numbers. A field that is new is drawn after all others, or the older files do not fit.
fn samples() -> Vec<WatchRow> {
    let mut rows = vec![WatchRow::Host(HostRow {
        history_lost: Some(HistoryLoss {
            at: UnixSeconds(u64::MAX),
            kind: LossKind::Older,
            aside: Some("a\0\"b".to_owned()),
            is_rebuilt: true,
        }),
        ..Draw::of_seed(0).host()
    })];
    let scrubs = [LastScrub::Unknown, LastScrub::Never, LastScrub::Ended(UnixSeconds(u64::MAX))];
    let mut scrubs = scrubs.into_iter().cycle();
    for seed in 0..12 {
        let draw = || Draw::of_seed(seed);
        let mut disk = draw().disk();
        disk.facts.key.0 += &seed.to_string();
        disk.word.passed = [None, Some(false), Some(true)][seed as usize % 3];
        rows.push(WatchRow::Disk(Box::new(disk)));
        let mut reading = draw().reading();
        reading.passes.unreadable.truncate(3);
        let key = format!("{}{seed}", draw().array().key);
        let subject = if seed % 3 == 0 { SubjectKey::Array(key) } else { SubjectKey::Disk(DiskKey(key)) };
        rows.push(WatchRow::Reading(subject, Box::new(reading)));
        let mut array = draw().array();
        array.key += &seed.to_string();
        if let Some(pool) = &mut array.pool {
            pool.scrubbed = scrubs.next().unwrap();
        }
        rows.push(WatchRow::Array(array));
        let mut past = draw().past();
        match &mut past.key.subject {
            IncidentSubject::Disk(DiskKey(key)) | IncidentSubject::Array(key) | IncidentSubject::Channel(key) => {
                *key += &seed.to_string();
            }
            IncidentSubject::Watch => {}
        }
        if seed == 5 {
            past.key.subject = IncidentSubject::Watch;
        }
        rows.push(WatchRow::Past(Box::new(past)));
        let mut channel = draw().channel();
        channel.name += &seed.to_string();
        rows.push(WatchRow::Channel(channel));
    }
    let (key, week) = Draw::of_seed(0).idle();
    rows.push(WatchRow::Idle(key, Box::new(week)));
    rows
}

/// The file, in a folder of its own.
fn file_of(folder: &Path, sql: &str) -> PathBuf {
    let path = folder.join("history.db");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    path
}

fn of_version_1(folder: &Path) -> PathBuf {
    file_of(folder, VERSION_1)
}

fn opened(path: &Path) -> OpenedHistory {
    standing::open(path, &MarkPlaces(vec![path.with_file_name("history.mark")])).unwrap()
}

/// Every row of every table of version 1 that the file has, by the columns of that version.
fn contents(path: &Path) -> BTreeMap<String, Vec<String>> {
    let (known, read) = (Connection::open_in_memory().unwrap(), Connection::open(path).unwrap());
    known.execute_batch(VERSION_1).unwrap();
    let texts = |connection: &Connection, sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let (all, tables) = (texts(&known, names), texts(&read, names));
    let rows_of = |table: &str| {
        let columns = texts(&known, &format!("SELECT name FROM pragma_table_info('{table}')"));
        let quoted: Vec<String> = columns.iter().map(|column| format!("quote(\"{column}\")")).collect();
        texts(&read, &format!("SELECT {} FROM \"{table}\" ORDER BY 1", quoted.join(" || ' ' || ")))
    };
    tables.into_iter().filter(|table| all.contains(table)).map(|table| (table.clone(), rows_of(&table))).collect()
}

/// The tables of version 1 whose rows are in `state` now.
const MOVED: [&str; 8] = ["array", "channel", "disk", "disk_counter", "host", "incident", "message", "reading"];

/// The table `state`, as it lies there.
fn state(connection: &Connection) -> Vec<(String, String, serde_json::Value)> {
    let mut statement = connection.prepare("SELECT kind, key, row FROM state ORDER BY kind, key").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))).unwrap();
    let parsed = |(kind, key, row): (String, String, String)| {
        let mut row: serde_json::Value = serde_json::from_str(&row).unwrap();
        // Nobody reads it any more.
        row.as_object_mut().map(|row| row.remove("service_first"));
        (kind, key, row)
    };
    rows.map(Result::unwrap).map(parsed).collect()
}

#[test]
fn every_kind_of_row_of_version_3_is_the_same_in_version_4() {
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let upgraded = opened(&file_of(old.path(), VERSION_3));
    assert_eq!(upgraded.upgrade.unwrap().from, 3);
    assert_eq!(by_key(&upgraded.rows), by_key(&samples()));
    let mut written = opened(&new.path().join("history.db")).history;
    written.keep(NOW, &samples(), &[], &WORDING).unwrap();
    assert_eq!(state(&upgraded.history.connection), state(&written.connection), "as if it had been written now");
}

#[test]
fn a_year_of_version_1_says_the_same_of_its_open_incidents() {
    let folder = tempfile::tempdir().unwrap();
    let path = of_version_1(folder.path());
    let old = Connection::open_in_memory().unwrap();
    old.execute_batch(VERSION_1).unwrap();
    let sql = "SELECT headline, opened, urgency, is_accepted FROM incident ORDER BY headline";
    let mut told = old.prepare(sql).unwrap();
    let told: Vec<(String, u64, String, bool)> = told
        .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned(), row.get(2)?, row.get(3)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(told.len() >= 5, "{told:?}");
    let now = UnixSeconds(1_828_000_000);
    let rows = opened(&path).rows;
    let status = Watch::restore(now, WatchSettings::default(), Box::new(UtcCalendar), rows).status(now);
    let said = |row: &IncidentRow| String::from(headline(&row.condition, &UtcCalendar));
    let mut says: Vec<(String, u64, String, bool)> = status
        .incidents
        .iter()
        .map(|row| (said(row), row.opened.0, row.condition.urgency.word().to_owned(), row.is_accepted))
        .collect();
    says.sort();
    assert_eq!(says, told);
    let sentence = verdict(&status.verdict, &UtcCalendar);
    assert!(sentence.starts_with("6 problems: ") && sentence.ends_with(&said(&status.incidents[0])), "{sentence:?}");
}

#[test]
fn an_incident_and_a_message_that_waits_in_version_3_go_on() {
    const WAITING: &str = r#"
        INSERT INTO incident VALUES ('array', 'uuid', 'degraded', 7, 'loss', '[["member 1",1]]', 'DATA AT RISK', '["Do x"]',
            NULL, 9, '[["member 1",1]]', 'loss', NULL, 3, 1, 41, -1, '[8,9]', 2, NULL, 0);
        INSERT INTO message VALUES (-2, 'email', '<1@h>', NULL, 'reminder', 3, '[["array","uuid","degraded"],["watch","","history"]]',
            'loss', 'it says', 'this', 5, 2, 6, 1, 0);"#;
    let folder = tempfile::tempdir().unwrap();
    let opened = opened(&file_of(folder.path(), &format!("{VERSION_3}{WAITING}")));
    let subject = IncidentSubject::Array("uuid".into());
    let key = IncidentKey { subject, kind: IncidentKind::Degraded };
    let problem = Problem::Recorded(IncidentKind::Degraded, "DATA AT RISK".into());
    let condition = Condition::of(Urgency::Loss, problem).with_amounts(vec![("member 1".into(), 1)]);
    let incident = IncidentRow {
        last_message: Some(UnixSeconds(9)),
        reminders: 3,
        is_accepted: true,
        thread: Some(MessageId { number: 41, run: u64::MAX }),
        written: vec![UnixSeconds(8), UnixSeconds(9)],
        returns: 2,
        ..IncidentRow::new(key.clone(), UnixSeconds(7), condition)
    };
    assert!(opened.rows.contains(&WatchRow::Incident(Box::new(incident))), "{:?}", opened.rows);
    let number = u64::MAX - 1;
    let history = IncidentKey { subject: IncidentSubject::Watch, kind: IncidentKind::History };
    let message = MessageRow {
        number,
        channel: "email".into(),
        id: "<1@h>".into(),
        reply_to: None,
        reason: MessageReason::Reminder(3),
        about: vec![key, history],
        urgency: Urgency::Loss,
        letter: None,
        written: UnixSeconds(5),
        attempts: 2,
        next_attempt: UnixSeconds(6),
        is_under_way: true,
        may_be_repeated: false,
    };
    assert!(opened.rows.contains(&WatchRow::Message(Box::new(message))), "{:?}", opened.rows);
    let text = opened.history.text(number);
    assert_eq!((text.subject(), text.body()), ("it says", "this"));
}

#[test]
fn what_is_damaged_in_an_older_version_is_damage_after_the_upgrade_too() {
    for damage in [
        "UPDATE host SET history_lost = '[1'",
        "UPDATE host SET history_lost = '[1]'",
        "UPDATE disk SET media = 'tape'",
        "UPDATE OR REPLACE disk_counter SET kind = 'tape'",
        "UPDATE reading SET touched = 'nonsense'",
        "UPDATE reading SET unreadable = '[[9,1]]'",
        "UPDATE reading SET refused_last = 7",
        "UPDATE reading SET forecast_low = NULL",
        "UPDATE array SET members = '{}'",
        "UPDATE array SET pool = '{'",
        "UPDATE array SET pool = '{\"groups\":[\"a\",5]}'",
        "UPDATE array SET layout = 'raid6-md', layout_data = 0",
        "UPDATE incident_past SET sort = 'tape'",
        "UPDATE channel SET refused = '[\"a\"]'",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let opened = opened(&file_of(folder.path(), &format!("{VERSION_3}{damage};")));
        assert_eq!(opened.loss.map(|loss| loss.kind), Some(LossKind::Damaged), "{damage}");
    }
}

#[test]
fn a_year_of_version_1_is_updated_with_nothing_lost_and_a_copy_of_it_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = of_version_1(folder.path());
    let before = contents(&path);
    assert!(before["event"].len() > 100 && before["pass"].len() >= 30, "it is a year's");
    let first = opened(&path);
    assert_eq!(first.loss, None, "a history of before there were marks is no other");
    let upgrade = first.upgrade.expect("it was of an older version");
    let copy = folder.path().join("history.db.version-1");
    assert_eq!((upgrade.from, upgrade.copy.as_ref().unwrap()), (1, &copy));
    assert!(upgrade.described().contains("history.db.version-1"), "{}", upgrade.described());
    let recorded = opening::in_memory().unwrap();
    recorded.execute_batch(VERSION_1_STATE).unwrap();
    let expected = by_key(&crate::history::stored::load(&recorded).unwrap());
    assert_eq!(expected.len(), 8, "a host, three disks with their readings, and a channel");
    let mut loaded = by_key(&first.rows);
    loaded.retain(|key, _| !matches!(key, RowKey::Idle(_) | RowKey::Incident(_) | RowKey::Message(_)));
    assert_eq!(loaded, expected);
    let mark = first.history.mark().unwrap();
    drop(first.history);
    assert_eq!(contents(&copy), before);
    let mut before = before;
    before.retain(|table, _| !MOVED.contains(&table.as_str()));
    assert_eq!(contents(&path), before);
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    // It is an upgrade once.
    let second = opened(&path);
    assert!(second.upgrade.is_none());
    assert_eq!(second.rows, first.rows);
    assert_eq!(second.history.mark().unwrap().id, mark.id);
}

#[test]
fn the_copy_is_what_the_older_program_opens() {
    let folder = tempfile::tempdir().unwrap();
    let copy = opened(&of_version_1(folder.path())).upgrade.unwrap().copy.unwrap();
    let copy = Connection::open(copy).unwrap();
    let pragma = |name| copy.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((pragma("application_id"), pragma("user_version")), (crate::history::schema::APPLICATION_ID, 1));
    opening::check_pages(Path::new("copy"), &copy).unwrap();
}

#[test]
fn what_still_stands_in_the_log_beside_the_file_is_in_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let path = of_version_1(folder.path());
    let older = Connection::open(&path).unwrap();
    older.pragma_update(None, "journal_mode", "WAL").unwrap();
    older.execute("UPDATE host SET paused_for = 77", []).unwrap();
    let copied: PathBuf = folder.path().join("killed");
    fs::create_dir(&copied).unwrap();
    for name in ["history.db", "history.db-wal"] {
        fs::copy(folder.path().join(name), copied.join(name)).unwrap();
    }
    let copy = opened(&copied.join("history.db")).upgrade.unwrap().copy.unwrap();
    let kept: i64 =
        Connection::open(copy).unwrap().query_row("SELECT paused_for FROM host", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 77);
}

#[test]
fn an_upgrade_without_a_place_for_the_copy_goes_on_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = of_version_1(folder.path());
    let mut before = contents(&path);
    before.retain(|table, _| !MOVED.contains(&table.as_str()));
    fs::create_dir(folder.path().join("history.db.version-1")).unwrap(); // no file can have that name
    let upgrade = opened(&path).upgrade.unwrap();
    assert!(upgrade.copy.is_err());
    assert!(upgrade.described().contains("no copy for an older program could be kept: "), "{}", upgrade.described());
    assert_eq!(contents(&path), before);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".new")), "{left:?}");
}

#[test]
fn a_second_upgrade_from_the_same_version_replaces_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let path = of_version_1(folder.path());
    let copy = opened(&path).upgrade.unwrap().copy.unwrap();
    // The way back: the copy in its place. Then the older program goes on, and the newer one is installed again.
    fs::rename(&copy, &path).unwrap();
    Connection::open(&path).unwrap().execute("UPDATE host SET paused_for = 77", []).unwrap();
    let second = opened(&path).upgrade.unwrap().copy.unwrap();
    assert_eq!(second, copy);
    let kept: i64 =
        Connection::open(copy).unwrap().query_row("SELECT paused_for FROM host", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 77);
}

#[test]
fn no_copy_is_made_of_what_is_refused_or_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    assert!(keep_copy(&path).is_none(), "there is none");
    assert!(!path.exists());
    drop(HistoryDatabase::open(&path).unwrap());
    assert!(keep_copy(&path).is_none(), "it is of this version");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", KNOWN_VERSION + 1).unwrap();
    assert!(keep_copy(&path).is_none(), "it is of a newer one");
    assert!(matches!(HistoryDatabase::open(&path), Err(HistoryError::Newer { .. })));
    fs::write(&path, "no data base ".repeat(1000)).unwrap();
    assert!(keep_copy(&path).is_none(), "it is none");
}
