//! The control socket: commands and answers, at once and later.

use crate::file_array::FileArray;
use crate::host::Host;
use crate::stranger::python_outcome;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::index::MemberIndex;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::block::{BlockReply, BlockRequest, RequestId};
use scrubjay_core::volume::member::{ArrayMachine, MemberOp, MemberOpDone};
use scrubjay_device::completion::MemberFile;
use scrubjay_serve::control::{CommandHandler, CommandId};
use scrubjay_serve::members::MemberTable;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

/// A volume of one file that understands `out`, `in PATH`, `later`, and `now`, which also answers the waiting `later`.
struct Steered {
    array: FileArray,
    late: Vec<CommandId>,
    answers: Vec<CommandId>,
}

impl CommandHandler for Steered {
    fn command(&mut self, _now: Nanos, id: CommandId, line: &str, members: &mut MemberTable) -> Option<String> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("out", _) => members.set(MemberIndex(0), None),
            ("in", path) => {
                let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
                members.set(MemberIndex(0), Some(MemberFile::new(file)));
            }
            ("later", _) => {
                self.late.push(id);
                return None;
            }
            ("now", _) => self.answers.append(&mut self.late),
            _ => return Some("what?".to_owned()),
        }
        Some(format!("{line}: done"))
    }

    fn poll_answer(&mut self) -> Option<(CommandId, String)> {
        self.answers.pop().map(|id| (id, "at last".to_owned()))
    }
}

impl ArrayMachine for Steered {
    fn size(&self) -> u64 {
        self.array.size()
    }
    fn submit(&mut self, now: Nanos, id: RequestId, request: BlockRequest) {
        self.array.submit(now, id, request);
    }
    fn handle(&mut self, now: Nanos, done: MemberOpDone) {
        self.array.handle(now, done);
    }
    fn poll_op(&mut self, now: Nanos) -> Option<MemberOp> {
        self.array.poll_op(now)
    }
    fn poll_reply(&mut self) -> Option<(RequestId, BlockReply)> {
        self.array.poll_reply()
    }
    fn poll_timeout(&self) -> Option<Nanos> {
        self.array.poll_timeout()
    }
    fn recycle(&mut self, buffer: Buffer) {
        self.array.recycle(buffer);
    }
}

fn steered() -> Option<Host<Steered>> {
    Host::start(Steered { array: FileArray::new(1 << 20), late: Vec::new(), answers: Vec::new() }, |_| ())
}

/// A control connection.
struct Client(BufReader<UnixStream>);

impl Client {
    fn connect(host: &Host<Steered>) -> Client {
        Client(BufReader::new(UnixStream::connect(host.path("control")).unwrap()))
    }

    fn send(&mut self, line: &str) {
        self.0.get_mut().write_all(line.as_bytes()).unwrap();
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }
}

#[test]
fn commands_are_answered_in_order_and_a_late_answer_delays_its_own_client_only() {
    let Some(host) = steered() else { return };
    let (mut first, mut second) = (Client::connect(&host), Client::connect(&host));
    first.send("later\nnonsense\n");
    // `later` is under way before `nonsense` is read, so the other client repeats `now` until `first` has its answer.
    let mut answers = 0;
    while answers == 0 {
        second.send("now\n");
        assert_eq!(second.answer(), "now: done\n");
        first.0.get_ref().set_nonblocking(true).unwrap();
        answers = usize::from(first.0.fill_buf().is_ok());
        first.0.get_ref().set_nonblocking(false).unwrap();
    }
    assert_eq!((first.answer(), first.answer()), ("at last\n".to_owned(), "what?\n".to_owned()));

    // A client that leaves before its answer does no harm.
    first.send("later\n");
    drop(first);
    second.send("now\nx\n");
    assert_eq!((second.answer(), second.answer()), ("now: done\n".to_owned(), "what?\n".to_owned()));
    host.end();
}

#[test]
fn commands_add_and_remove_the_disk_of_a_member() {
    let Some(host) = steered() else { return };
    let path = host.path("disk");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let uri = host.uri();
    let read = |expected: bool| {
        let script =
            "import nbd, sys\nh = nbd.NBD()\nh.connect_uri(sys.argv[1])\nassert h.pread(4096, 8192) == b'\\7' * 4096";
        if let Some((is_well, text)) = python_outcome(script, &[&uri]) {
            assert_eq!(is_well, expected, "{text}");
        }
    };
    let mut client = Client::connect(&host);
    read(false);
    client.send(&format!("in {}\n", path.display()));
    assert!(client.answer().ends_with("done\n"));
    read(true);
    client.send("out\n");
    assert!(client.answer().ends_with("done\n"));
    read(false);
    host.end();
}
