//! Encryption of the connection to a mail server.

use serde::Deserialize;

/// How the connection to a mail server is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MailTls {
    /// TLS after a greeting in plain text (STARTTLS); nothing is sent if the server does not offer it.
    #[default]
    Starttls,
    /// TLS from the first byte on.
    Tls,
    /// No encryption.
    None,
}

impl MailTls {
    /// The usual port.
    pub fn port(self) -> u16 {
        match self {
            MailTls::Starttls => 587,
            MailTls::Tls => 465,
            MailTls::None => 25,
        }
    }

    /// The word in the settings.
    pub fn word(self) -> &'static str {
        match self {
            MailTls::Starttls => "starttls",
            MailTls::Tls => "tls",
            MailTls::None => "none",
        }
    }
}
