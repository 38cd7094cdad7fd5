//! The page, the metrics and the summary: they show what the watch knows.
//!
//! **Never:** devices, state, policy. What is shown comes over the daemon's socket, in the documents and with the words that
//! `scrubjay status` has; what a person does here goes back there.
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
