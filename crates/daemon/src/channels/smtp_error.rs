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
pub(crate) fn refusal(whom: String, step: SmtpStep, said: String) -> DeliveryError {
    let (what, advice) = match step {
        SmtpStep::Greeting => ("the connection was", "look whether it takes mail from this machine"),
        SmtpStep::Encryption => ("STARTTLS", "look into its log; or take its port for TLS with tls = \"tls\""),
        SmtpStep::Login => ("AUTH", "check user and password-file"),
        SmtpStep::Sender => ("the sender was", "check from; it may want user and password-file"),
        SmtpStep::Recipient => ("the recipient was", "check to; it may want user and password-file"),
        SmtpStep::Message => ("the mail was", "look into its log"),
    };
    DeliveryError::Refused { whom, what: what.to_owned(), said, advice }
}

/// The error if no connection can be made.
pub(crate) fn of_connection(whom: String, error: &io::Error, bound: &TimeBound) -> DeliveryError {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock if bound.left(DELIVERY_MAX).is_none() => bound.over(&whom),
        _ => DeliveryError::Unreachable { whom, why: excerpt(&system_words(error)) },
    }
}

/// The error if a connection fails later.
pub(crate) fn of_stream(
    whom: String,
    tls: MailTls,
    step: SmtpStep,
    error: &io::Error,
    bound: &TimeBound,
) -> DeliveryError {
    if let Some(fault) = certificates::find(error) {
        let plain = match tls {
            MailTls::Tls => "its port may be one for tls = \"starttls\" (587)",
            MailTls::Starttls | MailTls::None => "look into its log",
        };
        return certificates::explain(&whom, fault, "name its CA with ca-file", plain);
    }
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock if step == SmtpStep::Greeting && tls == MailTls::Starttls => {
            let why = "it does not greet".to_owned();
            let advice = "its port may be one for tls = \"tls\" (465)";
            DeliveryError::Unencrypted { whom, why, advice }
        }
        ErrorKind::TimedOut | ErrorKind::WouldBlock => bound.over(&whom),
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => DeliveryError::Nonsense { whom, why: "broke off in the middle".to_owned() },
        _ => DeliveryError::Nonsense { whom, why: excerpt(&system_words(error)) },
    }
}
