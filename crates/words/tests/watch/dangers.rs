//! Dangers that grow, come back, or occur beside others: each is reported.

use super::rig::*;
use scrubjay_core::units::SectorRange;
use scrubjay_watch::calendar::{DAY, HOUR, MINUTE};
use scrubjay_watch::events::{PersonCommand, WatchEvent};
use scrubjay_watch::facts::DiskKey;
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::{IncidentKind, IncidentSubject};

/// A RAID-6 of four disks, of which these places are not in sync.
fn raid6(lost: &[usize]) -> WatchEvent {
    let mut facts = array(&["sda", "sdb", "sdc", "sdd"]);
    (facts.redundancy, facts.level, facts.layout) = (2, "RAID6".into(), None);
    lost.iter().for_each(|&place| facts.members[place].is_in_sync = false);
    WatchEvent::ArraySeen(facts)
}

fn accept(rig: &mut Rig) {
    let subject = IncidentSubject::Disk(DiskKey("S0".into()));
    rig.feed(WatchEvent::Command(PersonCommand::Accept(subject)));
}

#[test]
fn a_reported_danger_that_went_away_and_comes_back_is_reported_at_once() {
    for days in [16, 33] {
        let mut rig = Rig::with_disks(4);
        rig.feed(raid6(&[]));
        rig.wait(DAY);
        rig.feed(raid6(&[0, 1]));
        rig.wait(days * DAY);
        rig.feed(raid6(&[1])); // one was replaced and rebuilt
        rig.wait(DAY);
        let before = rig.sent.len();
        rig.feed(raid6(&[1, 2])); // another one fails
        rig.wait(HOUR);
        let subjects = rig.subjects_of(before, IncidentKind::Degraded);
        assert!(
            subjects.len() == 1 && subjects[0].contains("DATA AT RISK") && !subjects[0].contains("reminder"),
            "{subjects:?}"
        );
    }
}

#[test]
fn another_member_that_fails_is_reported_even_if_one_came_back_at_the_same_time() {
    let mut rig = Rig::with_disks(4);
    rig.feed(raid6(&[0]));
    rig.wait(5 * DAY);
    let before = rig.sent.len();
    rig.feed(raid6(&[1]));
    rig.wait(HOUR);
    let subjects = rig.subjects_of(before, IncidentKind::Degraded);
    assert!(subjects.len() == 1 && !subjects[0].contains("reminder"), "{subjects:?}");
}

#[test]
fn an_array_that_flaps_within_an_hour_is_not_reported_again() {
    let mut rig = Rig::with_disks(4);
    rig.feed(raid6(&[0, 1]));
    rig.wait(2 * DAY);
    let before = rig.sent.len();
    for _ in 0..5 {
        rig.feed(raid6(&[1]));
        rig.wait(10 * MINUTE);
        rig.feed(raid6(&[0, 1]));
        rig.wait(10 * MINUTE);
    }
    assert_eq!(rig.subjects_since(before), [""; 0]);
}

#[test]
fn accepted_cable_errors_do_not_hide_a_dying_disk() {
    let mut rig = Rig::with_disks(1);
    rig.wait(DAY);
    rig.report_smart("sda", &[(5, 0), (197, 0), (199, 0)]);
    rig.report_smart("sda", &[(5, 1), (197, 0), (199, 5000)]); // a bad cable, and one remapped sector
    rig.wait(DAY);
    accept(&mut rig);
    rig.wait(75 * DAY); // the cable was changed: its growth is forgotten
    let before = rig.sent.len();
    rig.report_smart("sda", &[(5, 900), (197, 800), (199, 5000)]);
    rig.finish("sda", &[SectorRange::at(800, 2000)]);
    rig.wait(HOUR);
    let subjects = rig.subjects_of(before, IncidentKind::Health);
    assert_eq!(subjects.len(), 1, "{subjects:?}");
    assert!(subjects[0].starts_with("[nas1] REPLACE"), "{subjects:?}");
}

#[test]
fn an_accepted_disk_is_reported_when_it_gets_another_sign() {
    let mut rig = Rig::with_disks(1);
    rig.wait(DAY);
    rig.report_smart("sda", &[(5, 0), (199, 0)]);
    rig.report_smart("sda", &[(5, 1), (199, 5000)]);
    rig.wait(2 * DAY);
    accept(&mut rig);
    let before = rig.sent.len();
    rig.report_smart("sda", &[(5, 1), (187, 1), (199, 5000)]); // much less than was accepted, and another sign
    rig.wait(DAY);
    let subjects = rig.subjects_of(before, IncidentKind::Health);
    assert_eq!((subjects.len(), rig.standing("S0").health), (1, HealthState::Replace), "{subjects:?}");
}

#[test]
fn an_incident_accepted_before_its_first_message_is_not_reported() {
    let mut rig = Rig::with_disks(1);
    rig.wait(DAY);
    rig.report_smart("sda", &[(5, 7), (197, 0)]);
    rig.wait(2 * MINUTE);
    accept(&mut rig);
    rig.wait(5 * DAY);
    assert_eq!(rig.subjects(), [""; 0]);
    rig.report_smart("sda", &[(5, 8), (197, 0)]);
    rig.wait(HOUR);
    assert_eq!(rig.subjects().len(), 1, "it grew");
}

