//! A volume as it is served: put together from its members' disks, steered by commands, its findings, and what its clients
//! do, kept for whoever asks.
//!
//! ```text
//! paths -> members::gather -> Volume (core) -> Steward: Array for the clients' requests, Controller for the commands
//!                                           -> offline::check: no clients, every stripe read once
//! ```

mod activity;
pub mod commands;
pub mod gather;
pub mod offline;
mod steward;
mod stopped;
mod verifications;

pub use steward::Steward;
