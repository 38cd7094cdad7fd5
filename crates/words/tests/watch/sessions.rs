//! Sessions and the disks below them: what counts as read, and of which disk.

use super::rig::*;
use scrubjay_core::units::SectorRange;
use scrubjay_watch::calendar::{DAY, HOUR, MINUTE};
use scrubjay_watch::events::{PersonCommand, WatchEvent};
use scrubjay_watch::facts::*;
use scrubjay_watch::health::HealthState;
use scrubjay_watch::hold::HoldBack;
use scrubjay_watch::incident::{IncidentKind, IncidentSubject};
use scrubjay_watch::status::LightColour;

fn read_light(rig: &Rig) -> LightColour {
    rig.lights()[2].colour
}

#[test]
fn a_size_that_is_unknown_for_a_minute_deletes_no_history() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(8, 8)]);
    rig.wait(20 * DAY);
    let (due, before) = (rig.standing("S0").reading.due, rig.sent.len());
    rig.feed(WatchEvent::DiskSeen(DiskFacts { sectors: 0, ..disk("sda", "S0") }));
    rig.feed(WatchEvent::Tick);
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.wait(HOUR);
    assert_eq!((rig.standing("S0").health, rig.standing("S0").reading.due), (HealthState::Replace, due));
    assert_eq!(rig.subjects_since(before), [""; 0]);
}

#[test]
fn a_changed_size_begins_a_new_pass_and_keeps_the_findings() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.progress("sda", SECTORS / 2, &[SectorRange::at(8, 8)]);
    let (before, begun) = (rig.begun.len(), rig.passes["sda"].begun);
    rig.wait(HOUR);
    rig.feed(WatchEvent::DiskSeen(DiskFacts { sectors: SECTORS * 2, ..disk("sda", "S0") }));
    rig.feed(WatchEvent::Tick);
    assert_eq!(rig.stopped.last().map(|(_, why)| why.clone()), Some(HoldBack::Resized));
    assert_eq!((rig.standing("S0").health, rig.standing("S0").reading.pass_share), (HealthState::Replace, None));
    rig.wait(2 * DAY);
    assert_eq!(rig.begun.len(), before + 1);
    assert!(rig.passes["sda"].begun > begun);
    assert_eq!(rig.standing("S0").reading.oldest_read, None, "its slices are other sectors now");
}

#[test]
fn a_disk_without_a_size_is_not_read() {
    let mut rig = Rig::new(settings());
    rig.feed(WatchEvent::DiskSeen(DiskFacts { sectors: 0, ..disk("sda", "S0") }));
    rig.wait(2 * DAY);
    assert_eq!((rig.begun.len(), rig.standing("S0").reading.held), (0, Some(HoldBack::SizeUnknown)));
    assert_ne!(read_light(&rig), LightColour::Green);
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.wait(2 * DAY);
    assert_eq!(rig.begun.len(), 1);
}

#[test]
fn old_session_reports_do_not_count_for_a_disk_that_was_forgotten() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.finish("sda", &[]); // its session keeps "pass 1, complete"
    let old = rig.passes["sda"].clone();
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.feed(WatchEvent::Command(PersonCommand::Forget(IncidentSubject::Disk(DiskKey("S0".into())))));
    rig.wait(300 * DAY);
    let returned = rig.now;
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    for news in [SessionNews::Stopped(old.clone()), SessionNews::Finished(old.clone())] {
        rig.feed(WatchEvent::Session(on("sda"), news)); // as after a start
    }
    rig.wait_for("sda");
    assert_eq!((rig.passes["sda"].pass, rig.passes["sda"].begun >= returned), (1, true), "a pass of the same number");
    rig.feed(WatchEvent::Session(on("sda"), SessionNews::Finished(old)));
    rig.feed(WatchEvent::Tick);
    assert_eq!(rig.standing("S0").reading.oldest_read, None);
    assert_ne!(read_light(&rig), LightColour::Green, "nothing was read for 300 days");
    assert!(rig.standing("S0").reading.is_read, "the session goes on");
}

#[test]
fn the_progress_of_a_pass_counts_after_a_restart() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.progress("sda", SECTORS / 4, &[]);
    let kept = rig.report("sda", SECTORS / 2, &[SectorRange::at(8, 8)]);
    rig.restart(settings());
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.feed(WatchEvent::Session(on("sda"), SessionNews::Stopped(kept.clone())));
    assert_eq!(rig.standing("S0").reading.pass_share, Some(0.5));
    rig.feed(WatchEvent::Tick);
    assert_eq!(rig.passes["sda"], kept, "it goes on, with the same date");
    assert_eq!(rig.standing("S0").health, HealthState::Replace);
}

#[test]
fn a_persons_scrub_counts_from_when_it_began_and_only_if_it_was_complete() {
    let mut rig = Rig::with_disks(1);
    let old = |done, begun| PassReport { done, begun, ..PassReport::default() };
    let long_ago = scrubjay_watch::calendar::after(scrubjay_core::units::UnixSeconds(0), START - 100 * DAY);
    rig.news("sda", SessionNews::Stopped(old(SECTORS / 16 * 15, long_ago)));
    assert_eq!(rig.standing("S0").reading.oldest_read, None);
    rig.news("sda", SessionNews::Finished(old(SECTORS, long_ago)));
    assert_eq!(rig.standing("S0").reading.oldest_read, Some(long_ago));
    assert_ne!(read_light(&rig), LightColour::Green);
    rig.news("sda", SessionNews::Finished(old(SECTORS, Default::default())));
    assert_eq!(rig.standing("S0").reading.oldest_read, Some(long_ago), "one without a date adds nothing");
}

