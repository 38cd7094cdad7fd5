//! Channels for messages: mail, pushes, a webhook, a program of the user's.
//!
//! Settings are checked when they are loaded; then each message is sent within [`DELIVERY_MAX`], and the other side's
//! reply is returned.
//!
//! A new kind is a file, with its settings and its `AlertRoute`, a row of the table below, and what ARCHITECTURE.md's table names.

mod bounds;
mod certificates;
mod email;
mod error;
mod exec;
mod fingerprint;
mod gotify;
mod heartbeat;
mod http;
mod mail;
mod mail_tls;
mod ntfy;
mod outgoing;
mod program;
mod proof;
mod route;
mod secret;
mod sendmail;
mod smtp;
mod smtp_error;
mod smtp_wire;
mod webhook;

#[cfg(test)]
mod scripted;
#[cfg(test)]
mod tests;

pub use bounds::{CONNECT_MAX, DELIVERY_MAX};
pub use email::EmailSettings;
pub use error::{ChannelFault, DeliveryError};
pub use exec::ExecSettings;
pub use gotify::GotifySettings;
pub use heartbeat::Heartbeat;
pub use http::ChannelUrl;
pub use mail_tls::MailTls;

pub use ntfy::NtfySettings;
pub use outgoing::SenderFacts;
pub use webhook::{WEBHOOK_SCHEMA, WebhookSettings};

