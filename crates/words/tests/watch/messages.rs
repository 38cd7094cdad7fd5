//! Channels that are added and removed, and several incidents at once.

use super::rig::*;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{DAY, HOUR, MINUTE};
use scrubjay_watch::events::{PersonCommand, WatchEvent};
use scrubjay_watch::facts::*;
use scrubjay_watch::incident::{IncidentKind, IncidentSubject, MessageReason};
use scrubjay_watch::loss::{HistoryLoss, LossKind};
use scrubjay_watch::rows::{RowKey, WatchRow};
use scrubjay_watch::settings::WatchSettings;

fn with_channels(names: &[&str]) -> WatchEvent {
    let channels = names.iter().map(|name| channel(name)).collect();
    WatchEvent::Settings(Box::new(WatchSettings { channels, ..settings() }))
}

/// The messages about disks that came by a channel, in their order.
fn messages_by<'r>(rig: &'r Rig, channel: &str) -> Vec<&'r SentMessage> {
    let is_match = |row: &&SentMessage| row.channel == channel && row.subject.contains("S0") && !row.about.is_empty();
    rig.sent.iter().filter(is_match).collect()
}

#[test]
fn a_new_channel_gets_the_open_incidents() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.down_channel = Some("email".into());
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(32 * DAY);
    rig.feed(with_channels(&["email", "ntfy"]));
    rig.wait(HOUR);
    let messages = messages_by(&rig, "ntfy");
    assert_eq!(messages.len(), 1, "at once, and once");
    assert_eq!(
        (messages[0].reason, &*messages[0].subject),
        (MessageReason::Opened, "[nas1] MISSING a disk (S0): look at its cable and power first")
    );
    rig.restart(WatchSettings { channels: vec![channel("email"), channel("ntfy")], ..settings() });
    rig.wait(HOUR);
    assert_eq!(messages_by(&rig, "ntfy").len(), 1, "nor again after a start");
    rig.wait(40 * DAY);
    assert_eq!(messages_by(&rig, "ntfy")[1].reason, MessageReason::Reminder(6), "and then as the others do");
}

#[test]
fn many_open_problems_are_one_message_to_a_new_channel() {
    let mut rig = Rig::with_disks(5);
    rig.wait(HOUR);
    for name in ["sda", "sdb", "sdc", "sdd"] {
        rig.feed(WatchEvent::DiskGone(name.into()));
    }
    rig.wait(HOUR);
    rig.feed(with_channels(&["email", "ntfy"]));
    rig.wait(HOUR);
    let messages: Vec<_> = rig.sent.iter().filter(|row| row.channel == "ntfy").collect();
    assert_eq!((messages.len(), messages[0].about.len()), (1, 4));
    assert_eq!(
        messages[0].subject,
        "[nas1] 4 problems are open: MISSING a disk (S0): look at its cable and power first"
    );
    assert!(
        messages[0].body.contains("- MISSING a disk (S3): look at its cable and power first (since "),
        "{}",
        messages[0].body
    );
}

#[test]
fn messages_that_wait_while_channels_are_replaced_are_not_lost() {
    let mut rig = Rig::with_disks(2);
    rig.wait(2 * DAY);
    rig.is_up = false;
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.feed(WatchEvent::DiskGone("sdb".into()));
    rig.wait(9 * DAY); // reminders wait, too
    rig.feed(WatchEvent::DiskSeen(disk("sdb", "S1")));
    rig.feed(WatchEvent::Tick);
    rig.feed(with_channels(&[]));
    rig.wait(MINUTE);
    rig.is_up = true;
    rig.restart(WatchSettings { channels: vec![], ..settings() });
    rig.feed(WatchEvent::DiskSeen(disk("sdb", "S1")));
    rig.wait(MINUTE);
    rig.feed(with_channels(&["ntfy", "sms"]));
    let added = rig.now;
    rig.wait(HOUR);
    for channel in ["ntfy", "sms"] {
        let messages = messages_by(&rig, channel);
        assert_eq!(messages.len(), 1);
        assert!(messages[0].written >= added && messages[0].reason == MessageReason::Opened, "as it is now");
        let s1_messages: Vec<_> =
            rig.sent.iter().filter(|row| row.channel == channel && row.subject.contains("S1")).collect();
        let s1_reasons: Vec<_> = s1_messages.iter().map(|row| row.reason).collect();
        assert_eq!(s1_reasons, [MessageReason::Resolved], "that it is over was on its way");
    }
}

