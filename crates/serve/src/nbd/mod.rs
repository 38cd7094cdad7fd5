//! The protocol of network block devices (NBD), the server's side, without a socket: bytes in, requests out; replies in,
//! bytes out. After the protocol's document, `doc/proto.md` of the nbd project, as of 2026.
//!
//! ```text
//! client's bytes -> Session::advance -> (ticket, block::Request) -> a volume
//!        options: negotiation  requests: command                       |
//! client <- bytes <- Session::take_output <- Session::reply <- (ticket, block::Reply)
//!                                            answer
//! ```
//!
//! Known: the fixed newstyle handshake with EXPORT_NAME, ABORT, LIST, STARTTLS, INFO, GO, STRUCTURED_REPLY, LIST_ and
//! SET_META_CONTEXT (`base:allocation`); READ, WRITE, DISC, FLUSH, TRIM, WRITE_ZEROES, BLOCK_STATUS. With structured
//! replies, a read loses no more bytes than are lost; with simple ones, all of it fails. Not known: extended headers, CACHE,
//! RESIZE. What a client gets wrong is answered as the document says; what makes no sense at all ends the connection. No
//! memory is asked for on the word of a length that was not checked, and none for more than one session's limits.

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
