//! Wrong clocks, for a minute or for good.

use super::rig::*;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::Watch;
use scrubjay_watch::calendar::{DAY, HOUR, MINUTE, UtcCalendar};
use scrubjay_watch::events::{PersonCommand, WatchEvent};
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::{IncidentKind, MessageReason};
use scrubjay_watch::status::LightColour;

fn see_disks(rig: &mut Rig, count: u8) {
    for number in 0..count {
        let name = format!("sd{}", char::from(b'a' + number));
        rig.feed(WatchEvent::DiskSeen(disk(&name, &format!("S{number}"))));
    }
}

/// A rig that has run for days: two disks were read, one of them gets worse, and alerts are proven.
fn rig_after_days() -> Rig {
    let mut rig = Rig::with_disks(2);
    rig.wait(2 * DAY);
    ["sda", "sdb"].iter().for_each(|name| rig.finish(name, &[]));
    rig.report_smart("sda", &[(5, 0)]);
    rig.report_smart("sda", &[(5, 3)]);
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    rig.wait(HOUR);
    let test = rig.sent.iter().rev().find(|row| row.reason == MessageReason::Test).unwrap();
    let code = test.subject.rsplit(' ').next().unwrap().to_owned();
    rig.feed(WatchEvent::Command(PersonCommand::Confirm(code)));
    rig.wait(DAY);
    rig
}

#[test]
fn a_minute_of_a_wrong_clock_at_boot_changes_nothing() {
    for wrong in [UnixSeconds(40), UnixSeconds(START - 400 * DAY)] {
        let mut rig = rig_after_days();
        let (before, truth) = (rig.sent.len(), rig.now);
        let (due, lights) = (rig.standing("S0").reading.due, rig.lights());
        rig.now = wrong;
        rig.restart(settings());
        see_disks(&mut rig, 2);
        rig.wait(MINUTE);
        assert!(rig.sentence().starts_with("The clock says "));
        assert!(rig.lights().iter().all(|light| light.colour != LightColour::Green), "{:?}", rig.lights());
        rig.now = UnixSeconds(truth.0 + 60);
        rig.wait(HOUR);
        assert_eq!((rig.standing("S0").health, rig.standing("S0").reading.due), (HealthState::Replace, due));
        assert_eq!(rig.lights(), lights);
        assert_eq!(rig.sent.len(), before, "{:?}", rig.subjects_since(before));
    }
}

#[test]
fn slices_read_after_a_clock_was_set_back_are_dated_by_when_they_were_read() {
    let mut rig = Rig::with_disks(1);
    rig.wait_for("sda"); // the clock is ahead, and the session reports that date until it ends
    rig.now = UnixSeconds(rig.now.0 - DAY);
    rig.wait(10 * DAY);
    rig.progress("sda", SECTORS / 2, &[]);
    let half = rig.now;
    rig.finish("sda", &[]);
    assert_eq!(rig.reading_row("S0").passes.read[15], half, "not by when its pass began");
}

#[test]
fn a_wrong_clock_is_trusted_when_it_is_synchronised_or_stays_so_for_hours() {
    for is_synchronised in [true, false] {
        let mut rig = rig_after_days();
        rig.now = UnixSeconds(rig.now.0 - 400 * DAY);
        rig.restart(settings());
        if is_synchronised {
            rig.feed(WatchEvent::ClockSynchronised(true));
        }
        see_disks(&mut rig, 2);
        rig.wait(if is_synchronised { MINUTE } else { 2 * HOUR });
        assert_eq!(rig.standing("S0").reading.due.0 <= rig.now.0 + 35 * DAY, is_synchronised);
        rig.wait(2 * HOUR);
        assert!(rig.standing("S0").reading.due.0 <= rig.now.0 + 35 * DAY, "no date lies in the future for ever");
        assert!(rig.standing("S0").name.is_some(), "what was told meanwhile is not lost");
    }
}

