//! How the watch is asked and how it answers: requests and answers over its sockets, the documents in them, and their wording.
//!
//! **Never:** devices, traces, the simulator, policy. Whoever shows how things stand (the page, the verbs) needs no more than this; so
//! the page, which has no rights, is linked to nothing that has any use for them.
//!
//! ```text
//! watch -> daemon fills WatchDocument, PastDocument -> one line of JSON -> WatchClient -> wording -> a terminal, a page
//! ```
//!
//! One line of JSON is a request, and one line its answer.

mod as_word;
mod client;
mod documents;
mod event_kind;
mod folder;
mod observed;
pub mod past;
mod protocol;
pub mod surface;
pub mod version;
pub mod wording;
pub mod zone;

pub use client::{WatchClient, WatchClientError, page_socket_path, socket_path, start_command, status_socket_path};
pub use documents::{
    AlertDocument, ArrayEntry, ChannelEntry, DeliveryEntry, DiskEntry, DoNowEntry, ForecastEntry, IncidentEntry,
    LightEntry, PoolEntry, ReadingActivity, ReadingEntry, SCHEMA, ToDoEntry, WatchDocument,
};
pub use folder::{FolderError, socket_folder};
pub use observed::{ObservedDisk, ObservedDocument, SessionWork};
pub use protocol::{WatchAnswer, WatchRequest};
