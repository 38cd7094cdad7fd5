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
        subject: "[nas1] REPLACE bay 3 (ZL2ABCDE): 8 unreadable sectors".to_owned(),
        body: "Found 12 Mar 2026.\nDo        have a backup".to_owned(),
        written: UnixSeconds(1_773_286_860),
        attempts: 0,
        next_attempt: UnixSeconds(0),
        is_under_way: true,
        may_be_repeated: false,
    }
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
