//! The server end of the daemon's sockets. Its protocol is in `scrubjay_control`.

pub mod document;
mod past;
mod server;

pub use past::{DiskExtras, past, past_from};
pub use server::{ControlAccess, ControlServer, PendingAnswer, ServerError};
