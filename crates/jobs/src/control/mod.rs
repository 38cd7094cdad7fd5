//! What the watch's daemon is asked over its sockets, and what it answers: the documents, the words in which people are shown them,
//! and the asking end. One line of JSON there, one line back.

mod client;
mod documents;
pub mod past;
mod protocol;
pub mod told;

pub use client::{WatchClient, WatchClientError, page_socket_path, socket_path};
pub use documents::{
    AlertDocument, ArrayEntry, ChannelEntry, DeliveryEntry, DiskEntry, ForecastEntry, IncidentEntry, LightEntry,
    ReadingEntry, SCHEMA, WatchDocument,
};
pub use protocol::{WatchAnswer, WatchRequest};
