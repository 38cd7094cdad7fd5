//! When lights are green, and what people read.

use super::rig::*;
use scrubjay_core::layout::{Layout, LayoutKind, Shape};
use scrubjay_watch::calendar::DAY;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::*;
use scrubjay_watch::health::HealthState;
use scrubjay_watch::status::LightColour;

fn redundancy(rig: &mut Rig, arrays: Vec<ArrayFacts>) -> ShownLight {
    arrays.into_iter().for_each(|facts| rig.feed(WatchEvent::ArraySeen(facts)));
    rig.lights()[1].clone()
}

fn array_named(name: &str, redundancy: u32, lost: usize) -> ArrayFacts {
    let mut facts =
        ArrayFacts { key: name.into(), name: name.into(), redundancy, ..array(&["sda", "sdb", "sdc", "sdd"]) };
    facts.layout = None;
    facts.members.iter_mut().take(lost).for_each(|member| member.is_in_sync = false);
    facts
}

#[test]
fn an_array_that_has_no_redundancy_or_is_rebuilding_is_not_green() {
    let mut rig = Rig::with_disks(4);
    let light = redundancy(&mut rig, vec![array_named("big", 2, 0)]);
    assert_eq!((light.colour, &*light.words), (LightColour::Green, "2 of 2 left in big"));
    let light =
        redundancy(&mut rig, vec![ArrayFacts { activity: ArrayActivity::Rebuilding, ..array_named("new", 1, 0) }]);
    assert_eq!((light.colour, &*light.words), (LightColour::Yellow, "new is being rebuilt"));
    let light = redundancy(
        &mut rig,
        vec![array_named("new", 1, 0), ArrayFacts { level: "RAID0".into(), ..array_named("fast", 0, 0) }],
    );
    assert_eq!((light.colour, &*light.words), (LightColour::Yellow, "none in fast (RAID0)"));
}

#[test]
fn of_two_degraded_arrays_the_one_with_less_left_is_named() {
    let mut rig = Rig::with_disks(4);
    let light =
        redundancy(&mut rig, vec![array_named("big", 2, 1), array_named("mirror", 1, 1), array_named("fast", 0, 0)]);
    assert_eq!((light.colour, &*light.words), (LightColour::Red, "0 of 1 left in mirror"));
}

#[test]
fn each_mirrored_pair_may_lose_one_disk() {
    let left_and_problem = |places: &[usize], layout: Option<(Layout, u64)>| {
        let mut facts = ArrayFacts { level: "RAID10".into(), layout, ..array(&["sda", "sdb", "sdc", "sdd"]) };
        places.iter().for_each(|&place| facts.members[place].is_in_sync = false);
        let mut rig = Rig::with_disks(4);
        let left = facts.redundancy_left();
        rig.feed(WatchEvent::ArraySeen(facts));
        rig.wait(DAY);
        let message = rig.sent.iter().find(|row| row.subject.contains("tank")).unwrap();
        (left, message.subject.split_once(": ").unwrap().1.to_owned())
    };
    let pairs = Layout::new(LayoutKind::Raid1, Shape { data: 1, parity: 1 }, 4).ok().map(|layout| (layout, 1024));
    assert_eq!(left_and_problem(&[0, 2], pairs), (0, "degraded, the next failure loses data".into()));
    assert_eq!(left_and_problem(&[0, 1], pairs), (-1, "too many disks are missing".into()));
    assert_eq!(left_and_problem(&[0, 2], None).1, "degraded, the next failure may lose data", "it runs");
}

#[test]
fn a_drive_without_health_data_is_unknown() {
    let mut rig = Rig::with_disks(1);
    for celsius in [None, Some(30)] {
        rig.smart = SmartReading::Facts(SmartFacts { celsius, ..SmartFacts::default() });
        rig.wait(DAY);
        assert_eq!(rig.standing("S0").health, HealthState::Unknown);
        assert_ne!(rig.lights()[0].colour, LightColour::Green);
    }
    rig.wait(DAY);
    assert!(rig.subjects()[0].contains("its state is not known"), "{:?}", rig.subjects());
}

#[test]
fn a_counter_that_shows_zero_once_has_not_grown() {
    let mut rig = Rig::with_disks(1);
    rig.wait(DAY);
    rig.report_smart("sda", &[(5, 40)]);
    rig.wait(100 * DAY);
    rig.report_smart("sda", &[(5, 0)]);
    rig.report_smart("sda", &[(5, 40)]);
    assert_eq!(rig.standing("S0").health, HealthState::Watch);
}

#[test]
fn messages_show_the_serial_number_on_the_label() {
    let mut rig = Rig::new(settings());
    let facts = DiskFacts { serial: Some("ZL2ABCDE".into()), bay: Some("3".into()), ..disk("sda", "5000c500a1b2c3d4") };
    rig.feed(WatchEvent::DiskSeen(facts));
    rig.wait(DAY);
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(DAY);
    let message = &rig.sent[0];
    assert_eq!(message.subject, "[nas1] MISSING bay 3 (ZL2ABCDE): look at its cable and power first");
    assert!(message.body.contains("Disk      bay 3 · not there · ST1 · ZL2ABCDE ·"), "{}", message.body);
    assert!(message.body.contains("scrubjay forget 5000c500a1b2c3d4"), "commands take the identity: {}", message.body);
}

#[test]
fn the_date_since_when_a_disk_is_missing_survives_a_restart() {
    let mut rig = Rig::with_disks(2);
    rig.wait(2 * DAY);
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(20 * DAY);
    let first = rig.sent.iter().find(|row| row.subject.contains("MISSING")).unwrap().body.clone();
    let since = first.lines().find(|line| line.starts_with("Missing")).unwrap().to_owned();
    rig.restart(settings());
    rig.feed(WatchEvent::DiskSeen(disk("sdb", "S1")));
    rig.wait(20 * DAY);
    let last = rig.sent.iter().rev().find(|row| row.subject.contains("MISSING")).unwrap();
    assert!(last.body.contains(&since), "{since}: {}", last.body);
}

#[test]
fn the_light_tells_the_age_of_the_oldest_sector_as_the_table_does() {
    let mut rig = Rig::with_disks(1);
    rig.wait_for("sda");
    rig.finish("sda", &[]);
    rig.wait(5 * DAY);
    let oldest = rig.standing("S0").reading.oldest_read.expect("it was read");
    let days = (rig.now.0 - oldest.0) / DAY;
    let light = rig.lights()[2].clone();
    assert_eq!(
        (light.colour, light.words),
        (LightColour::Green, format!("the oldest {days} d ago, the limit is 35 d"))
    );
}
