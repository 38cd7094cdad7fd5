//! A heartbeat: a URL that is requested after each daily self-check, so that a service notices if this machine falls silent.

use super::bounds::TimeBound;
use super::error::{ChannelFault, DeliveryError};
use super::http::{ChannelUrl, HttpTarget};
use serde::Deserialize;

/// The settings `[alert.heartbeat]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Heartbeat {
    /// The URL that is requested (GET), such as `https://hc-ping.com/UUID`.
    pub url: ChannelUrl,
}

impl Heartbeat {
    pub(crate) fn open(&self) -> Result<HeartbeatRoute, ChannelFault> {
        Ok(HeartbeatRoute(HttpTarget::new("alert.heartbeat.url", &self.url, "", None)?))
    }
}

/// A heartbeat with checked settings.
pub(crate) struct HeartbeatRoute(HttpTarget);

impl HeartbeatRoute {
    pub(crate) fn peer(&self) -> String {
        self.0.peer()
    }

    pub(crate) fn beat(&self, bound: &TimeBound) -> Result<String, DeliveryError> {
        self.0.get(bound)
    }
}
