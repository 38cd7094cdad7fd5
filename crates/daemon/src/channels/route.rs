//! The traits of all kinds of channels: settings that can be opened, and a route that delivers.

use super::bounds::TimeBound;
use super::error::{ChannelFault, DeliveryError};
use super::fingerprint::FingerprintMaker;
use super::outgoing::OutgoingMessage;
use std::sync::Arc;

/// The settings of a kind.
pub(crate) trait ChannelKind {
    /// Checks the settings, and reads the files that they name. `addressees`: the recipients of mail, if any.
    fn open(&self, addressees: &[String]) -> Result<Arc<dyn AlertRoute>, ChannelFault>;
}

/// A channel with checked settings.
pub(crate) trait AlertRoute: Send + Sync {
    /// Adds all settings that matter to a fingerprint, the contents of secret files included.
    fn add_to_fingerprint(&self, maker: &mut FingerprintMaker);

    /// The other side, without secrets: `smtp.example.org:587`.
    fn peer(&self) -> String;

    /// Sends a message, and returns the reply in one line. Gives up when the time is over; a step that cannot (a name
    /// being looked up) is abandoned by the caller.
    fn deliver(&self, message: &OutgoingMessage, bound: &TimeBound) -> Result<String, DeliveryError>;

    /// The recipients that were refused for good at the last delivery, each with the reply. `None`: it has no recipients of its own, or
    /// nothing was delivered.
    fn refused(&self) -> Option<Vec<(String, String)>> {
        None
    }
}

/// A channel that is open.
pub(crate) struct OpenRoute {
    /// Its name.
    pub(crate) name: &'static str,
    /// The fingerprint of its settings.
    pub(crate) fingerprint: u64,
    /// The channel itself.
    pub(crate) route: Arc<dyn AlertRoute>,
}

impl OpenRoute {
    /// Opens a channel, and computes its fingerprint.
    pub(crate) fn new(name: &'static str, route: Arc<dyn AlertRoute>) -> OpenRoute {
        let mut maker = FingerprintMaker::new(name);
        route.add_to_fingerprint(&mut maker);
        OpenRoute { name, fingerprint: maker.finish(), route }
    }
}
