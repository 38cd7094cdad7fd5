//! One client's connection: the machine of its protocol, its socket, and the bytes between them.

use super::task::RingTask;
use crate::control::Lines;
use crate::nbd::{BYTES_IN_FLIGHT_MAX, Ticket};
use crate::tls::TlsSession;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::block::{BlockReply, BlockRequest};
use scrubjay_device::completion::{IoRing, Outgoing, Socket, shutdown};
use std::io;
use std::ops::Range;

/// Bytes received at a time: 32 writes of 4 KiB.
const INPUT_BYTES: usize = 144 << 10;

/// The connection. It may be dropped once it [`Connection::is_done`]: then neither the ring nor the volume works for it.
pub(super) struct Connection {
    socket: Socket,
    protocol: Protocol,
    /// When it was accepted.
    pub accepted_at: Nanos,
    /// The input buffer; `None`: the ring is receiving into it.
    input: Option<Buffer>,
    /// The part of the input that is not processed yet.
    unread: Range<usize>,
    is_receiving: bool,
    /// The ring is receiving straight into the payload of a write.
    is_lent: bool,
    sending: Option<SendProgress>,
    /// When the current receive was started, and when a send last started or made progress.
    receiving_since: Nanos,
    sending_since: Nanos,
    /// Empty, kept for its allocation.
    spare: Outgoing,
    /// The connection is cut: nothing more is sent.
    is_lost: bool,
    /// Bytes held for it, when last computed.
    pub held: usize,
    /// It is in the pump's list of connections to be served.
    pub is_scheduled: bool,
}

/// Progress of a send, in bytes.
#[derive(Clone, Copy)]
struct SendProgress {
    sent: usize,
    len: usize,
}

/// The protocol.
enum Protocol {
    Nbd(Box<TlsSession>),
    Control(Lines),
}

/// The kind of client at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerKind {
    /// A control client.
    Controller,
    /// An NBD client whose handshake is under way.
    Newcomer,
    /// An NBD client whose handshake is complete.
    Client,
    /// None any more: the connection is cut.
    Lost,
}

/// A client's request or command.
pub(super) enum ClientMessage {
    Request(Ticket, BlockRequest),
    Command(String),
}

impl Connection {
    pub fn nbd(socket: Socket, now: Nanos, session: TlsSession) -> Connection {
        Connection::new(socket, now, Protocol::Nbd(Box::new(session)))
    }

    pub fn control(socket: Socket, now: Nanos) -> Connection {
        Connection::new(socket, now, Protocol::Control(Lines::default()))
    }

    fn new(socket: Socket, accepted_at: Nanos, protocol: Protocol) -> Connection {
        Connection {
            socket,
            protocol,
            accepted_at,
            input: Some(Buffer::zeroed(INPUT_BYTES)),
            unread: 0..0,
            is_receiving: false,
            is_lent: false,
            sending: None,
            receiving_since: accepted_at,
            sending_since: accepted_at,
            spare: Outgoing::default(),
            is_lost: false,
            held: 0,
            is_scheduled: false,
        }
    }

    /// The next request or command among the bytes received. `buffer` makes buffers for the data of writes.
    pub fn next(&mut self, buffer: impl FnMut(usize) -> Buffer) -> Option<ClientMessage> {
        let is_full = self.is_full();
        let input = self.input.as_ref().filter(|_| !is_full)?;
        let mut bytes = &input[self.unread.clone()];
        let message = match &mut self.protocol {
            Protocol::Nbd(session) => {
                session.advance(&mut bytes, buffer).map(|(ticket, request)| ClientMessage::Request(ticket, request))
            }
            Protocol::Control(lines) => lines.advance(&mut bytes).map(ClientMessage::Command),
        };
        self.unread.start = self.unread.end - bytes.len();
        message
    }

    /// Does this request under way only read?
    pub fn is_read(&self, ticket: Ticket) -> bool {
        matches!(&self.protocol, Protocol::Nbd(session) if session.is_read(ticket))
    }

