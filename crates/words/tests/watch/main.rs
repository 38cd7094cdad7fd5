//! Small scenes of the watch, driven as by a pump, with what people read of it.

mod arrivals;
mod blind;
mod causes;
mod checked;
mod clocks;
mod dangers;
mod drives;
mod failures;
mod lights;
mod messages;
mod pools;
mod queue;
mod rig;
mod sessions;
mod silence;
mod wanted;

use rig::{Rig, START, SentMessage, array, channel, disk, on, pending, settings};
use scrubjay_core::units::{SectorRange, UnixSeconds};
use scrubjay_watch::calendar::{DAY, HOUR, MINUTE};
use scrubjay_watch::channel::ProofState;
use scrubjay_watch::events::{PersonCommand, WatchEvent, WatchOp};
use scrubjay_watch::facts::*;
use scrubjay_watch::health::HealthState;
use scrubjay_watch::hold::{HoldBack, SessionFault};
use scrubjay_watch::hours::DailyHours;
use scrubjay_watch::incident::{IncidentKind, IncidentSubject, MessageReason, Urgency};
use scrubjay_watch::rows::RowKey;
use scrubjay_watch::settings::WatchSettings;
use scrubjay_watch::status::LightColour;
use scrubjay_words::{LINES_MAX, SUBJECT_MAX};
use std::collections::VecDeque;

#[test]
fn a_disk_is_read_at_once_and_again_before_it_is_due() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    assert_eq!(rig.begun, ["sda"]);
    rig.finish("sda", &[]);
    let due = rig.standing("S0").reading.due;
    rig.wait(10 * DAY);
    assert!(matches!(rig.standing("S0").reading.held, Some(HoldBack::NotDue(_))));
    rig.wait(17 * DAY);
    assert_eq!(rig.begun, ["sda", "sda"]);
    assert!(rig.now.0 + 7 * DAY < due.0, "a week before the date at the latest");
}

#[test]
fn members_of_an_array_are_read_one_at_a_time_also_if_a_disk_is_in_two_arrays() {
    let mut rig = Rig::with_disks(4);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb", "sdc"])));
    rig.feed(WatchEvent::ArraySeen(ArrayFacts { key: "other".into(), ..array(&["sdc", "sdd", "sdd"]) }));
    rig.wait(2 * DAY);
    let mut read = Vec::new();
    while let Some(name) = rig.running.first().cloned() {
        let first_array = rig.running.iter().filter(|name| matches!(&***name, "sda" | "sdb" | "sdc")).count();
        let second_array = rig.running.iter().filter(|name| matches!(&***name, "sdc" | "sdd")).count();
        assert!(first_array <= 1 && second_array <= 1, "{:?}", rig.running);
        rig.finish(&name, &[]);
        read.push(name);
        rig.wait(HOUR);
    }
    read.sort();
    assert_eq!(read, ["sda", "sdb", "sdc", "sdd"]);
}

