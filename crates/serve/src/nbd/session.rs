//! One connection of a client, as a pure machine: its bytes in, requests out; replies in, bytes out. No socket.

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

/// So many requests of one connection are under way at most. Clients send 16 (qemu) to 128 (the kernel) at a time.
pub const IN_FLIGHT_MAX: usize = 256;

/// So many bytes of one connection are under way at most, both ways together, before it may send one more request. One
/// request of the greatest size is always possible, and a second one behind it.
pub const BYTES_IN_FLIGHT_MAX: usize = 64 << 20;

/// So many bytes of answers wait for a client that has not come to an agreement, before it may ask for more.
const HAGGLED_MAX: usize = 128 << 10;

/// What an answer on allocation is reckoned as, in bytes: the most it can have.
const ALLOCATION_BYTES: usize = 64 << 10;

/// Payloads with at least so much missing are worth a receive of their own, straight into their buffer.
const DIRECT_BYTES_MIN: usize = 16 << 10;

/// One request that is under way, by its number: less than [`IN_FLIGHT_MAX`].
pub type Ticket = usize;

/// The server's side of a connection.
#[derive(Debug)]
pub struct NbdSession {
    export: Arc<Export>,
    tls: TlsMode,
    terms: Terms,
    phase: NbdPhase,
    /// The first bytes of something that is not all there yet.
    head: Vec<u8>,
    /// What is under way, by its ticket.
    commands: Vec<Option<NbdCommand>>,
    free: Vec<Ticket>,
    /// The bytes of all that is under way.
    bytes_in_flight: usize,
    /// It may hold so many bytes with the next request.
    limit: usize,
    out: Outgoing,
    has_begun: bool,
}

#[derive(Debug)]
enum NbdPhase {
    /// The client's flags come next.
    Flags,
    /// The head of an option comes next.
    Option,
    /// So many bytes of an option come next.
    OptionData { option: u32, len: usize },
    /// So many bytes come next that nobody wants.
    Unwanted { left: u32, then: Then },
    /// TLS comes next: not for us.
    Tls,
    /// The head of a request comes next.
    Request,
    /// This request waits for room.
    Held { command: NbdCommand },
    /// Bytes to be written come next.
    Payload { command: NbdCommand, buffer: Buffer, filled: usize },
    /// The same; whoever receives has the buffer.
    Lent { command: NbdCommand, filled: usize },
    /// Nothing comes any more.
    Over,
}

/// What is answered when the unwanted bytes are over.
#[derive(Debug)]
enum Then {
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

    /// Takes bytes from the front of `input`, up to the end of the next request: that is returned. `None`: it took all
    /// there was, or does not want any now ([`NbdSession::wants_input`]). `buffer` makes the buffers of payloads, of that
    /// length; whatever is in them is overwritten.
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
                NbdPhase::Unwanted { .. } => self.skip(input),
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

    /// The reply to one request.
    ///
    /// # Panics
    /// When no such request is under way, or the reply does not fit it.
    pub fn reply(&mut self, ticket: Ticket, reply: BlockReply) {
        let command = self.commands[ticket].take().expect("a request gets one reply");
        self.free.push(ticket);
        self.bytes_in_flight -= self.cost(&command);
        answer::write(&mut self.out, self.terms.is_structured, &command, reply);
    }

    /// Would more bytes of the client's be of use now? No: too much is under way, TLS has to be begun, a request waits for
    /// room, a payload's buffer is lent, or it is over.
    pub fn wants_input(&self) -> bool {
        let is_closed =
            matches!(self.phase, NbdPhase::Tls | NbdPhase::Held { .. } | NbdPhase::Lent { .. } | NbdPhase::Over);
        !is_closed && self.in_flight() < IN_FLIGHT_MAX && !self.is_full()
    }

    /// The bytes that are held for this client.
    pub fn bytes(&self) -> usize {
        self.bytes_in_flight + self.out.len()
    }

    /// All bytes that are held for this client, those of a payload that is coming, too.
    pub fn held(&self) -> usize {
        let coming = match &self.phase {
            NbdPhase::Payload { command, .. } | NbdPhase::Lent { command, .. } => command.len as usize,
            _ => 0,
        };
        self.bytes() + coming
    }

    /// It may hold so many bytes from now on; a request that would make them more waits.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Does a request wait for room?
    pub fn is_held(&self) -> bool {
        matches!(self.phase, NbdPhase::Held { .. })
    }

