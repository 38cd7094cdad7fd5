//! One cause makes one thread of messages, however it comes and goes.

use super::rig::*;
use scrubjay_watch::calendar::{DAY, HOUR};
use scrubjay_watch::events::{PersonCommand, WatchEvent};
use scrubjay_watch::facts::*;
use scrubjay_watch::incident::{BUDGET_MONTH, IncidentKind, IncidentSubject, MESSAGES_MAX};

#[test]
fn a_degraded_array_speaks_for_the_disk_that_it_lacks_and_for_what_it_holds_back() {
    let mut rig = Rig::with_disks(4);
    let facts = array(&["sda", "sdb", "sdc", "sdd"]);
    rig.feed(WatchEvent::ArraySeen(facts.clone()));
    rig.wait(DAY);
    let before = rig.sent.len();
    rig.feed(WatchEvent::DiskGone("sdc".into()));
    let mut degraded = facts;
    (degraded.members[2].disk, degraded.members[2].is_in_sync) = (None, false);
    rig.feed(WatchEvent::ArraySeen(degraded));
    rig.wait(60 * DAY);
    let subjects = &rig.subjects()[before..];
    let others: Vec<&&str> = subjects
        .iter()
        .filter(|subject| !subject.contains("array tank: degraded") && !subject.contains("report"))
        .collect();
    assert!(others.is_empty(), "{others:?}");
    let last = rig.sent.iter().rev().find(|row| !row.about.is_empty() && row.subject.contains("array tank")).unwrap();
    assert!(last.body.contains("Held back") && last.body.contains("(S0)"), "{}", last.body);
    assert!(
        last.body.contains("Disk      not there") && last.body.contains("2. look at the disk's cable"),
        "{}",
        last.body
    );
}

/// While its array is degraded, a disk's unread sectors are silent: nobody has seen them, so that nobody can have accepted them.
#[test]
fn what_is_silent_for_its_cause_is_not_accepted_with_the_disk() {
    let mut rig = Rig::with_disks(4);
    let mut degraded = array(&["sda", "sdb", "sdc", "sdd"]);
    rig.feed(WatchEvent::ArraySeen(degraded.clone()));
    rig.wait(DAY);
    rig.feed(WatchEvent::DiskGone("sdc".into()));
    (degraded.members[2].disk, degraded.members[2].is_in_sync) = (None, false);
    rig.feed(WatchEvent::ArraySeen(degraded));
    rig.wait(60 * DAY);
    let subject = IncidentSubject::Disk(DiskKey("S0".into()));
    let unread = |rig: &Rig| {
        let incidents = rig.watch.status(rig.now).incidents;
        let of_disk =
            incidents.into_iter().find(|one| one.key.subject == subject && one.key.kind == IncidentKind::Unread);
        of_disk.expect("its sectors are unread").is_accepted
    };
    assert!(!unread(&rig));
    rig.feed(WatchEvent::Command(PersonCommand::Accept(subject.clone())));
    assert!(!unread(&rig));
}

/// A rebuild of an array without redundancy fails at the bad sector, and may end the array.
#[test]
fn the_steps_to_replace_a_disk_start_no_rebuild_that_could_fail() {
    let steps = |redundancy: u32, is_degraded: bool| {
        let mut rig = Rig::with_disks(4);
        let mut facts = ArrayFacts { redundancy, layout: None, ..array(&["sda", "sdb", "sdc", "sdd"]) };
        if is_degraded {
            rig.feed(WatchEvent::DiskGone("sdc".into()));
            (facts.members[2].disk, facts.members[2].is_in_sync) = (None, false);
        }
        rig.feed(WatchEvent::ArraySeen(facts));
        rig.wait(DAY);
        rig.report_smart("sda", &[(5, 0), (197, 0)]);
        rig.report_smart("sda", &[(5, 0), (197, 8)]);
        rig.wait(HOUR);
        let row = rig.sent.iter().find(|row| row.subject.contains("REPLACE sda")).unwrap();
        row.body.lines().find(|line| line.starts_with("          4. ")).unwrap_or_default().to_owned()
    };
    assert!(
        steps(1, false)
            .contains("sudo mdadm /dev/md/tank --add /dev/NEW && sudo mdadm /dev/md/tank --replace /dev/sda")
    );
    assert!(steps(2, true).contains("tank lacks a member: replace that one first"), "{}", steps(2, true));
    assert!(steps(1, true).contains("no redundancy left: start no rebuild"), "{}", steps(1, true));
}

#[test]
fn the_place_that_a_self_test_could_not_read_is_named_with_what_to_do_after_the_backup() {
    let mut rig = Rig::with_disks(1);
    rig.wait(DAY);
    let mut reading = good_reading();
    if let SmartReading::Facts(facts) = &mut reading {
        (facts.is_self_test_failed, facts.self_test_lba) = (true, Some(4711));
    }
    rig.smart = reading;
    rig.wait(2 * HOUR);
    let row = rig.sent.iter().find(|row| row.subject.contains("REPLACE sda")).unwrap();
    let place = |words: &str| row.body.find(words).unwrap_or_else(|| panic!("{words}: {}", row.body));
    assert!(
        place("1. back up what has no backup yet")
            < place("Place     after the backup, what lies at that sector: sudo scrubjay explain /dev/sda 4711+1")
    );
}

#[test]
fn a_disk_that_is_hot_by_day_for_two_months_keeps_to_the_budget() {
    let mut rig = Rig::with_disks(1);
    rig.wait(DAY);
    for hour in 0..60 * 24_u64 {
        let celsius = if hour % 24 < 12 { 66 } else { 40 };
        let mut reading = good_reading();
        if let SmartReading::Facts(facts) = &mut reading {
            facts.celsius = Some(celsius);
        }
        rig.smart = reading;
        rig.wait(HOUR);
    }
    let written: Vec<u64> = rig.sent.iter().filter(|row| !row.about.is_empty()).map(|row| row.written.0).collect();
    let within = |span: u64, from: u64| written.iter().filter(|at| (from..from + span).contains(*at)).count();
    assert!(
        rig.subjects().iter().any(|subject| subject.contains("HOT sda (S0): 66 °C, too hot")),
        "{:?}",
        rig.subjects()
    );
    let (a_day, a_month) = MESSAGES_MAX;
    assert!(written.iter().all(|&at| within(DAY, at) <= a_day && within(BUDGET_MONTH, at) <= a_month), "{written:?}");
}

#[test]
fn messages_of_a_new_history_have_identifiers_of_their_own() {
    let ids = |run: u64| {
        let mut rig = Rig::new(scrubjay_watch::settings::WatchSettings { run, ..settings() });
        rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
        rig.wait(DAY);
        rig.feed(WatchEvent::DiskGone("sda".into()));
        rig.wait(3 * DAY);
        rig.sent.iter().map(|row| row.id.clone()).collect::<Vec<_>>()
    };
    let (first, second) = (ids(1), ids(2));
    assert!(!first.is_empty() && first.iter().all(|id| !second.contains(id)), "{first:?} {second:?}");
}
