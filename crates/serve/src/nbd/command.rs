//! One request of a client, as it is encoded, and whether it may be done.

use super::export::{Export, PAYLOAD_MAX};
use super::negotiation::Terms;
use super::wire::{Errno, REQUEST_BYTES, REQUEST_MAGIC, command, flag};

/// The header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NbdHeader {
    /// Flags of the command.
    pub flags: u16,
    /// The command's number.
    pub number: u16,
    /// The client's identifier of the request; the reply carries it.
    pub cookie: u64,
    /// Offset, in bytes.
    pub offset: u64,
    /// Length, in bytes.
    pub len: u32,
}

/// A valid request, perhaps still without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NbdCommand {
    /// What to do.
    pub kind: NbdCommandKind,
    /// The client's identifier of the request.
    pub cookie: u64,
    /// Offset, in bytes.
    pub offset: u64,
    /// Length, in bytes; 0 for flushes.
    pub len: u32,
}

/// The kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbdCommandKind {
    /// Read; in one chunk if `is_whole`.
    Read { is_whole: bool },
    /// Write the payload.
    Write { is_durable: bool },
    /// Make everything durable that was replied to.
    Flush,
    /// Forget the contents.
    Trim,
    /// Write zeros.
    Zero { is_durable: bool },
    /// Report which ranges were written; only the first run if `is_one_run`.
    Allocation { is_one_run: bool },
}

impl NbdHeader {
    /// Decodes a header. `None`: it is none, and the rest of the stream cannot be decoded.
    pub fn parse(bytes: &[u8; REQUEST_BYTES]) -> Option<NbdHeader> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (flags, rest) = rest.split_first_chunk::<2>()?;
        let (number, rest) = rest.split_first_chunk::<2>()?;
        let (cookie, rest) = rest.split_first_chunk::<8>()?;
        let (offset, rest) = rest.split_first_chunk::<8>()?;
        let (len, _) = rest.split_first_chunk::<4>()?;
        (u32::from_be_bytes(*magic) == REQUEST_MAGIC).then_some(NbdHeader {
            flags: u16::from_be_bytes(*flags),
            number: u16::from_be_bytes(*number),
            cookie: u64::from_be_bytes(*cookie),
            offset: u64::from_be_bytes(*offset),
            len: u32::from_be_bytes(*len),
        })
    }

    /// Bytes of payload that follow.
    pub fn payload(&self) -> u32 {
        if self.number == command::WRITE { self.len } else { 0 }
    }

    /// Checks it. FUA is allowed on all commands: some clients set it where it means nothing.
    ///
    /// # Errors
    /// The error to reply with.
    pub fn judge(&self, export: &Export, terms: &Terms) -> Result<NbdCommand, Errno> {
        let has = |flag: u16| self.flags & flag != 0;
        let is_durable = has(flag::FUA);
        let (kind, flags) = match self.number {
            command::READ => (NbdCommandKind::Read { is_whole: has(flag::DF) }, flag::DF),
            command::WRITE => (NbdCommandKind::Write { is_durable }, 0),
            command::FLUSH => (NbdCommandKind::Flush, 0),
            command::TRIM => (NbdCommandKind::Trim, 0),
            command::WRITE_ZEROES => (NbdCommandKind::Zero { is_durable }, flag::NO_HOLE | flag::FAST_ZERO),
            command::BLOCK_STATUS if terms.has_allocation => {
                (NbdCommandKind::Allocation { is_one_run: has(flag::REQ_ONE) }, flag::REQ_ONE)
            }
            _ => return Err(Errno::Inval),
        };
        if self.flags & !(flags | flag::FUA) != 0 || has(flag::DF) && !terms.is_structured {
            return Err(Errno::Inval);
        }
        let is_write =
            matches!(kind, NbdCommandKind::Write { .. } | NbdCommandKind::Trim | NbdCommandKind::Zero { .. });
        if is_write && export.is_read_only() {
            return Err(Errno::Perm);
        }
        self.judge_range(kind, export)?;
        if has(flag::FAST_ZERO) {
            return Err(Errno::NotSup); // the flag allows zeroing only if it is faster than writing zeros, which it never is here
        }
        Ok(NbdCommand { kind, cookie: self.cookie, offset: self.offset, len: self.len })
    }

    fn judge_range(&self, kind: NbdCommandKind, export: &Export) -> Result<(), Errno> {
        if kind == NbdCommandKind::Flush {
            return if self.offset == 0 && self.len == 0 { Ok(()) } else { Err(Errno::Inval) };
        }
        if matches!(kind, NbdCommandKind::Read { .. } | NbdCommandKind::Write { .. }) && self.len > PAYLOAD_MAX {
            return Err(Errno::Inval);
        }
        if matches!(kind, NbdCommandKind::Allocation { .. }) && self.len == 0 {
            return Err(Errno::Inval);
        }
        match self.offset.checked_add(u64::from(self.len)) {
            Some(end) if end <= export.size() => Ok(()),
            _ if matches!(kind, NbdCommandKind::Write { .. } | NbdCommandKind::Zero { .. }) => Err(Errno::NoSpc),
            _ => Err(Errno::Inval),
        }
    }
}