    /// Passes on a reply of the volume.
    pub fn reply(&mut self, ticket: Ticket, reply: BlockReply) {
        let Protocol::Nbd(session) = &mut self.protocol else { panic!("only NBD clients ask the volume") };
        session.reply(ticket, reply);
    }

    /// Passes on the answer to a command.
    pub fn answer(&mut self, answer: &str) {
        let Protocol::Control(lines) = &mut self.protocol else { panic!("only control clients give commands") };
        lines.answer(answer);
    }

    /// Starts sending the output that is ready, and receiving if more input is wanted.
    pub fn start_io(&mut self, now: Nanos, index: usize, ring: &mut IoRing<RingTask>, mut recycle: impl FnMut(Buffer)) {
        if self.sending.is_none() && self.has_output() {
            let spare = std::mem::take(&mut self.spare);
            let mut outgoing = match &mut self.protocol {
                Protocol::Nbd(session) => session.take_output(spare, &mut recycle),
                Protocol::Control(lines) => lines.take_output(spare),
            };
            if self.is_lost || outgoing.is_empty() {
                outgoing.clear(recycle);
                self.spare = outgoing;
            } else {
                self.sending = Some(SendProgress { sent: 0, len: outgoing.len() });
                self.sending_since = now;
                ring.send(RingTask::Send(index), &self.socket, outgoing, 0);
            }
        }
        if !self.is_receiving && self.unread.is_empty() {
            self.start_receiving(index, ring);
            self.receiving_since = now;
        }
    }

    fn start_receiving(&mut self, index: usize, ring: &mut IoRing<RingTask>) {
        if let Protocol::Nbd(session) = &mut self.protocol
            && let Some((buffer, range)) = session.lend_payload()
        {
            (self.is_receiving, self.is_lent) = (true, true);
            return ring.receive(RingTask::Receive(index), &self.socket, buffer, range);
        }
        let wants_input = match &self.protocol {
            Protocol::Nbd(session) => session.wants_input(),
            Protocol::Control(lines) => lines.wants_input(),
        };
        if wants_input && !self.is_full() {
            let buffer = self.input.take().expect("it is here when nothing is received");
            self.is_receiving = true;
            ring.receive(RingTask::Receive(index), &self.socket, buffer, 0..INPUT_BYTES);
        }
    }

    /// Bytes were received, or the end. Returns the write that they complete, if any.
    pub fn received(&mut self, buffer: Buffer, result: io::Result<usize>) -> Option<ClientMessage> {
        self.is_receiving = false;
        let count = result.unwrap_or(0);
        if count == 0 {
            self.hang_up();
        }
        if std::mem::take(&mut self.is_lent) {
            let Protocol::Nbd(session) = &mut self.protocol else { unreachable!("only NBD has payloads") };
            return match session.is_over() {
                true => None,
                false => session
                    .return_payload(buffer, count)
                    .map(|(ticket, request)| ClientMessage::Request(ticket, request)),
            };
        }
        self.input = Some(buffer);
        self.unread = 0..count;
        None
    }

    /// Part of the output was sent, or sending failed. Sends the rest.
    pub fn sent(
        &mut self,
        now: Nanos,
        index: usize,
        ring: &mut IoRing<RingTask>,
        (mut outgoing, result): (Outgoing, io::Result<usize>),
        recycle: impl FnMut(Buffer),
    ) {
        let SendProgress { sent, len } = self.sending.take().expect("it is being sent");
        self.sending_since = now;
        match result {
            Ok(count) if sent + count < len && !self.is_lost => {
                self.sending = Some(SendProgress { sent: sent + count, len });
                return ring.send(RingTask::Send(index), &self.socket, outgoing, sent + count);
            }
            Ok(_) => (),
            Err(_) => self.cut(),
        }
        outgoing.clear(recycle);
        self.spare = outgoing;
    }

