//! A person wants a disk or an array to be read now: it gets its turn, but all other hold-backs remain.

use super::*;
use scrubjay_watch::facts::SubjectKey;

fn request_scrub(rig: &mut Rig, key: SubjectKey) {
    rig.feed(WatchEvent::Command(PersonCommand::ScrubNow(key)));
    rig.feed(WatchEvent::Tick);
}

fn disk_key(serial: &str) -> SubjectKey {
    SubjectKey::Disk(DiskKey(serial.into()))
}

/// A rig in which all disks are read, and none is due.
fn read_rig(count: u8) -> Rig {
    let mut rig = Rig::with_disks(count);
    rig.wait(DAY);
    while let Some(name) = rig.running.first().cloned() {
        rig.finish(&name, &[]);
        rig.wait(HOUR);
    }
    assert_eq!(rig.begun.len(), usize::from(count));
    rig
}

#[test]
fn a_requested_disk_is_read_at_once_and_later_in_its_turn_again() {
    let mut rig = read_rig(2);
    assert!(matches!(rig.standing("S1").reading.held, Some(HoldBack::NotDue(_))));
    request_scrub(&mut rig, disk_key("S1"));
    assert_eq!(rig.running, ["sdb"], "that one, and no other");
    rig.finish("sdb", &[]);
    rig.wait(DAY);
    assert!(rig.running.is_empty());
    let Some(HoldBack::NotDue(next)) = rig.standing("S1").reading.held else { panic!("it has its turn again") };
    assert!(next.0 > rig.now.0 + 10 * DAY, "which counts from what was read: {next:?}");
}

#[test]
fn safety_hold_backs_apply_to_a_requested_disk_and_the_request_is_kept() {
    let mut rig = read_rig(2);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb"])));
    let changed = |activity, is_in_sync| {
        let mut facts = array(&["sda", "sdb"]);
        (facts.activity, facts.members[1].is_in_sync) = (activity, is_in_sync);
        WatchEvent::ArraySeen(facts)
    };
    rig.feed(changed(ArrayActivity::Idle, false));
    request_scrub(&mut rig, disk_key("S0"));
    let held = |rig: &Rig| rig.standing("S0").reading.held;
    assert_eq!((held(&rig), rig.running.len()), (Some(HoldBack::Degraded("tank".into())), 0));
    rig.feed(changed(ArrayActivity::Idle, true));
    rig.feed(WatchEvent::OnBattery(true));
    rig.feed(WatchEvent::Tick);
    assert_eq!((held(&rig), rig.running.len()), (Some(HoldBack::OnBattery), 0));
    let hot = SmartFacts { celsius: Some(61), ..SmartFacts::default() };
    rig.feed(WatchEvent::Smart("sda".into(), SmartReading::Facts(hot)));
    rig.feed(WatchEvent::OnBattery(false));
    rig.feed(WatchEvent::Tick);
    assert_eq!((held(&rig), rig.running.len()), (Some(HoldBack::TooHot(61)), 0));
    // The watch is killed meanwhile: the request survives.
    let asked = rig.now;
    rig.restart(settings());
    for (name, serial) in [("sda", "S0"), ("sdb", "S1")] {
        rig.feed(WatchEvent::DiskSeen(disk(name, serial)));
    }
    rig.feed(changed(ArrayActivity::Idle, true));
    rig.feed(WatchEvent::Tick);
    assert_eq!((&rig.running[..], rig.now), (&["sda".to_owned()][..], asked), "it is cool, as far as is known");
}

#[test]
fn of_several_waiting_disks_the_requested_one_is_read_first() {
    let mut rig = read_rig(3);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb", "sdc"])));
    request_scrub(&mut rig, disk_key("S0"));
    assert_eq!(rig.running, ["sda"]);
    request_scrub(&mut rig, disk_key("S2"));
    assert_eq!(rig.standing("S2").reading.held, Some(HoldBack::MemberBusy("tank".into())), "none beside another");
    // Another disk is overdue by now, and sdc was read last.
    rig.wait(40 * DAY);
    assert_eq!(rig.running, ["sda"]);
    rig.finish("sda", &[]);
    rig.feed(WatchEvent::Tick);
    assert_eq!(rig.running, ["sdc"]);
}

#[test]
fn a_requested_session_that_could_not_begin_is_tried_again_though_it_is_not_due() {
    let mut rig = read_rig(1);
    request_scrub(&mut rig, disk_key("S0"));
    rig.news("sda", SessionNews::Refused("somebody else has it".into()));
    assert!(matches!(rig.standing("S0").reading.held, Some(HoldBack::Refused(..))));
    rig.wait(2 * HOUR);
    assert_eq!(rig.running, ["sda"]);
}

#[test]
fn requests_for_a_disk_being_read_or_absent_change_nothing() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * HOUR);
    let before = rig.standing("S0");
    assert!(before.reading.is_read);
    rig.wait(HOUR);
    request_scrub(&mut rig, disk_key("S0"));
    assert_eq!((rig.begun.len(), rig.standing("S0").reading.pass_share), (1, before.reading.pass_share));
    rig.feed(WatchEvent::DiskGone("sda".into()));
    request_scrub(&mut rig, disk_key("S0"));
    request_scrub(&mut rig, disk_key("nobody"));
    request_scrub(&mut rig, SubjectKey::Array("nobody".into()));
    assert_eq!(rig.standing("S0").reading.held, Some(HoldBack::Missing));
}

/// Each hold-back by itself, of a disk that is not due: only its turn is skipped.
#[test]
fn requests_do_not_override_allowed_hours_sleep_and_self_tests() {
    let mut rig = read_rig(1);
    let facts = |is_self_testing| {
        SmartReading::Facts(SmartFacts { passed: Some(true), is_self_testing, ..SmartFacts::default() })
    };
    let smart = |rig: &mut Rig, reading: SmartReading| {
        rig.smart = reading.clone();
        rig.feed(WatchEvent::Smart("sda".into(), reading));
    };
    let held = |rig: &mut Rig| {
        request_scrub(rig, disk_key("S0"));
        assert!(rig.running.is_empty());
        rig.standing("S0").reading.held
    };
    smart(&mut rig, facts(true));
    assert_eq!(held(&mut rig), Some(HoldBack::SelfTest));
    smart(&mut rig, SmartReading::Asleep);
    assert!(matches!(held(&mut rig), Some(HoldBack::Asleep(latest)) if latest.0 > rig.now.0 + DAY));
    smart(&mut rig, facts(false));
    // The allowed hour begins an hour from now.
    let minute = (rig.now.0 % DAY / MINUTE) as u32;
    let from = (minute + 60) % 1440;
    let between = Some(DailyHours { from, to: (from + 60) % 1440 });
    let hours = |between| WatchEvent::Settings(Box::new(WatchSettings { between, ..settings() }));
    rig.feed(hours(between));
    let Some(HoldBack::WindowClosed(opens)) = held(&mut rig) else { panic!("{:?}", rig.standing("S0")) };
    rig.wait(opens.0 - rig.now.0 + MINUTE);
    assert_eq!(rig.running, ["sda"], "in its hours it begins, though it is not due");
}