#[test]
fn each_hold_back_stops_the_session_and_gives_its_reason() {
    let mut rig = Rig::with_disks(2);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb"])));
    rig.wait(2 * DAY);
    let hold_back_during = |rig: &mut Rig, event: WatchEvent, undo: WatchEvent| {
        let name = rig.running[0].clone();
        rig.feed(event);
        rig.feed(WatchEvent::Tick);
        let stopped = rig.stopped.pop().unwrap_or_else(|| panic!("{name} goes on"));
        assert!(rig.running.is_empty(), "nor does the other one begin: {:?}", rig.running);
        rig.feed(undo);
        rig.feed(WatchEvent::Tick);
        assert_eq!(rig.running.len(), 1, "it goes on after {stopped:?}");
        stopped.1
    };
    let changed = |activity, is_in_sync| {
        let mut facts = array(&["sda", "sdb"]);
        (facts.activity, facts.members[1].is_in_sync) = (activity, is_in_sync);
        WatchEvent::ArraySeen(facts)
    };
    let idle = || changed(ArrayActivity::Idle, true);
    assert_eq!(
        hold_back_during(&mut rig, changed(ArrayActivity::Idle, false), idle()),
        HoldBack::Degraded("tank".into())
    );
    assert_eq!(
        hold_back_during(&mut rig, changed(ArrayActivity::Rebuilding, false), idle()),
        HoldBack::Rebuilding("tank".into())
    );
    assert_eq!(
        hold_back_during(&mut rig, changed(ArrayActivity::Checking, true), idle()),
        HoldBack::OtherCheck("tank".into())
    );
    assert_eq!(
        hold_back_during(&mut rig, WatchEvent::OnBattery(true), WatchEvent::OnBattery(false)),
        HoldBack::OnBattery
    );
    let until = UnixSeconds(rig.now.0 + 2 * HOUR);
    let pause = WatchEvent::Command(PersonCommand::PauseFor(2 * HOUR));
    assert_eq!(hold_back_during(&mut rig, pause, WatchEvent::Command(PersonCommand::Resume)), HoldBack::Paused(until));
}

#[test]
fn too_hot_and_self_tests_hold_one_disk_back() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    let reading = |celsius, is_self_testing| {
        SmartReading::Facts(SmartFacts { celsius: Some(celsius), is_self_testing, ..SmartFacts::default() })
    };
    let held_after = |rig: &mut Rig, celsius, testing| {
        rig.feed(WatchEvent::Smart("sda".into(), reading(celsius, testing)));
        rig.feed(WatchEvent::Tick);
        rig.standing("S0").reading.held
    };
    assert_eq!(held_after(&mut rig, 51, false), Some(HoldBack::TooHot(51)));
    assert_eq!(held_after(&mut rig, 48, false), Some(HoldBack::TooHot(48)), "not cool enough to begin again");
    assert_eq!(held_after(&mut rig, 45, false), None);
    assert_eq!(held_after(&mut rig, 45, true), Some(HoldBack::SelfTest));
    assert_eq!(held_after(&mut rig, 45, false), None);
}

#[test]
fn the_allowed_hours_open_and_close_and_unread_sectors_are_reported_a_week_before_due() {
    let mut rig = Rig::new(WatchSettings { between: Some(DailyHours { from: 60, to: 420 }), ..settings() });
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.wait(2 * DAY);
    assert!(
        matches!(rig.standing("S0").reading.held, Some(HoldBack::WindowClosed(at)) if at.0 == START + 2 * DAY + HOUR)
    );
    rig.wait(2 * HOUR);
    assert_eq!(rig.running, ["sda"]);
    rig.wait(6 * HOUR);
    assert_eq!(rig.running, [""; 0]);
    // The session makes no progress. A week before the due date at the latest that is reported, with advice.
    rig.wait(25 * DAY + HOUR);
    let messages: Vec<&SentMessage> =
        rig.sent.iter().filter(|row| row.about.iter().any(|key| key.kind == IncidentKind::Unread)).collect();
    let [message] = &messages[..] else { panic!("{:?}", rig.subjects()) };
    assert!(message.written.0 + 7 * DAY < rig.standing("S0").reading.due.0);
    assert!(message.body.contains("Help "), "{}", message.body);
}

#[test]
fn a_sleeping_disk_sleeps_until_its_date_comes_near() {
    let mut rig = Rig::with_disks(1);
    rig.smart = SmartReading::Asleep;
    rig.wait(3 * DAY);
    let Some(HoldBack::Asleep(latest)) = rig.standing("S0").reading.held else { panic!("{:?}", rig.standing("S0")) };
    assert_eq!((rig.standing("S0").health, &rig.begun[..]), (HealthState::Asleep, &[][..]));
    assert_eq!(rig.lights()[0].colour, LightColour::Grey, "asleep is never green");
    rig.wait(latest.0 - rig.now.0 + MINUTE);
    assert_eq!(rig.begun, ["sda"]);
    assert!(rig.now.0 + 7 * DAY < rig.standing("S0").reading.due.0);
}

