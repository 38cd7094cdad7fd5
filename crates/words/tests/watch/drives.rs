//! What drives report, and what it means if they report nothing.

use super::rig::*;
use scrubjay_watch::calendar::{DAY, HOUR, MINUTE};
use scrubjay_watch::events::{PersonCommand, WatchEvent};
use scrubjay_watch::facts::*;
use scrubjay_watch::health::HealthState;
use scrubjay_watch::hold::HoldBack;
use scrubjay_watch::incident::{IncidentKind, IncidentSubject};
use scrubjay_watch::slowness::{SlowBeside, Slowness};
use scrubjay_words::sign as sign_words;

fn state(celsius: i32, is_self_testing: bool) -> SmartReading {
    let attributes = vec![AtaAttribute::usual(5, 0)];
    let celsius = Some(celsius);
    SmartReading::Facts(SmartFacts {
        passed: Some(true),
        attributes,
        celsius,
        is_self_testing,
        ..SmartFacts::default()
    })
}

#[test]
fn a_disk_that_was_hot_or_testing_and_then_sleeps_or_gives_no_data_is_read_in_time() {
    for earlier in [state(52, false), state(30, true)] {
        for later_reading in [SmartReading::Asleep, SmartReading::Refused(SmartRefusal::NoAnswer)] {
            let mut rig = Rig::with_disks(1);
            rig.wait(2 * DAY);
            rig.finish("sda", &[]);
            rig.smart = earlier.clone();
            rig.wait(5 * HOUR);
            rig.smart = later_reading;
            rig.begun.clear();
            rig.wait(30 * DAY);
            assert!(!rig.begun.is_empty(), "{earlier:?}: {:?}", rig.standing("S0").reading.held);
        }
    }
}

#[test]
fn a_temperature_expires_when_no_further_one_is_read() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.feed(WatchEvent::Smart("sda".into(), state(52, false)));
    rig.watch.handle(rig.now, WatchEvent::Tick);
    assert_eq!(rig.standing("S0").reading.held, Some(HoldBack::TooHot(52)));
    rig.now = scrubjay_watch::calendar::after(rig.now, 8 * HOUR);
    let held = rig.standing("S0").reading.held;
    assert!(!matches!(held, Some(HoldBack::TooHot(_))), "nobody has measured it since: {held:?}");
}

#[test]
fn the_temperature_of_a_disk_being_read_is_checked_once_an_hour() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    assert_eq!(rig.running, ["sda"]);
    rig.smart = state(52, false);
    rig.wait(HOUR + MINUTE);
    assert_eq!(rig.stopped.len(), 1);
}

#[test]
fn flash_may_be_hotter() {
    let mut rig = Rig::new(settings());
    rig.feed(WatchEvent::DiskSeen(DiskFacts { media: MediaKind::Flash, ..disk("sda", "S0") }));
    rig.smart = state(65, false);
    rig.wait(2 * DAY);
    assert_eq!((rig.begun.len(), rig.stopped.len()), (1, 0));
    rig.smart = state(71, false);
    rig.wait(4 * HOUR);
    assert_eq!(rig.standing("S0").reading.held, Some(HoldBack::TooHot(71)));
}

#[test]
fn a_disk_of_unknown_health_is_reported_even_if_the_machine_is_off_at_night() {
    let mut rig = Rig::with_disks(1);
    rig.smart = SmartReading::Refused(SmartRefusal::NoPermission);
    for day in 0..4 {
        rig.wait(16 * HOUR);
        assert!(day > 0 || rig.subjects().is_empty());
        rig.now = scrubjay_watch::calendar::after(rig.now, 8 * HOUR);
        rig.restart(settings());
        rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
        rig.feed(WatchEvent::Tick);
    }
    assert_eq!(rig.subjects_of(0, IncidentKind::Unknown).len(), 2, "and a reminder: {:?}", rig.subjects());
}

#[test]
fn the_incident_of_a_disk_of_unknown_health_does_not_end_at_a_restart() {
    let mut rig = Rig::with_disks(1);
    rig.smart = SmartReading::Refused(SmartRefusal::NotSupported);
    rig.wait(3 * DAY);
    rig.feed(WatchEvent::Command(PersonCommand::Accept(IncidentSubject::Disk(DiskKey("S0".into())))));
    let before = rig.sent.len();
    for _ in 0..3 {
        rig.wait(7 * DAY);
        rig.restart(settings());
        rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
        rig.feed(WatchEvent::Tick);
    }
    rig.smart = SmartReading::Asleep;
    rig.wait(2 * DAY);
    assert_eq!(rig.subjects_of(before, IncidentKind::Unknown), [""; 0], "nor because it sleeps");
    rig.smart = good_reading();
    rig.wait(DAY);
    assert!(
        rig.subjects_of(before, IncidentKind::Unknown).is_empty()
            || rig.subjects().last().unwrap().contains("resolved")
    );
    assert!(rig.incidents().iter().all(|incident| incident.key.kind != IncidentKind::Unknown));
}

#[test]
fn a_slow_disk_is_watched_with_its_reason_and_a_well_one_is_ok_again() {
    let mut rig = Rig::with_disks(3);
    for name in ["sda", "sdb", "sdc"] {
        rig.finish_until(name);
    }
    let judged = |rig: &mut Rig, slowness: Slowness| {
        rig.feed(WatchEvent::Slow("sda".into(), slowness));
        let standing = rig.standing("S0");
        (standing.health, standing.signs.iter().map(|sign| sign_words(sign).to_string()).collect::<Vec<_>>())
    };
    let slow = |beside| Slowness { whole: Some((34, beside)), places: 0 };
    let (health, said) = judged(&mut rig, slow(SlowBeside::Siblings(2)));
    assert_eq!(health, HealthState::Watch, "and never to be replaced for that");
    assert_eq!(said, ["reading takes 34 % longer than at 2 others of its model, day after day"]);
    let (_, said) = judged(&mut rig, slow(SlowBeside::Way(3)));
    assert_eq!(said, ["reading takes 34 % longer than before on all 3 disks behind its controller: look there first"]);
    let (_, said) = judged(&mut rig, Slowness { whole: None, places: 2 });
    assert_eq!(said, ["2 places slower than those around, pass after pass"]);
    assert_eq!(judged(&mut rig, Slowness::default()).0, HealthState::Ok);
}
