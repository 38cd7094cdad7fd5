//! The watch's pump on a real machine: one thread that tells the machine what happened and does what it wants, in order.
//! Whatever may block has a thread of its own, and comes back as news.
//!
//! ```text
//! survey of /sys, smartctl, sessions, deliveries, verbs, signals --> news --> hear --> Watch --> act
//!                                        rows into the data base, then what goes with them --> news
//! ```

mod act;
mod answer;
mod drives;
mod glance;
mod hear;
mod hours;
mod messengers;
mod news;
mod options;
mod picture;
mod run;
mod state;
mod surveyor;

pub use options::{DaemonError, DaemonOptions, host_name};
pub use state::{Daemon, is_called};