#[test]
fn unknown_stale_and_missing_disks_are_never_green() {
    let mut rig = Rig::with_disks(1);
    let light = |rig: &Rig| rig.lights()[0].clone();
    assert_eq!(light(&rig).words, "1 unknown");
    rig.wait(HOUR);
    assert_eq!((light(&rig).colour, rig.standing("S0").health), (LightColour::Green, HealthState::Ok));
    rig.smart = SmartReading::Refused(SmartRefusal::NoPermission);
    rig.wait(DAY);
    assert_eq!(rig.standing("S0").health, HealthState::Unknown);
    rig.wait(DAY);
    assert!(rig.subjects()[0].contains("its state is not known"), "{:?}", rig.subjects());
    rig.feed(WatchEvent::DiskGone("sda".into()));
    assert_eq!(light(&rig).colour, LightColour::Red);
}

#[test]
fn a_replugged_disk_is_no_incident_and_a_disk_that_stays_missing_is() {
    let mut rig = Rig::with_disks(1);
    rig.wait(HOUR);
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(5 * MINUTE);
    rig.feed(WatchEvent::DiskSeen(disk("sdb", "S0")));
    rig.wait(HOUR);
    assert_eq!(rig.subjects(), [""; 0]);
    rig.feed(WatchEvent::DiskGone("sdb".into()));
    rig.wait(HOUR);
    assert_eq!(rig.subjects(), ["[nas1] MISSING a disk (S0): look at its cable and power first"]);
    rig.feed(WatchEvent::Command(PersonCommand::Forget(IncidentSubject::Disk(DiskKey("S0".into())))));
    rig.wait(HOUR);
    assert_eq!(rig.subjects().len(), 2, "it is over");
    assert!(rig.watch.status(rig.now).disks.is_empty() && !rig.rows.contains_key(&RowKey::Disk(DiskKey("S0".into()))));
}

#[test]
fn history_belongs_to_the_disk_and_not_to_its_name() {
    let mut rig = Rig::with_disks(2);
    rig.wait(HOUR);
    rig.feed(WatchEvent::Smart("sda".into(), pending(3)));
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.feed(WatchEvent::DiskGone("sdb".into()));
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S1")));
    rig.feed(WatchEvent::DiskSeen(disk("sdb", "S0")));
    rig.feed(WatchEvent::Tick);
    let standing = rig.standing("S0");
    assert_eq!((standing.name.as_deref(), standing.health), (Some("sdb"), HealthState::Watch), "rewritten since");
    assert_eq!(rig.standing("S1").health, HealthState::Ok);
}

#[test]
fn two_disks_with_the_same_serial_number_are_two_disks() {
    let mut rig = Rig::new(settings());
    rig.feed(WatchEvent::DiskSeen(disk("sda", "123456789")));
    rig.feed(WatchEvent::DiskSeen(disk("sdb", "123456789")));
    rig.wait(2 * DAY);
    assert_eq!(rig.begun.len(), 2);
    rig.finish("sdb", &[SectorRange::at(8, 8)]);
    assert_eq!(rig.standing("123456789").health, HealthState::Ok);
    assert_eq!(rig.standing("123456789@sdb").health, HealthState::Replace);
}

