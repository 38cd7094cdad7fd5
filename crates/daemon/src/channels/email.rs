//! Mail: its settings, and its two ways: by a named SMTP server, or by the system's sendmail.

use super::bounds::TimeBound;
use super::error::{ChannelFault, DeliveryError};
use super::fingerprint::FingerprintMaker;
use super::mail::{self, MailAddresses, WrittenMail};
use super::mail_tls::MailTls;
use super::outgoing::OutgoingMessage;
use super::route::{AlertRoute, ChannelKind};
use super::secret::{self, SecretText};
use super::sendmail::{self, SendmailRoute};
use super::smtp::{MailAuthority, MailResult, SmtpLogin, SmtpServer};
use lettre::Address;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The settings `[alert.email]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EmailSettings {
    /// The recipients.
    pub to: Vec<String>,
    /// The sender; the default is `scrubjay@HOST`.
    pub from: Option<String>,
    /// The SMTP server, as `host` or `host:port`; the default is the system's sendmail.
    pub server: Option<String>,
    /// How the connection is encrypted; the default is STARTTLS.
    pub tls: Option<MailTls>,
    /// The user who logs in.
    pub user: Option<String>,
    /// A file with the user's password.
    pub password_file: Option<PathBuf>,
    /// A file (PEM) with the only CA that is trusted; the default is the system's CAs.
    pub ca_file: Option<PathBuf>,
}

impl ChannelKind for EmailSettings {
    fn open(&self, _: &[String]) -> Result<Arc<dyn AlertRoute>, ChannelFault> {
        let to = self.to.iter().map(|text| address("alert.email.to", text)).collect::<Result<Vec<Address>, _>>()?;
        if to.is_empty() {
            return Err(ChannelFault::Inconsistent { key: "alert.email.to", advice: "name at least one recipient" });
        }
        let from = self.from.as_deref().map(|text| address("alert.email.from", text)).transpose()?;
        let transport = match &self.server {
            Some(server) => MailTransport::Smtp(Box::new(self.server(server)?)),
            None => MailTransport::Sendmail(self.sendmail()?),
        };
        Ok(Arc::new(EmailRoute { addresses: MailAddresses { to, from }, transport, results: Mutex::default() }))
    }
}

impl EmailSettings {
    fn sendmail(&self) -> Result<SendmailRoute, ChannelFault> {
        let server_settings = [
            ("alert.email.tls", self.tls.is_some()),
            ("alert.email.user", self.user.is_some()),
            ("alert.email.password-file", self.password_file.is_some()),
            ("alert.email.ca-file", self.ca_file.is_some()),
        ];
        if let Some((key, _)) = server_settings.into_iter().find(|(_, is_set)| *is_set) {
            return Err(ChannelFault::Inconsistent {
                key,
                advice: "name the server as well (server = \"smtp.example.org\")",
            });
        }
        sendmail::find().ok_or(ChannelFault::Inconsistent {
            key: "alert.email.server",
            advice: "this system has no sendmail: name a mail server, as \"smtp.example.org\"",
        })
    }

    fn server(&self, server: &str) -> Result<SmtpServer, ChannelFault> {
        let tls = self.tls.unwrap_or_default();
        let (host, port) = host_and_port(server)?;
        let login = match (&self.user, &self.password_file) {
            (None, None) => None,
            (Some(user), Some(path)) => {
                let password = SecretText::read("alert.email.password-file", path)?;
                if user.is_empty() || user.contains(char::is_control) {
                    let problem = "this is no name".to_owned();
                    return Err(ChannelFault::Wrong { key: "alert.email.user", problem, advice: "write one line" });
                }
                Some(SmtpLogin { user: user.clone(), password })
            }
            (Some(_), None) => {
                return Err(ChannelFault::Inconsistent {
                    key: "alert.email.user",
                    advice: "name a file with the password as well (password-file)",
                });
            }
            (None, Some(_)) => {
                return Err(ChannelFault::Inconsistent {
                    key: "alert.email.password-file",
                    advice: "name who logs in as well (user)",
                });
            }
        };
        let is_local = matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1");
        if tls == MailTls::None && login.is_some() && !is_local {
            return Err(ChannelFault::Inconsistent {
                key: "alert.email.tls",
                advice: "a password goes to another machine encrypted only: take \"starttls\" or \"tls\"",
            });
        }
        let authority = self.ca_file.as_ref().map(|path| authority(path)).transpose()?;
        if tls == MailTls::None && authority.is_some() {
            return Err(ChannelFault::Inconsistent {
                key: "alert.email.ca-file",
                advice: "tls = \"none\" has no certificates",
            });
        }
        Ok(SmtpServer { host, port: port.unwrap_or(tls.port()), tls, login, authority })
    }
}

/// Checks an address. Only ASCII: few servers accept others.
fn address(key: &'static str, text: &str) -> Result<Address, ChannelFault> {
    let parsed = text.parse::<Address>().ok().filter(|_| text.is_ascii() && !text.contains(char::is_control));
    parsed.ok_or_else(|| ChannelFault::Wrong {
        key,
        problem: format!("{text:?} is no address"),
        advice: "write it as me@example.org, without a name (of a domain with other letters, its form xn--...)",
    })
}

/// Parses `host`, `host:port`, `::1` or `[::1]:25`.
fn host_and_port(text: &str) -> Result<(String, Option<u16>), ChannelFault> {
    let wrong = |problem: &str| ChannelFault::Wrong {
        key: "alert.email.server",
        problem: format!("{text:?} {problem}"),
        advice: "write it as smtp.example.org or smtp.example.org:587, without smtp://",
    };
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => (host, Some(rest.strip_prefix(':').ok_or_else(|| wrong("is no host"))?)),
        None => match text.split_once(':') {
            Some((host, port)) if !port.contains(':') => (host, Some(port)),
            _ => (text, None),
        },
    };
    let is_address = host.parse::<std::net::Ipv6Addr>().is_ok();
    let is_name =
        !host.is_empty() && host.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_'));
    if !is_address && !is_name {
        return Err(wrong("is no host"));
    }
    let number = |port: &str| port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(|| wrong("has no port"));
    Ok((host.to_owned(), port.map(number).transpose()?))
}

/// Reads the CA that must have signed a server's certificate.
fn authority(path: &Path) -> Result<MailAuthority, ChannelFault> {
    const KEY: &str = "alert.email.ca-file";
    let (pem, _) = secret::read_file(KEY, path)?;
    let wrong = || ChannelFault::Wrong {
        key: KEY,
        problem: format!("{} holds no certificate", path.display()),
        advice: "it is to begin with -----BEGIN CERTIFICATE-----",
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        roots.add(certificate.map_err(|_| wrong())?).map_err(|_| wrong())?;
    }
    if roots.is_empty() {
        return Err(wrong());
    }
    Ok(MailAuthority { pem, roots: Arc::new(roots) })
}

enum MailTransport {
    Smtp(Box<SmtpServer>),
    Sendmail(SendmailRoute),
}

/// Messages of which it is kept who has them, at most: as many as may wait.
const PARTLY_MAX: usize = 64;

/// What became of mails by recipient.
#[derive(Default)]
struct MailResults {
    /// By the number of a message that some are to have later: who has it.
    accepted: BTreeMap<u64, BTreeSet<String>>,
    /// Who was refused for good at the last delivery.
    refused: Option<Vec<(String, String)>>,
}

struct EmailRoute {
    addresses: MailAddresses,
    transport: MailTransport,
    results: Mutex<MailResults>,
}

impl EmailRoute {
    /// Sends a mail to those who do not have it yet.
    fn send(
        &self,
        server: &SmtpServer,
        mut mail: WrittenMail,
        number: u64,
        bound: &TimeBound,
    ) -> Result<String, DeliveryError> {
        let had = self.results().accepted.get(&number).cloned().unwrap_or_default();
        mail.to.retain(|to| !had.contains(text_of(to)));
        let MailResult { reply, accepted, deferred, refused, nobody } = server.send(&mail, bound)?;
        let mut results = self.results();
        let words = |(to, reply): &(String, String)| format!("{to}: {reply}");
        results.refused = Some(refused.clone());
        if !deferred.is_empty() && (!accepted.is_empty() || !had.is_empty()) {
            results.accepted.entry(number).or_default().extend(accepted);
            while results.accepted.len() > PARTLY_MAX {
                results.accepted.pop_first();
            }
            let who = deferred.iter().map(words).collect::<Vec<_>>().join(", ");
            return Err(DeliveryError::Deferred { peer: server.peer(), who });
        }
        // That the others are refused for good changes nothing for those who have it.
        if let Some(error) = nobody.filter(|_| had.is_empty()) {
            return Err(error);
        }
        results.accepted.remove(&number);
        let refusals = refused.iter().map(|refusal| format!("not for {}", words(refusal)));
        Ok(Some(reply).filter(|reply| !reply.is_empty()).into_iter().chain(refusals).collect::<Vec<_>>().join("; "))
    }

    /// A thread that panicked leaves nothing half done here.
    fn results(&self) -> MutexGuard<'_, MailResults> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AlertRoute for EmailRoute {
    fn add_to_fingerprint(&self, maker: &mut FingerprintMaker) {
        for to in &self.addresses.to {
            maker.add("to", Some(text_of(to).as_bytes()));
        }
        maker.add("from", self.addresses.from.as_ref().map(|from| text_of(from).as_bytes()));
        match &self.transport {
            MailTransport::Sendmail(_) => maker.add("server", None),
            MailTransport::Smtp(server) => {
                maker.add("server", Some(format!("{} {}", server.host, server.port).as_bytes()));
                maker.add("tls", Some(server.tls.word().as_bytes()));
                maker.add("user", server.login.as_ref().map(|login| login.user.as_bytes()));
                SecretText::add_to_fingerprint(server.login.as_ref().map(|login| &login.password), "password", maker);
                maker.add("ca", server.authority.as_ref().map(|authority| authority.pem.as_slice()));
            }
        }
    }

    fn peer(&self) -> String {
        match &self.transport {
            MailTransport::Smtp(server) => server.peer(),
            MailTransport::Sendmail(sendmail) => sendmail.peer(),
        }
    }

    fn deliver(&self, message: &OutgoingMessage, bound: &TimeBound) -> Result<String, DeliveryError> {
        let written = mail::write(&self.addresses, message)
            .map_err(|error| DeliveryError::Unwritable { peer: self.peer(), why: error.to_string() })?;
        match &self.transport {
            MailTransport::Smtp(server) => self.send(server, written, message.row.number, bound),
            MailTransport::Sendmail(sendmail) => sendmail.send(&written, bound),
        }
    }

    fn refused(&self) -> Option<Vec<(String, String)>> {
        self.results().refused.clone()
    }
}

fn text_of(address: &Address) -> &str {
    address.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_host_with_or_without_a_port() {
        let parsed = |text: &str| host_and_port(text).ok();
        assert_eq!(parsed("smtp.example.org"), Some(("smtp.example.org".to_owned(), None)));
        assert_eq!(parsed("smtp.example.org:2525"), Some(("smtp.example.org".to_owned(), Some(2525))));
        assert_eq!(parsed("::1"), Some(("::1".to_owned(), None)));
        assert_eq!(parsed("[::1]"), Some(("::1".to_owned(), None)));
        assert_eq!(parsed("[fe80::1]:25"), Some(("fe80::1".to_owned(), Some(25))));
        for text in
            ["", ":25", "host:", "host:0", "host:65536", "smtp://host", "a b", "user@host", "[::1]25", "a:b:c", "h\r\n"]
        {
            assert_eq!(parsed(text), None, "{text:?}");
        }
    }

    #[test]
    fn only_bare_ascii_addresses_are_accepted() {
        for text in ["me@example.org", "root@nas1", "a+b@[127.0.0.1]"] {
            assert!(address("alert.email.to", text).is_ok(), "{text}");
        }
        for text in
            ["", "me", "Me <me@example.org>", "me@example.org, you@example.org", "me@x\r\nBcc: y@z", "mé@example.org"]
        {
            assert!(address("alert.email.to", text).is_err(), "{text}");
        }
    }
}
