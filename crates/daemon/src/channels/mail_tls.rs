//! How the way to a mail server may be encrypted.

use serde::Deserialize;

/// How the way to a mail server is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MailTls {
    /// After a greeting in plain text; nothing goes out if the server does not offer it.
    #[default]
    Starttls,
    /// From the first byte on.
    Tls,
    /// Not at all.
    None,
}

impl MailTls {
    /// The port that is usual for it.
    pub fn port(self) -> u16 {
        match self {
            MailTls::Starttls => 587,
            MailTls::Tls => 465,
            MailTls::None => 25,
        }
    }

    /// As the settings have it.
    pub fn word(self) -> &'static str {
        match self {
            MailTls::Starttls => "starttls",
            MailTls::Tls => "tls",
            MailTls::None => "none",
        }
    }
}
