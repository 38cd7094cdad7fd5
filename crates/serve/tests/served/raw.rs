//! Clients made of bytes, which do what no proper client does.

use crate::host::Host;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::block::{BlockReply, BlockRequest, RequestId};
use scrubjay_core::volume::member::{ArrayMachine, MemberOp, MemberOpDone};
use scrubjay_serve::control::CommandHandler;
use scrubjay_serve::memory::MemoryArray;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// A connection after the handshake, without structured replies.
pub fn begin_session(host: &Host<impl ArrayMachine + CommandHandler + Send + 'static>) -> UnixStream {
    let mut client = host.connect();
    client.write_all(b"\x00\x00\x00\x03IHAVEOPT\x00\x00\x00\x01\x00\x00\x00\x00").unwrap();
    let mut greeting = [0; 18 + 10];
    client.read_exact(&mut greeting).unwrap();
    assert!(greeting.starts_with(b"NBDMAGICIHAVEOPT"));
    client
}

/// A request's bytes; its cookie is a number.
pub fn request(command: u16, cookie: u64, offset: u64, len: u32) -> Vec<u8> {
    let head = [&0x2560_9513u32.to_be_bytes()[..], &[0, 0], &command.to_be_bytes(), &cookie.to_be_bytes()].concat();
    [&head[..], &offset.to_be_bytes(), &len.to_be_bytes()].concat()
}

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const FLUSH: u16 = 3;

/// Reads the header of a simple reply: its error and cookie.
pub fn reply(client: &mut UnixStream) -> (u32, u64) {
    let mut head = [0; 16];
    client.read_exact(&mut head).unwrap();
    assert_eq!(head[..4], 0x6744_6698u32.to_be_bytes());
    (u32::from_be_bytes(head[4..8].try_into().unwrap()), u64::from_be_bytes(head[8..].try_into().unwrap()))
}

/// Is the connection closed?
pub fn is_closed(client: &mut UnixStream) -> bool {
    client.read(&mut [0; 1]).map_or(true, |count| count == 0)
}

#[test]
fn only_a_client_that_sends_nonsense_or_leaves_is_disconnected() {
    let Some(host) = Host::start(MemoryArray::new(1 << 20), |_| ()) else { return };
    let mut good = begin_session(&host);
    drop(host.connect());
    let mut nonsense = host.connect();
    nonsense.write_all(&[0xff; 100]).unwrap();
    nonsense.read_exact(&mut [0; 18]).unwrap();
    assert!(is_closed(&mut nonsense));
    let mut half = begin_session(&host);
    half.write_all(&request(WRITE, 1, 0, 1 << 20)).unwrap();
    half.write_all(&vec![7; 300_000]).unwrap();
    drop(half);
    good.write_all(&[request(READ, 9, 0, 512), request(FLUSH, 10, 0, 0)].concat()).unwrap();
    assert_eq!(reply(&mut good), (0, 9));
    let mut data = [1; 512];
    good.read_exact(&mut data).unwrap();
    assert_eq!((data, reply(&mut good)), ([0; 512], (0, 10)), "half a write is none");
    host.end();
}

#[test]
fn a_client_that_does_not_read_its_replies_is_not_read_from() {
    let Some(host) = Host::start(MemoryArray::new(32 << 20), |_| ()) else { return };
    let mut greedy = begin_session(&host);
    greedy.set_nonblocking(true).unwrap();
    let requests = request(READ, 1, 0, 32 << 20).repeat(10_000);
    let mut sent = 0;
    while sent < requests.len() {
        match greedy.write(&requests[sent..]) {
            Ok(count) => sent += count,
            // The socket is full: of more than 9000 GiB of replies, the server has begun a few.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    let mut other = begin_session(&host);
    other.write_all(&request(FLUSH, 5, 0, 0)).unwrap();
    assert_eq!(reply(&mut other), (0, 5));
    greedy.set_nonblocking(false).unwrap();
    assert_eq!(reply(&mut greedy), (0, 1));
    drop(greedy);
    host.end();
}

#[test]
fn more_clients_than_there_is_room_for_are_turned_away() {
    let Some(host) = Host::start(MemoryArray::new(1 << 20), |_| ()) else { return };
    let mut clients: Vec<UnixStream> = (0..32).map(|_| begin_session(&host)).collect();
    assert!(is_closed(&mut host.connect()));
    clients.pop();
    // It takes the server some time to notice that a client has left.
    while is_closed(&mut host.connect()) {}
    for client in &mut clients {
        client.write_all(&request(FLUSH, 3, 0, 0)).unwrap();
        assert_eq!(reply(client), (0, 3));
    }
    host.end();
}

/// A volume whose replies take a while, and which records whether it was flushed after the last of them.
#[derive(Default)]
struct Slow {
    waiting: VecDeque<(RequestId, Nanos)>,
    replies: VecDeque<RequestId>,
    replied: usize,
    is_flushed: bool,
}

/// Delay of each reply: long enough for a stop to come in between.
const SLOWNESS: Nanos = Nanos::from_millis(100);

impl CommandHandler for Slow {}

impl ArrayMachine for Slow {
    fn size(&self) -> u64 {
        1 << 20
    }

    fn submit(&mut self, now: Nanos, id: RequestId, request: BlockRequest) {
        self.is_flushed = request == BlockRequest::Flush;
        self.waiting.push_back((id, now + SLOWNESS));
    }

    fn handle(&mut self, _now: Nanos, done: MemberOpDone) {
        panic!("{done:?}");
    }

    fn poll_op(&mut self, now: Nanos) -> Option<MemberOp> {
        while self.waiting.front().is_some_and(|(_, at)| *at <= now) {
            self.replies.extend(self.waiting.pop_front().map(|(id, _)| id));
        }
        None
    }

    fn poll_reply(&mut self) -> Option<(RequestId, BlockReply)> {
        let id = self.replies.pop_front()?;
        self.replied += 1;
        Some((id, BlockReply::Done))
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.waiting.front().map(|(_, at)| *at)
    }

    fn recycle(&mut self, _buffer: Buffer) {}
}

#[test]
fn a_stop_lets_requests_end_and_flushes() {
    let Some(host) = Host::start(Slow::default(), |_| ()) else { return };
    let mut client = begin_session(&host);
    client.write_all(&[request(WRITE, 7, 0, 512), vec![1; 512]].concat()).unwrap();
    client.write_all(&[request(WRITE, 8, 0, 512), vec![1; 512]].concat()).unwrap();
    assert_eq!(reply(&mut client), (0, 7));
    host.stop();
    let volume = host.end();
    assert!(volume.is_flushed && volume.waiting.is_empty());
    // The second request was under way, too, or was not read any more.
    if volume.replied == 3 {
        assert_eq!(reply(&mut client), (0, 8));
    }
    assert!(is_closed(&mut client));
}
