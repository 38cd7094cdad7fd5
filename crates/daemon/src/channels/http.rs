//! One HTTP request within a time limit: redirects are not followed, and of an error's body only the beginning is read.

use super::bounds::{CONNECT_MAX, DELIVERY_MAX, TimeBound};
use super::certificates;
use super::error::{ChannelFault, DeliveryError};
use super::fingerprint::FingerprintMaker;
use super::outgoing::{excerpt, system_words};
use super::secret::SecretText;
use serde::Deserialize;
use std::fmt;
use std::io::Read;
use std::sync::Arc;
use ureq::http::{Response, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

/// Bytes of an error's body that are read, at most.
const ANSWER_MAX: u64 = 2048;
/// Advice for a certificate that is not trusted.
const TRUST: &str =
    "add its CA to those of this system (Debian: /usr/local/share/ca-certificates, then update-ca-certificates)";

/// A URL. Its path often is a secret (a topic, a webhook, a UUID), so it is shown without it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ChannelUrl(pub String);

impl fmt::Debug for ChannelUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.parse::<Uri>() {
            Ok(uri) => f.write_str(&origin(&uri)),
            Err(_) => f.write_str("***"),
        }
    }
}

/// The URL without user, path and query: `https://ntfy.sh`, `http://nas1:8080`.
fn origin(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}", uri.scheme_str().unwrap_or_default())
}

/// A URL to which requests are sent.
pub(crate) struct HttpTarget {
    uri: Uri,
    secret: Option<SecretText>,
}

