//! Answers that never come, from channels and from sessions.

use super::rig::*;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{DAY, HOUR, MINUTE};
use scrubjay_watch::events::{PersonCommand, WatchEvent, WatchOp};
use scrubjay_watch::facts::*;
use scrubjay_watch::hold::HoldBack;
use scrubjay_watch::hours::DailyHours;
use scrubjay_watch::incident::{IncidentKind, MessageReason};
use scrubjay_watch::settings::WatchSettings;
use scrubjay_watch::status::LightColour;
use std::collections::VecDeque;

/// Sends an event, and carries out only those operations that `is_done` accepts.
fn feed_selectively(rig: &mut Rig, event: WatchEvent, is_done: impl Fn(&WatchOp) -> bool) {
    rig.watch.handle(rig.now, event);
    rig.watch.handle(rig.now, WatchEvent::Tick);
    while let Some(op) = rig.watch.poll_op() {
        if is_done(&op) {
            rig.act(op, &mut VecDeque::new());
        }
    }
}

fn three_members() -> (Rig, String) {
    let mut rig = Rig::with_disks(3);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb", "sdc"])));
    rig.wait(2 * DAY);
    let first = rig.running[0].clone();
    (rig, first)
}

#[test]
fn an_unanswered_message_is_sent_again_and_marked_and_blocks_no_other() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    let test = WatchEvent::Command(PersonCommand::TestAlerts);
    feed_selectively(&mut rig, test, |op| !matches!(op, WatchOp::Send(_)));
    let before = rig.sent.len();
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(14 * MINUTE);
    assert_eq!(rig.sent.len(), before, "one at a time");
    rig.wait(HOUR);
    let sent: Vec<_> = rig.sent[before..].iter().map(|row| (row.reason, row.may_be_repeated)).collect();
    assert_eq!(sent, [(MessageReason::Opened, false), (MessageReason::Test, true)]);
}

#[test]
fn a_message_that_is_refused_for_hours_shows_in_the_lights() {
    let mut rig = Rig::with_disks(1);
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    rig.wait(HOUR);
    let code = rig.sent[0].subject.rsplit(' ').next().unwrap().to_owned();
    rig.feed(WatchEvent::Command(PersonCommand::Confirm(code)));
    assert_eq!(rig.lights()[3].colour, LightColour::Green);
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    for _ in 0..6 {
        // The server accepts all messages except that one.
        rig.is_up = false;
        rig.feed(WatchEvent::Tick);
        rig.now = UnixSeconds(rig.now.0 + HOUR);
    }
    let light = rig.lights()[3].clone();
    assert!(light.colour != LightColour::Green, "{light:?}");
    assert!(light.words.contains("1 message has been waiting for hours"), "{light:?}");
}

#[test]
fn a_session_that_does_not_end_is_reported_and_other_subjects_are_read() {
    let (mut rig, first) = three_members();
    let pause = WatchEvent::Command(PersonCommand::PauseFor(30 * MINUTE));
    feed_selectively(&mut rig, pause, |op| !matches!(op, WatchOp::StopSession(..)));
    rig.wait(50 * MINUTE);
    assert!(rig.begun.len() == 1 && rig.begun[0] == first, "it may end yet");
    rig.wait(30 * MINUTE);
    assert!(rig.begun.len() == 2 && rig.begun[1] != first, "{:?}", rig.begun);
    let subjects = rig.subjects_of(0, IncidentKind::Stuck);
    assert!(
        subjects.len() == 1 && subjects[0].contains(&format!("{first} ")) && subjects[0].contains("hangs"),
        "{subjects:?}"
    );
    let report = rig.passes[&first].clone();
    rig.feed(WatchEvent::Session(on(&first), SessionNews::Stopped(report)));
    rig.wait(HOUR);
    assert!(rig.subjects().last().unwrap().contains("resolved"), "{:?}", rig.subjects());
}

#[test]
fn a_session_without_reports_for_six_hours_is_stopped_and_another_begins() {
    let (mut rig, first) = three_members();
    for _ in 0..20 {
        rig.progress(&first, 1000, &[]);
        rig.wait(HOUR);
    }
    assert_eq!(rig.begun.len(), 1, "it speaks, however slow it is");
    for _ in 0..6 * 12 {
        assert_eq!(rig.begun.len(), 1);
        rig.now = UnixSeconds(rig.now.0 + 5 * MINUTE);
        rig.feed(WatchEvent::Tick);
    }
    assert!(rig.begun.len() == 2 && rig.stopped[0] == (first, HoldBack::Hangs), "{:?}", rig.stopped);
}

#[test]
fn a_clock_that_is_set_makes_no_session_hang() {
    let (mut rig, _) = three_members();
    rig.now = UnixSeconds(rig.now.0 + DAY);
    rig.wait(HOUR);
    assert_eq!((rig.begun.len(), rig.subjects_of(0, IncidentKind::Stuck)), (1, vec![]));
}

#[test]
fn quiet_hours_that_never_end_hold_a_notice_for_a_day() {
    let quiet = Some(DailyHours { from: 60, to: 60 });
    let mut rig = Rig::new(WatchSettings { quiet, ..settings() });
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.smart = SmartReading::Refused(SmartRefusal::NoPermission);
    rig.wait(3 * DAY);
    assert_eq!(rig.subjects().len(), 1, "{:?}", rig.subjects());
}