#[test]
fn a_disk_that_a_person_scrubs_is_busy_until_that_is_over() {
    let mut rig = Rig::with_disks(2);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb"])));
    let report = PassReport { begun: rig.now, ..PassReport::default() };
    rig.news("sda", SessionNews::Progress(report.clone()));
    for _ in 0..3 * 24 {
        rig.wait(HOUR);
        rig.news("sda", SessionNews::Progress(report.clone()));
    }
    assert_eq!((rig.begun.len(), rig.stopped.len()), (0, 0), "neither is begun, and the person's is not stopped");
    rig.news("sda", SessionNews::Stopped(report));
    rig.wait(MINUTE);
    assert_eq!(rig.begun.len(), 1);
}

#[test]
fn a_session_that_ends_by_itself_is_begun_again_later_and_starves_no_sibling() {
    let mut rig = Rig::with_disks(3);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb", "sdc"])));
    rig.wait(2 * DAY);
    let first = rig.running[0].clone();
    for _ in 0..100 {
        let report = rig.report(&first, 0, &[]);
        rig.news(&first, SessionNews::Stopped(report));
    }
    assert_eq!(rig.begun.iter().filter(|name| **name == first).count(), 1, "nothing spins");
    assert!(rig.begun.iter().any(|name| *name != first), "its turn goes to another");
}

#[test]
fn a_session_that_ended_by_itself_after_progress_continues_soon() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.progress("sda", SECTORS / 2, &[]);
    let report = rig.report("sda", SECTORS / 2, &[]);
    rig.news("sda", SessionNews::Stopped(report));
    assert!(rig.running.is_empty());
    rig.wait(2 * MINUTE);
    assert_eq!(rig.running, ["sda"]);
}

#[test]
fn a_session_refused_for_a_day_is_reported_with_its_reason_and_spoils_no_forecast() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    let refused = || SessionNews::Refused("the state folder is full".into());
    for hour in 0..30 {
        assert_eq!(rig.running, ["sda"], "hour {hour}");
        rig.news("sda", refused());
        assert_eq!(rig.standing("S0").reading.pass_share, None, "a pass that could not begin has not begun");
        rig.wait(HOUR);
    }
    assert_eq!(rig.subjects(), ["[nas1] NOTICE sda (S0): its scrubs have failed since 14 Mar 2026"]);
    assert!(rig.sent.last().unwrap().body.contains("the state folder is full"));
    rig.progress("sda", SECTORS / 2, &[]);
    rig.wait(HOUR);
    assert!(rig.subjects()[1].contains("resolved"), "{:?}", rig.subjects());
    let forecast = rig.reading_row("S0").forecast.unwrap().0;
    assert!(rig.now.0 - forecast.likely.0.min(rig.now.0) < 2 * DAY);
    assert_eq!(rig.passes["sda"].begun.0 / DAY, (rig.now.0 - 2 * HOUR) / DAY, "it began with the session that could");
    rig.news("sda", refused());
    assert_eq!(rig.standing("S0").reading.pass_share, Some(0.5), "one that has begun goes on");
}

#[test]
fn a_refusal_is_remembered_over_restarts() {
    let mut rig = Rig::with_disks(1);
    for _ in 0..4 {
        rig.wait_for("sda");
        rig.news("sda", SessionNews::Refused("no permission".into()));
        rig.wait(10 * HOUR);
        rig.restart(settings());
        rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    }
    rig.wait(HOUR);
    assert!(rig.subjects().iter().any(|subject| subject.contains("its scrubs have failed")), "{:?}", rig.subjects());
}

#[test]
fn a_range_without_a_verdict_ends_the_pass_and_the_rest_is_still_read_in_time() {
    let mut rig = Rig::with_disks(1);
    let mut months = 0;
    rig.wait(2 * DAY);
    for _ in 0..100 * 4 {
        if rig.running == ["sda"] {
            let report = rig.report("sda", SECTORS - 8, &[]);
            rig.news("sda", SessionNews::Failed(report));
            months = (rig.now.0 - START) / DAY / 27;
        }
        rig.wait(6 * HOUR);
    }
    let passes = rig.reading_row("S0").passes;
    assert_eq!((u64::from(passes.finished), passes.unjudged), (months + 1, 8), "one a month, not one after the other");
    assert!(passes.read[..15].iter().all(|read| rig.now.0 - read.0 < 35 * DAY), "the rest is read in time");
    assert_eq!(passes.read[15].0, 0, "and of the last slice nothing is said");
    let subjects = rig.subjects_of(0, IncidentKind::Health);
    assert_eq!(subjects[0], "[nas1] WATCH sda (S0): no verdict on 8 sectors: reads ended before them");
    assert!(!rig.subjects_of(0, IncidentKind::Unread).is_empty(), "nor are they called read");
    rig.wait_for("sda");
    rig.finish("sda", &[]);
    assert_eq!(rig.standing("S0").health, HealthState::Ok, "a whole pass ends it");
}

#[test]
fn reads_that_end_in_the_middle_of_a_disk_are_reported_with_the_place() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    for _ in 0..4 {
        let report = rig.report("sda", SECTORS / 4, &[]);
        rig.news("sda", SessionNews::Failed(report));
        rig.wait(7 * HOUR);
    }
    assert_eq!(rig.subjects_since(0)[0], "[nas1] WATCH sda (S0): its reads end after 25 % of the disk (3 attempts)");
}
