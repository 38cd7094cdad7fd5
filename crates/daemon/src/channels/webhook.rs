//! A webhook: a JSON object, signed if there is a secret (its fields are described in docs/alerts.md).

use super::bounds::TimeBound;
use super::error::{ChannelFault, DeliveryError};
use super::fingerprint::FingerprintMaker;
use super::http::{ChannelUrl, HttpTarget};
use super::outgoing::{OutgoingMessage, subject_words};
use super::route::{AlertRoute, ChannelKind};
use super::secret::SecretText;
use ring::hmac;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::facts::MediaKind;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// The schema's number: it rises when a field is removed or changes its meaning, not when one is added.
pub const WEBHOOK_SCHEMA: u32 = 1;

/// The settings `[alert.webhook]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WebhookSettings {
    /// The URL to which the object is posted.
    pub url: ChannelUrl,
    /// A file with the key of the signatures.
    pub secret_file: Option<PathBuf>,
}

impl ChannelKind for WebhookSettings {
    fn open(&self, _: &[String]) -> Result<Arc<dyn AlertRoute>, ChannelFault> {
        let read = |path| SecretText::read("alert.webhook.secret-file", path);
        let secret = self.secret_file.as_deref().map(read).transpose()?;
        Ok(Arc::new(WebhookRoute(HttpTarget::new("alert.webhook.url", &self.url, "", secret)?)))
    }
}

struct WebhookRoute(HttpTarget);

impl AlertRoute for WebhookRoute {
    fn add_to_fingerprint(&self, maker: &mut FingerprintMaker) {
        self.0.add_to_fingerprint(maker);
    }

    fn peer(&self) -> String {
        self.0.peer()
    }

    fn deliver(&self, message: &OutgoingMessage, bound: &TimeBound) -> Result<String, DeliveryError> {
        let body = object(message).to_string();
        let mut headers = vec![("Content-Type", "application/json".to_owned())];
        if let Some(secret) = self.0.secret() {
            headers.push(("X-Scrubjay-Signature", format!("sha256={}", signature(secret.reveal(), &body))));
        }
        self.0.post(&headers, &body, bound)
    }
}

/// HMAC-SHA256 (RFC 2104), in hexadecimal.
fn signature(secret: &str, body: &str) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body.as_bytes());
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn object(message: &OutgoingMessage) -> Value {
    let row = &message.row;
    let about = row.about.iter().map(|key| {
        let (subject, name) = subject_words(&key.subject);
        json!({"subject": subject, "name": name, "kind": key.kind.word()})
    });
    let disk = message.sender.disk.as_ref().map(|disk| {
        json!({
            "key": disk.key.0,
            "name": disk.name,
            "model": disk.model,
            "bay": disk.bay,
            "controller": disk.controller,
            "media": match disk.media {
                MediaKind::Spinning => "spinning",
                MediaKind::Flash => "flash",
            },
            "sectors": disk.sectors,
        })
    });
    json!({
        "schema": WEBHOOK_SCHEMA,
        "host": message.sender.host,
        "number": row.number,
        "id": row.id,
        "reply_to": row.reply_to,
        "reason": message.reason(),
        "reminder": message.reminder(),
        "urgency": row.urgency.word(),
        "subject": message.subject,
        "body": message.body,
        "written": time(row.written),
        "opened": message.sender.opened.map(time),
        "may_be_repeated": row.may_be_repeated,
        "about": about.collect::<Vec<_>>(),
        "disk": disk,
    })
}

/// A time in ISO 8601: `2026-03-12T03:41:00Z`.
fn time(at: UnixSeconds) -> Value {
    let seconds = i64::try_from(at.0).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    seconds.map_or(Value::Null, |time| Value::String(time.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_rfc() {
        // RFC 4231, test case 2.
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature("Jefe", "what do ya want for nothing?"), expected);
    }

    #[test]
    fn times_are_utc_and_impossible_ones_are_null() {
        assert_eq!(time(UnixSeconds(1_773_286_860)), "2026-03-12T03:41:00Z");
        assert_eq!(time(UnixSeconds(u64::MAX)), Value::Null);
    }
}