#[test]
fn a_clock_that_is_a_year_ahead_for_ten_minutes_is_not_trusted() {
    let mut rig = rig_after_days();
    let (before, truth, rows) = (rig.sent.len(), rig.now, rig.rows.len());
    rig.now = UnixSeconds(truth.0 + 365 * DAY);
    rig.wait(10 * MINUTE);
    rig.now = UnixSeconds(truth.0 + 700);
    rig.wait(HOUR);
    assert_eq!((rig.sent.len(), rig.rows.len()), (before, rows), "{:?}", rig.subjects_since(before));
}

#[test]
fn a_first_boot_without_a_clock_writes_no_date_of_1970() {
    let mut rig = Rig::new(settings());
    let truth = rig.now;
    rig.now = UnixSeconds(30);
    rig.watch = Watch::restore(rig.now, settings(), Box::new(UtcCalendar), []);
    see_disks(&mut rig, 4);
    rig.wait(MINUTE);
    assert!(rig.rows.is_empty());
    rig.now = truth;
    rig.wait(HOUR);
    assert_eq!(rig.sent.len(), 0, "{:?}", rig.subjects());
    assert_eq!(rig.standing("S0").reading.due.0, truth.0 + 35 * DAY);
    assert_ne!(rig.lights()[2].colour, LightColour::Yellow, "nothing is overdue");
}

#[test]
fn a_pause_without_an_end_survives_a_clock_that_is_set_back() {
    let mut rig = Rig::with_disks(1);
    rig.wait(DAY);
    rig.feed(WatchEvent::Command(PersonCommand::PauseFor(u64::MAX)));
    rig.now = UnixSeconds(rig.now.0 - HOUR);
    rig.wait(HOUR);
    assert_eq!(rig.watch.status(rig.now).paused_until, Some(UnixSeconds(u64::MAX)));
}

#[test]
fn a_suspend_makes_no_disk_unknown_or_missing_and_no_clock_wrong() {
    let mut rig = rig_after_days();
    rig.feed(WatchEvent::DiskGone("sdb".into()));
    let before = rig.sent.len();
    rig.now = UnixSeconds(rig.now.0 + 5 * DAY);
    rig.feed(WatchEvent::Suspended(5 * DAY));
    rig.feed(WatchEvent::Tick);
    let status = rig.watch.status(rig.now);
    assert!(!status.is_clock_doubted, "{}", rig.sentence());
    let kinds = |rig: &Rig| {
        let incidents = rig.watch.status(rig.now).incidents;
        incidents.into_iter().map(|incident| incident.key.kind).collect::<Vec<_>>()
    };
    assert!(!kinds(&rig).contains(&IncidentKind::Unknown) && !kinds(&rig).contains(&IncidentKind::Missing));
    let told = rig.subjects_since(before);
    assert!(!told.iter().any(|subject| subject.contains("not known") || subject.contains("MISSING")), "{told:?}");
    rig.wait(HOUR);
    assert!(kinds(&rig).contains(&IncidentKind::Missing), "what stays away is missing");
}

#[test]
fn nothing_is_told_at_the_moment_of_waking_that_was_not_looked_at_again() {
    let mut rig = rig_after_days();
    rig.feed(WatchEvent::DiskGone("sdb".into()));
    rig.wait(2 * HOUR);
    let before = rig.sent.len();
    assert!(rig.subjects_since(0).iter().any(|subject| subject.contains("MISSING")));
    // Its reminder is due in the sleep, in which it was plugged in again.
    rig.now = UnixSeconds(rig.now.0 + 2 * DAY);
    rig.feed(WatchEvent::Suspended(2 * DAY));
    rig.feed(WatchEvent::Tick);
    let told = rig.subjects_since(before);
    assert!(!told.iter().any(|subject| subject.contains("reminder")), "{told:?}");
    rig.wait(HOUR);
    assert!(rig.subjects_since(before).iter().any(|subject| subject.contains("reminder")), "then it is");
}
