//! The dialogue with a mail server, step by step.
//! So an error names its step, and a refused address does not keep the mail from other recipients.

use super::bounds::TimeBound;
use super::error::DeliveryError;
use super::mail::WrittenMail;
use super::mail_tls::MailTls;
use super::outgoing::excerpt;
use super::secret::SecretText;
use super::smtp_error::{self, SmtpStep};
use super::smtp_wire::{SmtpWire, WireFault};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::commands::{Auth, Data, Ehlo, Mail, Quit, Rcpt, Starttls};
use lettre::transport::smtp::extension::{ClientId, Extension, ServerInfo};
use lettre::transport::smtp::response::{Response, Severity};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Challenges of a login, at most; LOGIN has two.
const CHALLENGES_MAX: usize = 4;

/// A login at a server.
pub(crate) struct SmtpLogin {
    /// The user.
    pub(crate) user: String,
    /// The password.
    pub(crate) password: SecretText,
}

/// A mail server.
pub(crate) struct SmtpServer {
    /// Its name or address.
    pub(crate) host: String,
    /// Its port.
    pub(crate) port: u16,
    /// How the connection is encrypted.
    pub(crate) tls: MailTls,
    /// The login, if there is one.
    pub(crate) login: Option<SmtpLogin>,
    /// The only CA to trust; `None`: those of the system.
    pub(crate) authority: Option<MailAuthority>,
}

/// What a server made of a mail, by recipient.
#[derive(Debug, Default)]
pub(crate) struct MailResult {
    /// Its reply to the mail.
    pub(crate) reply: String,
    /// Who has it.
    pub(crate) accepted: Vec<String>,
    /// Who may have it later (4xx), and its reply.
    pub(crate) deferred: Vec<(String, String)>,
    /// Whom it refuses (5xx), and its reply.
    pub(crate) refused: Vec<(String, String)>,
    /// The first refusal, if nobody has it.
    pub(crate) nobody: Option<DeliveryError>,
}

/// A private CA.
pub(crate) struct MailAuthority {
    /// Its file.
    pub(crate) pem: Vec<u8>,
    /// Its certificates.
    pub(crate) roots: Arc<RootCertStore>,
}

