//! Files that are deleted, damaged, exchanged and rolled back, while the history is open and while it is not.

use super::*;
use crate::history::tests::samples::{WORDING, array_row, disk_row, message};
use scrubjay_watch::rows::MessageRow;
use tempfile::TempDir;

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("history.db")
    }

    fn marks(&self) -> MarkPlaces {
        MarkPlaces(vec![self.folder.path().join("history.mark"), self.folder.path().join("run.mark")])
    }

    fn open(&self) -> OpenedHistory {
        open(&self.path(), &self.marks()).unwrap()
    }

    /// Opens it, writes some rows, and marks how far it came.
    fn used(&self) -> HistoryDatabase {
        let mut history = self.open().history;
        history.keep(NOW, &rows(), &[], &WORDING).unwrap();
        self.marks().write(history.mark().unwrap());
        history
    }

    fn copy(&self, name: &str) -> PathBuf {
        let copy = self.folder.path().join(name);
        fs::copy(self.path(), &copy).unwrap();
        copy
    }
}

fn rows() -> Vec<WatchRow> {
    vec![disk_row("ZL1", "sda"), array_row(&["sda"])]
}

fn kind(opened: &OpenedHistory) -> Option<LossKind> {
    opened.loss.as_ref().map(|loss| loss.kind)
}

#[test]
fn a_message_that_waits_says_the_same_after_a_restart_and_in_a_history_written_anew() {
    let place = Place::new();
    let mut history = place.used();
    let kept = |number| WatchRow::Message(Box::new(message(number)));
    let without_letter = |number| WatchRow::Message(Box::new(MessageRow { letter: None, ..message(number) }));
    history.keep(NOW, &[kept(7)], &[], &WORDING).unwrap();
    // This one is in words, and could not be kept yet when the file was lost; the machine has forgotten what it says.
    history.word(&[kept(8)], &WORDING);
    fs::remove_file(place.path()).unwrap();
    let rows = [rows(), vec![without_letter(7), without_letter(8)]].concat();
    rebuild(&mut history, NOW, LossKind::Deleted, &rows, &WORDING).unwrap();
    let says = |history: &HistoryDatabase| [7, 8].map(|number| history.text(number).subject().to_owned());
    let expected = ["[host] [TEST] code 7", "[host] [TEST] code 8"];
    assert_eq!(says(&history), expected);
    drop(history);
    assert_eq!(says(&HistoryDatabase::open(&place.path()).unwrap()), expected);
}

#[test]
fn a_first_start_and_one_after_another_lose_nothing() {
    let place = Place::new();
    assert_eq!(kind(&place.open()), None);
    drop(place.used());
    let opened = place.open();
    assert_eq!((kind(&opened), opened.rows.len()), (None, 2));
    assert_eq!(check(&opened.history), None);
}

#[test]
fn what_is_lost_between_two_runs_is_told_at_the_next_start() {
    let place = Place::new();
    drop(place.used());
    fs::remove_file(place.path()).unwrap();
    assert_eq!(kind(&place.open()), Some(LossKind::Deleted));

    let place = Place::new();
    drop(place.used());
    let backup = place.copy("backup");
    drop(place.used());
    fs::copy(&backup, place.path()).unwrap();
    let opened = place.open();
    assert_eq!((kind(&opened), opened.rows.len()), (Some(LossKind::Older), 2), "what it has is used");

    let (place, other) = (Place::new(), Place::new());
    drop((place.used(), other.used()));
    fs::copy(other.path(), place.path()).unwrap();
    assert_eq!(kind(&place.open()), Some(LossKind::Exchanged));

    let place = Place::new();
    drop(place.used());
    fs::write(
        place.path(),
        "no data base at all, but long enough to have a header of one hundred bytes, which is what is read first",
    )
    .unwrap();
    let opened = place.open();
    let loss = opened.loss.unwrap();
    assert_eq!((loss.kind, opened.rows.len(), loss.is_rebuilt), (LossKind::Damaged, 0, false));
    assert!(fs::read_to_string(loss.aside.unwrap()).unwrap().starts_with("no data base"), "nothing is thrown away");
}

#[test]
fn a_mark_in_the_folder_of_sockets_tells_of_a_folder_that_was_rolled_back_whole() {
    let place = Place::new();
    drop(place.used());
    let (backup, mark) = (place.copy("backup"), fs::read(place.folder.path().join("history.mark")).unwrap());
    drop(place.used());
    fs::copy(&backup, place.path()).unwrap();
    fs::write(place.folder.path().join("history.mark"), mark).unwrap();
    assert_eq!(kind(&place.open()), Some(LossKind::Older));
}

