//! Opening: the file is made for its owner only; one that is foreign, newer or damaged is refused and left as it is.

use super::samples::{NOW, WORDING, array_row, database, disk_row, later, reading_row};
use crate::history::opening::{KNOWN_VERSION, migrate};
use crate::history::schema::STEPS;
use crate::history::{HistoryDatabase, HistoryError};
use rusqlite::Connection;
use scrubjay_watch::rows::{HostRow, WatchRow};
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

fn refused(path: &Path) -> HistoryError {
    let before = fs::read(path).unwrap();
    let error = HistoryDatabase::open(path).unwrap_err();
    assert_eq!(fs::read(path).unwrap(), before, "it is left as it is");
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

/// A file with a thousand disks that no process has open.
fn closed(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("history.db");
    let mut history = HistoryDatabase::open(&path).unwrap();
    let rows: Vec<_> = (0..1000).map(|disk| disk_row(&format!("ZL{disk:04}"), &format!("sd{disk}"))).collect();
    history.keep(NOW, &rows, &[], &WORDING).unwrap();
    path
}

#[test]
fn the_file_and_those_beside_it_are_for_their_owner_only_and_the_folder_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lib/scrubjay/history.db");
    let mut history = HistoryDatabase::open(&path).unwrap();
    history.keep(NOW, &[disk_row("ZL2", "sda")], &[], &WORDING).unwrap();
    for file in fs::read_dir(path.parent().unwrap()).unwrap() {
        assert_eq!(file.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    let pragma = |name| history.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((pragma("synchronous"), pragma("foreign_keys")), (2, 1));
    let journal: String = history.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(journal, "wal");
}

#[test]
fn an_empty_file_as_a_power_cut_leaves_it_is_opened_as_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    fs::write(&path, "").unwrap();
    assert_eq!(HistoryDatabase::open(&path).unwrap().rows().unwrap(), []);
}

#[test]
fn a_newer_version_is_refused_also_to_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(&folder);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", KNOWN_VERSION + 1).unwrap();
    let error = refused(&path);
    assert!(matches!(error, HistoryError::Newer { found, known, .. } if found == known + 1), "{error:?}");
    assert!(error.to_string().contains("newer Scrubjay"), "{error}");
    assert!(matches!(HistoryDatabase::open_read_only(&path), Err(HistoryError::Newer { .. })));
}

#[test]
fn a_data_base_of_another_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cookies.sqlite");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE cookie (name TEXT)").unwrap();
    assert!(matches!(refused(&path), HistoryError::Foreign { .. }));
}

#[test]
fn a_damaged_file_is_refused_by_its_name_and_never_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    fs::write(&path, "This is no data base. ".repeat(1000)).unwrap();
    assert!(matches!(refused(&path), HistoryError::Damaged { .. }));
    fs::remove_file(&path).unwrap();
    let path = closed(&folder);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let pages = file.metadata().unwrap().len() / 4096;
    // Pages in the middle are overwritten; the header is intact.
    (pages / 2..pages / 2 + 4).for_each(|page| file.write_all_at(&[0xa5; 4096], page * 4096).unwrap());
    let error = refused(&path);
    assert!(matches!(error, HistoryError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains("move it away"), "{error}");
    // A file that was cut off.
    fs::remove_file(&path).unwrap();
    let path = closed(&folder);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(20 * 4096 + 100).unwrap();
    assert!(matches!(refused(&path), HistoryError::Damaged { .. }));
}

