//! Pushes by Gotify: a JSON object to `/message` (gotify.net/api-docs, createMessage).

use super::bounds::TimeBound;
use super::error::{ChannelFault, DeliveryError};
use super::fingerprint::FingerprintMaker;
use super::http::{ChannelUrl, HttpTarget};
use super::outgoing::OutgoingMessage;
use super::route::{AlertRoute, ChannelKind};
use super::secret::SecretText;
use scrubjay_watch::incident::Urgency;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// The settings `[alert.gotify]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GotifySettings {
    /// The server, such as `https://gotify.example.org`.
    pub url: ChannelUrl,
    /// A file with the token of an application.
    pub token_file: PathBuf,
}

impl ChannelKind for GotifySettings {
    fn open(&self, _: &[String]) -> Result<Arc<dyn AlertRoute>, ChannelFault> {
        let token = SecretText::read("alert.gotify.token-file", &self.token_file)?;
        Ok(Arc::new(GotifyRoute(HttpTarget::new("alert.gotify.url", &self.url, "/message", Some(token))?)))
    }
}

struct GotifyRoute(HttpTarget);

impl AlertRoute for GotifyRoute {
    fn add_to_fingerprint(&self, maker: &mut FingerprintMaker) {
        self.0.add_to_fingerprint(maker);
    }

    fn peer(&self) -> String {
        self.0.peer()
    }

    fn deliver(&self, message: &OutgoingMessage, bound: &TimeBound) -> Result<String, DeliveryError> {
        // Gotify's app makes a sound from 4 on, and wakes the screen from 8 on.
        let priority = match message.loudness() {
            Urgency::Notice => 4,
            Urgency::Replace => 7,
            Urgency::Loss => 10,
        };
        let body = serde_json::json!({
            "title": message.subject,
            "message": message.text(),
            "priority": priority,
        });
        let mut headers = vec![("Content-Type", "application/json".to_owned())];
        if let Some(token) = self.0.secret() {
            headers.push(("X-Gotify-Key", token.reveal().to_owned()));
        }
        self.0.post(&headers, &body.to_string(), bound)
    }
}