    /// Is a message of the client's there in part, and its rest not?
    pub fn is_amid(&self) -> bool {
        let is_half =
            matches!(self.phase, NbdPhase::Payload { .. } | NbdPhase::Lent { .. } | NbdPhase::Unwanted { .. });
        is_half || !self.head.is_empty()
    }

    /// How many requests are under way.
    pub fn in_flight(&self) -> usize {
        self.commands.len() - self.free.len()
    }

    /// How many bytes are ready to be sent.
    pub fn output_len(&self) -> usize {
        self.out.len()
    }

    /// Takes what is ready to be sent, and gives an empty one in exchange.
    ///
    /// # Panics
    /// When what is given is not empty.
    pub fn take_output(&mut self, empty: Outgoing) -> Outgoing {
        assert!(empty.is_empty(), "an empty one in exchange");
        std::mem::replace(&mut self.out, empty)
    }

    /// The buffer of a payload of which much is missing, and where the missing bytes belong: to be received into without
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

    /// The lent buffer comes back, with `count` more bytes in it. The request, when that was all of it.
    ///
    /// # Panics
    /// When none was lent.
    pub fn return_payload(&mut self, buffer: Buffer, count: usize) -> Option<(Ticket, BlockRequest)> {
        let NbdPhase::Lent { command, filled } = self.phase else { panic!("no buffer was lent") };
        self.phase = NbdPhase::Payload { command, buffer, filled: filled + count };
        self.end_payload()
    }

    /// Has the client asked for TLS? What it sends from now on is for TLS.
    pub fn wants_tls(&self) -> bool {
        matches!(self.phase, NbdPhase::Tls)
    }

    /// TLS is on: what comes in from now on was encrypted, and what goes out will be.
    ///
    /// # Panics
    /// When the client has not asked for it.
    pub fn secure(&mut self) {
        assert!(self.wants_tls(), "nobody asked for TLS");
        self.terms.is_secure = true;
        self.phase = NbdPhase::Option;
    }

    /// Did the client come to an agreement, so that it could ask for bytes?
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Does it hold so much, of replies that nobody asked room for, too, that no more input is taken?
    pub fn is_full(&self) -> bool {
        let bytes = self.bytes();
        bytes >= if self.has_begun { BYTES_IN_FLIGHT_MAX } else { HAGGLED_MAX } || bytes > self.limit
    }

    /// Will nothing more come of it, once what is under way has been replied to and sent?
    pub fn is_over(&self) -> bool {
        matches!(self.phase, NbdPhase::Over)
    }

    /// The client is gone, or we are: no more of its bytes are wanted.
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
            self.phase = NbdPhase::Unwanted { left: len, then: Then::OptionTooBig { option } };
        } else if len > 0 {
            self.phase = NbdPhase::OptionData { option, len: len as usize };
        } else {
            self.end_option(option, Some(&[]));
        }
    }

    /// An option is there, with its data, unless that was too long.
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

    /// A request that needs no payload is returned at once.
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

    /// A payload is read to its end before anything is said of it.
    fn refuse(&mut self, header: NbdHeader, errno: Errno) {
        match header.payload() {
            0 => self.end_refusal(header, errno),
            left => self.phase = NbdPhase::Unwanted { left, then: Then::Refused { header, errno } },
        }
    }

    fn end_refusal(&mut self, header: NbdHeader, errno: Errno) {
        let kind = match header.number {
            wire::command::READ => NbdCommandKind::Read { is_whole: false },
            wire::command::BLOCK_STATUS => NbdCommandKind::Allocation { is_one: false },
            _ => NbdCommandKind::Flush, // any that is answered simply
        };
        answer::write_error(&mut self.out, self.terms.is_structured, header.cookie, kind, errno);
        self.phase = NbdPhase::Request;
    }

    fn skip(&mut self, input: &mut &[u8]) {
        let NbdPhase::Unwanted { left, then } = &mut self.phase else { unreachable!("called for nothing else") };
        let count = input.len().min(*left as usize);
        *input = &input[count..];
        *left -= count as u32;
        if *left == 0 {
            match *then {
                Then::OptionTooBig { option } => self.end_option(option, None),
                Then::Refused { header, errno } => self.end_refusal(header, errno),
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

    /// The write, when all of its payload is there.
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

    /// The bytes that a command holds until it is replied to: of whole blocks, however little of them it asks for.
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

/// What a command without a payload means to the volume.
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