impl HttpTarget {
    /// Checks a URL. `suffix`: appended to its path.
    pub(crate) fn new(
        key: &'static str,
        url: &ChannelUrl,
        suffix: &str,
        secret: Option<SecretText>,
    ) -> Result<HttpTarget, ChannelFault> {
        let wrong = |problem: &str, advice| ChannelFault::Wrong { key, problem: problem.to_owned(), advice };
        let form = "write it as https://HOST/PATH or http://HOST:PORT/PATH";
        let text = if suffix.is_empty() { url.0.clone() } else { format!("{}{suffix}", url.0.trim_end_matches('/')) };
        let uri: Uri = text.parse().map_err(|_| wrong("this is no URL", form))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("only http and https are spoken", form));
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err(wrong("no host is named", form));
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(wrong(
                "it holds a user or a password",
                "put a token into a file of its own; none belongs into a URL",
            ));
        }
        Ok(HttpTarget { uri, secret })
    }

    /// Adds the URL and the secret to a fingerprint.
    pub(crate) fn add_to_fingerprint(&self, maker: &mut FingerprintMaker) {
        maker.add("url", Some(self.uri.to_string().as_bytes()));
        SecretText::add_to_fingerprint(self.secret.as_ref(), "secret", maker);
    }

    /// The secret for this URL.
    pub(crate) fn secret(&self) -> Option<&SecretText> {
        self.secret.as_ref()
    }

    /// The path.
    pub(crate) fn path(&self) -> &str {
        self.uri.path()
    }

    /// The server, without secret parts of the URL.
    pub(crate) fn peer(&self) -> String {
        origin(&self.uri)
    }

    /// Sends a body; returns `HTTP 200` or the like if it was accepted.
    pub(crate) fn post(
        &self,
        headers: &[(&str, String)],
        body: &str,
        bound: &TimeBound,
    ) -> Result<String, DeliveryError> {
        let agent = self.agent(bound)?;
        let request = headers.iter().fold(agent.post(&self.uri), |request, (name, value)| request.header(*name, value));
        self.judge(request.send(body), bound)
    }

    /// Requests the URL; any successful answer will do.
    pub(crate) fn get(&self, bound: &TimeBound) -> Result<String, DeliveryError> {
        self.judge(self.agent(bound)?.get(&self.uri).call(), bound)
    }

    /// An agent for a single request: messages are rare.
    fn agent(&self, bound: &TimeBound) -> Result<Agent, DeliveryError> {
        let left = bound.left_or_error(&self.peer(), DELIVERY_MAX)?;
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::PlatformVerifier)
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("scrubjay/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(left))
            .timeout_resolve(Some(CONNECT_MAX.min(left)))
            .timeout_connect(Some(CONNECT_MAX.min(left)))
            .max_idle_connections(0);
        // The environment's proxies are not for this machine.
        let is_local = matches!(self.uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
        Ok(if is_local { config.proxy(None) } else { config }.build().new_agent())
    }

    fn judge(&self, answer: Result<Response<Body>, ureq::Error>, bound: &TimeBound) -> Result<String, DeliveryError> {
        let peer = self.peer();
        let answer = answer.map_err(|error| self.explain(error, bound))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(format!("HTTP {}", status.as_u16()));
        }
        if status.is_redirection() {
            let location = answer.headers().get("location").and_then(|location| location.to_str().ok());
            let location = location.and_then(|location| location.parse::<Uri>().ok());
            let target = match location {
                Some(uri) if uri.host().is_some() => excerpt(&origin(&uri)),
                _ => "another path".to_owned(),
            };
            return Err(DeliveryError::Redirected { peer, target });
        }
        let mut reply = Vec::new();
        // An answer that breaks off is used as far as it came.
        let _ = answer.into_body().into_reader().take(ANSWER_MAX).read_to_end(&mut reply);
        let reply = String::from_utf8_lossy(&reply);
        let reply = self.secret.as_ref().map_or(reply.to_string(), |secret| secret.hide_in(&reply));
        let reply = excerpt(&format!("HTTP {} {reply}", status.as_u16()));
        let advice = match status.as_u16() {
            401 | 403 => "look at the token and what it may do",
            404 | 405 => "look at url",
            413 => "have it take messages of a few KiB",
            429 => "it wants fewer messages: look at its limits",
            _ => "look into its log",
        };
        Err(DeliveryError::Refused { peer, item: "the message was".to_owned(), reply, advice })
    }

    fn explain(&self, error: ureq::Error, bound: &TimeBound) -> DeliveryError {
        let peer = self.peer();
        if let Some(fault) = rustls_error(&error) {
            return certificates::explain(
                &peer,
                fault,
                TRUST,
                "write http:// if that is meant, or name the port of its TLS",
            );
        }
        match error {
            ureq::Error::Timeout(_) => bound.timeout_error(&peer),
            ureq::Error::HostNotFound => DeliveryError::Unreachable { peer, why: "no such host".to_owned() },
            ureq::Error::ConnectionFailed => DeliveryError::Unreachable { peer, why: "no connection".to_owned() },
            ureq::Error::ConnectProxyFailed(why) => {
                DeliveryError::Unreachable { peer, why: excerpt(&format!("the proxy says {why}")) }
            }
            ureq::Error::Io(error) => match error.kind() {
                std::io::ErrorKind::UnexpectedEof
                | std::io::ErrorKind::ConnectionReset
                | std::io::ErrorKind::BrokenPipe => {
                    DeliveryError::Nonsense { peer, why: "broke off in the middle".to_owned() }
                }
                std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => bound.timeout_error(&peer),
                _ => DeliveryError::Unreachable { peer, why: excerpt(&system_words(&error)) },
            },
            ureq::Error::LargeResponseHeader(..) => {
                DeliveryError::Nonsense { peer, why: "answers with a header without end".to_owned() }
            }
            other => {
                let text = other.to_string();
                let text = self.secret.as_ref().map_or(text.clone(), |secret| secret.hide_in(&text));
                DeliveryError::Nonsense { peer, why: excerpt(&format!("does not speak HTTP ({text})")) }
            }
        }
    }
}

fn rustls_error(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(fault) => Some(fault),
        ureq::Error::Io(error) => certificates::find(error),
        _ => None,
    }
}
