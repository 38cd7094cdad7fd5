//! Requests to the watch's daemon over its sockets, its answers in words for people, and the client.
//! One line of JSON is a request, and one line its answer.

mod as_word;
mod client;
mod documents;
mod event_kind;
mod observed;
pub mod past;
mod protocol;
pub mod wording;

pub use client::{WatchClient, WatchClientError, page_socket_path, socket_path, start_command, status_socket_path};
pub use documents::{
    AlertDocument, ArrayEntry, ChannelEntry, DeliveryEntry, DiskEntry, DoNowEntry, ForecastEntry, IncidentEntry,
    LightEntry, PoolEntry, ReadingActivity, ReadingEntry, SCHEMA, ToDoEntry, WatchDocument,
};
pub use observed::{ObservedDisk, ObservedDocument, SessionWork};
pub use protocol::{WatchAnswer, WatchRequest};