/// Two disks of an array with unreadable sectors in the same stripe, which was reported.
fn stripe_at_risk() -> Rig {
    let mut rig = Rig::with_disks(3);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb", "sdc"])));
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(5 * 1024, 8)]);
    rig.finish("sdb", &[SectorRange::at(5 * 1024 + 100, 8)]);
    rig.wait(HOUR);
    assert_eq!(rig.subjects_of(0, IncidentKind::Stripes).len(), 1);
    rig
}

#[test]
fn findings_of_a_pass_are_not_hidden_by_larger_findings_of_the_last_pass() {
    let mut rig = Rig::with_disks(3);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb", "sdc"])));
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(SECTORS - 64, 64)]);
    while rig.running != ["sda"] {
        for other in rig.running.clone() {
            let found = (other == "sdb").then_some(SectorRange::at(5 * 1024, 8));
            rig.finish(&other, found.as_slice());
        }
        rig.wait(HOUR);
    }
    let before = rig.sent.len();
    rig.progress("sda", SECTORS / 8, &[SectorRange::at(5 * 1024, 8)]);
    rig.wait(HOUR);
    let subjects = rig.subjects_of(before, IncidentKind::Stripes);
    assert!(subjects.len() == 1 && subjects[0].contains("may not be rebuilt"), "{subjects:?}");
    assert_eq!(rig.standing("S0").reading.unreadable, 72, "and the others are still known");
}

#[test]
fn findings_of_a_pass_stay_known_when_it_begins_again() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.progress("sda", SECTORS / 2, &[SectorRange::at(8, 8)]);
    rig.wait(HOUR);
    rig.progress("sda", 0, &[]); // the session lost its state
    rig.wait(DAY);
    assert_eq!((rig.standing("S0").health, rig.standing("S0").reading.unreadable), (HealthState::Replace, 8));
    rig.finish("sda", &[]);
    assert_eq!((rig.standing("S0").health, rig.standing("S0").reading.unreadable), (HealthState::Ok, 0));
}

#[test]
fn a_lost_stripe_is_not_resolved_because_one_of_its_disks_vanishes() {
    let mut rig = stripe_at_risk();
    let before = rig.sent.len();
    rig.feed(WatchEvent::DiskGone("sdb".into()));
    rig.wait(5 * MINUTE);
    let mut facts = array(&["sda", "sdb", "sdc"]);
    (facts.members[1].disk, facts.members[1].is_in_sync) = (None, false);
    rig.feed(WatchEvent::ArraySeen(facts.clone()));
    rig.wait(HOUR);
    assert!(
        !rig.subjects_since(before).iter().any(|subject| subject.contains("resolved")),
        "{:?}",
        rig.subjects_since(before)
    );
    (facts.members[1].disk, facts.members[1].is_in_sync) = (Some("sdd".into()), true);
    rig.feed(WatchEvent::DiskSeen(disk("sdd", "NEW")));
    rig.feed(WatchEvent::ArraySeen(facts));
    rig.wait(HOUR);
    let subjects = rig.subjects_of(before, IncidentKind::Stripes);
    assert!(subjects.len() == 1 && subjects[0].contains("resolved"), "another disk took its place: {subjects:?}");
}

#[test]
fn a_lost_stripe_can_be_resolved_while_a_failed_member_is_absent() {
    let mut rig = Rig::with_disks(3);
    let mut facts = array(&["sda", "sdb", "sdc"]);
    rig.feed(WatchEvent::ArraySeen(facts.clone()));
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(5 * 1024, 8)]);
    rig.feed(WatchEvent::DiskGone("sdc".into()));
    (facts.members[2].disk, facts.members[2].is_in_sync) = (None, false);
    rig.feed(WatchEvent::ArraySeen(facts.clone()));
    rig.wait(HOUR);
    let subjects = rig.subjects_of(0, IncidentKind::Stripes);
    assert!(subjects.len() == 1 && subjects[0].contains("may not be rebuilt"), "{subjects:?}");
    let before = rig.sent.len();
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(5 * MINUTE);
    assert_eq!(rig.subjects_of(before, IncidentKind::Stripes), [""; 0], "who knows what it would show");
    facts.members[0].disk = Some("sdd".into());
    rig.feed(WatchEvent::DiskSeen(disk("sdd", "NEW")));
    rig.feed(WatchEvent::ArraySeen(facts));
    rig.wait(HOUR);
    let subjects = rig.subjects_of(before, IncidentKind::Stripes);
    assert!(subjects.len() == 1 && subjects[0].contains("resolved"), "what is not in sync is not read: {subjects:?}");
}

#[test]
fn an_incident_that_opened_after_the_accepted_message_is_reported() {
    let mut rig = Rig::with_disks(1);
    rig.wait(DAY);
    rig.report_smart("sda", &[(5, 0), (199, 0)]);
    rig.report_smart("sda", &[(5, 0), (199, 15)]);
    rig.wait(HOUR);
    assert_eq!(rig.subjects().len(), 1);
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(11 * MINUTE); // it has been missing for a minute, which was not reported yet
    assert!(rig.incidents().iter().any(|incident| incident.last_message.is_none()));
    accept(&mut rig);
    rig.wait(HOUR);
    assert!(rig.subjects()[1].contains("MISSING"), "{:?}", rig.subjects());
}
