//! Errors of a mail dialogue in words: what happened, and what to do.

use super::bounds::{DELIVERY_MAX, TimeBound};
use super::certificates;
use super::error::DeliveryError;
use super::mail_tls::MailTls;
use super::outgoing::{excerpt, system_words};
use std::io::{self, ErrorKind};

/// A step of the dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SmtpStep {
    /// Greeting and EHLO.
    Greeting,
    /// STARTTLS.
    Encryption,
    /// AUTH.
    Login,
    /// MAIL.
    Sender,
    /// RCPT.
    Recipient,
    /// DATA and the mail itself.
    Message,
}

/// The error for a refusal by the server.
pub(crate) fn refusal(peer: String, step: SmtpStep, reply: String) -> DeliveryError {
    let (item, advice) = match step {
        SmtpStep::Greeting => ("the connection was", "look whether it takes mail from this machine"),
        SmtpStep::Encryption => ("STARTTLS", "look into its log; or take its port for TLS with tls = \"tls\""),
        SmtpStep::Login => ("AUTH", "check user and password-file"),
        SmtpStep::Sender => ("the sender was", "check from; it may want user and password-file"),
        SmtpStep::Recipient => ("the recipient was", "check to; it may want user and password-file"),
        SmtpStep::Message => ("the mail was", "look into its log"),
    };
    DeliveryError::Refused { peer, item: item.to_owned(), reply, advice }
}

/// The error if no connection can be made.
pub(crate) fn connection_error(peer: String, error: &io::Error, bound: &TimeBound) -> DeliveryError {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock if bound.left(DELIVERY_MAX).is_none() => bound.timeout_error(&peer),
        _ => DeliveryError::Unreachable { peer, why: excerpt(&system_words(error)) },
    }
}

/// The error if a connection fails later.
pub(crate) fn stream_error(
    peer: String,
    tls: MailTls,
    step: SmtpStep,
    error: &io::Error,
    bound: &TimeBound,
) -> DeliveryError {
    if let Some(fault) = certificates::find(error) {
        let plain_advice = match tls {
            MailTls::Tls => "its port may be one for tls = \"starttls\" (587)",
            MailTls::Starttls | MailTls::None => "look into its log",
        };
        return certificates::explain(&peer, fault, "name its CA with ca-file", plain_advice);
    }
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock if step == SmtpStep::Greeting && tls == MailTls::Starttls => {
            let why = "it does not greet".to_owned();
            let advice = "its port may be one for tls = \"tls\" (465)";
            DeliveryError::Unencrypted { peer, why, advice }
        }
        ErrorKind::TimedOut | ErrorKind::WouldBlock => bound.timeout_error(&peer),
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => DeliveryError::Nonsense { peer, why: "broke off in the middle".to_owned() },
        _ => DeliveryError::Nonsense { peer, why: excerpt(&system_words(error)) },
    }
}
