//! One NBD connection of a client, as a machine: its bytes in, requests out; replies in, bytes out. No socket.

use super::answer;
use super::command::{NbdCommand, NbdCommandKind, NbdHeader};
use super::export::Export;
use super::negotiation::{AfterOption, Negotiation, OPTION_DATA_MAX, Terms, TlsMode};
use super::wire::{self, Errno, OPTION_HEAD_BYTES, REQUEST_BYTES, handshake};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::VolumeOffset;
use scrubjay_core::volume::block::{BlockReply, BlockRequest};
use scrubjay_device::completion::Outgoing;
use std::ops::Range;
use std::sync::Arc;

/// Requests of one connection under way, at most (count). Clients send 16 (qemu) to 128 (the kernel) at a time.
pub const IN_FLIGHT_MAX: usize = 256;

/// Bytes that one connection holds, both ways together, from which on it may not send one more request. One request of the
/// greatest size is always possible, and a second one behind it.
pub const BYTES_IN_FLIGHT_MAX: usize = 64 << 20;

/// Bytes of unsent replies from which on a client in its handshake is not read any more.
const HANDSHAKE_REPLY_BYTES_MAX: usize = 128 << 10;

/// Bytes charged for an allocation query: its longest reply.
const ALLOCATION_BYTES: usize = 64 << 10;

/// Payloads that lack at least this many bytes are received straight into their buffer.
const DIRECT_BYTES_MIN: usize = 16 << 10;

/// A request under way, by its number: less than [`IN_FLIGHT_MAX`].
pub type Ticket = usize;

/// The server's side of a connection.
#[derive(Debug)]
pub struct NbdSession {
    export: Arc<Export>,
    tls: TlsMode,
    terms: Terms,
    phase: NbdPhase,
    /// The first bytes of a message that is not complete.
    head: Vec<u8>,
    /// Requests under way, by ticket.
    commands: Vec<Option<NbdCommand>>,
    free: Vec<Ticket>,
    /// Bytes charged for all requests under way.
    bytes_in_flight: usize,
    /// Bytes that it may hold, the next request included.
    limit: usize,
    out: Outgoing,
    has_begun: bool,
}

#[derive(Debug)]
enum NbdPhase {
    /// The client's flags come next.
    Flags,
    /// The header of an option comes next.
    Option,
    /// `len` bytes of an option's data come next.
    OptionData { option: u32, len: usize },
    /// `left` bytes come next that are skipped.
    Skip { left: u32, after: AfterSkip },
    /// TLS comes next, which this session does not handle.
    Tls,
    /// The header of a request comes next.
    Request,
    /// This request waits for memory.
    Held { command: NbdCommand },
    /// The payload of a write comes next.
    Payload { command: NbdCommand, buffer: Buffer, filled: usize },
    /// The payload of a write comes next; its buffer is lent.
    Lent { command: NbdCommand, filled: usize },
    /// Nothing is read any more.
    Over,
}

/// The reply after bytes that were skipped.
#[derive(Debug)]
enum AfterSkip {
    OptionTooBig { option: u32 },
    Refused { header: NbdHeader, errno: Errno },
}

impl NbdSession {
    /// A client has connected; the greeting is ready to be sent.
    pub fn new(export: Arc<Export>, tls: TlsMode) -> NbdSession {
        let mut out = Outgoing::default();
        out.push_copy(&wire::MAGIC.to_be_bytes());
        out.push_copy(&wire::OPTION_MAGIC.to_be_bytes());
        out.push_copy(&(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES).to_be_bytes());
        NbdSession {
            export,
            tls,
            terms: Terms::default(),
            phase: NbdPhase::Flags,
            head: Vec::new(),
            commands: Vec::new(),
            free: Vec::new(),
            bytes_in_flight: 0,
            limit: usize::MAX,
            out,
            has_begun: false,
        }
    }

    /// Takes bytes from the front of `input`, up to the end of the next request, and returns that. `None`: it took all
    /// bytes, or takes none now ([`NbdSession::wants_input`]). `buffer` makes the buffers of payloads, of the length given;
    /// their contents are overwritten.
    pub fn advance(
        &mut self,
        input: &mut &[u8],
        mut buffer: impl FnMut(usize) -> Buffer,
    ) -> Option<(Ticket, BlockRequest)> {
        if let NbdPhase::Held { command } = self.phase {
            self.phase = NbdPhase::Request;
            if let Some(ready) = self.begin_command(command, &mut buffer) {
                return Some(ready);
            }
        }
        while !input.is_empty() && self.wants_input() {
            match self.phase {
                NbdPhase::Flags => {
                    let flags = u32::from_be_bytes(self.gather(input)?);
                    self.greet(flags);
                }
                NbdPhase::Option => {
                    let head = self.gather(input)?;
                    self.begin_option(&head);
                }
                NbdPhase::OptionData { option, len } => {
                    let data = self.gather_data(input, len)?;
                    self.end_option(option, Some(&data));
                }
                NbdPhase::Skip { .. } => self.skip(input),
                NbdPhase::Request => {
                    let head = self.gather(input)?;
                    if let Some(ready) = self.begin_request(&head, &mut buffer) {
                        return Some(ready);
                    }
                }
                NbdPhase::Payload { .. } => {
                    if let Some(ready) = self.fill(input) {
                        return Some(ready);
                    }
                }
                NbdPhase::Tls | NbdPhase::Held { .. } | NbdPhase::Lent { .. } | NbdPhase::Over => return None,
            }
        }
        None
    }

