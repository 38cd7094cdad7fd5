//! HTTP/1.1 for one small page: bounded requests, in bounded time, on bounded connections.
//!
//! `request` reads and judges what comes, `response` writes what goes, `connections` says who may stay when there are too many, `rate`
//! who is one client and asks too often, `stream` has the times, `server` listens.

pub mod connections;
pub mod rate;
pub mod request;
pub mod response;
pub mod server;
mod stream;
pub mod tls;
