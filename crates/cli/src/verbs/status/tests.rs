//! The status as it is printed.

use super::*;
use scrubjay_control::{
    DoNowEntry, ForecastEntry, IncidentEntry, LightEntry, ReadingActivity, ReadingEntry, ToDoEntry,
};
use scrubjay_watch::facts::{ArrayActivity, MediaKind};
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::{IncidentKind, Urgency};
use scrubjay_watch::status::{LightColour, LightName};

const NOW: u64 = 1_773_320_400; // 12 Mar 2026

fn disk(name: &str, key: &str) -> DiskEntry {
    DiskEntry {
        last_name: "sdc".into(),
        serial: None,
        key: key.into(),
        name: Some(name.into()),
        model: "ST16000NM001G".into(),
        bay: None,
        bytes: 16_000_900_661_248,
        media: MediaKind::Spinning,
        health: HealthState::Ok,
        reasons: Vec::new(),
        reading: ReadingEntry {
            oldest_read: Some(NOW - 12 * 86_400),
            due: NOW + 20 * 86_400,
            activity: ReadingActivity::Held,
            why: Some("next pass begins 21 Mar 2026 03:10".into()),
            budget_nanos: 2_000_000,
            lateness: Some(0),
            ..ReadingEntry::default()
        },
        scrubbed_by: None,
    }
}

fn status() -> WatchDocument {
    let light = |name, words: &str| LightEntry { name, colour: LightColour::Green, words: words.into() };
    let reading = ReadingEntry {
        activity: ReadingActivity::Reading,
        why: None,
        pass_share: Some(0.439),
        forecast: Some(ForecastEntry { low: NOW + 86_400, likely: NOW + 3 * 86_400, high: NOW + 5 * 86_400 }),
        ..disk("sdb", "ZL2ABCDF").reading
    };
    let read = DiskEntry { reading: reading.clone(), ..disk("sdb", "ZL2ABCDF") };
    let mut bad = DiskEntry { health: HealthState::Replace, bay: Some("3".into()), ..disk("sdc", "ZL2ABCDE") };
    bad.reading.unreadable = 8;
    WatchDocument {
        host: "nas1".into(),
        time: NOW,
        sentence: "1 problem: bay 3 (ZL2ABCDE) should be replaced".into(),
        lights: vec![light(LightName::Disks, "2 ok, 1 replace"), light(LightName::Alerts, "email proven 12 Mar 2026")],
        do_now: DoNowEntry {
            first: vec![ToDoEntry {
                incident: Some(0),
                words: "bay 3 (ZL2ABCDE) should be replaced".into(),
                command: None,
            }],
            more: 2,
        },
        arrays: vec![ArrayEntry {
            redundancy: 2,
            key: "uuid".into(),
            name: "tank".into(),
            level: "RAID5".into(),
            members: vec![Some("sda".into()), Some("sdb".into()), None],
            is_degraded: true,
            pool: None,
            lost_stripes: None,
            exposure: None,
            redundancy_left: 0,
            activity: ArrayActivity::Idle,
            is_there: true,
            check: Some(reading),
        }],
        disks: vec![disk("sda", "ZL2ABCDD"), read, bad],
        incidents: vec![IncidentEntry {
            subject: "ZL2ABCDE".into(),
            kind: IncidentKind::Health,
            urgency: Urgency::Replace,
            headline: "bay 3 (ZL2ABCDE) should be replaced".into(),
            since: NOW,
            is_accepted: true,
        }],
        ..WatchDocument::default()
    }
}

fn text(status: &WatchDocument, width: Option<usize>) -> String {
    let mut out = Vec::new();
    write(status, width, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_sentence_comes_first_and_each_disk_has_a_line() {
    let text = text(&status(), None);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "1 problem: bay 3 (ZL2ABCDE) should be replaced");
    assert!(
        text.contains("tank   RAID5  sda sdb -  none      12 d ago         reading, 43 %, ends 15 Mar 2026"),
        "{text}"
    );
    assert!(text.contains("12 d ago        8            next pass begins 21 Mar 2026 03:10"), "{text}");
    assert!(text.contains("reading, 43 %, ends 15 Mar 2026"), "{text}");
    assert!(text.contains("Do now\n  1. bay 3 (ZL2ABCDE) should be replaced\n     and 2 more\n"), "{text}");
    assert!(text.contains("Accepted\n  bay 3"), "{text}");
}

#[test]
fn of_many_disks_only_those_that_deviate_are_listed() {
    let many = (0..60).map(|number| disk(&format!("sd{number}"), &format!("S{number}"))).collect();
    let mut status = WatchDocument { disks: many, ..status() };
    status.disks[7].health = HealthState::Watch;
    let text = text(&status, Some(80));
    assert!(text.contains("and 59 more that are ok and not being read"), "{text}");
    assert!(text.contains("sd7"), "{text}");
}

#[test]
fn text_of_a_drive_sends_no_commands_to_the_terminal() {
    let mut status = status();
    status.disks[0].model = "evil\u{1b}[2J\nmodel".into();
    status.sentence = "\u{1b}]0;x\u{7}".into();
    let text = text(&status, None);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
}

#[test]
fn disks_are_listed_by_bay_then_by_name_and_those_that_are_gone_last() {
    let in_bay = |name: &str, bay: &str| DiskEntry { bay: Some(bay.into()), ..disk(name, name) };
    let gone = DiskEntry { name: None, last_name: "sda".into(), ..disk("", "S0") };
    let disks = vec![gone, disk("sdaa", "1"), in_bay("sdh", "10"), disk("sdz", "2"), in_bay("sdi", "9")];
    let mut out = Vec::new();
    write(&WatchDocument { disks, ..status() }, None, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let places =
        ["sdi bay 9", "sdh bay 10", "sdz ", "sdaa ", "gone (was sda)"].map(|name| text.find(name).expect(name));
    assert!(places.is_sorted(), "{text}");
}
