//! Channels tested with scripted servers and programs.

mod http;
mod mail;
mod program;
mod settings;

use super::*;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::facts::{DiskFacts, DiskKey, MediaKind};
use scrubjay_watch::incident::{IncidentKey, IncidentKind, IncidentSubject, MessageReason, Urgency};

/// Parses settings as a person writes them.
fn settings(text: &str) -> ChannelSettings {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

fn channels(text: &str) -> AlertChannels {
    AlertChannels::from_settings(&settings(text)).unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn a_proof_of_another_machine_is_taken_for_the_same_settings_and_a_way_that_is_the_same() {
    let proven = |channel: &str, proofs: &str| {
        let rows = channels(&format!("proofs = {proofs}\n{channel}")).for_watch();
        (rows[0].fingerprint, rows[0].proven_elsewhere)
    };
    let mail = |server: &str| format!("[email]\nto = [\"a@example.org\"]\nserver = \"{server}\"\n");
    for (channel, name, is_shared) in [
        (mail("smtp.example.org"), "email", true),
        (mail("localhost:2525"), "email", false),
        ("[exec]\nprogram = \"/bin/true\"\n".to_owned(), "exec", false),
        ("[ntfy]\nurl = \"https://ntfy.example.org/a-topic\"\n".to_owned(), "ntfy", true),
        ("[webhook]\nurl = \"http://127.0.0.1:9/x\"\n".to_owned(), "webhook", false),
    ] {
        let (fingerprint, none) = proven(&channel, "[]");
        assert_eq!(none, None);
        let line = format!("[\"{name} {fingerprint:016x} 2026-11-29\"]");
        let expected = is_shared.then_some(UnixSeconds(1_795_910_400));
        assert_eq!(proven(&channel, &line), (fingerprint, expected), "{channel}");
        let other = format!("[\"{name} {:016x} 2026-11-29\"]", fingerprint ^ 1);
        assert_eq!(proven(&channel, &other), (fingerprint, None), "other settings");
    }
    // Not every machine that tests has one.
    assert!(is_of_this_machine(&sendmail::SendmailRoute("/usr/sbin/sendmail".into()).peer()));
}

fn fault(text: &str) -> String {
    AlertChannels::from_settings(&settings(text)).expect_err("it is wrong").to_string()
}

fn message(channel: &str) -> MessageRow {
    let key = DiskKey("ZL2ABCDE".to_owned());
    MessageRow {
        number: 7,
        channel: channel.to_owned(),
        id: format!("<scrubjay-7.{channel}@nas1>"),
        reply_to: None,
        reason: MessageReason::Opened,
        about: vec![IncidentKey { subject: IncidentSubject::Disk(key), kind: IncidentKind::Health }],
        urgency: Urgency::Replace,
        letter: None,
        written: UnixSeconds(1_773_286_860),
        attempts: 0,
        next_attempt: UnixSeconds(0),
        is_under_way: true,
        may_be_repeated: false,
    }
}

/// What the message says.
fn text() -> MessageText {
    said("[nas1] REPLACE bay 3 (ZL2ABCDE): 8 unreadable sectors", "Found 12 Mar 2026.\nDo        have a backup")
}

fn said(subject: &str, body: &str) -> MessageText {
    MessageText::kept(subject.to_owned(), body.to_owned())
}

fn sender() -> SenderFacts {
    let disk = DiskFacts {
        key: DiskKey("ZL2ABCDE".to_owned()),
        name: "sdc".to_owned(),
        model: "ST16000NM001G".to_owned(),
        serial: Some("ZL2ABCDE".to_owned()),
        bay: Some("3".to_owned()),
        controller: None,
        media: MediaKind::Spinning,
        sectors: 31_251_759_104,
        place: None,
    };
    SenderFacts { host: "nas1".to_owned(), disk: Some(disk), opened: Some(UnixSeconds(1_773_286_560)) }
}