#[test]
fn an_incident_is_reported_in_one_thread_when_it_opens_grows_and_ends() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(8, 8)]);
    rig.wait(HOUR);
    assert_eq!(rig.subjects(), ["[nas1] REPLACE sda (S0): 8 unreadable sectors"]);
    rig.wait(DAY);
    assert_eq!(rig.subjects()[1], "[nas1] REPLACE sda (S0): 8 unreadable sectors (reminder 1)");
    rig.progress("sda", 8, &[SectorRange::at(8, 16)]);
    rig.wait(DAY + HOUR);
    assert_eq!(rig.subjects()[2], "[nas1] REPLACE sda (S0): 16 unreadable sectors");
    rig.finish("sda", &[]);
    rig.wait(HOUR);
    assert_eq!(rig.subjects()[3..], ["[nas1] resolved: REPLACE sda (S0): 16 unreadable sectors"]);
    let thread: Vec<&SentMessage> = rig.sent.iter().filter(|row| row.subject.contains("S0")).collect();
    assert!(thread[1..].iter().all(|row| row.reply_to.as_ref() == Some(&thread[0].id)) && thread[0].reply_to.is_none());
}

#[test]
fn an_accepted_sign_of_a_disk_sends_no_message_until_it_grows() {
    let mut rig = Rig::with_disks(1);
    rig.wait(HOUR);
    rig.smart = pending(1);
    rig.wait(DAY);
    let subject = IncidentSubject::Disk(DiskKey("S0".into()));
    rig.feed(WatchEvent::Command(PersonCommand::Accept(subject)));
    let before = rig.subjects().len();
    rig.wait(20 * DAY);
    assert_eq!(rig.subjects().len(), before);
    rig.smart = pending(2);
    rig.wait(2 * DAY);
    assert_eq!(rig.subjects().len(), before + 2, "grown, and a reminder a day later: {:?}", rig.subjects());
}

#[test]
fn several_disks_missing_at_once_behind_one_controller_are_one_message() {
    let mut rig = Rig::with_disks(5);
    rig.wait(HOUR);
    for name in ["sda", "sdb", "sdc", "sdd"] {
        rig.feed(WatchEvent::DiskGone(name.into()));
    }
    rig.wait(HOUR);
    assert_eq!(rig.subjects(), ["[nas1] REPLACE? 4 disks at once behind hba0"]);
    rig.wait(DAY);
    assert_eq!(rig.subjects().len(), 5, "each is reminded of by itself");
}

#[test]
fn quiet_hours_hold_notices_and_no_urgent_messages() {
    let quiet = Some(DailyHours { from: 22 * 60, to: 7 * 60 });
    let mut rig = Rig::new(WatchSettings { quiet, ..settings() });
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.wait(DAY);
    rig.smart = pending(1);
    rig.wait(5 * HOUR);
    let hour = |rig: &Rig| (rig.now.0 - START) / HOUR % 24;
    assert_eq!((hour(&rig), rig.subjects().len()), (5, 1), "growth of pending sectors is REPLACE");
    rig.feed(WatchEvent::DiskSeen(disk("sdb", "S1")));
    rig.feed(WatchEvent::Tick);
    rig.feed(WatchEvent::Smart(
        "sdb".into(),
        SmartReading::Facts(SmartFacts { used: Some(95), ..SmartFacts::default() }),
    ));
    let before = rig.smart.clone();
    rig.wait(HOUR);
    assert_eq!(rig.subjects().len(), 1, "a worn disk waits");
    rig.smart = before;
    rig.wait(90 * MINUTE);
    assert_eq!((hour(&rig), rig.sent.iter().filter(|row| row.urgency == Urgency::Notice).count() >= 1), (7, true));
}

#[test]
fn a_message_survives_a_server_that_is_down_for_days() {
    let mut rig = Rig::with_disks(1);
    rig.wait(HOUR);
    rig.is_up = false;
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(12 * HOUR);
    assert_eq!(rig.subjects(), [""; 0]);
    rig.restart(settings());
    rig.wait(2 * HOUR);
    rig.is_up = true;
    rig.wait(5 * HOUR);
    assert_eq!(rig.subjects(), ["[nas1] MISSING a disk (S0): look at its cable and power first"]);
    assert!(!rig.sent.iter().any(|row| row.may_be_repeated), "every attempt had failed");
}