    /// Does this request under way only read?
    pub fn is_read(&self, ticket: Ticket) -> bool {
        let kind = self.commands[ticket].as_ref().map(|command| command.kind);
        matches!(kind, Some(NbdCommandKind::Read { .. } | NbdCommandKind::Allocation { .. }))
    }

    /// Writes the reply to a request.
    ///
    /// # Panics
    /// When no such request is under way, or the reply does not fit it.
    pub fn reply(&mut self, ticket: Ticket, reply: BlockReply) {
        let command = self.commands[ticket].take().expect("a request gets one reply");
        self.free.push(ticket);
        self.bytes_in_flight -= self.cost(&command);
        answer::write(&mut self.out, self.terms.is_structured, &command, reply);
    }

    /// Can it take more input now? Not if too much is under way, TLS has to be started, a request waits for memory, a
    /// payload's buffer is lent, or it is over.
    pub fn wants_input(&self) -> bool {
        let is_closed =
            matches!(self.phase, NbdPhase::Tls | NbdPhase::Held { .. } | NbdPhase::Lent { .. } | NbdPhase::Over);
        !is_closed && self.in_flight() < IN_FLIGHT_MAX && !self.is_full()
    }

    /// Bytes held for this client: requests under way, and unsent replies.
    pub fn bytes(&self) -> usize {
        self.bytes_in_flight + self.out.len()
    }

    /// Bytes held for this client, including a payload that is being received.
    pub fn held(&self) -> usize {
        let coming = match &self.phase {
            NbdPhase::Payload { command, .. } | NbdPhase::Lent { command, .. } => command.len as usize,
            _ => 0,
        };
        self.bytes() + coming
    }

    /// Sets how many bytes it may hold; a request that would exceed that waits.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Does a request wait for memory?
    pub fn is_held(&self) -> bool {
        matches!(self.phase, NbdPhase::Held { .. })
    }

    /// Is a message of the client received in part only?
    pub fn is_mid_message(&self) -> bool {
        let is_half = matches!(self.phase, NbdPhase::Payload { .. } | NbdPhase::Lent { .. } | NbdPhase::Skip { .. });
        is_half || !self.head.is_empty()
    }

    /// Requests under way (count).
    pub fn in_flight(&self) -> usize {
        self.commands.len() - self.free.len()
    }

    /// Bytes ready to be sent.
    pub fn output_len(&self) -> usize {
        self.out.len()
    }

    /// Takes the bytes that are ready to be sent, and leaves `empty` in their place.
    ///
    /// # Panics
    /// When `empty` is not empty.
    pub fn take_output(&mut self, empty: Outgoing) -> Outgoing {
        assert!(empty.is_empty(), "an empty one in exchange");
        std::mem::replace(&mut self.out, empty)
    }

    /// Lends the buffer of a payload of which much is missing, and the range of the missing bytes, to receive into it without
    /// a copy. Until it is returned, no input is taken.
    pub fn lend_payload(&mut self) -> Option<(Buffer, Range<usize>)> {
        let NbdPhase::Payload { buffer, filled, .. } = &self.phase else { return None };
        if buffer.len() - filled < DIRECT_BYTES_MIN {
            return None;
        }
        let NbdPhase::Payload { command, buffer, filled } = std::mem::replace(&mut self.phase, NbdPhase::Over) else {
            unreachable!("it was a payload just now")
        };
        self.phase = NbdPhase::Lent { command, filled };
        let len = buffer.len();
        Some((buffer, filled..len))
    }

    /// Returns the lent buffer, with `count` more bytes in it; and the request, if that was all of it.
    ///
    /// # Panics
    /// When no buffer was lent.
    pub fn return_payload(&mut self, buffer: Buffer, count: usize) -> Option<(Ticket, BlockRequest)> {
        let NbdPhase::Lent { command, filled } = self.phase else { panic!("no buffer was lent") };
        self.phase = NbdPhase::Payload { command, buffer, filled: filled + count };
        self.end_payload()
    }

