//! TLS around the NBD protocol, without a socket: encrypted bytes in, requests out; replies in, encrypted bytes out.
//!
//! ```text
//! socket -> bytes -> Channel (rustls) -> bytes in clear -> nbd::Session -> requests
//! socket <- bytes <- Channel          <- bytes in clear <-              <- replies
//! ```
//!
//! A connection begins in clear; a client asks for TLS by an option of the handshake (STARTTLS). What it sent in clear
//! behind that option is taken for TLS, and breaks it.

mod channel;
mod credentials;
mod session;
#[cfg(test)]
mod tests;

pub use credentials::{Tls, TlsError, TlsFiles};
pub use session::TlsSession;