#[test]
fn a_message_under_way_at_a_crash_is_sent_again_under_its_id_and_marked() {
    let mut rig = Rig::with_disks(1);
    rig.wait(HOUR);
    rig.watch.handle(rig.now, WatchEvent::Command(PersonCommand::TestAlerts));
    rig.watch.handle(rig.now, WatchEvent::Tick);
    let mut first = None;
    while let Some(op) = rig.watch.poll_op() {
        if let WatchOp::Send(row) = op {
            assert!(!row.may_be_repeated);
            first = Some(row.id.clone()); // it is sent, and then the power fails
        } else {
            rig.act(op, &mut VecDeque::new());
        }
    }
    rig.restart(settings());
    rig.wait(HOUR);
    let repeated = rig.sent.iter().find(|row| row.reason == MessageReason::Test).unwrap();
    assert_eq!((Some(&repeated.id), repeated.may_be_repeated), (first.as_ref(), true));
    rig.restart(settings());
    rig.wait(HOUR);
    assert_eq!(rig.sent.iter().filter(|row| row.reason == MessageReason::Test).count(), 1);
}

#[test]
fn channels_are_proven_by_a_code_and_unproven_ones_are_reported_by_the_others() {
    let two_channels = WatchSettings { channels: vec![channel("email"), channel("ntfy")], ..settings() };
    let mut rig = Rig::new(two_channels.clone());
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    rig.wait(HOUR);
    let code = |rig: &Rig, channel: &str| {
        let row = rig.sent.iter().rev().find(|row| row.channel == channel && row.subject.contains("code")).unwrap();
        row.subject.rsplit(' ').next().unwrap().to_owned()
    };
    let email_code = code(&rig, "email");
    rig.feed(WatchEvent::Command(PersonCommand::Confirm(email_code)));
    assert_eq!(rig.channel("email").proof(rig.now), ProofState::Proven(rig.now));
    assert_eq!(rig.lights()[3].colour, LightColour::Yellow);
    rig.wait(DAY);
    let messages: Vec<_> =
        rig.sent.iter().filter(|row| !row.about.is_empty()).map(|row| (&*row.channel, &*row.subject)).collect();
    assert_eq!(messages, [("email", "[nas1] NOTICE alerts by ntfy: never proven")]);
    // A test waits to be sent, and another is written: both have the right code.
    rig.is_up = false;
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    rig.wait(HOUR);
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    let subjects = |rig: &Rig| -> Vec<String> {
        let is_code = |row: &SentMessage| row.channel == "ntfy" && row.subject.contains("code");
        rig.waiting().into_iter().filter(is_code).map(|row| row.subject).collect()
    };
    let waiting = subjects(&rig);
    assert!(waiting.len() == 2 && waiting[0] == waiting[1], "{waiting:?}");
    rig.is_up = true;
    rig.wait(5 * HOUR);
    assert_eq!(subjects(&rig), [""; 0]);
    let ntfy_code = code(&rig, "ntfy");
    rig.feed(WatchEvent::Command(PersonCommand::Confirm(ntfy_code)));
    assert!(matches!(rig.channel("ntfy").proof(rig.now), ProofState::Proven(_)));
    // With other settings the channel is no longer proven.
    let mut changed = two_channels;
    changed.channels[0].fingerprint = 2;
    rig.feed(WatchEvent::Settings(Box::new(changed)));
    assert_eq!(rig.channel("email").proof(rig.now), ProofState::Never);
}

