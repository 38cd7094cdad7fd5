//! One client's connection: a protocol's machine, its socket, and the bytes between them.

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

/// So much is received at a time: 32 writes of 4 KiB.
const INPUT_BYTES: usize = 144 << 10;

/// The connection. It may be dropped once it [`Connection::is_done`]: nothing of the ring's or the volume's is out then.
pub(super) struct Connection {
    socket: Socket,
    talk: Talk,
    /// When the client came.
    pub since: Nanos,
    /// What was received; the ring has it while `is_receiving`.
    input: Option<Buffer>,
    /// The part of it that was not looked at yet.
    unread: Range<usize>,
    is_receiving: bool,
    /// What is received goes straight into a payload.
    is_lent: bool,
    sending: Option<SendProgress>,
    /// When the last bytes came, and when the last were taken, or were to be.
    moved_in: Nanos,
    moved_out: Nanos,
    /// Empty, kept for its room.
    spare: Outgoing,
    /// Nothing can be sent any more.
    is_lost: bool,
    /// So many bytes were held for it when that was last reckoned up.
    pub held: usize,
    /// It is on the list of those for which something may be done at once.
    pub is_stirred: bool,
}

/// How far a send has come, in bytes.
#[derive(Clone, Copy)]
struct SendProgress {
    sent: usize,
    len: usize,
}

/// What is spoken.
enum Talk {
    Nbd(Box<TlsSession>),
    Control(Lines),
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerKind {
    /// Somebody who gives commands.
    Controller,
    /// A client whose handshake goes on.
    Newcomer,
    /// A client whose handshake is over.
    Client,
    /// Nobody any more.
    Lost,
}

/// Something a client wants.
pub(super) enum Ask {
    Request(Ticket, BlockRequest),
    Command(String),
}

impl Connection {
    pub fn nbd(socket: Socket, now: Nanos, session: TlsSession) -> Connection {
        Connection::new(socket, now, Talk::Nbd(Box::new(session)))
    }

    pub fn control(socket: Socket, now: Nanos) -> Connection {
        Connection::new(socket, now, Talk::Control(Lines::default()))
    }

    fn new(socket: Socket, since: Nanos, talk: Talk) -> Connection {
        Connection {
            socket,
            talk,
            since,
            input: Some(Buffer::zeroed(INPUT_BYTES)),
            unread: 0..0,
            is_receiving: false,
            is_lent: false,
            sending: None,
            moved_in: since,
            moved_out: since,
            spare: Outgoing::default(),
            is_lost: false,
            held: 0,
            is_stirred: false,
        }
    }

    /// The next thing the client wants, of the bytes that are there. `buffer` makes buffers for what it writes.
    pub fn next(&mut self, buffer: impl FnMut(usize) -> Buffer) -> Option<Ask> {
        let is_full = self.is_full();
        let input = self.input.as_ref().filter(|_| !is_full)?;
        let mut bytes = &input[self.unread.clone()];
        let ask = match &mut self.talk {
            Talk::Nbd(session) => {
                session.advance(&mut bytes, buffer).map(|(ticket, request)| Ask::Request(ticket, request))
            }
            Talk::Control(lines) => lines.advance(&mut bytes).map(Ask::Command),
        };
        self.unread.start = self.unread.end - bytes.len();
        ask
    }

    /// Does this request under way only read?
    pub fn is_read(&self, ticket: Ticket) -> bool {
        matches!(&self.talk, Talk::Nbd(session) if session.is_read(ticket))
    }

    /// A reply of the volume's.
    pub fn reply(&mut self, ticket: Ticket, reply: BlockReply) {
        let Talk::Nbd(session) = &mut self.talk else { panic!("only NBD clients ask the volume") };
        session.reply(ticket, reply);
    }

    /// An answer to a command.
    pub fn answer(&mut self, answer: &str) {
        let Talk::Control(lines) = &mut self.talk else { panic!("only control clients give commands") };
        lines.answer(answer);
    }

    /// Starts what can be started: sending what is ready, receiving what is wanted.
    pub fn start_io(&mut self, now: Nanos, index: usize, ring: &mut IoRing<RingTask>, mut recycle: impl FnMut(Buffer)) {
        if self.sending.is_none() && self.has_output() {
            let spare = std::mem::take(&mut self.spare);
            let mut outgoing = match &mut self.talk {
                Talk::Nbd(session) => session.take_output(spare, &mut recycle),
                Talk::Control(lines) => lines.take_output(spare),
            };
            if self.is_lost || outgoing.is_empty() {
                outgoing.clear(recycle);
                self.spare = outgoing;
            } else {
                self.sending = Some(SendProgress { sent: 0, len: outgoing.len() });
                self.moved_out = now;
                ring.send(RingTask::Send(index), &self.socket, outgoing, 0);
            }
        }
        if !self.is_receiving && self.unread.is_empty() {
            self.start_receiving(index, ring);
            self.moved_in = now;
        }
    }

    fn start_receiving(&mut self, index: usize, ring: &mut IoRing<RingTask>) {
        if let Talk::Nbd(session) = &mut self.talk
            && let Some((buffer, range)) = session.lend_payload()
        {
            (self.is_receiving, self.is_lent) = (true, true);
            return ring.receive(RingTask::Receive(index), &self.socket, buffer, range);
        }
        let wants_input = match &self.talk {
            Talk::Nbd(session) => session.wants_input(),
            Talk::Control(lines) => lines.wants_input(),
        };
        if wants_input && !self.is_full() {
            let buffer = self.input.take().expect("it is here when nothing is received");
            self.is_receiving = true;
            ring.receive(RingTask::Receive(index), &self.socket, buffer, 0..INPUT_BYTES);
        }
    }