    /// Has the client asked for TLS? What it sends from now on is for TLS.
    pub fn wants_tls(&self) -> bool {
        matches!(self.phase, NbdPhase::Tls)
    }

    /// TLS is on: from now on input was encrypted, and output will be.
    ///
    /// # Panics
    /// When the client has not asked for TLS.
    pub fn secure(&mut self) {
        assert!(self.wants_tls(), "nobody asked for TLS");
        self.terms.is_secure = true;
        self.phase = NbdPhase::Option;
    }

    /// Is the handshake complete, so that requests are allowed?
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Does it hold so many bytes, including replies that are not limited beforehand, that it takes no more input?
    pub fn is_full(&self) -> bool {
        let bytes = self.bytes();
        bytes >= if self.has_begun { BYTES_IN_FLIGHT_MAX } else { HANDSHAKE_REPLY_BYTES_MAX } || bytes > self.limit
    }

    /// Is its input over? Requests under way are still replied to.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, NbdPhase::Over)
    }

    /// Ends its input: the client is gone, or the server ends.
    pub fn hang_up(&mut self) {
        self.phase = NbdPhase::Over;
    }

    /// The next `N` bytes, once they are all there.
    fn gather<const N: usize>(&mut self, input: &mut &[u8]) -> Option<[u8; N]> {
        if self.head.is_empty()
            && let Some((whole, rest)) = input.split_first_chunk::<N>()
        {
            *input = rest;
            return Some(*whole);
        }
        self.gather_data(input, N).map(|bytes| bytes.try_into().expect("as many as asked for"))
    }

    /// The next `len` bytes, once they are all there.
    fn gather_data(&mut self, input: &mut &[u8], len: usize) -> Option<Vec<u8>> {
        let (taken, rest) = input.split_at(input.len().min(len - self.head.len()));
        self.head.extend_from_slice(taken);
        *input = rest;
        (self.head.len() == len).then(|| std::mem::take(&mut self.head))
    }

    fn greet(&mut self, flags: u32) {
        let known = u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        self.terms.is_unpadded = flags & u32::from(handshake::NO_ZEROES) != 0;
        self.phase = if flags & !known == 0 { NbdPhase::Option } else { NbdPhase::Over };
    }

    fn begin_option(&mut self, head: &[u8; OPTION_HEAD_BYTES]) {
        let (magic, rest) = head.split_at(8);
        let (option, len) = rest.split_at(4);
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes"));
        let (option, len) = (number(option), number(len));
        if magic != wire::OPTION_MAGIC.to_be_bytes() {
            self.phase = NbdPhase::Over;
        } else if len as usize > OPTION_DATA_MAX {
            self.phase = NbdPhase::Skip { left: len, after: AfterSkip::OptionTooBig { option } };
        } else if len > 0 {
            self.phase = NbdPhase::OptionData { option, len: len as usize };
        } else {
            self.end_option(option, Some(&[]));
        }
    }

    /// An option is complete; no `data`: they were too long.
    fn end_option(&mut self, option: u32, data: Option<&[u8]>) {
        let NbdSession { export, terms, out, .. } = self;
        let negotiation = Negotiation { export, tls: self.tls, terms, out, option };
        let next = match data {
            Some(data) => negotiation.answer(data),
            None => negotiation.answer_too_big(),
        };
        self.phase = match next {
            AfterOption::Option => NbdPhase::Option,
            AfterOption::Transmission => {
                self.has_begun = true;
                NbdPhase::Request
            }
            AfterOption::Tls => NbdPhase::Tls,
            AfterOption::Over => NbdPhase::Over,
        };
    }

    /// Begins a request. One that needs no payload is returned at once.
    fn begin_request(
        &mut self,
        head: &[u8; REQUEST_BYTES],
        buffer: impl FnOnce(usize) -> Buffer,
    ) -> Option<(Ticket, BlockRequest)> {
        let Some(header) = NbdHeader::parse(head).filter(|header| header.number != wire::command::DISC) else {
            self.phase = NbdPhase::Over;
            return None;
        };
        let command = match header.judge(&self.export, &self.terms) {
            Ok(command) => command,
            Err(errno) => {
                self.refuse(header, errno);
                return None;
            }
        };
        if command.len == 0 && command.kind != NbdCommandKind::Flush {
            answer::write_nothing(&mut self.out, self.terms.is_structured, &command);
            return None;
        }
        self.begin_command(command, buffer)
    }

    fn begin_command(
        &mut self,
        command: NbdCommand,
        buffer: impl FnOnce(usize) -> Buffer,
    ) -> Option<(Ticket, BlockRequest)> {
        let cost = self.cost(&command);
        if cost > 0 && self.held() + cost > self.limit {
            self.phase = NbdPhase::Held { command };
            return None;
        }
        if matches!(command.kind, NbdCommandKind::Write { .. }) {
            let buffer = buffer(command.len as usize);
            assert_eq!(buffer.len(), command.len as usize, "a buffer of the length that was asked for");
            self.phase = NbdPhase::Payload { command, buffer, filled: 0 };
            return None;
        }
        Some((self.admit(command), request(&command)))
    }

    /// Refuses a request; its payload is skipped before the reply.
    fn refuse(&mut self, header: NbdHeader, errno: Errno) {
        match header.payload() {
            0 => self.end_refusal(header, errno),
            left => self.phase = NbdPhase::Skip { left, after: AfterSkip::Refused { header, errno } },
        }
    }

    fn end_refusal(&mut self, header: NbdHeader, errno: Errno) {
        let kind = match header.number {
            wire::command::READ => NbdCommandKind::Read { is_whole: false },
            wire::command::BLOCK_STATUS => NbdCommandKind::Allocation { is_one_run: false },
            _ => NbdCommandKind::Flush, // any kind with a simple reply
        };
        answer::write_error(&mut self.out, self.terms.is_structured, header.cookie, kind, errno);
        self.phase = NbdPhase::Request;
    }

    fn skip(&mut self, input: &mut &[u8]) {
        let NbdPhase::Skip { left, after } = &mut self.phase else { unreachable!("called for nothing else") };
        let count = input.len().min(*left as usize);
        *input = &input[count..];
        *left -= count as u32;
        if *left == 0 {
            match *after {
                AfterSkip::OptionTooBig { option } => self.end_option(option, None),
                AfterSkip::Refused { header, errno } => self.end_refusal(header, errno),
            }
        }
    }

    fn fill(&mut self, input: &mut &[u8]) -> Option<(Ticket, BlockRequest)> {
        let NbdPhase::Payload { buffer, filled, .. } = &mut self.phase else { unreachable!("called for nothing else") };
        let (taken, rest) = input.split_at(input.len().min(buffer.len() - *filled));
        buffer[*filled..*filled + taken.len()].copy_from_slice(taken);
        *filled += taken.len();
        *input = rest;
        self.end_payload()
    }

    /// The write, if its payload is complete.
    fn end_payload(&mut self) -> Option<(Ticket, BlockRequest)> {
        match std::mem::replace(&mut self.phase, NbdPhase::Request) {
            NbdPhase::Payload { command, buffer, filled } if filled == buffer.len() => {
                let NbdCommandKind::Write { is_durable } = command.kind else {
                    unreachable!("only writes have payloads")
                };
                Some((
                    self.admit(command),
                    BlockRequest::Write { offset: VolumeOffset(command.offset), data: buffer, is_durable },
                ))
            }
            unfinished => {
                self.phase = unfinished;
                None
            }
        }
    }

    /// Bytes charged for a command until its reply: its range, rounded to whole blocks.
    fn cost(&self, command: &NbdCommand) -> usize {
        match command.kind {
            NbdCommandKind::Read { .. } | NbdCommandKind::Write { .. } => {
                let block = u64::from(self.export.block_preferred());
                let end = (command.offset + u64::from(command.len)).next_multiple_of(block);
                (end - command.offset / block * block) as usize
            }
            NbdCommandKind::Allocation { .. } => ALLOCATION_BYTES,
            NbdCommandKind::Flush | NbdCommandKind::Trim | NbdCommandKind::Zero { .. } => 0,
        }
    }

    fn admit(&mut self, command: NbdCommand) -> Ticket {
        self.bytes_in_flight += self.cost(&command);
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.commands.push(None);
            self.commands.len() - 1
        });
        self.commands[ticket] = Some(command);
        ticket
    }
}

/// The volume's request for a command without a payload.
fn request(command: &NbdCommand) -> BlockRequest {
    let (offset, len) = (command.offset, u64::from(command.len));
    match command.kind {
        NbdCommandKind::Read { .. } => BlockRequest::Read { offset: VolumeOffset(offset), len },
        NbdCommandKind::Flush => BlockRequest::Flush,
        NbdCommandKind::Trim => BlockRequest::Trim { offset: VolumeOffset(offset), len },
        NbdCommandKind::Zero { is_durable } => BlockRequest::Zero { offset: VolumeOffset(offset), len, is_durable },
        NbdCommandKind::Allocation { .. } => BlockRequest::Allocation { offset: VolumeOffset(offset), len },
        NbdCommandKind::Write { .. } => unreachable!("a write has a payload"),
    }
}
