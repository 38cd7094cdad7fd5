//! What must outlive the daemon: the watch's rows, and what has happened to each disk. One SQLite file, `history.db`.
//!
//! **Never:** policy. What a row means is the watch's to say; here it is kept as it is.
//!
//! [`HistoryDatabase::keep`] makes rows durable and writes down what follows from them; the `note_` methods take what the pump
//! sees besides; [`HistoryDatabase::events`] and its neighbours read it back. `docs/history.md` says which tables there are.

mod counters;
mod database;
mod disks;
mod error;
mod event;
mod follow;
mod nested;
mod opening;
mod passes;
mod schema;
mod spelling;
mod stored;
mod temperatures;
mod thin;
mod values;

pub use counters::CounterPoint;
pub use database::HistoryDatabase;
pub use error::HistoryError;
pub use event::{HistoryEvent, HistoryEventKind};
pub use passes::{FindingRecord, PassRecord};
pub use temperatures::TemperaturePoint;

/// Where the daemon keeps it.
pub const HISTORY_PATH: &str = "/var/lib/scrubjay/history.db";

#[cfg(test)]
mod tests;
