//! Probing: how an unknown array is laid out, from the response times of its requests.

pub mod fast;
pub mod io;
pub mod known;
pub mod library;
pub mod paper;
