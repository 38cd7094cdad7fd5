//! The operations that a volume asks of its members' disks, and their results: the contract with a volume's two pumps.
//!
//! A pump takes operations, does each on the disk of its member, in any order and many at once, and returns the buffer with
//! the result. A write is never under way together with another operation on the same bytes. A
//! write that was not asked to be durable is
//! volatile until a flush of its member has ended that was asked for after the write's end.

use crate::buffer::Buffer;
use crate::units::{MemberOffset, Nanos};
use crate::volume::block::{BlockReply, BlockRequest, RequestId};

/// Names one operation of one volume from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberOpId(pub u64);

pub use crate::index::MemberIndex;

/// An operation on one member's disk. Offsets and lengths are in bytes, multiples of the volume's block.
#[derive(Debug)]
pub struct MemberOp {
    /// ID of the operation, returned in [`MemberOpDone`].
    pub id: MemberOpId,
    /// The member.
    pub member: MemberIndex,
    /// What to do.
    pub kind: OpKind,
}

/// The kinds of operations on a disk.
#[derive(Debug)]
pub enum OpKind {
    /// Fill the buffer with the content from `offset` on.
    Read {
        /// Offset on the member in bytes.
        offset: MemberOffset,
        /// The buffer; its length is the number of bytes to read.
        buffer: Buffer,
    },
    /// Write the buffer.
    Write {
        /// Offset on the member in bytes.
        offset: MemberOffset,
        /// The content to write.
        buffer: Buffer,
        /// End only when the write would survive a loss of power.
        is_durable: bool,
    },
    /// End only when every write that ended before this flush was asked for would survive a loss of power.
    Flush,
    /// These bytes are not needed any more (a hint: a disk without such a command reports success).
    Discard {
        /// Offset on the member in bytes.
        offset: MemberOffset,
        /// Bytes to discard.
        len: u64,
    },
}

impl OpKind {
    /// The operation's buffer; `None` for flushes and discards.
    pub fn buffer(self) -> Option<Buffer> {
        match self {
            OpKind::Read { buffer, .. } | OpKind::Write { buffer, .. } => Some(buffer),
            OpKind::Flush | OpKind::Discard { .. } => None,
        }
    }
}

/// The result of an operation.
#[derive(Debug)]
pub struct MemberOpDone {
    /// ID of the operation.
    pub id: MemberOpId,
    /// The operation's buffer; `None` for flushes and discards.
    pub buffer: Option<Buffer>,
    /// Success, or why it failed.
    pub result: Result<(), DiskFault>,
}

/// Why a disk could not do an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// The medium cannot read or write these bytes; others may be fine.
    Medium,
    /// The disk does not answer any more: gone, offline, or no longer this volume's.
    Gone,
}

/// A block device made of members: a volume, as its pump and its server see it. It has no clock, no thread and no file: it
/// gets the time as `now`, which never runs backwards.
///
/// The pump's loop: pass in requests and ends of operations, take operations until there are none, take replies until there
/// are none, then wait, but no longer than until [`ArrayMachine::poll_timeout`].
pub trait ArrayMachine {
    /// The device's size in bytes.
    fn size(&self) -> u64;

    /// Takes a client's request. [`ArrayMachine::poll_reply`] returns its reply, with the same ID.
    fn submit(&mut self, now: Nanos, id: RequestId, request: BlockRequest);

    /// Takes the result of an operation.
    fn handle(&mut self, now: Nanos, done: MemberOpDone);

    /// The next operation to start; `None` if there is none now.
    fn poll_op(&mut self, now: Nanos) -> Option<MemberOp>;

    /// Time passes, and the pump has no room for another operation: does what is due without one, as
    /// [`ArrayMachine::poll_op`] does too.
    fn tick(&mut self, now: Nanos) {
        let _ = now;
    }

    /// The next reply to give; `None` if there is none now.
    fn poll_reply(&mut self) -> Option<(RequestId, BlockReply)>;

    /// When to call [`ArrayMachine::poll_op`] again although nothing has happened; `None`: never.
    fn poll_timeout(&self) -> Option<Nanos>;

    /// A buffer of `len` bytes for a client's write, with unspecified content. (It reuses memory where possible, because the
    /// kernel makes new pages one fault at a time.)
    fn buffer(&mut self, len: usize) -> Buffer {
        Buffer::zeroed(len)
    }

    /// Takes back a buffer that a reply carried, to be reused.
    fn recycle(&mut self, buffer: Buffer);

    /// No more requests will come: finishes what was begun, makes it durable, and records that the array was stopped in
    /// order. (An array that keeps no such record has nothing to do.)
    fn stop(&mut self, now: Nanos) {
        let _ = now;
    }

    /// Whether nothing is left to do after [`ArrayMachine::stop`].
    fn is_stopped(&self) -> bool {
        true
    }
}