#[test]
fn a_resolved_message_does_not_overtake_earlier_messages() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.is_up = false;
    rig.feed(WatchEvent::DiskGone("sda".into()));
    rig.wait(30 * HOUR);
    rig.is_up = true;
    rig.feed(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.wait(2 * MINUTE);
    let reasons: Vec<_> = messages_by(&rig, "email").iter().map(|row| row.reason).collect();
    assert_eq!(reasons, [MessageReason::Opened, MessageReason::Reminder(1), MessageReason::Resolved]);
}

#[test]
fn problems_without_a_common_cause_are_named_and_do_not_blame_the_controller() {
    let mut rig = Rig::with_disks(4);
    rig.smart = SmartReading::Refused(SmartRefusal::NoProgram);
    rig.wait(2 * DAY);
    let message = rig.sent.iter().find(|row| row.about.iter().any(|key| key.kind == IncidentKind::Unknown)).unwrap();
    assert_eq!(message.subject, "[nas1] NOTICE 4 disks: their state is not known");
    assert!(message.body.contains("install smartctl") && message.body.contains("(S3)"), "{}", message.body);
    let mut rig = Rig::with_disks(4);
    rig.wait(2 * DAY);
    ["sda", "sdb", "sdc", "sdd"].iter().for_each(|name| rig.finish(name, &[]));
    rig.wait(10 * DAY);
    rig.feed(WatchEvent::Settings(Box::new(WatchSettings { every: 10 * DAY, ..settings() })));
    rig.wait(HOUR);
    assert_eq!(rig.subjects(), ["[nas1] NOTICE 4 disks: some sectors are not read yet, and due"]);
}

#[test]
fn a_thousand_disks_that_vanish_are_one_message_and_so_are_their_reminders() {
    let mut rig = Rig::new(settings());
    for number in 0..1000 {
        let facts = DiskFacts { controller: None, ..disk(&format!("d{number}"), &format!("K{number}")) };
        rig.feed(WatchEvent::DiskSeen(facts));
    }
    rig.wait(HOUR);
    (0..1000).for_each(|number| rig.watch.handle(rig.now, WatchEvent::DiskGone(format!("d{number}"))));
    rig.wait(HOUR);
    assert_eq!(rig.subjects(), ["[nas1] REPLACE? 1000 disks at once"]);
    rig.wait(DAY);
    assert_eq!(rig.subjects()[1..], ["[nas1] REPLACE? 1000 disks at once (reminder 1)"]);
}

#[test]
fn a_new_channel_gets_no_resolved_message_of_an_incident_it_never_reported() {
    let mut rig = Rig::with_disks(2);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb"])));
    let mut degraded = array(&["sda", "sdb"]);
    degraded.members[1].is_in_sync = false;
    rig.feed(WatchEvent::ArraySeen(degraded));
    rig.wait(HOUR);
    // The machine was off when the channel was added, and the array was complete again before it was on.
    let with_pager = WatchSettings { channels: vec![channel("email"), channel("pager")], ..settings() };
    rig.restart(with_pager);
    for number in 0..2 {
        let name = ["sda", "sdb"][number];
        rig.feed(WatchEvent::DiskSeen(disk(name, &format!("S{number}"))));
    }
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb"])));
    rig.wait(HOUR);
    let channels: Vec<&str> =
        rig.sent.iter().filter(|row| row.reason == MessageReason::Resolved).map(|row| &*row.channel).collect();
    assert_eq!(channels, ["email"]);
}

