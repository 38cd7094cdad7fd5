//! HTTP/1.1 for one small page: bounded requests, in bounded time, on a bounded number of connections.
//!
//! `request` reads and checks requests, `response` writes answers, `connections` decides which one is closed when there
//! are too many, `rate` limits each client, `stream` has the time limits, `server` listens.

pub mod connections;
pub mod rate;
pub mod request;
pub mod response;
pub mod server;
mod stream;
pub mod tls;
