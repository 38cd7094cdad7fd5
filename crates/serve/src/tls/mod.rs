//! TLS around the NBD protocol, without a socket: encrypted bytes in, requests out; replies in, encrypted bytes out.
//!
//! ```text
//! socket -> bytes -> Channel (rustls) -> clear text -> nbd::NbdSession -> requests
//! socket <- bytes <- Channel          <- clear text <-                 <- replies
//! ```
//!
//! A connection begins in clear text; a client asks for TLS by an option of the handshake (STARTTLS). Clear text that it
//! sent behind that option is taken for TLS, and breaks it.

mod channel;
mod credentials;
mod session;
#[cfg(test)]
mod tests;

pub use credentials::{Tls, TlsError, TlsFiles};
pub use session::TlsSession;
