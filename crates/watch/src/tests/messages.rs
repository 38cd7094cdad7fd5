//! Channels that are added and removed, and several incidents at once.

use super::rig::*;
use crate::calendar::{DAY, HOUR, MINUTE};
use crate::events::{PersonCommand, WatchEvent};
use crate::facts::*;
use crate::incident::{IncidentKind, MessageReason};
use crate::rows::{MessageRow, RowKey, WatchRow};
use crate::settings::WatchSettings;

fn with_channels(names: &[&str]) -> WatchEvent {
    let channels = names.iter().map(|name| channel(name)).collect();
    WatchEvent::Settings(Box::new(WatchSettings { channels, ..settings() }))
}

/// The messages about disks that came by a channel, in their order.
fn by<'r>(rig: &'r Rig, channel: &str) -> Vec<&'r MessageRow> {
    let is_it = |row: &&MessageRow| row.channel == channel && row.subject.contains("S0") && !row.about.is_empty();
    rig.sent.iter().filter(is_it).collect()
}

#[test]
fn a_channel_that_is_new_hears_what_is_open() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.down = Some("email".into());
    rig.tell(WatchEvent::DiskGone("sda".into()));
    rig.wait(32 * DAY);
    rig.tell(with_channels(&["email", "ntfy"]));
    rig.wait(HOUR);
    let told = by(&rig, "ntfy");
    assert_eq!(told.len(), 1, "at once, and once");
    assert_eq!(
        (told[0].reason, &*told[0].subject),
        (MessageReason::Opened, "[nas1] REPLACE a disk (S0): it is missing")
    );
    rig.restart(WatchSettings { channels: vec![channel("email"), channel("ntfy")], ..settings() });
    rig.wait(HOUR);
    assert_eq!(by(&rig, "ntfy").len(), 1, "nor again after a start");
    rig.wait(40 * DAY);
    assert_eq!(by(&rig, "ntfy")[1].reason, MessageReason::Reminder(6), "and then as the others do");
}

#[test]
fn many_open_problems_are_one_message_to_a_new_channel() {
    let mut rig = Rig::with_disks(5);
    rig.wait(HOUR);
    for name in ["sda", "sdb", "sdc", "sdd"] {
        rig.tell(WatchEvent::DiskGone(name.into()));
    }
    rig.wait(HOUR);
    rig.tell(with_channels(&["email", "ntfy"]));
    rig.wait(HOUR);
    let told: Vec<_> = rig.sent.iter().filter(|row| row.channel == "ntfy").collect();
    assert_eq!((told.len(), told[0].about.len()), (1, 4));
    assert_eq!(told[0].subject, "[nas1] 4 problems are open: REPLACE a disk (S0): it is missing");
    assert!(told[0].body.contains("- REPLACE a disk (S3): it is missing (since "), "{}", told[0].body);
}

#[test]
fn what_waits_between_two_channels_is_not_lost() {
    let mut rig = Rig::with_disks(2);
    rig.wait(2 * DAY);
    rig.is_up = false;
    rig.tell(WatchEvent::DiskGone("sda".into()));
    rig.tell(WatchEvent::DiskGone("sdb".into()));
    rig.wait(9 * DAY); // reminders wait, too
    rig.tell(WatchEvent::DiskSeen(disk("sdb", "S1")));
    rig.tell(WatchEvent::Tick);
    rig.tell(with_channels(&[]));
    rig.wait(MINUTE);
    rig.is_up = true;
    rig.restart(WatchSettings { channels: vec![], ..settings() });
    rig.tell(WatchEvent::DiskSeen(disk("sdb", "S1")));
    rig.wait(MINUTE);
    rig.tell(with_channels(&["ntfy", "sms"]));
    let then = rig.now;
    rig.wait(HOUR);
    for channel in ["ntfy", "sms"] {
        let told = by(&rig, channel);
        assert_eq!(told.len(), 1);
        assert!(told[0].written >= then && told[0].reason == MessageReason::Opened, "as it is now");
        let other: Vec<_> =
            rig.sent.iter().filter(|row| row.channel == channel && row.subject.contains("S1")).collect();
        let other: Vec<_> = other.iter().map(|row| row.reason).collect();
        assert_eq!(other, [MessageReason::Resolved], "that it is over was on its way");
    }
}

#[test]
fn that_something_is_over_overtakes_nothing() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.is_up = false;
    rig.tell(WatchEvent::DiskGone("sda".into()));
    rig.wait(30 * HOUR);
    rig.is_up = true;
    rig.tell(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.wait(2 * MINUTE);
    let told: Vec<_> = by(&rig, "email").iter().map(|row| row.reason).collect();
    assert_eq!(told, [MessageReason::Opened, MessageReason::Reminder(1), MessageReason::Resolved]);
}

