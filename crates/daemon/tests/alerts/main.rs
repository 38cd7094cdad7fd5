//! Messages on their way through real encryption: mail by a real mail server, pushes and heartbeats by HTTPS.

mod certificates;
mod https;
mod mail;

use scrubjay_core::units::UnixSeconds;
use scrubjay_daemon::channels::{AlertChannels, DeliveryError, DeliveryReceipt, SenderFacts};
use scrubjay_watch::incident::{MessageReason, Urgency};
use scrubjay_watch::rows::MessageRow;
use scrubjay_words::MessageText;

/// Sends a message by the channel of this name.
fn send(settings: &str, channel: &str) -> Result<DeliveryReceipt, DeliveryError> {
    let channels = AlertChannels::from_settings(&toml::from_str(settings).unwrap()).unwrap();
    let message = MessageRow {
        number: 1,
        channel: channel.to_owned(),
        id: format!("<scrubjay-1.{channel}@nas1>"),
        reply_to: None,
        reason: MessageReason::Test,
        about: Vec::new(),
        urgency: Urgency::Notice,
        letter: None,
        written: UnixSeconds(1_773_286_860),
        attempts: 0,
        next_attempt: UnixSeconds(0),
        is_under_way: true,
        may_be_repeated: false,
    };
    let host = "nas1.example.org".to_owned();
    let body = "This is a test.\n.\n..dots\nTo prove that it arrived:  scrubjay alert confirm 004711";
    let text = MessageText::kept("[büro] [TEST] code 004711".to_owned(), body.to_owned());
    channels.deliver(&message, &text, &SenderFacts { host, ..SenderFacts::default() })
}

/// Why it was not sent.
fn fault(settings: &str, channel: &str) -> String {
    send(settings, channel).expect_err("it must not be sent").to_string()
}
