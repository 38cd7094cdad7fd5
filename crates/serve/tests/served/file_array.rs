//! A volume of one file: for tests of what the server does with members' disks.

use scrubjay_core::buffer::{Buffer, Pool};
use scrubjay_core::index::MemberIndex;
use scrubjay_core::units::{MemberOffset, Nanos};
use scrubjay_core::volume::block::{AllocationRun, BlockFailure, BlockReply, BlockRequest, ReadPart, RequestId};
use scrubjay_core::volume::member::{ArrayMachine, MemberOp, MemberOpDone, MemberOpId, OpKind};
use scrubjay_serve::control::CommandHandler;
use std::collections::{HashMap, VecDeque};

/// A volume of one file: each request of a client becomes the same operation at the disk.
#[derive(Default)]
pub struct FileArray {
    size: u64,
    ops: VecDeque<MemberOp>,
    /// Outstanding operations, and whether they are reads; their ids are those of the requests.
    waiting: HashMap<MemberOpId, bool>,
    replies: VecDeque<(RequestId, BlockReply)>,
    pool: Pool,
}

impl FileArray {
    /// A volume on a file of `size` bytes, which is member 0.
    pub fn new(size: u64) -> FileArray {
        FileArray { size, ..FileArray::default() }
    }
}

impl CommandHandler for FileArray {}

impl ArrayMachine for FileArray {
    fn size(&self) -> u64 {
        self.size
    }

    fn submit(&mut self, _now: Nanos, id: RequestId, request: BlockRequest) {
        let kind = match request {
            BlockRequest::Read { offset, len } => {
                OpKind::Read { offset: MemberOffset(offset.get()), buffer: self.pool.take(len as usize) }
            }
            BlockRequest::Write { offset, data, is_durable } => {
                OpKind::Write { offset: MemberOffset(offset.get()), buffer: data, is_durable }
            }
            BlockRequest::Flush => OpKind::Flush,
            BlockRequest::Trim { offset, len } => OpKind::Discard { offset: MemberOffset(offset.get()), len },
            BlockRequest::Zero { offset, len, is_durable } => {
                OpKind::Write { offset: MemberOffset(offset.get()), buffer: Buffer::zeroed(len as usize), is_durable }
            }
            BlockRequest::Allocation { len, .. } => {
                let run = AllocationRun { len, is_written: true };
                return self.replies.push_back((id, BlockReply::Allocation(vec![run])));
            }
        };
        self.waiting.insert(MemberOpId(id.0), matches!(kind, OpKind::Read { .. }));
        self.ops.push_back(MemberOp { id: MemberOpId(id.0), member: MemberIndex(0), kind });
    }

    fn handle(&mut self, _now: Nanos, done: MemberOpDone) {
        let is_read = self.waiting.remove(&done.id).expect("an operation ends once");
        let reply = match (done.result, done.buffer) {
            (Err(_), _) => BlockReply::Failed(BlockFailure::Io),
            (Ok(()), Some(buffer)) if is_read => {
                let len = buffer.len();
                BlockReply::Read(vec![ReadPart::Data(buffer, 0..len)])
            }
            (Ok(()), _) => BlockReply::Done,
        };
        self.replies.push_back((RequestId(done.id.0), reply));
    }

    fn poll_op(&mut self, _now: Nanos) -> Option<MemberOp> {
        self.ops.pop_front()
    }

    fn poll_reply(&mut self) -> Option<(RequestId, BlockReply)> {
        self.replies.pop_front()
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        None
    }

    fn recycle(&mut self, buffer: Buffer) {
        self.pool.give(buffer);
    }
}
