//! The page, the metrics and the summary: they show the status of the watch.
//!
//! **Never:** devices, state, policy. All data come over the daemon's socket, as the documents and in the words of
//! `scrubjay status`; a person's actions go back there.
//!
//! ```text
//! daemon <-- socket --> feed (one thread asks, all look) --> site: page, disk page, /api/v1/summary, /metrics, /events
//! browser <-- http: bounded in time, size and number --> access: whose host name, which key, which form --> site
//! ```

pub mod access;
mod assets;
pub mod feed;
pub mod http;
pub mod metrics;
mod page;
pub mod site;
pub mod summary;
