//! Encryption of one connection: rustls, and what is on its way through it. Bounded both ways.

use rustls::{ServerConfig, ServerConnection};
use scrubjay_core::buffer::Buffer;
use scrubjay_device::completion::Outgoing;
use std::io::{self, BufRead, IoSlice, Write};
use std::sync::Arc;

/// So much is encrypted at a time: 16 records of the greatest size. The rest waits where it lies, in clear.
pub(super) const SEALED_BYTES_MAX: usize = 256 << 10;

/// The connection broke a rule of TLS, or its certificate is not good enough. The alert that says so is ready to be sent.
#[derive(Debug)]
pub(super) struct Broken;

/// The server's side of TLS on one connection.
#[derive(Debug)]
pub(super) struct Channel {
    connection: ServerConnection,
    /// What is to be encrypted, and how much of it was.
    plain: Outgoing,
    sealed: usize,
    /// What is ready to be sent.
    out: Outgoing,
    /// The client sends nothing any more.
    is_closed: bool,
    /// Our farewell was said, or there is nobody to say it to.
    is_farewelled: bool,
}

impl Channel {
    /// A handshake begins, behind `clear`: what was said in clear before.
    pub fn new(config: Arc<ServerConfig>, clear: Outgoing) -> Channel {
        let mut connection = ServerConnection::new(config).expect("the configuration is complete");
        connection.set_buffer_limit(None); // nothing is ever left in there
        Channel {
            connection,
            plain: Outgoing::default(),
            sealed: 0,
            out: clear,
            is_closed: false,
            is_farewelled: false,
        }
    }

    /// Takes bytes from the front of `input`, up to the first that are there in clear.
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
        self.is_farewelled = true; // by the alert
        Err(Broken)
    }

    /// Bytes of the client's, in clear. None: more have to be received first.
    pub fn received(&mut self) -> &[u8] {
        self.connection.reader().into_first_chunk().unwrap_or_default()
    }

    /// So many of them were used.
    pub fn consume(&mut self, count: usize) {
        self.connection.reader().consume(count);
    }

    /// Would more bytes be of use now? No: some are there in clear, or the client has said that it is done.
    pub fn wants_input(&self) -> bool {
        self.connection.wants_read()
    }

    /// Has the client said that it is done?
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Is there a key yet?
    pub fn is_established(&self) -> bool {
        !self.connection.is_handshaking()
    }

    /// Has everything that was given been encrypted?
    pub fn is_all_sealed(&self) -> bool {
        self.plain.is_empty()
    }

    /// Gives what is to be encrypted next; `from` fills an empty one.
    ///
    /// # Panics
    /// When not all of the last is.
    pub fn load(&mut self, from: impl FnOnce(Outgoing) -> Outgoing) {
        assert!(self.is_all_sealed(), "one after the other");
        self.plain = from(std::mem::take(&mut self.plain));
    }

    /// Encrypts the next bytes. Their buffers are handed out when all are.
    pub fn seal(&mut self, recycle: impl FnMut(Buffer)) {
        if self.plain.is_empty() {
            return;
        }
        let slices = stretch(&self.plain, self.sealed);
        // An error, or nothing: the connection is broken, and nobody is to get the rest.
        let count = self.connection.writer().write_vectored(&slices).unwrap_or(0);
        self.sealed += count;
        if count == 0 || self.sealed == self.plain.len() {
            self.plain.clear(recycle);
            self.sealed = 0;
        }
        self.drain();
    }

    /// Says that nothing more will come, once.
    pub fn farewell(&mut self) {
        if self.wants_farewell() {
            self.is_farewelled = true;
            self.connection.send_close_notify();
            self.drain();
        }
    }

    /// Could it still be said that nothing more will come?
    pub fn wants_farewell(&self) -> bool {
        !self.is_farewelled && self.is_established()
    }

    /// Is something to be sent, or to be encrypted and sent?
    pub fn has_output(&self) -> bool {
        !self.plain.is_empty() || !self.out.is_empty()
    }

    /// The bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.plain.len() + self.out.len()
    }

    /// Takes what is ready to be sent, and gives an empty one in exchange.
    pub fn take_output(&mut self, empty: Outgoing) -> Outgoing {
        std::mem::replace(&mut self.out, empty)
    }

    /// Moves all that rustls has to say to where it is sent from.
    fn drain(&mut self) {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut Sink(&mut self.out)).expect("memory takes everything");
        }
    }
}

/// The next [`SEALED_BYTES_MAX`] bytes from `start` on.
fn stretch(plain: &Outgoing, start: usize) -> Vec<IoSlice<'_>> {
    let (mut skipped, mut left) = (start, SEALED_BYTES_MAX);
    let mut stretch = Vec::new();
    for slice in plain.slices() {
        let passed = skipped.min(slice.len());
        skipped -= passed;
        let slice = &slice[passed..];
        let slice = &slice[..left.min(slice.len())];
        left -= slice.len();
        if !slice.is_empty() {
            stretch.push(IoSlice::new(slice));
        }
        if left == 0 {
            break;
        }
    }
    stretch
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
