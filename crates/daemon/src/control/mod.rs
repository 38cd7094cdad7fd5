//! How verbs talk to the daemon: one line of JSON there, one line back, over a socket that only its owner can open.

mod client;
mod documents;
mod protocol;
mod server;

pub use client::{WatchClient, WatchClientError, socket_path};
pub use documents::{
    AlertDocument, ArrayEntry, ChannelEntry, DeliveryEntry, DiskEntry, ForecastEntry, IncidentEntry, LightEntry,
    ReadingEntry, SCHEMA, WatchDocument,
};
pub use protocol::{WatchAnswer, WatchRequest};
pub use server::{ControlServer, PendingAnswer, ServerError};
