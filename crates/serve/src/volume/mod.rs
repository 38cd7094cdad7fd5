//! A volume as it is served: assembled from its members' disks, steered by commands, with a log of its findings and of its
//! clients' activity.
//!
//! ```text
//! paths -> gather::gather -> Volume (core) -> VolumeController: ArrayMachine for clients' requests, CommandHandler
//!                                          -> offline::check: no clients, every stripe read once
//! ```

mod activity;
pub mod commands;
pub mod conditions;
mod controller;
mod events;
pub mod finding_words;
pub mod gather;
pub mod offline;
mod stopped;
mod verifications;

pub use controller::VolumeController;
