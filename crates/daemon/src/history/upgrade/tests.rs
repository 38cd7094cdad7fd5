//! Histories of older versions: updated with nothing lost, and the way back.

use super::*;
use crate::history::standing::{self, OpenedHistory};
use crate::history::{HistoryDatabase, HistoryError, MarkPlaces};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

/// A year of three disks as the program of version 1 kept it (how: tests/lab/upgrade.sh).
const VERSION_1: &str = include_str!("../../../tests/fixtures/history-version-1.sql");

/// The file, in a folder of its own.
fn of_version_1(folder: &Path) -> PathBuf {
    let path = folder.join("history.db");
    Connection::open(&path).unwrap().execute_batch(VERSION_1).unwrap();
    path
}

fn opened(path: &Path) -> OpenedHistory {
    standing::open(path, &MarkPlaces(vec![path.with_file_name("history.mark")])).unwrap()
}

/// Every row of every table, by the columns of version 1.
fn contents(path: &Path) -> BTreeMap<String, Vec<String>> {
    let (known, read) = (Connection::open_in_memory().unwrap(), Connection::open(path).unwrap());
    known.execute_batch(VERSION_1).unwrap();
    let texts = |connection: &Connection, sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let tables = texts(&known, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    let rows_of = |table: &str| {
        let columns = texts(&known, &format!("SELECT name FROM pragma_table_info('{table}')"));
        let quoted: Vec<String> = columns.iter().map(|column| format!("quote(\"{column}\")")).collect();
        texts(&read, &format!("SELECT {} FROM \"{table}\" ORDER BY 1", quoted.join(" || ' ' || ")))
    };
    tables.into_iter().map(|table| (table.clone(), rows_of(&table))).collect()
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
    assert!(!first.rows.is_empty());
    let mark = first.history.mark().unwrap();
    drop(first.history);
    assert_eq!(contents(&path), before);
    assert_eq!(contents(&copy), before);
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
    let before = contents(&path);
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
