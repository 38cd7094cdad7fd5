//! The socket by which a volume is steered: lines in, lines out. What they mean is the volume's business.
//!
//! A client sends a command, one line, and gets its answer, one line; the next command is looked at after that. So a
//! command that takes long keeps its own connection waiting, and nobody else's.

use crate::ended::ServerEnded;
use crate::members::MemberTable;
use scrubjay_core::units::Nanos;
use scrubjay_device::completion::Outgoing;

/// The longest command, in bytes. A client that sends more is cut off.
pub const LINE_BYTES_MAX: usize = 64 << 10;

/// Names one command, from its line to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

/// What understands the commands.
pub trait CommandHandler {
    /// A command, without its line break. `Some`: its answer, which has no line break either. `None`: it takes long, and
    /// the answer will come by [`CommandHandler::poll_answer`] with this id. A command may put disks in and out of
    /// `members`.
    fn command(&mut self, now: Nanos, id: CommandId, line: &str, members: &mut MemberTable) -> Option<String> {
        let _ = (now, id, line, members);
        Some(r#"{"error":"unknown command"}"#.to_owned())
    }

    /// From now on it is this block device, too; or none.
    fn device(&mut self, path: Option<&str>) {
        let _ = path;
    }

    /// The server is about to end, and this is how. Who waits for that is answered now; there is no later.
    fn ended(&mut self, ended: &ServerEnded) {
        let _ = ended;
    }

    /// The next answer to a command that took long, if any.
    fn poll_answer(&mut self) -> Option<(CommandId, String)> {
        None
    }
}

/// The line that refuses whoever is not listened to.
pub(crate) fn refusal(why: &str) -> String {
    format!("{}\n", serde_json::json!({ "error": why }))
}

/// One connection of a control client, as a pure machine.
#[derive(Debug, Default)]
pub struct Lines {
    line: Vec<u8>,
    is_waiting: bool,
    is_over: bool,
    out: Outgoing,
}

impl Lines {
    /// Takes bytes from the front of `input`, up to the end of the next command: that is returned. Nothing is taken while
    /// a command waits for its answer.
    pub fn advance(&mut self, input: &mut &[u8]) -> Option<String> {
        if !self.wants_input() {
            return None;
        }
        let end = input.iter().position(|&byte| byte == b'\n');
        let (taken, rest) = input.split_at(end.unwrap_or(input.len()));
        self.line.extend_from_slice(taken);
        *input = rest.get(1..).unwrap_or_default();
        if self.line.len() > LINE_BYTES_MAX {
            self.hang_up();
            return None;
        }
        end?;
        self.is_waiting = true;
        Some(String::from_utf8_lossy(&std::mem::take(&mut self.line)).trim_end_matches('\r').to_owned())
    }

    /// The answer to the command. A line break in it becomes a space.
    pub fn answer(&mut self, answer: &str) {
        self.is_waiting = false;
        self.out.push_copy(answer.replace('\n', " ").as_bytes());
        self.out.push_copy(b"\n");
    }

    /// Would more bytes be of use now?
    pub fn wants_input(&self) -> bool {
        !self.is_waiting && !self.is_over
    }

    /// Is a command waiting for its answer?
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// How many bytes are ready to be sent.
    pub fn output_len(&self) -> usize {
        self.out.len()
    }

    /// Takes what is ready to be sent, and gives an empty one in exchange.
    pub fn take_output(&mut self, empty: Outgoing) -> Outgoing {
        std::mem::replace(&mut self.out, empty)
    }

    /// Will nothing more come of it, but for the answer to a command under way?
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// No more of its bytes are wanted.
    pub fn hang_up(&mut self) {
        self.is_over = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_come_line_by_line_and_wait_for_their_answers() {
        let mut lines = Lines::default();
        let mut input = &b"status --json\r\nfail 2\nrest"[..];
        assert_eq!(lines.advance(&mut input).as_deref(), Some("status --json"));
        assert_eq!(lines.advance(&mut input), None, "one at a time");
        assert_eq!(input, b"fail 2\nrest");
        lines.answer("two\nlines");
        assert_eq!(lines.advance(&mut input).as_deref(), Some("fail 2"));
        lines.answer("{}");
        assert_eq!((lines.advance(&mut input), input), (None, &b""[..]));
        input = b" of it\n";
        assert_eq!(lines.advance(&mut input).as_deref(), Some("rest of it"));
        assert_eq!(lines.take_output(Outgoing::default()).slices().collect::<Vec<_>>().concat(), b"two lines\n{}\n");
    }

    #[test]
    fn a_line_without_end_is_cut_off() {
        let mut lines = Lines::default();
        let long = vec![b'x'; LINE_BYTES_MAX];
        assert_eq!(lines.advance(&mut &long[..]), None);
        assert!(!lines.is_over());
        assert_eq!(lines.advance(&mut &b"x\n"[..]), None);
        assert!(lines.is_over() && !lines.wants_input());
    }
}