#[test]
fn a_proof_of_another_machine_counts_from_its_day_on_and_never_before() {
    let mut rig = Rig::with_disks(1);
    let proven = |rig: &Rig| rig.channel("email").proven;
    let set = |rig: &mut Rig, on: UnixSeconds| {
        let mut settings = settings();
        settings.channels[0].proven_elsewhere = Some(on);
        rig.feed(WatchEvent::Settings(Box::new(settings)));
    };
    let before = proven(&rig);
    let to_come = UnixSeconds(rig.now.0 + DAY);
    set(&mut rig, to_come);
    assert_eq!(proven(&rig), before, "a date to come proves nothing");
    let (now, earlier) = (rig.now, UnixSeconds(rig.now.0 - DAY));
    set(&mut rig, now);
    assert_eq!(proven(&rig), Some(now));
    set(&mut rig, earlier);
    assert_eq!(proven(&rig), Some(now), "the newest holds");
}

#[test]
fn the_report_comes_each_month_with_a_code_that_renews_the_proof() {
    let mut rig = Rig::with_disks(1);
    rig.wait(70 * DAY);
    let reports: Vec<&SentMessage> = rig.sent.iter().filter(|row| row.reason == MessageReason::Report).collect();
    assert_eq!(reports.len(), 2);
    assert!(reports.iter().all(|row| row.body.contains("scrubjay alert confirm ")));
    let code = reports[1].body.rsplit(' ').next().unwrap().to_owned();
    rig.feed(WatchEvent::Command(PersonCommand::Confirm(code)));
    assert_eq!(rig.channel("email").proof(rig.now), ProofState::Proven(rig.now));
    assert!((69..=71).contains(&rig.heartbeats), "{}", rig.heartbeats);
}

#[test]
fn every_message_about_a_degraded_array_gives_its_days_also_after_a_restart() {
    let mut rig = Rig::with_disks(3);
    let mut facts = array(&["sda", "sdb", "sdc"]);
    facts.members[0].is_in_sync = false;
    rig.feed(WatchEvent::ArraySeen(facts.clone()));
    rig.wait(7 * DAY);
    rig.restart(settings());
    rig.wait(MINUTE);
    rig.feed(WatchEvent::ArraySeen(facts));
    (b'a'..=b'c').for_each(|letter| {
        let letter = char::from(letter);
        rig.feed(WatchEvent::DiskSeen(disk(&format!("sd{letter}"), &format!("S{}", letter as u8 - b'a'))));
    });
    rig.wait(90 * DAY);
    let messages: Vec<&SentMessage> =
        rig.sent.iter().filter(|row| row.about.iter().any(|key| key.kind == IncidentKind::Degraded)).collect();
    let days: Vec<&str> = messages.iter().map(|row| row.body.lines().next().unwrap()).collect();
    assert_eq!(messages.len(), 8, "opened, and after 1, 3, 7, 15, 31, 63, 95 days: {days:?}");
    assert!(days[0].starts_with("Found "), "of the first day no count of days is told: {days:?}");
    assert!(days[6].starts_with("Degraded for 63 days") && messages[6].subject.ends_with("for 63 days (reminder 6)"));
    assert!(messages.iter().all(|row| row.urgency == Urgency::Loss), "the next failure loses data");
}

#[test]
fn a_stripe_that_is_bad_on_two_disks_is_reported_with_its_number() {
    let mut rig = Rig::with_disks(3);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb", "sdc"])));
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(5 * 1024, 8)]);
    rig.finish("sdb", &[SectorRange::at(5 * 1024 + 100, 8)]);
    rig.wait(HOUR);
    let message = rig.sent.iter().find(|row| row.about.iter().any(|key| key.kind == IncidentKind::Stripes)).unwrap();
    assert_eq!(
        (&*message.subject, message.urgency),
        ("[nas1] DATA AT RISK array tank: 1 stripe may not be rebuilt", Urgency::Loss)
    );
    assert!(message.body.contains("Stripe    5: unreadable on sda, sdb"), "{}", message.body);
    assert_eq!(rig.lights()[1].colour, LightColour::Red);
}

