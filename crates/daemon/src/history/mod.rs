//! The durable data of the daemon: the watch's rows, and the past of each disk, in one SQLite file, `history.db`.
//!
//! **Never:** policy. Rows are kept as they are, their meaning is up to the watch; what messages say is put in words (`scrubjay_words`).
//!
//! [`HistoryDatabase::keep`] makes rows durable and records the events that follow from them; the `note_` methods
//! record what else the pump sees; [`HistoryDatabase::events`] and its neighbours read it back. `docs/history.md`
//! describes the tables.

mod counters;
mod database;
mod disks;
mod error;
mod event;
mod follow;
mod mark;
mod nested;
mod opening;
mod passes;
mod schema;
pub mod standing;
mod stored;
mod temperatures;
mod thin;
mod upgrade;
mod values;

pub use counters::CounterPoint;
pub use database::HistoryDatabase;
pub use error::HistoryError;
pub use event::HistoryEvent;
pub use mark::{HistoryMark, MarkPlaces};
pub use passes::{FindingRecord, PassRecord};
pub use scrubjay_control::past::HistoryEventKind;
pub use temperatures::TemperaturePoint;
pub use upgrade::HistoryUpgrade;

/// The default path of the daemon's history.
pub const HISTORY_PATH: &str = "/var/lib/scrubjay/history.db";

#[cfg(test)]
pub(crate) mod tests;
