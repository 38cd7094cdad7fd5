//! How a server reports that it ended: in order, or not.

use crate::file_array::FileArray;
use crate::host::Host;
use crate::raw::{FLUSH, READ, WRITE, begin_session, reply, request};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::index::MemberIndex;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::block::{BlockFailure, BlockReply, BlockRequest, RequestId};
use scrubjay_core::volume::member::{ArrayMachine, MemberOp, MemberOpDone};
use scrubjay_device::completion::MemberFile;
use scrubjay_serve::control::{CommandHandler, CommandId};
use scrubjay_serve::ended::{Flushed, ServerEnded};
use scrubjay_serve::members::MemberTable;
use scrubjay_serve::memory::MemoryArray;
use scrubjay_serve::server::{Patience, Server};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// Everything is in order.
const FINE: ServerEnded = ServerEnded {
    flush: Flushed::Done,
    is_stopped: true,
    unended: 0,
    reads_failed: 0,
    writes_failed: 0,
    is_device_wrong: false,
};

/// A volume that gives every request this reply, if there is one, and every command an answer at the end.
struct Always {
    reply: Option<fn() -> BlockReply>,
    replies: Vec<RequestId>,
    is_stopped: bool,
    commands: Vec<CommandId>,
    answers: Vec<(CommandId, String)>,
}

fn always(reply: Option<fn() -> BlockReply>, is_stopped: bool) -> Always {
    Always { reply, is_stopped, replies: Vec::new(), commands: Vec::new(), answers: Vec::new() }
}

impl CommandHandler for Always {
    fn command(&mut self, _now: Nanos, id: CommandId, _line: &str, _members: &mut MemberTable) -> Option<String> {
        self.commands.push(id);
        None
    }

    fn ended(&mut self, ended: &ServerEnded) {
        self.answers.extend(self.commands.drain(..).map(|id| (id, format!("{:?}", ended.flush))));
    }

    fn poll_answer(&mut self) -> Option<(CommandId, String)> {
        self.answers.pop()
    }
}

impl ArrayMachine for Always {
    fn size(&self) -> u64 {
        1 << 20
    }
    fn submit(&mut self, _now: Nanos, id: RequestId, _request: BlockRequest) {
        self.replies.push(id);
    }
    fn handle(&mut self, _now: Nanos, done: MemberOpDone) {
        panic!("{done:?}");
    }
    fn poll_op(&mut self, _now: Nanos) -> Option<MemberOp> {
        None
    }
    fn poll_reply(&mut self) -> Option<(RequestId, BlockReply)> {
        let reply = self.reply?;
        self.replies.pop().map(|id| (id, reply()))
    }
    fn poll_timeout(&self) -> Option<Nanos> {
        None
    }
    fn recycle(&mut self, _buffer: Buffer) {}
    fn is_stopped(&self) -> bool {
        self.is_stopped
    }
}

/// Longer than any test here takes.
const LONG: Nanos = Nanos::from_secs(600);

const FAILED: fn() -> BlockReply = || BlockReply::Failed(BlockFailure::Io);

/// A server with short time limits at its end.
fn set_short_limits(server: &mut Server) {
    let [unread, stop] = [100, 300].map(Nanos::from_millis);
    server.patience = Patience { unread, stop, ..Patience::default() };
}

#[test]
fn a_server_reports_an_end_in_order_only_if_it_was() {
    let Some(host) = Host::start(MemoryArray::new(1 << 20), |_| ()) else { return };
    assert_eq!(host.end_with_report().1, FINE);
    let ends = [
        (always(Some(|| BlockReply::Done), true), FINE),
        (always(Some(FAILED), true), ServerEnded { flush: Flushed::Failed, ..FINE }),
    ];
    for (volume, expected) in ends {
        let Some(host) = Host::start(volume, |_| ()) else { return };
        assert_eq!(host.end_with_report().1, expected);
    }
    let never_ends = [
        (always(Some(|| BlockReply::Done), false), ServerEnded { is_stopped: false, ..FINE }),
        (always(None, true), ServerEnded { flush: Flushed::Late, is_stopped: false, ..FINE }),
    ];
    for (volume, expected) in never_ends {
        let Some(host) = Host::start(volume, set_short_limits) else { return };
        assert_eq!(host.end_with_report().1, expected);
    }
}

#[test]
fn failed_requests_of_clients_are_counted() {
    let Some(host) = Host::start(always(Some(FAILED), true), |_| ()) else { return };
    let mut client = begin_session(&host);
    for (cookie, bytes) in [
        (1, request(READ, 1, 0, 512)),
        (2, [request(WRITE, 2, 0, 512), vec![1; 512]].concat()),
        (3, request(FLUSH, 3, 0, 0)),
    ] {
        client.write_all(&bytes).unwrap();
        assert_eq!(reply(&mut client), (5, cookie));
    }
    let expected = ServerEnded { flush: Flushed::Failed, reads_failed: 1, writes_failed: 2, ..FINE };
    assert_eq!(host.end_with_report().1, expected);

    let mut lossy = MemoryArray::new(1 << 20);
    lossy.lose(512..513);
    let Some(host) = Host::start(lossy, |_| ()) else { return };
    let mut client = begin_session(&host);
    client.write_all(&[request(READ, 1, 0, 1024), request(READ, 2, 1 << 20, 512)].concat()).unwrap();
    let mut errors = [reply(&mut client).0, reply(&mut client).0];
    errors.sort_unstable();
    assert_eq!(errors, [5, 22]);
    assert_eq!(host.end_with_report().1, ServerEnded { reads_failed: 1, ..FINE }, "what makes no sense is no failure");
}

/// The disk is a pipe into which nothing is written, so a read of it never ends.
#[test]
fn a_server_ends_although_a_disk_hangs() {
    let (hangs, _writer) = std::io::pipe().unwrap();
    let prepare = |server: &mut Server| {
        set_short_limits(server);
        server.members.set(MemberIndex(0), Some(MemberFile::new(File::from(OwnedFd::from(hangs)))));
    };
    let Some(host) = Host::start(FileArray::new(1 << 20), prepare) else { return };
    let mut client = begin_session(&host);
    client.write_all(&[request(READ, 1, 0, 512), request(READ, 2, 1 << 20, 512)].concat()).unwrap();
    assert_eq!(reply(&mut client).1, 2, "the first one is under way");
    let ended = host.end_with_report().1;
    assert_eq!((ended.unended, ended.is_stopped), (1, false));
}

#[test]
fn a_client_that_sends_stop_is_answered_at_the_end() {
    let patient = |server: &mut Server| server.patience.last_answers = LONG;
    let Some(host) = Host::start(always(Some(FAILED), true), patient) else { return };
    let mut control = BufReader::new(UnixStream::connect(host.path("control")).unwrap());
    let mut client = begin_session(&host);
    control.get_mut().write_all(b"stop\n").unwrap();
    // The command is read before a later request on another connection is replied to.
    client.write_all(&request(READ, 1, 0, 512)).unwrap();
    reply(&mut client);
    host.end_with_report();
    let mut line = String::new();
    control.read_line(&mut line).unwrap();
    assert_eq!(line, "Failed\n");
}