impl SmtpServer {
    /// The server's name and port: `smtp.example.org:587`.
    pub(crate) fn peer(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Sends a mail to these recipients. Returns what the server made of each; at least one has it, or is refused for good.
    pub(crate) fn send(&self, mail: &WrittenMail, bound: &TimeBound) -> Result<MailResult, DeliveryError> {
        let error_at = |step: SmtpStep| move |fault: WireFault| self.explain(step, fault, bound);
        let mut wire = self.connect(mail, bound)?;
        wire.command(&Mail::new(Some(mail.from.clone()), Vec::new())).map_err(error_at(SmtpStep::Sender))?;
        let (mut result, mut first_refusal) = (MailResult::default(), None);
        for to in &mail.to {
            match wire.command(&Rcpt::new(to.clone(), Vec::new())) {
                Ok(_) => result.accepted.push(to.to_string()),
                Err(WireFault::Answer(answer)) => {
                    let is_for_good = answer.code().severity == Severity::PermanentNegativeCompletion;
                    let group = if is_for_good { &mut result.refused } else { &mut result.deferred };
                    group.push((to.to_string(), self.words(&answer)));
                    first_refusal.get_or_insert(WireFault::Answer(answer));
                }
                Err(fault) => return Err(self.explain(SmtpStep::Recipient, fault, bound)),
            }
        }
        if result.accepted.is_empty()
            && let Some(fault) = first_refusal
        {
            let _ = wire.farewell(&Quit);
            result.nobody = Some(self.explain(SmtpStep::Recipient, fault, bound));
            return Ok(result);
        }
        wire.command(&Data).map_err(error_at(SmtpStep::Message))?;
        let answer = wire.mail(&mail.bytes).map_err(error_at(SmtpStep::Message))?;
        result.reply = self.words(&answer);
        // The mail is accepted: later replies change nothing, and are not awaited.
        let _ = wire.farewell(&Quit);
        Ok(result)
    }

    /// Connects, up to encryption and login.
    fn connect<'a>(&self, mail: &WrittenMail, bound: &'a TimeBound) -> Result<SmtpWire<'a>, DeliveryError> {
        let error_at = |step: SmtpStep| move |fault: WireFault| self.explain(step, fault, bound);
        let hello = Ehlo::new(match &mail.greeting {
            Some(name) => ClientId::Domain(name.clone()),
            None => ClientId::Ipv4(Ipv4Addr::LOCALHOST),
        });
        let mut wire = SmtpWire::connect(&self.host, self.port, bound).map_err(error_at(SmtpStep::Greeting))?;
        if self.tls == MailTls::Tls {
            wire = wire.encrypt(&self.host, self.config()?).map_err(error_at(SmtpStep::Greeting))?;
        }
        wire.answer().map_err(error_at(SmtpStep::Greeting))?;
        let mut server = self.info(&wire.command(&hello).map_err(error_at(SmtpStep::Greeting))?)?;
        if self.tls == MailTls::Starttls {
            if !server.supports_feature(Extension::StartTls) {
                return Err(DeliveryError::Unencrypted {
                    peer: self.peer(),
                    why: "offers no encryption (STARTTLS)".to_owned(),
                    advice: "take its port for TLS with tls = \"tls\"; tls = \"none\" only within a network that you trust",
                });
            }
            wire.command(&Starttls).map_err(error_at(SmtpStep::Encryption))?;
            wire = wire.encrypt(&self.host, self.config()?).map_err(error_at(SmtpStep::Encryption))?;
            server = self.info(&wire.command(&hello).map_err(error_at(SmtpStep::Encryption))?)?;
        }
        if let Some(login) = &self.login {
            self.log_in(login, &server, &mut wire, bound)?;
        }
        Ok(wire)
    }

    fn log_in(
        &self,
        login: &SmtpLogin,
        server: &ServerInfo,
        wire: &mut SmtpWire<'_>,
        bound: &TimeBound,
    ) -> Result<(), DeliveryError> {
        let Some(mechanism) = server.get_auth_mechanism(&[Mechanism::Plain, Mechanism::Login]) else {
            return Err(DeliveryError::Refused {
                peer: self.peer(),
                item: "AUTH".to_owned(),
                reply: "it offers neither PLAIN nor LOGIN".to_owned(),
                advice: "leave user and password-file out, or take another port",
            });
        };
        let credentials = Credentials::new(login.user.clone(), login.password.reveal().to_owned());
        let nonsense = |error: lettre::transport::smtp::Error| {
            self.explain(SmtpStep::Login, WireFault::Nonsense(error.to_string()), bound)
        };
        let mut command = Auth::new(mechanism, credentials.clone(), None).map_err(nonsense)?;
        for _ in 0..CHALLENGES_MAX {
            let answer = wire.command(&command).map_err(|fault| self.explain(SmtpStep::Login, fault, bound))?;
            if !answer.has_code(334) {
                return Ok(());
            }
            command = Auth::new_from_response(mechanism, credentials.clone(), &answer).map_err(nonsense)?;
        }
        Err(self.explain(SmtpStep::Login, WireFault::Nonsense("it asks and asks".to_owned()), bound))
    }

    fn info(&self, answer: &Response) -> Result<ServerInfo, DeliveryError> {
        ServerInfo::from_response(answer)
            .map_err(|error| DeliveryError::Nonsense { peer: self.peer(), why: self.hide(&error.to_string()) })
    }

    fn config(&self) -> Result<Arc<ClientConfig>, DeliveryError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = builder.and_then(|builder| match &self.authority {
            Some(authority) => Ok(builder.with_root_certificates(Arc::clone(&authority.roots)).with_no_client_auth()),
            None => Ok(builder.with_platform_verifier()?.with_no_client_auth()),
        });
        config.map(Arc::new).map_err(|error| DeliveryError::Untrusted {
            peer: self.peer(),
            why: excerpt(&error.to_string()),
            advice: "install the certificates of the usual CAs (Debian: apt install ca-certificates), or name one with ca-file",
        })
    }

    /// A reply in one line: `250 2.0.0 Ok: queued as 4B1D`.
    fn words(&self, answer: &Response) -> String {
        let lines: Vec<&str> = answer.message().collect();
        self.hide(&format!("{} {}", answer.code(), lines.join(" ")))
    }

    /// One line, with the password replaced.
    fn hide(&self, text: &str) -> String {
        match &self.login {
            Some(login) => excerpt(&login.password.hide_in(text)),
            None => excerpt(text),
        }
    }

    fn explain(&self, step: SmtpStep, fault: WireFault, bound: &TimeBound) -> DeliveryError {
        match fault {
            WireFault::Answer(answer) => smtp_error::refusal(self.peer(), step, self.words(&answer)),
            WireFault::Nonsense(text) => DeliveryError::Nonsense {
                peer: self.peer(),
                why: format!("does not speak SMTP as expected ({})", self.hide(&text)),
            },
            WireFault::Connect(error) => smtp_error::connection_error(self.peer(), &error, bound),
            WireFault::Lost(error) => smtp_error::stream_error(self.peer(), self.tls, step, &error, bound),
        }
    }
}