use bounds::TimeBound;
use heartbeat::HeartbeatRoute;
use outgoing::OutgoingMessage;
pub use proof::ChannelProof;
use route::{ChannelKind, OpenRoute};
use scrubjay_watch::rows::MessageRow;
use scrubjay_watch::settings::AlertChannel;
use scrubjay_words::MessageText;
use serde::Deserialize;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Defines the settings, and the function that opens the channels, from a table of rows `name: settings`. The name is
/// the key of the TOML table, and the channel's name in messages: one word.
macro_rules! channel_kinds {
    ($($(#[$doc:meta])* $name:ident: $settings:ty,)*) => {
        /// The tables below `[alert]`.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct ChannelSettings {
            $($(#[$doc])* pub $name: Option<$settings>,)*
            /// Requested once a day to report that the machine is alive.
            pub heartbeat: Option<Heartbeat>,
            /// Proofs of other machines with the same settings, as `scrubjay alert proof` prints them there.
            #[serde(default)]
            pub proofs: Vec<ChannelProof>,
        }

        /// The names of all kinds.
        pub const CHANNEL_KINDS: &[&str] = &[$(stringify!($name)),*];

        fn open_all(all: &ChannelSettings) -> Result<Vec<OpenRoute>, ChannelFault> {
            let addressees = all.email.as_ref().map(|email| email.to.as_slice()).unwrap_or_default();
            let mut routes = Vec::new();
            $(if let Some(settings) = &all.$name {
                routes.push(OpenRoute::new(stringify!($name), settings.open(addressees)?));
            })*
            Ok(routes)
        }
    };
}

channel_kinds! {
    /// Mail.
    email: EmailSettings,
    /// A push by ntfy.
    ntfy: NtfySettings,
    /// A push by Gotify.
    gotify: GotifySettings,
    /// A JSON object to a URL.
    webhook: WebhookSettings,
    /// A program.
    exec: ExecSettings,
}

/// A message was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryReceipt {
    /// The other side's reply, in one line: `250 2.0.0 Ok: queued as 4B1D`, `HTTP 200`.
    pub reply: String,
    /// How long it took.
    pub took: Duration,
}

/// The channels of the settings, ready for use.
pub struct AlertChannels {
    routes: Vec<OpenRoute>,
    heartbeat: Option<Arc<HeartbeatRoute>>,
    proofs: Vec<ChannelProof>,
    bound: Duration,
}

impl AlertChannels {
    /// Checks the settings and reads the files that they name; connects to no server.
    ///
    /// # Errors
    /// The first setting that is wrong, with what to do.
    pub fn from_settings(settings: &ChannelSettings) -> Result<AlertChannels, ChannelFault> {
        let routes = open_all(settings)?;
        let heartbeat = settings.heartbeat.as_ref().map(Heartbeat::open).transpose()?.map(Arc::new);
        Ok(AlertChannels { routes, heartbeat, proofs: settings.proofs.clone(), bound: DELIVERY_MAX })
    }

    /// For the watch: the name of each channel, a fingerprint of its settings, the contents of secret files included, and the newest
    /// proof of just these settings by another machine.
    pub fn for_watch(&self) -> Vec<AlertChannel> {
        let row = |route: &OpenRoute| AlertChannel {
            name: route.name.to_owned(),
            fingerprint: route.fingerprint,
            proven_elsewhere: self
                .proofs
                .iter()
                .filter(|_| !is_of_this_machine(&route.route.peer()))
                .filter_map(|proof| proof.of(route.name, route.fingerprint))
                .max(),
        };
        self.routes.iter().map(row).collect()
    }

    /// The fingerprint of one channel: the same in every run and on every machine while its settings are the same.
    pub fn fingerprint(&self, channel: &str) -> Option<u64> {
        self.routes.iter().find(|route| route.name == channel).map(|route| route.fingerprint)
    }

    /// Whom a channel's other side refuses for good, by its last delivery. `None`: nothing is known of that.
    pub fn refused(&self, channel: &str) -> Option<Vec<(String, String)>> {
        self.routes.iter().find(|route| route.name == channel)?.route.refused()
    }

    /// Sends a message by its channel. Blocks, for [`DELIVERY_MAX`] at most.
    ///
    /// # Errors
    /// It was not accepted, as far as is known: the error says what happened, with which server, and what to do. A
    /// server that accepts a message and answers too late counts as an error as well, though it may have the message.
    pub fn deliver(
        &self,
        message: &MessageRow,
        text: &MessageText,
        sender: &SenderFacts,
    ) -> Result<DeliveryReceipt, DeliveryError> {
        let Some(open) = self.routes.iter().find(|route| route.name == message.channel) else {
            return Err(DeliveryError::NoChannel { channel: message.channel.clone() });
        };
        let (route, outgoing) = (Arc::clone(&open.route), OutgoingMessage::new(message.clone(), text, sender.clone()));
        self.bounded(route.peer(), move |bound| route.deliver(&outgoing, bound))
    }

    /// Reports to the heartbeat's URL that this machine is alive. `None`: no such URL is set.
    ///
    /// # Errors
    /// The request failed, with the same errors as in [`AlertChannels::deliver`].
    pub fn beat(&self) -> Option<Result<DeliveryReceipt, DeliveryError>> {
        let route = Arc::clone(self.heartbeat.as_ref()?);
        Some(self.bounded(route.peer(), move |bound| route.beat(bound)))
    }

    fn bounded(
        &self,
        peer: String,
        deliver: impl FnOnce(&TimeBound) -> Result<String, DeliveryError> + Send + 'static,
    ) -> Result<DeliveryReceipt, DeliveryError> {
        let begun = Instant::now();
        let reply = bounds::within(self.bound, peer, deliver)?;
        Ok(DeliveryReceipt { reply, took: begun.elapsed() })
    }
}

/// Is the other side this machine: a program, its own sendmail, a server at localhost? What goes on from there is another way on each
/// machine, so that the proof of another one says nothing.
fn is_of_this_machine(peer: &str) -> bool {
    let host = peer.split_once("://").map_or(peer, |(_, rest)| rest);
    host.starts_with('/') || ["localhost", "127.", "[::1]", "::1"].iter().any(|local| host.starts_with(local))
}

impl fmt::Debug for AlertChannels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routes = self.routes.iter().map(|route| (route.name, route.route.peer()));
        f.debug_map().entries(routes).finish()
    }
}