#[test]
fn a_file_that_is_lost_while_it_is_open_is_written_anew_from_memory() {
    type Harm = fn(&Place);
    let harms: [(&str, LossKind, Harm); 5] = [
        ("deleted", LossKind::Deleted, |place| fs::remove_file(place.path()).unwrap()),
        ("deleted with its logs", LossKind::Deleted, |place| {
            for path in [place.path()].into_iter().chain(logs_of(&place.path())) {
                fs::remove_file(path).unwrap();
            }
        }),
        ("emptied", LossKind::Deleted, |place| fs::write(place.path(), "").unwrap()),
        ("an older copy moved there", LossKind::Exchanged, |place| {
            fs::rename(place.folder.path().join("backup"), place.path()).unwrap();
        }),
        ("overwritten", LossKind::Damaged, |place| {
            let length = fs::metadata(place.path()).unwrap().len() as usize;
            fs::write(place.path(), vec![0x55; length.max(8192)]).unwrap();
        }),
    ];
    for (name, kind, harm) in harms {
        let place = Place::new();
        drop(place.used());
        place.copy("backup");
        let mut history = place.used();
        assert_eq!(check(&history), None, "{name}");
        harm(&place);
        assert_eq!(check(&history), Some(kind), "{name}");
        let loss = rebuild(&mut history, NOW, kind, &rows(), &WORDING).unwrap();
        assert!(loss.is_rebuilt, "{name}");
        assert_eq!(check(&history), None, "{name}");
        history.keep(NOW, &[disk_row("ZL2", "sdb")], &[], &WORDING).unwrap();
        place.marks().write(history.mark().unwrap());
        drop(history);
        let opened = place.open();
        assert_eq!((opened.loss, opened.rows.len()), (None, 3), "{name}");
    }
}

#[test]
fn pages_that_are_damaged_behind_what_is_in_memory_are_seen() {
    let place = Place::new();
    let mut history = place.used();
    history.thin(NOW).unwrap(); // what is in the log alone cannot be damaged in the file
    assert!(is_whole(&history));
    let mut bytes = fs::read(place.path()).unwrap();
    bytes[4096..].fill(0x55);
    fs::write(place.path(), bytes).unwrap();
    assert!(!is_whole(&history));
}

#[test]
fn a_file_of_another_program_is_not_touched() {
    let place = Place::new();
    rusqlite::Connection::open(place.path())
        .unwrap()
        .execute_batch("CREATE TABLE t (a); PRAGMA user_version = 7")
        .unwrap();
    let before = fs::read(place.path()).unwrap();
    assert!(matches!(open(&place.path(), &place.marks()), Err(HistoryError::Foreign { .. })));
    assert_eq!(fs::read(place.path()).unwrap(), before);
}

#[test]
fn where_it_cannot_be_written_anew_nothing_is_kept_until_it_can() {
    let place = Place::new();
    let mut history = place.used();
    fs::remove_file(place.path()).unwrap();
    fs::create_dir(place.path()).unwrap();
    fs::write(place.path().join("in the way"), "").unwrap();
    // A folder is set aside like a file; one that may not be renamed is made by a folder that may not be written.
    let mut permissions = fs::metadata(place.folder.path()).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o500);
    fs::set_permissions(place.folder.path(), permissions).unwrap();
    let rebuilt = rebuild(&mut history, NOW, LossKind::Deleted, &rows(), &WORDING);
    let is_root = rebuilt.is_ok();
    if !is_root {
        assert!(history.keep(NOW, &rows(), &[], &WORDING).is_err(), "what is not durable is not called so");
        assert!(check(&history).is_some(), "and it is tried again");
    }
    let mut permissions = fs::metadata(place.folder.path()).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o700);
    fs::set_permissions(place.folder.path(), permissions).unwrap();
    assert!(is_root || rebuild(&mut history, NOW, LossKind::Deleted, &rows(), &WORDING).is_ok());
    history.keep(NOW, &rows(), &[], &WORDING).unwrap();
    assert_eq!(check(&history), None);
}

#[test]
fn a_closed_history_takes_nothing() {
    let place = Place::new();
    let mut closed = HistoryDatabase::closed(&place.path()).unwrap();
    assert!(closed.keep(NOW, &rows(), &[], &WORDING).is_err());
    assert_eq!(check(&closed), Some(LossKind::Deleted));
}
