//! A volume that is one file: for tests of what the server does with members' disks.

use scrubjay_core::block::{Failure, Part, Reply, Request, RequestId, Run};
use scrubjay_core::buffer::{Buffer, Pool};
use scrubjay_core::member::{Array, Done, Op, OpId, OpKind};
use scrubjay_core::units::Nanos;
use scrubjay_serve::control::Controller;
use std::collections::{HashMap, VecDeque};

/// A volume of one file: what a client asks for is what the disk is asked for.
#[derive(Default)]
pub struct FileArray {
    size: u64,
    ops: VecDeque<Op>,
    /// Which operations are reads; their ids are those of the requests.
    waiting: HashMap<OpId, bool>,
    replies: VecDeque<(RequestId, Reply)>,
    pool: Pool,
}

impl FileArray {
    /// Of a file of `size` bytes, which is member 0.
    pub fn new(size: u64) -> FileArray {
        FileArray { size, ..FileArray::default() }
    }
}

impl Controller for FileArray {}

impl Array for FileArray {
    fn size(&self) -> u64 {
        self.size
    }

    fn submit(&mut self, _now: Nanos, id: RequestId, request: Request) {
        let kind = match request {
            Request::Read { offset, len } => OpKind::Read { offset, buffer: self.pool.take(len as usize) },
            Request::Write { offset, data, is_durable } => OpKind::Write { offset, buffer: data, is_durable },
            Request::Flush => OpKind::Flush,
            Request::Trim { offset, len } => OpKind::Discard { offset, len },
            Request::Zero { offset, len, is_durable } => {
                OpKind::Write { offset, buffer: Buffer::zeroed(len as usize), is_durable }
            }
            Request::Allocation { len, .. } => {
                let run = Run { len, is_written: true };
                return self.replies.push_back((id, Reply::Allocation(vec![run])));
            }
        };
        self.waiting.insert(OpId(id.0), matches!(kind, OpKind::Read { .. }));
        self.ops.push_back(Op { id: OpId(id.0), member: 0, kind });
    }

    fn handle(&mut self, _now: Nanos, done: Done) {
        let is_read = self.waiting.remove(&done.id).expect("an operation ends once");
        let reply = match (done.result, done.buffer) {
            (Err(_), _) => Reply::Failed(Failure::Io),
            (Ok(()), Some(buffer)) if is_read => {
                let len = buffer.len();
                Reply::Read(vec![Part::Data(buffer, 0..len)])
            }
            (Ok(()), _) => Reply::Done,
        };
        self.replies.push_back((RequestId(done.id.0), reply));
    }

    fn poll_op(&mut self, _now: Nanos) -> Option<Op> {
        self.ops.pop_front()
    }

    fn poll_reply(&mut self) -> Option<(RequestId, Reply)> {
        self.replies.pop_front()
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        None
    }

    fn recycle(&mut self, buffer: Buffer) {
        self.pool.give(buffer);
    }
}
