//! Arrays that are read by their own checkers.

use super::rig::*;
use scrubjay_core::units::SectorRange;
use scrubjay_watch::calendar::{DAY, HOUR};
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::*;
use scrubjay_watch::hold::HoldBack;
use scrubjay_watch::incident::IncidentKind;
use scrubjay_watch::status::{ArrayStanding, LightColour};

fn checked_array(names: &[&str]) -> ArrayFacts {
    ArrayFacts { check_sectors: Some(SECTORS), ..array(names) }
}

/// Two members, another disk, and the array of the two.
fn rig() -> Rig {
    let mut rig = Rig::with_disks(3);
    rig.feed(WatchEvent::ArraySeen(checked_array(&["sda", "sdb"])));
    rig
}

fn standing(rig: &Rig) -> ArrayStanding {
    rig.watch.status(rig.now).arrays.remove(0)
}

fn is_running(rig: &Rig, name: &str) -> bool {
    rig.running.iter().any(|running| running == name)
}

#[test]
fn an_array_is_checked_and_its_members_are_read_but_never_at_the_same_time() {
    let mut rig = rig();
    let mut order = Vec::new();
    for _ in 0..3 {
        rig.wait(2 * HOUR);
        let array_sessions: Vec<String> = rig.running.iter().filter(|name| *name != "sdc").cloned().collect();
        let [name] = &array_sessions[..] else { panic!("{array_sessions:?}") };
        assert!(order.iter().all(|known| known != name), "each once");
        order.push(name.clone());
        rig.finish(name, &[]);
    }
    order.sort();
    assert_eq!(order, ["sda", "sdb", "uuid"]);
    assert!(is_running(&rig, "sdc") || rig.begun.iter().any(|name| name == "sdc"), "a stranger waits for none of them");
    let reading = standing(&rig).reading.expect("it can be checked");
    assert_eq!((reading.oldest_read.is_some(), reading.is_read, reading.unreadable), (true, false, 0));
}

#[test]
fn an_array_check_excludes_reads_behind_its_controller_and_stops_when_degraded() {
    // The UUID of an array whose turn comes first.
    let key = (0..).map(|number| format!("uuid{number}")).find(|key| DiskKey(key.clone()).spread() < 0.001).unwrap();
    let mut rig = Rig::with_disks(3);
    rig.feed(WatchEvent::ArraySeen(ArrayFacts { key: key.clone(), ..checked_array(&["sda", "sdb"]) }));
    rig.wait(HOUR);
    assert_eq!(rig.running, std::slice::from_ref(&key));
    let held = |serial: &str| rig.standing(serial).reading.held;
    assert_eq!((held("S0"), held("S2")), (Some(HoldBack::ArrayBusy("tank".into())), Some(HoldBack::ControllerBusy)));
    let mut degraded = ArrayFacts { key: key.clone(), ..checked_array(&["sda", "sdb"]) };
    degraded.members[1].is_in_sync = false;
    rig.feed(WatchEvent::ArraySeen(degraded));
    rig.feed(WatchEvent::Tick);
    assert!(rig.stopped.contains(&(key, HoldBack::Degraded("tank".into()))), "{:?}", rig.stopped);
    assert_eq!(standing(&rig).reading.unwrap().held, Some(HoldBack::Degraded("tank".into())));
}

#[test]
fn an_array_that_waits_for_its_members_gets_its_turn() {
    let mut rig = rig();
    for _ in 0..20 * 120 {
        rig.wait(HOUR);
        let ended = rig.running.clone();
        ended.iter().for_each(|name| rig.finish(name, &[]));
    }
    let times = rig.begun.iter().filter(|name| *name == "uuid").count();
    assert!(times >= 3, "checked {times} times in 120 days: {:?}", rig.begun);
    assert_eq!(rig.subjects_of(0, IncidentKind::Unread), [""; 0]);
}

