//! The watch's pump on a real machine: one thread that feeds events to the watch and carries out its operations in order.
//! Everything that may block has a thread of its own, and sends its result as news.
//!
//! ```text
//! survey of /sys, smartctl, sessions, deliveries, verbs, signals --> news --> handle_news --> Watch --> act
//!                                        rows into the data base, then what goes with them --> news
//! ```

mod act;
mod answer;
mod drives;
mod glance;
mod handle_news;
mod hours;
mod messengers;
mod news;
mod observation;
mod observe;
mod options;
mod picture;
mod places;
mod pools;
mod run;
mod safeguard;
mod speeds;
mod state;
mod surveyor;

pub use options::{DaemonError, DaemonOptions, host_name};
pub use state::{Daemon, is_called};
