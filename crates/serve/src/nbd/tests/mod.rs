//! Tests of the NBD protocol: a client made of bytes, and a session over memory.

mod handshake;
mod streams;
mod transmission;

use super::wire::{self, command, option};
use super::{Export, NbdSession, TlsMode};
use crate::memory::MemoryArray;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::block::{BlockRequest, RequestId};
use scrubjay_core::volume::member::ArrayMachine;
use scrubjay_device::completion::Outgoing;
use std::sync::Arc;

/// The size of the device in bytes: a multiple of blocks of 512 bytes, and of nothing larger.
const SIZE: u64 = (1 << 20) + 512;

/// A session with its volume, as a client sees it: bytes go in, and bytes come back.
struct Peer {
    session: NbdSession,
    array: MemoryArray,
}

impl Peer {
    fn new() -> Peer {
        Peer::with(Export::new("vol", SIZE, 65536, false), TlsMode::Off)
    }

    fn with(export: Export, tls: TlsMode) -> Peer {
        let array = MemoryArray::new(export.size());
        Peer { session: NbdSession::new(Arc::new(export), tls), array }
    }

    /// A peer after the handshake, with everything agreed on.
    fn structured() -> Peer {
        let mut peer = Peer::new();
        peer.send(&[&hello(), &structured_go("vol")[..]].concat());
        peer
    }

    /// A peer after the handshake, with nothing agreed on.
    fn simple() -> Peer {
        let mut peer = Peer::new();
        peer.send(&[&hello(), &go("vol")[..]].concat());
        peer
    }

    /// Sends bytes; returns all that comes back.
    fn send(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut back = self.take();
        loop {
            let before = bytes.len();
            if let Some((ticket, request)) = self.session.advance(&mut bytes, used_buffer) {
                self.serve(ticket, request);
            }
            back.extend(self.take());
            if bytes.len() == before {
                return back;
            }
        }
    }

    fn serve(&mut self, ticket: usize, request: BlockRequest) {
        self.array.submit(Nanos::ZERO, RequestId(ticket as u64), request);
        while let Some((id, reply)) = self.array.poll_reply() {
            self.session.reply(id.0 as usize, reply);
        }
    }

    /// The bytes ready to be sent to the client.
    fn take(&mut self) -> Vec<u8> {
        let outgoing = self.session.take_output(Outgoing::default());
        outgoing.slices().collect::<Vec<_>>().concat()
    }
}

/// A buffer that still has the contents of another use.
fn used_buffer(len: usize) -> Buffer {
    let mut buffer = Buffer::zeroed(len);
    buffer.fill(0x55);
    buffer
}

/// The client's flags: both that exist.
fn hello() -> [u8; 4] {
    3u32.to_be_bytes()
}

fn opt(option: u32, data: &[u8]) -> Vec<u8> {
    [&b"IHAVEOPT"[..], &option.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

/// INFO or GO, with requests for these information items.
fn info_option(option: u32, name: &str, items: &[u16]) -> Vec<u8> {
    let items = std::iter::once(items.len() as u16).chain(items.iter().copied());
    let items: Vec<u8> = items.flat_map(u16::to_be_bytes).collect();
    opt(option, &[text(name), items].concat())
}

fn go(name: &str) -> Vec<u8> {
    info_option(option::GO, name, &[])
}

/// LIST_ or SET_META_CONTEXT.
fn contexts(option: u32, name: &str, queries: &[&str]) -> Vec<u8> {
    let count = (queries.len() as u32).to_be_bytes().to_vec();
    opt(option, &[vec![text(name), count], queries.iter().map(|query| text(query)).collect()].concat().concat())
}

/// Structured replies, allocation queries, and GO.
fn structured_go(name: &str) -> Vec<u8> {
    let allocation = contexts(option::SET_META_CONTEXT, name, &["base:allocation"]);
    [opt(option::STRUCTURED_REPLY, &[]), allocation, go(name)].concat()
}

/// A request without its payload; its cookie depends on its number.
fn request(number: u16, flags: u16, offset: u64, len: u32) -> Vec<u8> {
    let mut bytes = wire::REQUEST_MAGIC.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(number.to_be_bytes());
    bytes.extend(cookie(number).to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(len.to_be_bytes());
    bytes
}

fn write(offset: u64, data: &[u8]) -> Vec<u8> {
    [&request(command::WRITE, 0, offset, data.len() as u32), data].concat()
}

fn cookie(number: u16) -> u64 {
    0xc00c_1e00_0000_0000 + u64::from(number)
}

/// The header of a simple reply to a command.
fn simple(number: u16, errno: u32) -> Vec<u8> {
    [&wire::SIMPLE_REPLY_MAGIC.to_be_bytes()[..], &errno.to_be_bytes(), &cookie(number).to_be_bytes()].concat()
}

/// A chunk of a structured reply to a command.
fn chunk(number: u16, flags: u16, kind: u16, data: &[&[u8]]) -> Vec<u8> {
    let data = data.concat();
    let mut bytes = wire::STRUCTURED_REPLY_MAGIC.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(cookie(number).to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    [bytes, data].concat()
}