    /// Bytes came, or the end. If they end a write, that is returned.
    pub fn received(&mut self, buffer: Buffer, result: io::Result<usize>) -> Option<Ask> {
        self.is_receiving = false;
        let count = result.unwrap_or(0);
        if count == 0 {
            self.hang_up();
        }
        if std::mem::take(&mut self.is_lent) {
            let Talk::Nbd(session) = &mut self.talk else { unreachable!("only NBD has payloads") };
            return match session.is_over() {
                true => None,
                false => session.return_payload(buffer, count).map(|(ticket, request)| Ask::Request(ticket, request)),
            };
        }
        self.input = Some(buffer);
        self.unread = 0..count;
        None
    }

    /// Some of it was sent, or it cannot be. The rest follows.
    pub fn sent(
        &mut self,
        now: Nanos,
        index: usize,
        ring: &mut IoRing<RingTask>,
        (mut outgoing, result): (Outgoing, io::Result<usize>),
        recycle: impl FnMut(Buffer),
    ) {
        let SendProgress { sent, len } = self.sending.take().expect("it is being sent");
        self.moved_out = now;
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

    /// Since when the client keeps us waiting, if it does: with taking what is sent, or with the rest of a message.
    pub fn stalled_since(&self) -> Option<Nanos> {
        let is_amid = matches!(&self.talk, Talk::Nbd(session) if session.is_amid());
        let reading = self.sending.map(|_| self.moved_out);
        let writing = (is_amid && self.is_receiving).then_some(self.moved_in);
        reading.into_iter().chain(writing).min().filter(|_| !self.is_lost)
    }

    /// The client sends nothing any more, or shall not be listened to; it still gets its replies.
    pub fn hang_up(&mut self) {
        match &mut self.talk {
            Talk::Nbd(session) => session.hang_up(),
            Talk::Control(lines) => lines.hang_up(),
        }
    }

    /// Ends the connection for good; what is under way comes back soon.
    pub fn cut(&mut self) {
        self.hang_up();
        self.is_lost = true;
        shutdown(&self.socket);
    }

    /// Has the handshake not come to its end? (It never does where it failed.)
    pub fn is_new(&self) -> bool {
        matches!(&self.talk, Talk::Nbd(session) if !session.has_begun())
    }

    /// So many bytes are held for it now.
    pub fn reckon(&self) -> usize {
        let held = match &self.talk {
            Talk::Nbd(session) => session.held(),
            Talk::Control(lines) => lines.output_len(),
        };
        held + self.sending.map_or(0, |sending| sending.len)
    }

    /// So many bytes may be held for it; a request that would make them more waits.
    pub fn set_limit(&mut self, limit: usize) {
        let sending = self.sending.map_or(0, |sending| sending.len);
        if let Talk::Nbd(session) = &mut self.talk {
            session.set_limit(limit.saturating_sub(sending));
        }
    }

    /// Does a request of it wait for room?
    pub fn is_held(&self) -> bool {
        matches!(&self.talk, Talk::Nbd(session) if session.is_held())
    }

    /// How it is to be counted.
    pub fn kind(&self) -> PeerKind {
        match &self.talk {
            _ if self.is_lost => PeerKind::Lost,
            Talk::Control(_) => PeerKind::Controller,
            Talk::Nbd(session) if !session.has_begun() => PeerKind::Newcomer,
            Talk::Nbd(_) => PeerKind::Client,
        }
    }

    /// How many requests of it are under way.
    pub fn in_flight(&self) -> usize {
        match &self.talk {
            Talk::Nbd(session) => session.in_flight(),
            Talk::Control(_) => 0,
        }
    }

    /// Is an answer to a command on its way?
    pub fn is_answering(&self) -> bool {
        matches!(self.talk, Talk::Control(_)) && !self.is_lost && (self.sending.is_some() || self.has_output())
    }

    /// Has it no request under way and nothing to send? (A command may take as long as it likes; nobody waits for it.)
    pub fn is_quiet(&self) -> bool {
        self.in_flight() == 0 && self.sending.is_none() && (!self.has_output() || self.is_lost)
    }

    /// Is it over, and nothing out?
    pub fn is_done(&self) -> bool {
        let is_over = match &self.talk {
            Talk::Nbd(session) => session.is_over(),
            Talk::Control(lines) => lines.is_over() && !lines.is_waiting(),
        };
        is_over && self.is_quiet() && !self.is_receiving
    }

    /// Does it hold so much that the next request has to wait?
    fn is_full(&self) -> bool {
        let sending = self.sending.map_or(0, |sending| sending.len);
        match &self.talk {
            Talk::Nbd(session) => session.is_full() || session.bytes() + sending >= BYTES_IN_FLIGHT_MAX,
            Talk::Control(lines) => lines.output_len() + sending >= BYTES_IN_FLIGHT_MAX,
        }
    }

    fn has_output(&self) -> bool {
        match &self.talk {
            Talk::Nbd(session) => session.has_output(),
            Talk::Control(lines) => lines.output_len() > 0,
        }
    }
}
