//! A volume as it is served: put together from its members' disks, steered by commands, its findings, and what its clients
//! do, kept for whoever asks.
//!
//! ```text
//! paths -> members::gather -> Volume (core) -> VolumeController: ArrayMachine for the clients' requests, CommandHandler for the commands
//!                                           -> offline::check: no clients, every stripe read once
//! ```

mod activity;
pub mod commands;
pub mod conditions;
mod controller;
mod events;
pub mod gather;
pub mod offline;
mod stopped;
mod verifications;

pub use controller::VolumeController;