#[test]
fn what_many_disks_have_is_said_and_only_what_may_have_one_cause_blames_the_controller() {
    let mut rig = Rig::with_disks(4);
    rig.smart = SmartReading::Refused(SmartRefusal::NoProgram);
    rig.wait(2 * DAY);
    let told = rig.sent.iter().find(|row| row.about.iter().any(|key| key.kind == IncidentKind::Unknown)).unwrap();
    assert_eq!(told.subject, "[nas1] NOTICE 4 disks: nobody knows how they are");
    assert!(told.body.contains("install smartctl") && told.body.contains("(S3)"), "{}", told.body);
    let mut rig = Rig::with_disks(4);
    rig.wait(2 * DAY);
    ["sda", "sdb", "sdc", "sdd"].iter().for_each(|name| rig.finish(name, &[]));
    rig.wait(10 * DAY);
    rig.tell(WatchEvent::Settings(Box::new(WatchSettings { every: 10 * DAY, ..settings() })));
    rig.wait(HOUR);
    assert_eq!(rig.subjects(), ["[nas1] NOTICE 4 disks: some sectors are unread, and due"]);
}

#[test]
fn a_thousand_disks_that_vanish_are_one_message_and_so_are_their_reminders() {
    let mut rig = Rig::new(settings());
    for number in 0..1000 {
        let facts = DiskFacts { controller: None, ..disk(&format!("d{number}"), &format!("K{number}")) };
        rig.tell(WatchEvent::DiskSeen(facts));
    }
    rig.wait(HOUR);
    (0..1000).for_each(|number| rig.watch.handle(rig.now, WatchEvent::DiskGone(format!("d{number}"))));
    rig.wait(HOUR);
    assert_eq!(rig.subjects(), ["[nas1] REPLACE? 1000 disks at once"]);
    rig.wait(DAY);
    assert_eq!(rig.subjects()[1..], ["[nas1] REPLACE? 1000 disks at once (reminder 1)"]);
}

#[test]
fn a_channel_that_is_new_does_not_hear_that_something_is_over_of_which_it_never_heard() {
    let mut rig = Rig::with_disks(2);
    rig.tell(WatchEvent::ArraySeen(array(&["sda", "sdb"])));
    let mut degraded = array(&["sda", "sdb"]);
    degraded.members[1].is_in_sync = false;
    rig.tell(WatchEvent::ArraySeen(degraded));
    rig.wait(HOUR);
    // The machine was off when the channel was added, and the array was complete again before it was on.
    let with_pager = WatchSettings { channels: vec![channel("email"), channel("pager")], ..settings() };
    rig.restart(with_pager);
    for number in 0..2 {
        let name = ["sda", "sdb"][number];
        rig.tell(WatchEvent::DiskSeen(disk(name, &format!("S{number}"))));
    }
    rig.tell(WatchEvent::ArraySeen(array(&["sda", "sdb"])));
    rig.wait(HOUR);
    let over: Vec<&str> =
        rig.sent.iter().filter(|row| row.reason == MessageReason::Resolved).map(|row| &*row.channel).collect();
    assert_eq!(over, ["email"]);
}

/// Somebody has taken over the page or the socket, and guesses codes.
#[test]
fn a_code_is_not_guessed_and_after_ten_wrong_ones_it_is_void() {
    let mut rig = Rig::new(WatchSettings { channels: vec![channel("email"), channel("ntfy")], ..settings() });
    rig.tell(WatchEvent::Command(PersonCommand::TestAlerts));
    rig.tell(WatchEvent::Tick);
    let code = |rig: &Rig, at: usize| rig.watch.status(rig.now).channels[at].code.clone();
    let confirm = |rig: &mut Rig, code: &str| rig.tell(WatchEvent::Command(PersonCommand::Confirm(code.into())));
    let wrong = |rig: &mut Rig, times: usize| (0..times).for_each(|_| confirm(rig, "no code"));
    wrong(&mut rig, 9);
    let first = code(&rig, 0).expect("nine wrong ones are a person who mistypes");
    confirm(&mut rig, &first);
    let proven = |rig: &Rig, at: usize| rig.watch.status(rig.now).channels[at].proven.is_some();
    assert!(proven(&rig, 0));
    let second = code(&rig, 1).expect("that was one's, and the other has its own");
    wrong(&mut rig, 1);
    assert_eq!(code(&rig, 1), None, "the tenth voids it");
    confirm(&mut rig, &second);
    assert!(!proven(&rig, 1), "also for who has it right then");
    let kept = &rig.rows[&RowKey::Channel("ntfy".into())];
    assert!(matches!(kept, WatchRow::Channel(row) if row.code.is_none()), "and after a restart");
    // While a test waits to be sent it keeps its code, and wrong guesses count on.
    rig.is_up = false;
    rig.tell(WatchEvent::Command(PersonCommand::TestAlerts));
    rig.tell(WatchEvent::Tick);
    let waits = code(&rig, 1);
    wrong(&mut rig, 9);
    rig.tell(WatchEvent::Command(PersonCommand::TestAlerts));
    assert!(waits.is_some() && code(&rig, 1) == waits);
    wrong(&mut rig, 1);
    assert_eq!(code(&rig, 1), None);
    rig.tell(WatchEvent::Command(PersonCommand::TestAlerts));
    wrong(&mut rig, 9);
    let third = code(&rig, 1).expect("a new one has its own ten");
    confirm(&mut rig, &third);
    assert!(proven(&rig, 1));
}
