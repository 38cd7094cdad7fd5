//! Acknowledged data survive a kill, and a full disk is reported as such and does no harm.

use super::samples::{WORDING, database, disk, later, long_message, reading_row};
use crate::history::{HistoryDatabase, HistoryError};
use scrubjay_core::rng::Rng;
use scrubjay_watch::rows::{HostRow, RowKey, WatchRow};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that names the child's file.
const CHILD_FILE: &str = "SCRUBJAY_TEST_HISTORY_FILE";

fn step(history: &mut HistoryDatabase, number: u64) -> Result<(), HistoryError> {
    let mut disk = disk("ZL2", "sda");
    disk.facts.name = format!("sd{number}"); // an event each time
    let rows = [
        WatchRow::Host(HostRow { next_message: number, ..HostRow::default() }),
        WatchRow::Disk(Box::new(disk)),
        reading_row("ZL2", number),
        WatchRow::Message(Box::new(long_message(number))),
    ];
    history.keep(later(number), &rows, &[RowKey::Message(number - 1)], &WORDING)
}

/// How far the child came, by its rows; they agree with each other.
fn reached(history: &HistoryDatabase) -> u64 {
    let rows = history.rows().unwrap();
    if rows.is_empty() {
        return 0;
    }
    let [WatchRow::Host(host), WatchRow::Disk(_), WatchRow::Reading(_, reading), WatchRow::Message(message)] =
        &rows[..]
    else {
        panic!("a host, a disk, its reading and a message: {rows:?}")
    };
    let number = host.next_message;
    assert_eq!((reading.passes.done, message.number), (number, number));
    let count = |sql: &str| history.connection.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(u64::from(count("SELECT count(*) FROM message_history")), number);
    assert_eq!(u64::from(count("SELECT count(*) FROM event WHERE kind LIKE 'disk-%'")), number);
    number
}

fn integrity(history: &HistoryDatabase) -> String {
    history.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

/// As the child of the test below, keeps rows until it is killed; else does nothing.
#[test]
fn the_child_keeps_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD_FILE).map(PathBuf::from) else { return };
    let mut history = HistoryDatabase::open(&path).unwrap();
    for number in reached(&history) + 1.. {
        step(&mut history, number).unwrap();
        println!("kept {number}");
    }
}

fn kill_after(path: &Path, acknowledged: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "history::tests::durable::the_child_keeps_until_it_is_killed", "--nocapture"])
        .env(CHILD_FILE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next_number =
        || lines.by_ref().map_while(Result::ok).find_map(|line| line.split("kept ").nth(1)?.parse().ok());
    let mut last = 0;
    for _ in 0..acknowledged {
        last = next_number().expect("the child goes on until it is killed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Its reports before the kill arrive.
    while let Some(number) = next_number() {
        last = number;
    }
    last
}

#[test]
fn a_kill_leaves_a_whole_file_with_everything_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let mut rng = Rng::new(7);
    for _ in 0..20 {
        let acknowledged = kill_after(&path, 1 + rng.below(40));
        let history = HistoryDatabase::open(&path).unwrap();
        assert_eq!(integrity(&history), "ok");
        let reached = reached(&history);
        assert!(reached == acknowledged || reached == acknowledged + 1, "{reached} of {acknowledged}");
    }
}

#[test]
fn a_full_disk_is_reported_as_full_and_nothing_is_lost() {
    let (folder, mut history) = database();
    (1..=20).for_each(|number| step(&mut history, number).unwrap());
    let pages: u32 = history.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let limit = |history: &HistoryDatabase, pages: u32| {
        history.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    };
    limit(&history, pages + 3);
    let mut number = 20;
    let error = loop {
        match step(&mut history, number + 1) {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, HistoryError::Full { .. }), "{error:?}");
    assert!(error.to_string().contains("history.db: make some"), "{error}");
    assert_eq!((reached(&history), integrity(&history)), (number, "ok".to_owned()));
    assert!(step(&mut history, number + 1).is_err(), "still");
    history.keep(later(1), &[], &[], &WORDING).unwrap();
    limit(&history, u32::MAX);
    step(&mut history, number + 1).unwrap();
    drop(history);
    let history = HistoryDatabase::open(&folder.path().join("history.db")).unwrap();
    assert_eq!((reached(&history), integrity(&history)), (number + 1, "ok".to_owned()));
}
