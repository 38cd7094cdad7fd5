//! A heartbeat: a URL that is asked for after each day's self-check, so that somebody else notices when this machine falls silent.

use super::bounds::TimeBound;
use super::error::{ChannelFault, DeliveryError};
use super::http::{ChannelUrl, HttpTarget};
use serde::Deserialize;

/// `[alert.heartbeat]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Heartbeat {
    /// What is asked for (GET), such as `https://hc-ping.com/UUID`.
    pub url: ChannelUrl,
}

impl Heartbeat {
    pub(crate) fn open(&self) -> Result<HeartbeatRoute, ChannelFault> {
        Ok(HeartbeatRoute(HttpTarget::new("alert.heartbeat.url", &self.url, "", None)?))
    }
}

/// One that is open.
pub(crate) struct HeartbeatRoute(HttpTarget);

impl HeartbeatRoute {
    pub(crate) fn whom(&self) -> String {
        self.0.whom()
    }

    pub(crate) fn beat(&self, bound: &TimeBound) -> Result<String, DeliveryError> {
        self.0.get(bound)
    }
}
