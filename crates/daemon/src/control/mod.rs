//! The server end of the daemon's sockets. Its protocol is in `scrubjay_jobs::control`.

pub mod document;
mod past;
mod server;

pub use past::{BesideHistory, past, past_of};
pub use server::{ControlAccess, ControlServer, PendingAnswer, ServerError};