#[test]
fn findings_of_an_array_check_are_reported_for_the_array_and_for_no_disk() {
    let mut rig = rig();
    rig.finish_until("uuid");
    let mut report = rig.report("uuid", SECTORS / 2, &[]);
    report.corrected = 3;
    rig.passes.insert("uuid".into(), report.clone());
    rig.news("uuid", SessionNews::Progress(report.clone()));
    rig.wait(HOUR);
    let subjects = rig.subjects_of(0, IncidentKind::Disagreement);
    assert_eq!(
        subjects,
        ["[nas1] WATCH array tank: 3 places were wrong, and have been put right, or read right again"]
    );
    report.unreadable = vec![SectorRange::at(4096, 256)];
    rig.passes.insert("uuid".into(), report.clone());
    rig.news("uuid", SessionNews::Progress(report.clone()));
    rig.wait(HOUR);
    let subjects = rig.subjects_of(0, IncidentKind::Lost);
    assert_eq!(subjects, ["[nas1] DATA AT RISK array tank: 128 KiB cannot be read or rebuilt"]);
    assert!(rig.subjects_of(0, IncidentKind::Health).is_empty(), "no disk is blamed");
    // A pass without findings clears the incident; until then the last one's findings are known, also after a restart.
    rig.restart(settings());
    let reading = standing(&rig).reading.unwrap();
    assert_eq!((reading.unreadable, reading.flaws.corrected), (256, 3));
}

#[test]
fn a_volume_that_holds_lost_data_is_told_of_until_it_is_written_anew() {
    let mut rig = rig();
    let mut report = rig.report("uuid", SECTORS / 2, &[]);
    report.unreadable = vec![SectorRange::at(4096, 256)];
    let volume =
        |lost| ArrayFacts { level: "volume 4+2".into(), lost_stripes: Some(lost), ..checked_array(&["sda", "sdb"]) };
    rig.feed(WatchEvent::ArraySeen(volume(3)));
    rig.passes.insert("uuid".into(), report.clone());
    rig.news("uuid", SessionNews::Progress(report));
    rig.wait(HOUR);
    let told = rig.subjects_of(0, IncidentKind::Lost);
    assert_eq!(told, ["[nas1] DATA LOST in volume tank: 3 stripes hold lost data"]);
    let light = |rig: &Rig| rig.lights()[1].clone();
    assert_eq!((light(&rig).colour, &*light(&rig).words), (LightColour::Red, "tank: 3 stripes hold lost data"));
    let before = rig.sent.len();
    rig.feed(WatchEvent::ArraySeen(volume(0)));
    rig.wait(2 * DAY);
    assert_eq!(light(&rig).colour, LightColour::Green, "what its last check said of these is old: {:?}", light(&rig));
    let told = rig.subjects_since(before);
    assert!(told.iter().any(|subject| subject.contains("resolved: DATA LOST in volume tank")), "{told:?}");
}

#[test]
fn an_array_without_a_complete_check_is_not_green_and_is_reported_before_its_due_date() {
    let mut rig = rig();
    for _ in 0..4 {
        rig.wait(2 * HOUR);
        let ended: Vec<String> = rig.running.iter().filter(|name| name.starts_with("sd")).cloned().collect();
        ended.iter().for_each(|name| rig.finish(name, &[]));
    }
    let light = |rig: &Rig| rig.lights()[2].clone();
    assert_eq!(
        (light(&rig).colour, &*light(&rig).words),
        (LightColour::Grey, "the first pass of 1 array is not over yet")
    );
    rig.wait(28 * DAY);
    let subjects = rig.subjects_of(0, IncidentKind::Unread);
    assert!(
        subjects.iter().any(|subject| subject.starts_with("[nas1] NOTICE array tank: some sectors are not read yet")),
        "{subjects:?}"
    );
    rig.wait(10 * DAY);
    assert_eq!(light(&rig).colour, LightColour::Yellow);
}

#[test]
fn an_absent_array_is_not_checked_and_its_check_continues_when_it_is_back() {
    let mut rig = rig();
    rig.finish_until("uuid");
    rig.progress("uuid", SECTORS / 2, &[]);
    rig.feed(WatchEvent::ArrayGone("uuid".into()));
    rig.running.retain(|name| name != "uuid");
    rig.wait(HOUR);
    assert_eq!(standing(&rig).reading.unwrap().held, Some(HoldBack::Missing));
    rig.feed(WatchEvent::ArraySeen(checked_array(&["sda", "sdb"])));
    rig.finish_until("uuid");
    let share = standing(&rig).reading.unwrap().pass_share;
    assert!(share.is_some_and(|share| share >= 0.49), "{share:?}");
}
