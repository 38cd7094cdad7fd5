//! Events follow from the rows and from the pump's further reports.

use super::samples::{NOW, WORDING, array_row, database, disk_row, incident, key, later, message};
use crate::history::{HistoryDatabase, HistoryEventKind};
use scrubjay_core::units::{SectorRange, UnixSeconds};
use scrubjay_watch::channel::ChannelRow;
use scrubjay_watch::facts::{PassReport, SubjectKey};
use scrubjay_watch::incident::{IncidentRow, Urgency};
use scrubjay_watch::rows::{RowKey, WatchRow};

/// The newest events, in the order in which they came.
fn newest_events(history: &HistoryDatabase, count: usize) -> Vec<(HistoryEventKind, String, String)> {
    let mut events = history.events(count, None).unwrap();
    events.reverse();
    events.into_iter().map(|event| (event.kind, event.subject, event.words)).collect()
}

fn line(kind: HistoryEventKind, subject: &str, words: &str) -> (HistoryEventKind, String, String) {
    (kind, subject.to_owned(), words.to_owned())
}

#[test]
fn a_disk_keeps_its_identity_when_the_kernel_renames_it() {
    let (_folder, mut history) = database();
    history.keep(NOW, &[disk_row("ZL2", "sda"), disk_row("ZL3", "sdb")], &[], &WORDING).unwrap();
    history.note_presence(later(10), &key("ZL2"), true).unwrap();
    // After a boot the disks have other names.
    history.keep(later(60), &[disk_row("ZL2", "sdb"), disk_row("ZL3", "sda")], &[], &WORDING).unwrap();
    history.keep(later(70), &[disk_row("ZL2", "sdb")], &[], &WORDING).unwrap();
    history.note_presence(later(80), &key("ZL2"), false).unwrap();
    history.note_presence(later(90), &key("ZL2"), false).unwrap();
    history.note_presence(later(100), &key("ZL2"), true).unwrap();
    history.note_presence(later(110), &key("ZL2"), false).unwrap();
    history
        .keep(later(120), &[], &[RowKey::Disk(key("ZL2")), RowKey::Idle(SubjectKey::Disk(key("ZL2")))], &WORDING)
        .unwrap();
    history.keep(later(130), &[disk_row("ZL2", "sdc")], &[], &WORDING).unwrap();
    let of_disk: Vec<_> = history.events(100, Some(&key("ZL2"))).unwrap().into_iter().rev().collect();
    let short: Vec<(&str, HistoryEventKind)> =
        of_disk.iter().map(|event| (event.subject.as_str(), event.kind)).collect();
    let expected = [
        ("sda", HistoryEventKind::DiskSeen),
        ("sdb", HistoryEventKind::DiskRenamed),
        ("sdb", HistoryEventKind::DiskGone),
        ("sdb", HistoryEventKind::DiskBack),
        ("sdb", HistoryEventKind::DiskGone),
        ("sdb", HistoryEventKind::DiskForgotten),
        ("sdc", HistoryEventKind::DiskBack),
    ];
    assert_eq!(short, expected);
    assert_eq!(of_disk[0].words, "ST16000NM001G, 31251759104 sectors");
    assert_eq!((of_disk[1].words.as_str(), of_disk[1].at), ("was sda", later(60)));
}

#[test]
fn a_new_disk_in_the_place_of_one_that_left_replaces_it_and_disks_that_change_places_do_not() {
    let (_folder, mut history) = database();
    let disks = [disk_row("A", "sda"), disk_row("B", "sdb"), disk_row("C", "sdc")];
    history.keep(NOW, &[&[array_row(&["sda", "sdb", "sdc"])], &disks[..]].concat(), &[], &WORDING).unwrap();
    // Names and places change, but not the members.
    history
        .keep(later(1), &[disk_row("A", "sdb"), disk_row("B", "sda"), array_row(&["sdb", "sda", "sdc"])], &[], &WORDING)
        .unwrap();
    history.keep(later(2), &[array_row(&["sda", "sdb", "sdc"])], &[], &WORDING).unwrap();
    let replaced = |history: &HistoryDatabase| {
        newest_events(history, 1000)
            .into_iter()
            .filter(|event| event.0 == HistoryEventKind::DiskReplaced)
            .collect::<Vec<_>>()
    };
    assert_eq!(replaced(&history), []);
    // C is pulled out; the new disk gets its name, and appears before the array has it.
    history.note_presence(later(3), &key("C"), false).unwrap();
    history.keep(later(4), &[disk_row("D", "sdc")], &[], &WORDING).unwrap();
    history.keep(later(5), &[array_row(&["sda", "sdb", "sdc"])], &[], &WORDING).unwrap();
    history.keep(later(6), &[disk_row("D", "sdc")], &[], &WORDING).unwrap();
    let expected = line(HistoryEventKind::DiskReplaced, "sdc", "D takes the place of C in tank");
    assert_eq!(replaced(&history), std::slice::from_ref(&expected));
    // The array shrinks: D moves to B's place, and B leaves; then it grows, by E.
    history.keep(later(7), &[array_row(&["sda", "sdc"])], &[], &WORDING).unwrap();
    history.keep(later(8), &[disk_row("E", "sde"), array_row(&["sda", "sdc", "sde"])], &[], &WORDING).unwrap();
    assert_eq!(replaced(&history), [expected], "nobody took a place that another left");
}

