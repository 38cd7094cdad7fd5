//! A pump that sees nothing of its machine, and a machine that says so.

use super::rig::*;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{DAY, HOUR, UtcCalendar};
use scrubjay_watch::events::{PersonCommand, WatchEvent};
use scrubjay_watch::incident::MessageReason;
use scrubjay_watch::status::LightColour;
use scrubjay_words::LINES_MAX;
use scrubjay_words::show_time;

/// A rig of which all is well: its disk was read, its alerts are proven.
fn rig_that_is_well() -> Rig {
    let mut rig = Rig::with_disks(1);
    rig.feed(WatchEvent::ArraysKnown(true));
    rig.wait_for("sda");
    rig.finish("sda", &[]);
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    rig.wait(HOUR);
    let test = rig.sent.iter().rev().find(|row| row.reason == MessageReason::Test).unwrap();
    let code = test.subject.rsplit(' ').next().unwrap().to_owned();
    rig.feed(WatchEvent::Command(PersonCommand::Confirm(code)));
    rig.wait(HOUR);
    assert!(sentence(&rig).starts_with("All is well"), "{}", sentence(&rig));
    rig
}

fn sentence(rig: &Rig) -> String {
    rig.sentence()
}

fn reports(rig: &Rig) -> Vec<&SentMessage> {
    rig.sent.iter().filter(|row| row.reason == MessageReason::Report).collect()
}

/// The words of a message with this date.
fn since(at: UnixSeconds) -> String {
    format!("The watch has not been able to check the disks of this machine since {}", show_time(&UtcCalendar, at))
}

#[test]
fn no_report_of_a_blind_watch_says_that_all_is_well() {
    let mut rig = rig_that_is_well();
    rig.wait(22 * DAY);
    assert!(reports(&rig)[0].subject.contains("All is well"), "{:?}", reports(&rig));
    let mut rig = rig_that_is_well();
    rig.wait(5 * DAY);
    let last_seen = UnixSeconds(rig.now.0 - HOUR);
    rig.feed(WatchEvent::Blind(Some(last_seen)));
    rig.wait(17 * DAY);
    let reports = reports(&rig);
    let [report] = &reports[..] else { panic!("{reports:?}") };
    for text in [&report.subject, &report.body] {
        assert!(text.contains(&since(last_seen)) && !text.contains("All is well"), "{text}");
    }
    assert_eq!(report.body.matches("has not been able to check").count(), 1, "{}", report.body);
    assert!(report.body.contains("not known now; was: 1 ok"), "{}", report.body);
    rig.feed(WatchEvent::Blind(None));
    assert!(sentence(&rig).starts_with("All is well"), "{}", sentence(&rig));
}

#[test]
fn of_a_machine_of_which_nothing_is_seen_no_light_is_green_but_that_of_alerts() {
    let mut rig = rig_that_is_well();
    rig.feed(WatchEvent::Blind(Some(rig.now)));
    let (status, lights) = (rig.watch.status(rig.now), rig.lights());
    assert!(lights[..3].iter().all(|light| light.colour != LightColour::Green), "{lights:?}");
    assert_eq!((lights[3].colour, status.to_do.first), (LightColour::Green, vec![]));
}

#[test]
fn messages_of_a_blind_watch_say_since_when_it_is_and_stay_short() {
    let mut rig = rig_that_is_well();
    rig.smart = pending(1);
    rig.wait(DAY);
    let last_seen = rig.now;
    rig.feed(WatchEvent::Blind(Some(last_seen)));
    let before = rig.sent.len();
    rig.smart = pending(40);
    rig.wait(2 * DAY);
    rig.feed(WatchEvent::Command(PersonCommand::TestAlerts));
    rig.wait(HOUR);
    let sent = &rig.sent[before..];
    assert!(sent.len() > 1, "{sent:?}");
    for row in sent {
        assert!(row.body.contains(&since(last_seen)) && row.body.lines().count() <= LINES_MAX, "{}", row.body);
        assert!(!row.body.contains("Nothing is wrong"), "{}", row.body);
    }
    assert!(sentence(&rig).contains(" Besides, 1 problem: REPLACE "), "{}", sentence(&rig));
}

#[test]
fn nothing_was_seen_last_in_the_future() {
    let mut rig = rig_that_is_well();
    rig.feed(WatchEvent::Blind(Some(UnixSeconds(rig.now.0 + DAY))));
    assert!(sentence(&rig).starts_with(&since(rig.now)), "{}", sentence(&rig));
    rig.now = UnixSeconds(rig.now.0 - DAY);
    rig.wait(HOUR);
    assert!(sentence(&rig).starts_with(&since(UnixSeconds(rig.now.0 - HOUR))), "{}", sentence(&rig));
}
