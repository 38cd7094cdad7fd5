//! What every kind of channel is: settings that open, and a way that delivers.

use super::bounds::TimeBound;
use super::error::{ChannelFault, DeliveryError};
use super::fingerprint::FingerprintMaker;
use super::outgoing::OutgoingMessage;
use std::sync::Arc;

/// The settings of a kind.
pub(crate) trait ChannelKind {
    /// Judges them, and reads the files that they name. `addressees`: to whom mail goes, if any does.
    fn open(&self, addressees: &[String]) -> Result<Arc<dyn AlertRoute>, ChannelFault>;
}

/// A way for messages whose settings are right.
pub(crate) trait AlertRoute: Send + Sync {
    /// Takes in all settings that matter, the contents of secret files included.
    fn mark(&self, maker: &mut FingerprintMaker);

    /// Whom it speaks with, without anything secret: `smtp.example.org:587`.
    fn whom(&self) -> String;

    /// Sends, and says in one line what was answered. Gives up when the time is over; what cannot (a name that is being looked
    /// up) is left behind by the caller.
    fn deliver(&self, message: &OutgoingMessage, bound: &TimeBound) -> Result<String, DeliveryError>;
}

/// A channel that is open.
pub(crate) struct OpenRoute {
    /// Its name.
    pub(crate) name: &'static str,
    /// Of its settings.
    pub(crate) fingerprint: u64,
    /// The way.
    pub(crate) route: Arc<dyn AlertRoute>,
}

impl OpenRoute {
    /// Makes the fingerprint.
    pub(crate) fn new(name: &'static str, route: Arc<dyn AlertRoute>) -> OpenRoute {
        let mut maker = FingerprintMaker::new(name);
        route.mark(&mut maker);
        OpenRoute { name, fingerprint: maker.finish(), route }
    }
}