#[test]
fn a_value_that_scrubjay_never_writes_is_damage_and_no_panic() {
    let (_folder, mut history) = database();
    history.keep(NOW, &[disk_row("ZL2", "sda"), reading_row("ZL2", 5)], &[], &WORDING).unwrap();
    history.keep(NOW, &[array_row(&["sda"]), WatchRow::Host(HostRow::default())], &[], &WORDING).unwrap();
    let set = |kind: &str, path: &str, value: &str| {
        format!("row = json_set(row, '$.{path}', json('{value}')) WHERE kind = '{kind}'")
    };
    for change in [
        set("disk", "facts.media", "\"tape\""),
        set("disk", "facts.key", "\"another\""),
        set("disk", "counters", "{\"tape\":{}}"),
        set("disk", "facts.sectors", "-1"),
        set("disk", "word", "null"),
        set("reading", "passes.touched", "[1,2]"),
        set("reading", "passes.unreadable", "[[9,1]]"),
        set("reading", "passes.finished", "4294967296"),
        set("reading", "forecast", "[{\"low\":7},1]"),
        set("array", "layout", "[{\"kind\":\"raid6-md\",\"data\":1,\"parity\":7,\"disks\":2},8]"),
        set("array", "layout", "[{\"kind\":\"raid7\",\"data\":1,\"parity\":1,\"disks\":2},8]"),
        set("host", "errors.ratios", "\"+0000000\""),
        "kind = 'tape' WHERE kind = 'disk'".to_owned(),
        "key = 'tape ZL2' WHERE kind = 'reading'".to_owned(),
        "row = 'nonsense' WHERE kind = 'reading'".to_owned(),
    ] {
        let sql = format!("SAVEPOINT before; UPDATE state SET {change}");
        history.connection.execute_batch(&sql).unwrap();
        // `rows` reads in a transaction of its own; here there must be none.
        let error = crate::history::stored::load(&history.connection).unwrap_err();
        let error = HistoryError::of(Path::new("history.db"), error);
        assert!(matches!(error, HistoryError::Damaged { .. }), "{change}: {error:?}");
        history.connection.execute_batch("ROLLBACK TO before; RELEASE before").unwrap();
    }
    assert_eq!(history.rows().unwrap().len(), 4);
}

#[test]
fn a_step_to_a_new_version_is_taken_whole_or_not_at_all_and_rows_survive_it() {
    let (_folder, mut history) = database();
    history.keep(NOW, &[disk_row("ZL2", "sda")], &[], &WORDING).unwrap();
    let (good, bad) = ("ALTER TABLE event ADD COLUMN x INTEGER", "CREATE TABLE y (z); SELECT nonsense");
    let steps: Vec<&str> = STEPS.into_iter().chain([good, bad]).collect();
    assert!(migrate(&mut history.connection, &steps).is_err());
    let version: i64 = history.connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, KNOWN_VERSION + 1, "the first of the two");
    assert!(history.connection.prepare("SELECT x FROM event").is_ok());
    assert!(history.connection.prepare("SELECT z FROM y").is_err());
    assert_eq!(history.rows().unwrap(), [disk_row("ZL2", "sda")]);
}

#[test]
fn readers_see_what_was_kept_while_the_daemon_writes_and_change_nothing() {
    let (folder, mut history) = database();
    let path = folder.path().join("history.db");
    history.keep(NOW, &[disk_row("ZL2", "sda")], &[], &WORDING).unwrap();
    let mut reader = HistoryDatabase::open_read_only(&path).unwrap();
    assert_eq!(reader.rows().unwrap().len(), 1);
    history.keep(later(60), &[disk_row("ZL3", "sdb")], &[], &WORDING).unwrap();
    assert_eq!(reader.rows().unwrap().len(), 2);
    assert_eq!(reader.events(10, None).unwrap().len(), 2);
    let refused = reader.keep(later(90), &[disk_row("ZL4", "sdc")], &[], &WORDING).unwrap_err();
    assert!(matches!(refused, HistoryError::Open { .. }), "it was opened to be read: {refused:?}");
    let absent = HistoryDatabase::open_read_only(&folder.path().join("absent.db")).unwrap_err();
    assert!(matches!(absent, HistoryError::Open { .. }), "{absent:?}");
    drop((reader, history));
    assert_eq!(HistoryDatabase::open_read_only(&path).unwrap().rows().unwrap().len(), 2, "the daemon does not run");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 0).unwrap();
    assert!(matches!(HistoryDatabase::open_read_only(&path), Err(HistoryError::Older { .. })));
}

#[test]
fn a_second_writer_waits_its_turn() {
    let (folder, mut history) = database();
    let path = folder.path().join("history.db");
    let other = std::thread::spawn(move || {
        let mut other = HistoryDatabase::open(&path).unwrap();
        (0..50).for_each(|disk| {
            other.keep(NOW, &[disk_row(&format!("B{disk}"), &format!("sdb{disk}"))], &[], &WORDING).unwrap()
        });
    });
    (0..50).for_each(|disk| {
        history.keep(NOW, &[disk_row(&format!("A{disk}"), &format!("sda{disk}"))], &[], &WORDING).unwrap()
    });
    other.join().unwrap();
    assert_eq!(history.rows().unwrap().len(), 100);
}
