//! Requests of programs that fail: what is told of them, how soon, and how often.

use super::rig::*;
use scrubjay_core::units::SectorRange;
use scrubjay_watch::calendar::{DAY, HOUR, MINUTE};
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::failures::{FailedRequests, FailureCause};
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::{IncidentKind, MessageReason};

fn failed(reads: u64, cause: FailureCause, at: u64) -> WatchEvent {
    let runs = vec![SectorRange::at(at, 8)];
    WatchEvent::Failures("sda".into(), FailedRequests { reads, writes: 0, cause, runs, contents: Vec::new() })
}

fn told(rig: &Rig, before: usize) -> Vec<&str> {
    rig.subjects_of(before, IncidentKind::Failures)
}

/// A disk that was read whole, at rest.
fn rig() -> Rig {
    let mut rig = Rig::with_disks(1);
    rig.finish_until("sda");
    rig.wait(DAY);
    rig
}

#[test]
fn a_read_that_fails_is_told_within_seconds_and_with_its_place() {
    let mut rig = rig();
    let before = rig.sent.len();
    rig.feed(failed(1, FailureCause::Medium, 2048));
    rig.wait(4);
    assert_eq!(told(&rig, before), ["[nas1] BACK UP sda (S0): 1 read failed"]);
    let body = &rig.sent.last().unwrap().body;
    for words in [
        "asked for by programs or file systems, since",
        "the drive says that it cannot read or write there",
        "somewhere in sectors 2048 to 2055",
        "sudo scrubjay explain sda 2048+8",
        "back up what it holds, first what lies there",
        "The place is left alone until the disk is read in its turn",
    ] {
        assert!(body.contains(words), "{words}: {body}");
    }
    let standing = rig.standing("S0");
    assert_eq!(standing.health, HealthState::Watch, "it is not called ok meanwhile");
    assert_eq!(rig.subjects_of(before, IncidentKind::Health), [""; 0], "one thing is told once");
}

#[test]
fn ten_thousand_make_one_message_with_their_count_and_no_more_than_one_a_day_later() {
    let mut rig = rig();
    let before = rig.sent.len();
    rig.feed(failed(6000, FailureCause::Unknown, 2048));
    rig.wait(1);
    rig.feed(failed(4000, FailureCause::Unknown, 9000));
    for second in 0..60 {
        rig.wait(1);
        rig.feed(failed(5, FailureCause::Unknown, 20_000 + 800 * second));
    }
    rig.wait(10 * MINUTE);
    assert_eq!(told(&rig, before), ["[nas1] BACK UP sda (S0): 10,005 reads failed"]);
    rig.wait(DAY);
    let later = rig.sent[before..].iter().filter(|message| message.reason == MessageReason::Grown).count();
    assert_eq!(later, 1, "that there were more");
}

#[test]
fn a_disk_that_is_pulled_out_while_it_is_in_use_is_missing_and_nothing_else() {
    let mut rig = rig();
    let before = rig.sent.len();
    rig.feed(failed(300, FailureCause::Unknown, 2048));
    rig.wait(1);
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(HOUR);
    assert_eq!(told(&rig, before), [""; 0]);
    assert_eq!(rig.subjects_of(before, IncidentKind::Missing).len(), 1);
}

#[test]
fn a_disk_that_goes_while_it_is_mounted_is_told_in_seconds() {
    let mut rig = rig();
    let before = rig.sent.len();
    rig.feed(WatchEvent::DiskPulled("sda".into()));
    rig.wait(5);
    assert_eq!(
        rig.subjects_of(before, IncidentKind::Missing),
        ["[nas1] MISSING a disk (S0): look at its cable and power first"]
    );
    rig.wait(HOUR);
    assert_eq!(rig.subjects_of(before, IncidentKind::Missing).len(), 1, "once");
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.wait(HOUR);
    let before = rig.sent.len();
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(9 * MINUTE);
    assert_eq!(rig.subjects_of(before, IncidentKind::Missing), [""; 0], "one that is not in use may be taken out");
}

#[test]
fn a_link_that_is_reset_again_and_again_is_a_bad_cable_and_once_is_nothing() {
    let mut rig = rig();
    let before = rig.sent.len();
    let reset = |rig: &mut Rig| rig.feed(WatchEvent::LinkReset("sda".into()));
    for _ in 0..5 {
        reset(&mut rig);
        rig.wait(2);
    }
    rig.wait(HOUR);
    reset(&mut rig);
    rig.wait(HOUR);
    assert_eq!((rig.standing("S0").health, rig.sent.len()), (HealthState::Ok, before), "two");
    reset(&mut rig);
    rig.wait(4);
    assert_eq!(
        rig.subjects_of(before, IncidentKind::Health),
        ["[nas1] WATCH sda (S0): its link was reset 3 times: check cable, port and power"]
    );
    assert_eq!(rig.standing("S0").health, HealthState::Watch);
    rig.wait(8 * DAY);
    assert_eq!(rig.standing("S0").health, HealthState::Ok, "a week without one");
}

#[test]
fn what_the_next_pass_finds_takes_its_place() {
    let mut rig = rig();
    let before = rig.sent.len();
    rig.feed(failed(1, FailureCause::Medium, 2048));
    rig.wait(MINUTE);
    rig.wait_for("sda");
    rig.finish("sda", &[SectorRange::at(2050, 1)]);
    rig.wait(3 * DAY);
    assert_eq!(told(&rig, before).len(), 1, "nothing is resolved, and nothing told twice: {:?}", told(&rig, before));
    assert_eq!(rig.subjects_of(before, IncidentKind::Health)[0], "[nas1] REPLACE sda (S0): 1 unreadable sector");
}

#[test]
fn where_an_array_heals_or_the_way_fails_nothing_is_to_be_backed_up() {
    let mut rig = Rig::with_disks(2);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb"])));
    rig.wait(HOUR);
    let before = rig.sent.len();
    rig.feed(failed(1, FailureCause::Medium, 2048));
    rig.wait(4);
    assert_eq!(told(&rig, before), ["[nas1] WATCH sda (S0): 1 read failed"]);
    let body = &rig.sent.last().unwrap().body;
    assert!(
        body.contains("programs got what they asked for from the other members") && !body.contains("back up"),
        "{body}"
    );
    let mut rig = self::rig();
    let before = rig.sent.len();
    rig.feed(failed(2, FailureCause::TimedOut, 2048));
    rig.wait(4);
    assert_eq!(told(&rig, before), ["[nas1] WATCH sda (S0): 2 reads failed"]);
    assert!(rig.sent.last().unwrap().body.contains("check its cable, power and port"));
}

#[test]
fn a_whole_pass_since_then_ends_it_and_a_restart_does_not() {
    let mut rig = rig();
    rig.feed(failed(1, FailureCause::Medium, 2048));
    rig.wait(MINUTE);
    rig.restart(settings());
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.wait(2 * DAY);
    let is_open = |rig: &Rig| rig.incidents().iter().any(|incident| incident.key.kind == IncidentKind::Failures);
    assert!(is_open(&rig));
    assert_eq!(rig.standing("S0").health, HealthState::Watch);
    let before = rig.sent.len();
    rig.wait_for("sda");
    rig.finish("sda", &[]);
    rig.wait(2 * DAY);
    assert!(!is_open(&rig));
    assert!(told(&rig, before).iter().any(|subject| subject.contains("resolved")), "{:?}", told(&rig, before));
    assert_eq!(rig.standing("S0").health, HealthState::Ok);
}
