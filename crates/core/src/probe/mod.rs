//! Probing: how an unknown array is laid out, from the times that its requests take.

pub mod fast;
pub mod io;
pub mod known;
pub mod library;
pub mod paper;