#[test]
fn a_clock_set_back_a_day_loses_nothing_and_repeats_nothing() {
    let mut rig = Rig::with_disks(2);
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(8, 8)]);
    rig.wait(12 * HOUR);
    let before = rig.subjects().len();
    rig.now = UnixSeconds(rig.now.0 - DAY);
    rig.wait(HOUR);
    assert_eq!(rig.subjects().len(), before);
    assert!(rig.standing("S0").reading.due.0 <= rig.now.0 + 35 * DAY, "no date lies in the future");
    rig.wait(DAY);
    assert_eq!(rig.subjects().len(), before + 1, "the reminder: {:?}", rig.subjects());
}

#[test]
fn messages_waiting_for_a_removed_channel_are_sent_by_the_one_in_its_place() {
    let mut rig = Rig::with_disks(1);
    rig.wait(HOUR);
    rig.is_up = false;
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(HOUR);
    rig.is_up = true;
    rig.feed(WatchEvent::Settings(Box::new(WatchSettings { channels: vec![channel("ntfy")], ..settings() })));
    rig.wait(HOUR);
    let messages: Vec<_> =
        rig.sent.iter().filter(|row| !row.about.is_empty()).map(|row| (&*row.channel, row.reason)).collect();
    assert_eq!(messages, [("ntfy", MessageReason::Opened)]);
}

#[test]
fn incidents_from_before_there_is_a_channel_are_reported_when_there_is_one() {
    let mut rig = Rig::new(WatchSettings { channels: Vec::new(), ..settings() });
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.wait(HOUR);
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(10 * DAY);
    assert_eq!(rig.lights()[3].words, "no alert can reach you");
    rig.feed(WatchEvent::Settings(Box::new(settings())));
    rig.wait(HOUR);
    assert_eq!(rig.subjects(), ["[nas1] MISSING a disk (S0): look at its cable and power first"]);
}

#[test]
fn a_disk_that_answers_but_not_to_reads_is_tried_again_and_reported() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    for _ in 0..3 {
        let report = rig.report("sda", 0, &[]);
        rig.news("sda", SessionNews::Failed(report));
        assert!(matches!(rig.standing("S0").reading.held, Some(HoldBack::NoReads(_))));
        rig.wait(7 * HOUR);
    }
    assert_eq!((rig.begun.len(), rig.standing("S0").health), (4, HealthState::Replace));
    assert_eq!(rig.subjects(), ["[nas1] REPLACE sda (S0): it answers, but no reads (3 attempts)"]);
}

#[test]
fn a_session_that_could_not_begin_is_tried_again_and_leaves_the_disks_health_as_it_was() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    let before = rig.standing("S0").health;
    rig.feed(WatchEvent::Session(on("sda"), SessionNews::Refused("the state folder is full".into())));
    rig.running.clear();
    let held = rig.standing("S0").reading.held.expect("it waits");
    assert!(matches!(&held, HoldBack::Refused(SessionFault::Said(why), again)
            if why.contains("full") && again.0 == rig.now.0 + HOUR));
    rig.wait(2 * HOUR);
    assert_eq!((rig.begun.len(), rig.standing("S0").reading.held), (2, None));
    assert_eq!(rig.standing("S0").health, before);
}

#[test]
fn every_message_is_short() {
    let mut rig = Rig::with_disks(30);
    rig.wait(2 * DAY);
    let many: Vec<SectorRange> = (0..300).map(|run| SectorRange::at(run * 1000, 8)).collect();
    let attributes = [5, 187, 188, 197, 198, 199].map(|id| AtaAttribute::usual(id, 9)).to_vec();
    let facts = SmartFacts { passed: Some(false), attributes, is_self_test_failed: true, ..SmartFacts::default() };
    rig.smart = SmartReading::Facts(facts);
    rig.finish("sda", &many);
    rig.wait(40 * DAY);
    assert!(rig.sent.len() > 30, "{}", rig.sent.len());
    for row in &rig.sent {
        assert!(row.subject.chars().count() <= SUBJECT_MAX && row.body.lines().count() <= LINES_MAX, "{row:?}");
    }
}
