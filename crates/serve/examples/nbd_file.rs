//! Serves one file as a network block device, each request as one operation: what the server's loop costs by itself,
//! beside `nbdkit file` (docs/speed.md).
//!
//! `nbd_file ADDRESS FILE [direct]`. Ends with SIGINT or SIGTERM.

use scrubjay_core::block::{Failure, Part, Reply, Request, RequestId, Run};
use scrubjay_core::buffer::{Buffer, Pool};
use scrubjay_core::member::{Array, Done, Op, OpId, OpKind};
use scrubjay_core::units::Nanos;
use scrubjay_device::completion::MemberFile;
use scrubjay_serve::control::Controller;
use scrubjay_serve::nbd::Export;
use scrubjay_serve::server::{Address, Server, Stop};
use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

/// O_DIRECT of x86-64 and most others.
const DIRECT: i32 = 0o40000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, path, flags @ ..] = &arguments[..] else { return Err("nbd_file ADDRESS FILE [direct]".into()) };
    let is_direct = flags.iter().any(|flag| flag == "direct");
    let flags = if is_direct { DIRECT } else { 0 };
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
    let mut array = FileArray { size: file.metadata()?.len(), ..FileArray::default() };
    let mut server = Server::new(Export::new("file", array.size, 64 << 10, false));
    server.members.set(0, Some(MemberFile::new(file)));
    let address = server.listen(&address.parse::<Address>()?)?;
    let stop = Stop::new()?;
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.flag())?;
        signal_hook::low_level::pipe::register(signal, stop.waker()?)?;
    }
    println!("listening on {address}");
    server.run(&mut array, &stop)?;
    println!("stopped");
    Ok(())
}

/// A volume of one file: what a client asks for is what the disk is asked for.
#[derive(Default)]
struct FileArray {
    size: u64,
    ops: VecDeque<Op>,
    /// Which operations are reads; their ids are those of the requests.
    waiting: HashMap<OpId, bool>,
    replies: VecDeque<(RequestId, Reply)>,
    pool: Pool,
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
