//! The ways for messages, and what is on its way.

use crate::channel::ChannelRow;
use crate::rows::MessageRow;
use std::collections::BTreeMap;

/// The ways for messages, and what is on its way.
#[derive(Debug, Default)]
pub(crate) struct OutgoingMail {
    pub outbox: BTreeMap<u64, MessageRow>,
    pub channels: BTreeMap<String, ChannelRow>,
    /// Wrong codes that were typed since each channel was sent its own.
    pub wrong_codes: BTreeMap<String, u32>,
}
