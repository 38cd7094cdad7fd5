//! The daemon of the watch: the part that acts; `scrubjay-watch` decides.
//!
//! It is one process that finds the disks of this machine, scrubs them, reads their SMART data, stores what must
//! survive, and sends messages.
//!
//! **Never:** policy. What is read when, what a value means, who is notified: the watch decides that.
//!
//! ```text
//! discovery: /sys, mdstat, uevents --+                          +--> history: SQLite
//! smartctl: drives ------------------+--> pump: the machine ----+--> sessions: a scrub a disk
//! control: verbs --------------------+                          +--> channels: mail, pushes, a program
//! ```

pub mod channels;
pub mod config;
pub mod control;
pub mod discovery;
pub mod history;
pub mod mmc;
pub mod process;
pub mod pump;
pub mod sessions;
pub mod smartctl;
pub mod time;
pub mod zfs;