#[test]
fn an_incident_opens_grows_is_accepted_and_ends() {
    let (_folder, mut history) = database();
    history.keep(NOW, &[disk_row("ZL2", "sda")], &[], &WORDING).unwrap();
    let mut row = incident("ZL2", 3, Urgency::Notice);
    let mut at = 0;
    let mut keep = |history: &mut HistoryDatabase, row: &IncidentRow| {
        at += 60;
        history.keep(later(at), &[WatchRow::Incident(Box::new(row.clone()))], &[], &WORDING).unwrap();
    };
    keep(&mut history, &row);
    row.last_message = Some(later(300));
    keep(&mut history, &row);
    row.condition = incident("ZL2", 8, Urgency::Notice).condition;
    keep(&mut history, &row);
    row.condition = incident("ZL2", 5, Urgency::Notice).condition;
    keep(&mut history, &row);
    row.condition = incident("ZL2", 8, Urgency::Notice).condition;
    keep(&mut history, &row);
    row.accept();
    keep(&mut history, &row);
    row.condition = incident("ZL2", 8, Urgency::Loss).condition;
    row.is_accepted = false;
    keep(&mut history, &row);
    history.keep(later(900), &[], &[RowKey::Incident(row.key.clone())], &WORDING).unwrap();
    history.keep(later(901), &[], &[RowKey::Incident(row.key.clone())], &WORDING).unwrap();
    keep(&mut history, &row);
    let expected = [
        line(HistoryEventKind::IncidentOpened, "sda", "3 pending sectors"),
        line(HistoryEventKind::IncidentGrown, "sda", "8 pending sectors"),
        line(HistoryEventKind::IncidentAccepted, "sda", "8 pending sectors"),
        line(HistoryEventKind::IncidentGrown, "sda", "8 pending sectors"),
        line(HistoryEventKind::IncidentResolved, "sda", "8 pending sectors"),
        line(HistoryEventKind::IncidentOpened, "sda", "8 pending sectors"),
    ];
    assert_eq!(newest_events(&history, 6), expected);
    assert_eq!(history.events(100, Some(&key("ZL2"))).unwrap().len(), 7, "and that it was seen");
}

#[test]
fn a_message_is_recorded_as_delivered_or_dropped() {
    let (_folder, mut history) = database();
    let mut first = message(7);
    history.keep(NOW, &[WatchRow::Message(Box::new(first.clone()))], &[], &WORDING).unwrap();
    first.failed(later(1));
    let rows = [first, message(8)].map(|row| WatchRow::Message(Box::new(row)));
    history.keep(later(2), &rows, &[], &WORDING).unwrap();
    history.note_delivered(later(3), 7).unwrap();
    history.keep(later(4), &[], &[RowKey::Message(7), RowKey::Message(8), RowKey::Message(9)], &WORDING).unwrap();
    let expected = [
        line(HistoryEventKind::MessageWritten, "email", "[host] [TEST] code 7"),
        line(HistoryEventKind::MessageWritten, "email", "[host] [TEST] code 8"),
        line(HistoryEventKind::MessageDelivered, "email", "[host] [TEST] code 7"),
        line(HistoryEventKind::MessageDropped, "email", "[host] [TEST] code 8"),
    ];
    assert_eq!(newest_events(&history, 10), expected);
    let attempts = "SELECT attempts FROM message_history WHERE number = 7";
    assert_eq!(history.connection.query_row(attempts, [], |row| row.get::<_, u32>(0)).unwrap(), 1);
}

