//! One request of a client, as it stands on the wire, and whether it may be done.

use super::export::{Export, PAYLOAD_MAX};
use super::negotiation::Terms;
use super::wire::{Errno, REQUEST_BYTES, REQUEST_MAGIC, command, flag};

/// The fixed part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NbdHeader {
    /// Flags of the command.
    pub flags: u16,
    /// The command's number.
    pub number: u16,
    /// The client's name for it; the reply bears it.
    pub cookie: u64,
    /// Where, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub len: u32,
}

/// A request that may be done, or that only lacks its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NbdCommand {
    /// What to do.
    pub kind: NbdCommandKind,
    /// The client's name for it.
    pub cookie: u64,
    /// Where, in bytes.
    pub offset: u64,
    /// How much, in bytes. Nothing for flushes.
    pub len: u32,
}

/// What a client can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbdCommandKind {
    /// Bytes; in one piece, if at all.
    Read { is_whole: bool },
    /// To write the payload.
    Write { is_durable: bool },
    /// All that was replied to, made durable.
    Flush,
    /// To forget.
    Trim,
    /// Zeros.
    Zero { is_durable: bool },
    /// What was written; only the first run of it.
    Allocation { is_one: bool },
}

impl NbdHeader {
    /// Reads one. `None`: this is no request, and what follows cannot be understood.
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

    /// How many bytes follow it.
    pub fn payload(&self) -> u32 {
        if self.number == command::WRITE { self.len } else { 0 }
    }

    /// Judges it. (Clients are known to set FUA on commands for which it means nothing.)
    ///
    /// # Errors
    /// What the client is to be told instead.
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
                (NbdCommandKind::Allocation { is_one: has(flag::REQ_ONE) }, flag::REQ_ONE)
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
            return Err(Errno::NotSup); // nothing here is faster than writing zeros, which is what the flag asks
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
