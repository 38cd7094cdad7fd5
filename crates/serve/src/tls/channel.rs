//! TLS on one connection, by rustls, with bounded buffers both ways.

use rustls::{ServerConfig, ServerConnection};
use scrubjay_core::buffer::Buffer;
use scrubjay_device::completion::Outgoing;
use std::io::{self, BufRead, IoSlice, Write};
use std::sync::Arc;

/// Bytes encrypted at a time, at most: 16 records of the greatest size. The rest waits where it lies, in clear text.
pub(super) const SEALED_BYTES_MAX: usize = 256 << 10;

/// The client violated TLS, or its certificate was refused. The alert is ready to be sent.
#[derive(Debug)]
pub(super) struct Broken;

/// The server's side of TLS on one connection.
#[derive(Debug)]
pub(super) struct Channel {
    connection: ServerConnection,
    /// Clear text to be encrypted, and how many bytes of it are encrypted.
    plain: Outgoing,
    sealed: usize,
    /// Bytes ready to be sent.
    out: Outgoing,
    /// The client has sent close_notify.
    is_closed: bool,
    /// close_notify was sent, or an alert took its place.
    is_close_sent: bool,
}

impl Channel {
    /// Begins a handshake. `clear` is sent before it, unencrypted.
    pub fn new(config: Arc<ServerConfig>, clear: Outgoing) -> Channel {
        let mut connection = ServerConnection::new(config).expect("the configuration is complete");
        connection.set_buffer_limit(None); // nothing ever stays in there
        Channel {
            connection,
            plain: Outgoing::default(),
            sealed: 0,
            out: clear,
            is_closed: false,
            is_close_sent: false,
        }
    }

    /// Takes bytes from the front of `input`, until there is clear text.
    pub fn receive(&mut self, input: &mut &[u8]) -> Result<(), Broken> {
        while !input.is_empty() && self.wants_input() {
            let state = match self.connection.read_tls(input) {
                Ok(1..) => self.connection.process_new_packets(),
                Ok(0) | Err(_) => return self.end_broken(),
            };
            self.drain();
            match state {
                Ok(state) => self.is_closed = state.peer_has_closed(),
                Err(_) => return self.end_broken(),
            }
        }
        Ok(())
    }

    fn end_broken(&mut self) -> Result<(), Broken> {
        self.is_close_sent = true; // by the alert
        Err(Broken)
    }

    /// Clear text of the client. Empty: more bytes have to be received first.
    pub fn received(&mut self) -> &[u8] {
        self.connection.reader().into_first_chunk().unwrap_or_default()
    }

    /// Removes `count` bytes of the client's clear text, which were used.
    pub fn consume(&mut self, count: usize) {
        self.connection.reader().consume(count);
    }

    /// Can it take more input now? Not while there is clear text, nor after the client's close_notify.
    pub fn wants_input(&self) -> bool {
        self.connection.wants_read()
    }

    /// Has the client sent close_notify?
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Is the handshake complete?
    pub fn is_established(&self) -> bool {
        !self.connection.is_handshaking()
    }

    /// Is all clear text encrypted that was loaded?
    pub fn is_all_sealed(&self) -> bool {
        self.plain.is_empty()
    }

    /// Loads the clear text to be encrypted next, which `from` fills into an empty buffer list.
    ///
    /// # Panics
    /// When not all of the last one is encrypted.
    pub fn load(&mut self, from: impl FnOnce(Outgoing) -> Outgoing) {
        assert!(self.is_all_sealed(), "one after the other");
        self.plain = from(std::mem::take(&mut self.plain));
    }

    /// Encrypts the next bytes. Their buffers are recycled when all of them are encrypted.
    pub fn seal(&mut self, recycle: impl FnMut(Buffer)) {
        if self.plain.is_empty() {
            return;
        }
        let slices = next_slices(&self.plain, self.sealed);
        // An error, or no progress: the connection is broken, and the rest is not sent.
        let count = self.connection.writer().write_vectored(&slices).unwrap_or(0);
        self.sealed += count;
        if count == 0 || self.sealed == self.plain.len() {
            self.plain.clear(recycle);
            self.sealed = 0;
        }
        self.drain();
    }

    /// Sends close_notify, once.
    pub fn send_close_notify(&mut self) {
        if self.can_send_close_notify() {
            self.is_close_sent = true;
            self.connection.send_close_notify();
            self.drain();
        }
    }

    /// Can close_notify still be sent?
    pub fn can_send_close_notify(&self) -> bool {
        !self.is_close_sent && self.is_established()
    }

    /// Is something to be sent, or to be encrypted and sent?
    pub fn has_output(&self) -> bool {
        !self.plain.is_empty() || !self.out.is_empty()
    }

    /// The bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.plain.len() + self.out.len()
    }

    /// Takes the bytes that are ready to be sent, and leaves `empty` in their place.
    pub fn take_output(&mut self, empty: Outgoing) -> Outgoing {
        std::mem::replace(&mut self.out, empty)
    }

    /// Moves the output of rustls to the bytes ready to be sent.
    fn drain(&mut self) {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut Sink(&mut self.out)).expect("memory takes everything");
        }
    }
}

/// The next [`SEALED_BYTES_MAX`] bytes of `plain` from `start` on, at most.
fn next_slices(plain: &Outgoing, start: usize) -> Vec<IoSlice<'_>> {
    let (mut skipped, mut left) = (start, SEALED_BYTES_MAX);
    let mut slices = Vec::new();
    for slice in plain.slices() {
        let passed = skipped.min(slice.len());
        skipped -= passed;
        let slice = &slice[passed..];
        let slice = &slice[..left.min(slice.len())];
        left -= slice.len();
        if !slice.is_empty() {
            slices.push(IoSlice::new(slice));
        }
        if left == 0 {
            break;
        }
    }
    slices
}

/// Where rustls writes to.
struct Sink<'a>(&'a mut Outgoing);

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push_copy(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