#[test]
fn a_channel_comes_is_proven_and_goes() {
    let (_folder, mut history) = database();
    let mut row = ChannelRow::new("email".into(), u64::MAX, NOW);
    history.keep(NOW, &[WatchRow::Channel(row.clone())], &[], &WORDING).unwrap();
    row.proven = Some(later(5));
    history.keep(later(5), &[WatchRow::Channel(row.clone())], &[], &WORDING).unwrap();
    row.delivered = Some(later(6));
    history.keep(later(6), &[WatchRow::Channel(row.clone())], &[], &WORDING).unwrap();
    let renewed = ChannelRow::new("email".into(), 2, later(7));
    history.keep(later(7), &[WatchRow::Channel(renewed)], &[], &WORDING).unwrap();
    history.keep(later(8), &[], &[RowKey::Channel("email".into()), RowKey::Channel("none".into())], &WORDING).unwrap();
    let kinds: Vec<HistoryEventKind> = newest_events(&history, 10).into_iter().map(|event| event.0).collect();
    let expected = [
        HistoryEventKind::ChannelAdded,
        HistoryEventKind::ChannelProven,
        HistoryEventKind::ChannelAdded,
        HistoryEventKind::ChannelRemoved,
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_pass_is_entered_once_and_unreadable_sectors_come_and_go() {
    let (_folder, mut history) = database();
    history.keep(NOW, &[disk_row("ZL2", "sda")], &[], &WORDING).unwrap();
    let disk = key("ZL2");
    let runs = [SectorRange::at(1000, 8), SectorRange::at(9000, 1)];
    history.note_findings(later(10), &disk, &runs).unwrap();
    history.note_findings(later(20), &disk, &runs[..1]).unwrap();
    assert_eq!(history.findings(&disk).unwrap().len(), 2, "a pass that goes on takes nothing back");
    let report = |pass: u32, unreadable: &[SectorRange]| PassReport {
        pass,
        begun: NOW,
        is_found: false,
        done: 31_251_759_104,
        unreadable: unreadable.to_vec(),
        retries: 3,
        bytes_per_second: 150_000_000,
        service_nanos: 4_000_000,
        ..PassReport::default()
    };
    // Four of the eight were overwritten, four more were found behind them.
    history.note_pass(later(100), &disk, &report(1, &[SectorRange::at(1004, 8)]), NOW).unwrap();
    history.note_pass(later(130), &disk, &report(1, &[SectorRange::at(1004, 8)]), NOW).unwrap();
    let findings: Vec<(u64, u64, UnixSeconds, Option<UnixSeconds>)> = history
        .findings(&disk)
        .unwrap()
        .iter()
        .map(|found| (found.sectors.start.0, found.sectors.count(), found.first_seen, found.gone))
        .collect();
    let expected = [
        (1004, 4, later(10), None),
        (1008, 4, later(100), None),
        (1000, 4, later(10), Some(later(100))),
        (9000, 1, later(10), Some(later(100))),
    ];
    assert_eq!(findings, expected);
    history.note_pass(later(200), &disk, &report(2, &[]), later(150)).unwrap();
    assert!(history.findings(&disk).unwrap().iter().all(|found| found.gone.is_some()));
    let passes = history.passes(&disk).unwrap();
    assert_eq!(passes.iter().map(|pass| (pass.pass, pass.unreadable)).collect::<Vec<_>>(), [(2, 0), (1, 8)]);
    assert_eq!((passes[1].begun, passes[1].ended, passes[1].service_nanos), (NOW, later(100), 4_000_000));
    let expected = [
        line(HistoryEventKind::UnreadableFound, "sda", "9 sectors, the first is 1000"),
        line(HistoryEventKind::PassFinished, "sda", "8 unreadable sectors"),
        line(HistoryEventKind::UnreadableFound, "sda", "4 sectors, the first is 1008"),
        line(HistoryEventKind::UnreadableGone, "sda", "5 sectors, the first is 1000"),
        line(HistoryEventKind::PassFinished, "sda", "every sector can be read"),
        line(HistoryEventKind::UnreadableGone, "sda", "8 sectors, the first is 1004"),
    ];
    assert_eq!(newest_events(&history, 6), expected);
}

#[test]
fn runs_beyond_the_limit_are_not_followed_and_no_finding_ends_without_being_read() {
    let (_folder, mut history) = database();
    let disk = key("ZL2");
    let runs: Vec<SectorRange> = (0..5000).map(|number| SectorRange::at(number * 100, 1)).collect();
    history.note_findings(NOW, &disk, &runs[3000..3010]).unwrap();
    let report = PassReport { pass: 1, done: 1, unreadable: runs, ..PassReport::default() };
    history.note_pass(later(9), &disk, &report, NOW).unwrap();
    let findings = history.findings(&disk).unwrap();
    assert_eq!(findings.len(), crate::history::passes::RUNS_FOLLOWED + 10);
    assert!(findings.iter().all(|found| found.gone.is_none()));
    assert_eq!(history.passes(&disk).unwrap()[0].unreadable, 5000);
}
