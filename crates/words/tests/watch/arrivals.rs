//! Disks and arrays that appear and disappear, and names that are given to other disks.

use super::rig::*;
use scrubjay_core::units::{SectorRange, UnixSeconds};
use scrubjay_watch::calendar::{DAY, HOUR, MINUTE};
use scrubjay_watch::events::{PersonCommand, WatchEvent, WatchOp};
use scrubjay_watch::facts::*;
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::IncidentSubject;
use std::collections::VecDeque;

#[test]
fn late_reports_of_an_ended_session_do_not_count_as_a_running_session() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.progress("sda", SECTORS / 4, &[]);
    let last = rig.report("sda", SECTORS / 4, &[]);
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.running.clear();
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.feed(WatchEvent::Session(on("sda"), SessionNews::Progress(last.clone())));
    let unknown = PassReport { begun: UnixSeconds(0), ..last };
    rig.feed(WatchEvent::Session(on("sda"), SessionNews::Progress(unknown)));
    rig.feed(WatchEvent::Tick);
    assert_eq!(rig.begun.len(), 2);
}

#[test]
fn late_news_of_a_disk_does_not_count_for_the_disk_that_has_its_name_now() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    let report = rig.report("sda", SECTORS / 2, &[SectorRange::at(8, 64)]);
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.feed(WatchEvent::DiskSeen(disk("sda", "NEW")));
    rig.feed(WatchEvent::Session(on("sda"), SessionNews::Failed(report.clone())));
    rig.feed(WatchEvent::Session(on("sda"), SessionNews::Stopped(report)));
    rig.feed(WatchEvent::Smart("sda".into(), pending(200)));
    rig.feed(WatchEvent::Tick);
    let new = rig.standing("NEW");
    assert_eq!((new.health, new.reading.unreadable, new.reading.pass_share), (HealthState::Ok, 0, None));
}

#[test]
fn the_end_of_an_older_pass_ends_no_session() {
    let mut rig = Rig::with_disks(3);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb", "sdc"])));
    rig.wait(2 * DAY);
    let first = rig.running[0].clone();
    let older = PassReport { pass: 7, done: SECTORS, ..PassReport::default() };
    rig.feed(WatchEvent::Session(on(&first), SessionNews::Finished(older)));
    rig.feed(WatchEvent::Tick);
    assert_eq!(rig.running, [first], "and no other member is begun beside it");
}

#[test]
fn an_absent_array_does_not_hold_back_another_disk_with_the_name_of_a_member() {
    let mut rig = Rig::with_disks(2);
    let mut facts = array(&["sda", "sdb"]);
    facts.members[0].is_in_sync = false;
    rig.feed(WatchEvent::ArraySeen(facts));
    rig.wait(HOUR);
    rig.feed(WatchEvent::ArrayGone("uuid".into()));
    rig.wait(HOUR);
    rig.feed(WatchEvent::Command(PersonCommand::Accept(IncidentSubject::Array("uuid".into()))));
    rig.restart(settings());
    rig.begun.clear();
    rig.feed(WatchEvent::DiskSeen(disk("sda", "OTHER")));
    rig.wait(2 * DAY);
    assert_eq!((rig.standing("OTHER").reading.held, rig.begun.len()), (None, 1));
}

#[test]
fn a_disk_seen_under_a_new_name_before_its_old_one_is_gone_has_moved() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(8, 8)]);
    rig.wait(HOUR);
    for delay in [0, 5 * MINUTE] {
        let (new, old) = if delay == 0 { ("sdb", "sda") } else { ("sdc", "sdb") };
        rig.feed(WatchEvent::DiskSeen(disk(new, "S0")));
        rig.wait(delay);
        rig.feed(WatchEvent::DiskGone(old.into()));
        for _ in 0..48 {
            rig.wait(HOUR);
            rig.feed(WatchEvent::DiskSeen(disk(new, "S0"))); // as reported now and then
        }
        let disks = rig.watch.status(rig.now).disks;
        assert_eq!(disks.len(), 1);
        assert_eq!((disks[0].name.as_deref(), disks[0].health), (Some(new), HealthState::Replace));
    }
    assert!(!rig.subjects().iter().any(|subject| subject.contains("missing")), "{:?}", rig.subjects());
}

#[test]
fn two_disks_that_swap_names_at_once_keep_their_identities() {
    let mut rig = Rig::with_disks(2);
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(8, 8)]);
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S1")));
    rig.feed(WatchEvent::DiskSeen(disk("sdb", "S0")));
    rig.wait(2 * DAY);
    let disks: Vec<_> = rig.watch.status(rig.now).disks.into_iter().map(|disk| (disk.key.0, disk.name)).collect();
    assert_eq!(disks, [("S0".into(), Some("sdb".into())), ("S1".into(), Some("sda".into()))]);
    assert_eq!(rig.standing("S0").health, HealthState::Replace);
}