/// Somebody has taken over the page or the socket, and guesses codes.
#[test]
fn a_code_cannot_be_guessed_because_ten_wrong_ones_void_it() {
    let mut rig = Rig::new(WatchSettings { channels: vec![channel("email"), channel("ntfy")], ..settings() });
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    rig.feed(WatchEvent::Tick);
    let code = |rig: &Rig, at: usize| rig.watch.status(rig.now).channels[at].code.clone();
    let confirm = |rig: &mut Rig, code: &str| rig.feed(WatchEvent::Command(PersonCommand::Confirm(code.into())));
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
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    rig.feed(WatchEvent::Tick);
    let waiting_code = code(&rig, 1);
    wrong(&mut rig, 9);
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    assert!(waiting_code.is_some() && code(&rig, 1) == waiting_code);
    wrong(&mut rig, 1);
    assert_eq!(code(&rig, 1), None);
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    wrong(&mut rig, 9);
    let third = code(&rig, 1).expect("a new one has its own ten");
    confirm(&mut rig, &third);
    assert!(proven(&rig, 1));
}

#[test]
fn a_lost_history_is_told_until_a_person_has_taken_note_and_then_is_over_without_a_word() {
    let mut rig = Rig::with_disks(1);
    let loss = HistoryLoss {
        at: UnixSeconds(0),
        kind: LossKind::Damaged,
        aside: Some("/x/history.db.aside-1".into()),
        is_rebuilt: false,
    };
    rig.feed(WatchEvent::HistoryLost(loss));
    rig.wait(HOUR);
    assert_eq!(
        rig.subjects_of(0, IncidentKind::History),
        ["[nas1] NOTICE the watch's own history: its file was damaged"]
    );
    let body = &rig.sent.last().unwrap().body;
    assert!(
        body.contains("Aside     /x/history.db.aside-1") && body.contains("sudo scrubjay accept history"),
        "{body}"
    );
    rig.restart(settings());
    rig.wait(3 * DAY);
    let before = rig.sent.len();
    assert!(rig.subjects_of(0, IncidentKind::History).len() > 1, "there are reminders");
    rig.feed(WatchEvent::Command(PersonCommand::Accept(IncidentSubject::Watch)));
    rig.wait(60 * DAY);
    assert_eq!(rig.subjects_of(before, IncidentKind::History), [""; 0]);
    assert!(rig.watch.status(rig.now).incidents.iter().all(|row| row.key.kind != IncidentKind::History));
}

#[test]
fn a_recipient_who_is_refused_for_good_is_told_by_all_channels_and_stands_in_the_light_until_all_are_reached() {
    let mut rig = Rig::with_disks(1);
    let refused = vec![("you@example.org".to_owned(), "550 no such user".to_owned())];
    rig.feed(WatchEvent::Recipients("email".into(), refused));
    rig.wait(HOUR);
    let told = rig.subjects_of(0, IncidentKind::Recipients);
    assert_eq!(told[0], "[nas1] NOTICE alerts by email do not reach you@example.org: 550 no such user");
    assert_eq!(
        told.len(),
        rig.watch.status(rig.now).channels.len(),
        "by itself to the others, and by the other channels"
    );
    let alerts = rig.lights()[3].clone();
    assert!(alerts.words.contains("not for you@example.org"), "{}", alerts.words);
    rig.restart(settings());
    assert!(rig.lights()[3].words.contains("not for you@example.org"), "also after a restart");
    let before = rig.sent.len();
    rig.feed(WatchEvent::Recipients("email".into(), Vec::new()));
    rig.wait(HOUR);
    assert!(!rig.subjects_of(before, IncidentKind::Recipients).is_empty(), "that it is over is told");
    assert!(rig.watch.status(rig.now).incidents.iter().all(|row| row.key.kind != IncidentKind::Recipients));
    assert!(!rig.lights()[3].words.contains("not for"));
}