    /// Since when the client has made no progress, if it should: with receiving output, or with the rest of a message.
    pub fn stalled_since(&self) -> Option<Nanos> {
        let is_mid_message = matches!(&self.protocol, Protocol::Nbd(session) if session.is_mid_message());
        let reading = self.sending.map(|_| self.sending_since);
        let writing = (is_mid_message && self.is_receiving).then_some(self.receiving_since);
        reading.into_iter().chain(writing).min().filter(|_| !self.is_lost)
    }

    /// The client sends nothing more, or is not to be read any more; it still gets its replies.
    pub fn hang_up(&mut self) {
        match &mut self.protocol {
            Protocol::Nbd(session) => session.hang_up(),
            Protocol::Control(lines) => lines.hang_up(),
        }
    }

    /// Ends the connection for good; operations under way return soon.
    pub fn cut(&mut self) {
        self.hang_up();
        self.is_lost = true;
        shutdown(&self.socket);
    }

    /// Is its handshake not complete? (A failed one never is.)
    pub fn is_new(&self) -> bool {
        matches!(&self.protocol, Protocol::Nbd(session) if !session.has_begun())
    }

    /// Bytes held for it now.
    pub fn held_bytes(&self) -> usize {
        let held = match &self.protocol {
            Protocol::Nbd(session) => session.held(),
            Protocol::Control(lines) => lines.output_len(),
        };
        held + self.sending.map_or(0, |sending| sending.len)
    }

    /// Sets how many bytes may be held for it; a request that would exceed that waits.
    pub fn set_limit(&mut self, limit: usize) {
        let sending = self.sending.map_or(0, |sending| sending.len);
        if let Protocol::Nbd(session) = &mut self.protocol {
            session.set_limit(limit.saturating_sub(sending));
        }
    }

    /// Does a request of it wait for memory?
    pub fn is_held(&self) -> bool {
        matches!(&self.protocol, Protocol::Nbd(session) if session.is_held())
    }

    /// Its kind, for the limits on connections.
    pub fn kind(&self) -> PeerKind {
        match &self.protocol {
            _ if self.is_lost => PeerKind::Lost,
            Protocol::Control(_) => PeerKind::Controller,
            Protocol::Nbd(session) if !session.has_begun() => PeerKind::Newcomer,
            Protocol::Nbd(_) => PeerKind::Client,
        }
    }

    /// Its requests under way (count).
    pub fn in_flight(&self) -> usize {
        match &self.protocol {
            Protocol::Nbd(session) => session.in_flight(),
            Protocol::Control(_) => 0,
        }
    }

    /// Is an answer to a command being sent?
    pub fn is_answering(&self) -> bool {
        matches!(self.protocol, Protocol::Control(_)) && !self.is_lost && (self.sending.is_some() || self.has_output())
    }

    /// Has it no request under way and nothing to send? (A command under way does not count: it may take any time.)
    pub fn is_quiet(&self) -> bool {
        self.in_flight() == 0 && self.sending.is_none() && (!self.has_output() || self.is_lost)
    }

    /// Is it over, with no operation under way?
    pub fn is_done(&self) -> bool {
        let is_over = match &self.protocol {
            Protocol::Nbd(session) => session.is_over(),
            Protocol::Control(lines) => lines.is_over() && !lines.is_waiting(),
        };
        is_over && self.is_quiet() && !self.is_receiving
    }

    /// Does it hold so many bytes that the next request has to wait?
    fn is_full(&self) -> bool {
        let sending = self.sending.map_or(0, |sending| sending.len);
        match &self.protocol {
            Protocol::Nbd(session) => session.is_full() || session.bytes() + sending >= BYTES_IN_FLIGHT_MAX,
            Protocol::Control(lines) => lines.output_len() + sending >= BYTES_IN_FLIGHT_MAX,
        }
    }

    fn has_output(&self) -> bool {
        match &self.protocol {
            Protocol::Nbd(session) => session.has_output(),
            Protocol::Control(lines) => lines.output_len() > 0,
        }
    }
}