#[test]
fn unchanged_facts_are_not_written_again() {
    let mut rig = Rig::with_disks(4);
    rig.wait(2 * DAY);
    ["sda", "sdb", "sdc", "sdd"].iter().for_each(|name| rig.finish(name, &[]));
    rig.wait(DAY);
    let mut keeps = 0;
    for _ in 0..24 * 60 {
        rig.now = UnixSeconds(rig.now.0 + 60);
        for number in 0..4u8 {
            let name = format!("sd{}", char::from(b'a' + number));
            rig.watch.handle(rig.now, WatchEvent::DiskSeen(disk(&name, &format!("S{number}"))));
        }
        rig.watch.handle(rig.now, WatchEvent::ArraySeen(array(&["sda", "sdb", "sdc"])));
        rig.watch.handle(rig.now, WatchEvent::Tick);
        while let Some(op) = rig.watch.poll_op() {
            keeps += usize::from(matches!(op, WatchOp::Keep(..)));
            rig.act(op, &mut VecDeque::new());
        }
    }
    assert!(keeps < 20, "{keeps} transactions in a day at rest");
}

/// Two disks in one dock, which give the dock's serial number, after both were found; the first has bad sectors.
fn twins(first: DiskFacts, second: DiskFacts) -> Rig {
    let mut rig = Rig::new(settings());
    rig.feed(WatchEvent::DiskSeen(first.clone()));
    rig.wait(2 * DAY);
    rig.finish(&first.name, &[SectorRange::at(8, 8)]);
    rig.feed(WatchEvent::DiskSeen(second));
    rig.wait(HOUR);
    assert_eq!(rig.watch.status(rig.now).disks.len(), 2);
    rig
}

/// By name: is the disk there the one with the bad sectors?
fn bad_by_name(rig: &Rig) -> Vec<(String, bool)> {
    let disks = rig.watch.status(rig.now).disks;
    let mut found: Vec<(String, bool)> =
        disks.iter().filter_map(|disk| Some((disk.name.clone()?, disk.health == HealthState::Replace))).collect();
    found.sort();
    found
}

fn swapped(rig: &mut Rig, first: DiskFacts, second: DiskFacts) -> Vec<(String, bool)> {
    rig.restart(settings());
    for facts in [first, second] {
        rig.feed(WatchEvent::DiskSeen(facts));
    }
    rig.wait(HOUR);
    bad_by_name(rig)
}

#[test]
fn disks_with_one_serial_number_are_told_apart_by_size_whatever_their_names() {
    let small = |name: &str| disk(name, "DOCK");
    let large = |name: &str| DiskFacts { sectors: 4 * SECTORS, ..disk(name, "DOCK") };
    let mut rig = twins(small("sda"), large("sdb"));
    let order = |small_at: &str, large_at: &str| {
        let mut both = vec![(small_at.to_owned(), true), (large_at.to_owned(), false)];
        both.sort();
        both
    };
    assert_eq!(bad_by_name(&rig), order("sda", "sdb"));
    assert_eq!(swapped(&mut rig, large("sda"), small("sdb")), order("sdb", "sda"));
    assert_eq!(swapped(&mut rig, large("sdd"), small("sdc")), order("sdc", "sdd"));
    // While the watch runs, too.
    rig.feed(WatchEvent::DiskSeen(large("sdc")));
    rig.feed(WatchEvent::DiskSeen(small("sdd")));
    rig.wait(HOUR);
    assert_eq!(bad_by_name(&rig), order("sdd", "sdc"));
    assert_eq!(rig.watch.status(rig.now).disks.len(), 2, "nobody is missing, and nobody is new");
}

#[test]
fn disks_with_one_serial_number_and_one_size_are_told_apart_by_place() {
    let at = |name: &str, place: &str| DiskFacts { place: Some(place.into()), ..disk(name, "DOCK") };
    let mut rig = twins(at("sda", "0:0:0:0"), at("sdb", "0:0:0:1"));
    let expected = [("sda".to_owned(), false), ("sdb".to_owned(), true)];
    assert_eq!(swapped(&mut rig, at("sda", "0:0:0:1"), at("sdb", "0:0:0:0")), expected);
}

#[test]
fn a_disk_that_grows_stays_the_one_it_was() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(8, 8)]);
    rig.feed(WatchEvent::DiskSeen(DiskFacts { sectors: 2 * SECTORS, ..disk("sda", "S0") }));
    rig.wait(HOUR);
    assert_eq!(bad_by_name(&rig), [("sda".to_owned(), true)]);
    assert_eq!(rig.watch.status(rig.now).disks.len(), 1);
}
