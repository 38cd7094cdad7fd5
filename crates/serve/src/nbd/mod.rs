//! The server's side of the NBD protocol (network block devices), without a socket: bytes in, requests out; replies in,
//! bytes out. After the protocol's document, `doc/proto.md` of the nbd project, as of 2026.
//!
//! ```text
//! client's bytes -> NbdSession::advance -> (ticket, BlockRequest) -> a volume
//!        options: negotiation  requests: command                        |
//! client <- bytes <- NbdSession::take_output <- NbdSession::reply <- (ticket, BlockReply)
//!                                            answer
//! ```
//!
//! Supported: the fixed newstyle handshake with EXPORT_NAME, ABORT, LIST, STARTTLS, INFO, GO, STRUCTURED_REPLY, LIST_ and
//! SET_META_CONTEXT (`base:allocation`); READ, WRITE, DISC, FLUSH, TRIM, WRITE_ZEROES, BLOCK_STATUS. With structured
//! replies, a read fails only for the bytes that are lost; with simple ones, as a whole. Not supported: extended headers,
//! CACHE, RESIZE. Invalid requests get the document's errors; bytes that cannot be decoded end the connection. No memory
//! is allocated by a length that was not checked, nor beyond one session's limits.

mod answer;
mod command;
mod export;
mod negotiation;
mod session;
#[cfg(test)]
mod tests;
mod wire;

pub use export::{Export, NAME_BYTES_MAX, PAYLOAD_MAX};
pub use negotiation::TlsMode;
pub use session::{BYTES_IN_FLIGHT_MAX, IN_FLIGHT_MAX, NbdSession, Ticket};
