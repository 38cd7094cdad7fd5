//! What a volume asks of its members' disks, and what they answer: the contract of the two pumps of a volume.
//!
//! A pump takes operations, does each on the disk of its member, in any order and many at once, and brings the buffer
//! back with the outcome. Operations on the same bytes are never under way together. A write is volatile until a flush
//! of its member that was asked for after the write's end has ended, unless it was asked to be durable.

use crate::buffer::Buffer;
use crate::units::{MemberOffset, Nanos};
use crate::volume::block::{BlockReply, BlockRequest, RequestId};

/// Names one operation of one volume, from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberOpId(pub u64);

pub use crate::index::MemberIndex;

/// Something a volume wants done by one member's disk. Offsets and lengths are bytes, multiples of the volume's block.
#[derive(Debug)]
pub struct MemberOp {
    /// Comes back in [`MemberOpDone`].
    pub id: MemberOpId,
    /// Whose disk.
    pub member: MemberIndex,
    /// What to do.
    pub kind: OpKind,
}

/// What a disk can be asked.
#[derive(Debug)]
pub enum OpKind {
    /// Fill the buffer with what lies from `offset` on.
    Read {
        /// Offset in bytes.
        offset: MemberOffset,
        /// How much, by its length.
        buffer: Buffer,
    },
    /// Write the buffer.
    Write {
        /// Offset in bytes.
        offset: MemberOffset,
        /// What.
        buffer: Buffer,
        /// End only when it would survive a loss of power.
        is_durable: bool,
    },
    /// End only when every write that ended before this was asked would survive a loss of power.
    Flush,
    /// These bytes are not needed any more (a hint; a disk that knows no such thing says it is done).
    Discard {
        /// Offset in bytes.
        offset: MemberOffset,
        /// How much.
        len: u64,
    },
}

impl OpKind {
    /// Its buffer, if it has one.
    pub fn buffer(self) -> Option<Buffer> {
        match self {
            OpKind::Read { buffer, .. } | OpKind::Write { buffer, .. } => Some(buffer),
            OpKind::Flush | OpKind::Discard { .. } => None,
        }
    }
}

/// The end of an operation.
#[derive(Debug)]
pub struct MemberOpDone {
    /// ID of the operation.
    pub id: MemberOpId,
    /// The buffer it was given; nothing for flushes and discards.
    pub buffer: Option<Buffer>,
    /// How it went.
    pub result: Result<(), DiskFault>,
}

/// What a disk says when it cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// The medium cannot give or take these bytes; others may be well.
    Medium,
    /// The disk does not answer any more: gone, offline, no longer ours.
    Gone,
}

/// A block device made of members: a volume, as its pump and its server see it. No clock, no thread, no file: `now`
/// never runs backwards.
///
/// The pump's loop: give it requests and ends of operations, then take operations until it has none, then replies
/// until it has none, then wait, but no longer than [`ArrayMachine::poll_timeout`].
pub trait ArrayMachine {
    /// The device's size in bytes.
    fn size(&self) -> u64;

    /// Something a client wants. Its reply comes by [`ArrayMachine::poll_reply`], with the same id.
    fn submit(&mut self, now: Nanos, id: RequestId, request: BlockRequest);

    /// An operation ended.
    fn handle(&mut self, now: Nanos, done: MemberOpDone);

    /// The next operation to start, if any.
    fn poll_op(&mut self, now: Nanos) -> Option<MemberOp>;

    /// Time passes, and there is no room for another operation: does what is due without one. ([`ArrayMachine::poll_op`] does it, too.)
    fn tick(&mut self, now: Nanos) {
        let _ = now;
    }

    /// The next reply to give, if any.
    fn poll_reply(&mut self) -> Option<(RequestId, BlockReply)>;

    /// When to call [`ArrayMachine::poll_op`] again although nothing has happened.
    fn poll_timeout(&self) -> Option<Nanos>;

    /// A buffer of `len` bytes for what a client is going to write, their values unspecified. (Of memory that was used
    /// before, where there is some: the kernel makes new pages one fault at a time.)
    fn buffer(&mut self, len: usize) -> Buffer {
        Buffer::zeroed(len)
    }

    /// Takes back a buffer that a reply carried, to be used again.
    fn recycle(&mut self, buffer: Buffer);

    /// No more requests will come: what was begun is done, made durable, and left in order. (An array that keeps nothing
    /// in order has nothing to do.)
    fn stop(&mut self, now: Nanos) {
        let _ = now;
    }

    /// After [`ArrayMachine::stop`]: is there nothing left to do?
    fn is_stopped(&self) -> bool {
        true
    }
}
