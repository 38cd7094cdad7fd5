//! Writes a message as mail.

use super::outgoing::{OutgoingMessage, message_id};
use lettre::message::Mailbox;
use lettre::message::header::{self, ContentType, HeaderName, HeaderValue};
use lettre::{Address, Message};

/// The configured addresses of a mail.
pub(crate) struct MailAddresses {
    /// The recipients: at least one.
    pub(crate) to: Vec<Address>,
    /// The sender, if one is set.
    pub(crate) from: Option<Address>,
}

/// A mail in its final form, ready to be sent.
pub(crate) struct WrittenMail {
    /// The sender in the envelope.
    pub(crate) from: Address,
    /// The recipients in the envelope.
    pub(crate) to: Vec<Address>,
    /// The mail itself, with CRLF.
    pub(crate) bytes: Vec<u8>,
    /// The name with which this machine greets the server.
    pub(crate) greeting: Option<String>,
}

/// Writes a message as mail.
pub(crate) fn write(addresses: &MailAddresses, message: &OutgoingMessage) -> Result<WrittenMail, lettre::error::Error> {
    let host = message.host_name();
    let from = match &addresses.from {
        Some(from) => from.clone(),
        None => Address::new("scrubjay", &host).unwrap_or_else(|_| Address::new_dangerous("scrubjay", "localhost")),
    };
    let name = format!("Scrubjay on {}", message.sender.host);
    let mut mail = Message::builder()
        .from(Mailbox::new(Some(name), from.clone()))
        .subject(message.subject.clone())
        .date_now()
        .header(header::MIME_VERSION_1_0)
        .message_id(Some(message_id(&message.row.id)))
        .header(ContentType::TEXT_PLAIN)
        .raw_header(raw("Auto-Submitted", "auto-generated"));
    for to in &addresses.to {
        mail = mail.to(Mailbox::new(None, to.clone()));
    }
    if let Some(first) = &message.row.reply_to {
        mail = mail.in_reply_to(message_id(first)).references(message_id(first));
    }
    if message.row.may_be_repeated {
        mail = mail.raw_header(raw("X-Scrubjay-Repeated", "maybe"));
    }
    let bytes = mail.body(message.text())?.formatted();
    // A server that asks for a full name refuses a bare one; an address literal may stand in its place (RFC 5321, 4.1.3).
    let greeting = Some(host).filter(|host| host.contains('.'));
    Ok(WrittenMail { from, to: addresses.to.clone(), bytes, greeting })
}

fn raw(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}
