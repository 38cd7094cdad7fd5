//! What acts for the watch (`scrubjay-watch`): one process that knows the disks of this machine, runs their scrubs, asks drives how
//! they are, keeps what must survive, and tells people.
//!
//! **Never:** policy. What is read when, what a value means, who is told: that is the watch's to say.
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
pub mod pump;
pub mod sessions;
pub mod smartctl;
pub mod time;
