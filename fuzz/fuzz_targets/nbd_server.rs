//! Fuzzes the server's side of NBD: input of a client gets the same replies in any pieces, and needs little memory.

#![no_main]

use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::block::RequestId;
use scrubjay_core::volume::member::ArrayMachine;
use scrubjay_device::completion::Outgoing;
use scrubjay_serve::memory::MemoryArray;
use scrubjay_serve::nbd::{BYTES_IN_FLIGHT_MAX, Export, NbdSession, PAYLOAD_MAX, TlsMode};
use std::sync::Arc;

/// The size of the device, in bytes.
const SIZE: u64 = 64 << 10;

/// A handshake that agrees on everything, for inputs that consist of requests.
const HANDSHAKE: &[u8] = b"\0\0\0\x03\
    IHAVEOPT\0\0\0\x08\0\0\0\0\
    IHAVEOPT\0\0\0\x0a\0\0\0\x1b\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation\
    IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0";

// The first byte: bit 0, the handshake is prepended; bits 1 and 2, the policy on TLS; bit 3, the device is read-only.
// The second byte: the length of the pieces.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let [mode, piece, client @ ..] = data else { return };
    let client = if mode & 1 == 1 { [HANDSHAKE, client].concat() } else { client.to_vec() };
    let at_once = answered(*mode, &client, client.len().max(1), false);
    assert!(at_once.starts_with(b"NBDMAGICIHAVEOPT\0\x03"));
    let in_pieces = answered(*mode, &client, usize::from(*piece).max(1), true);
    assert_eq!(at_once, in_pieces);
});

/// The server's replies to a client whose bytes come in pieces. `lends`: long payloads go straight into their buffers.
fn answered(mode: u8, client: &[u8], piece: usize, lends: bool) -> Vec<u8> {
    let tls = [TlsMode::Off, TlsMode::Allow, TlsMode::Require, TlsMode::Off][usize::from(mode >> 1 & 3)];
    let export = Export::new("vol", SIZE, 4096, mode & 8 != 0);
    let mut array = MemoryArray::new(SIZE);
    array.lose(8192..9000);
    let mut session = NbdSession::new(Arc::new(export), tls);
    let mut answered = Vec::new();
    reply(&mut array, &mut session, &mut answered);
    for piece in client.chunks(piece) {
        let mut bytes = piece;
        if lends && let Some((mut buffer, range)) = session.lend_payload() {
            let count = range.len().min(bytes.len());
            buffer[range.start..range.start + count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            if let Some((ticket, request)) = session.return_payload(buffer, count) {
                array.submit(Nanos::ZERO, RequestId(ticket as u64), request);
                reply(&mut array, &mut session, &mut answered);
            }
        }
        loop {
            let before = bytes.len();
            if let Some((ticket, request)) = session.advance(&mut bytes, |len| used(len, lends)) {
                array.submit(Nanos::ZERO, RequestId(ticket as u64), request);
            }
            reply(&mut array, &mut session, &mut answered);
            if session.wants_tls() {
                session.secure();
            } else if bytes.len() == before {
                break;
            }
        }
    }
    answered
}

/// A buffer with the contents of another use, which no reply may show.
fn used(len: usize, lends: bool) -> Buffer {
    let mut buffer = Buffer::zeroed(len);
    buffer.fill(0x55 + u8::from(lends));
    buffer
}

/// Passes on replies, and takes the bytes to be sent.
fn reply(array: &mut MemoryArray, session: &mut NbdSession, answered: &mut Vec<u8>) {
    while let Some((id, reply)) = array.poll_reply() {
        session.reply(id.0 as usize, reply);
    }
    assert!(session.bytes() <= BYTES_IN_FLIGHT_MAX + PAYLOAD_MAX as usize);
    assert_eq!(session.in_flight(), 0);
    let outgoing = session.take_output(Outgoing::default());
    outgoing.slices().for_each(|slice| answered.extend_from_slice(slice));
}
