//! The protocol of the control socket: commands and answers, one line each. A [`CommandHandler`] executes the commands.
//!
//! A client sends a command and gets its answer; only then is its next command read. A command that takes long therefore
//! delays its own connection only.

use crate::ended::ServerEnded;
use crate::members::MemberTable;
use scrubjay_core::units::Nanos;
use scrubjay_device::completion::Outgoing;

/// The longest command, in bytes. A longer one ends the connection.
pub const LINE_BYTES_MAX: usize = 64 << 10;

/// Identifies a command, from its line to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

/// Executes the commands.
pub trait CommandHandler {
    /// Executes a command, given without its line break. `Some`: its answer, also without one. `None`: it takes long, and
    /// [`CommandHandler::poll_answer`] returns the answer later, with this id. A command may put disks into `members` or
    /// take them out.
    fn command(&mut self, now: Nanos, id: CommandId, line: &str, members: &mut MemberTable) -> Option<String> {
        let _ = (now, id, line, members);
        Some(r#"{"error":"unknown command"}"#.to_owned())
    }

    /// The volume is now served as the block device `path`, too; `None`: not any more.
    fn device(&mut self, path: Option<&str>) {
        let _ = path;
    }

    /// The server is about to end, as `ended` states. Commands that wait for the end must be answered now: no later call comes.
    fn ended(&mut self, ended: &ServerEnded) {
        let _ = ended;
    }

    /// The next answer to a command that took long, if there is one.
    fn poll_answer(&mut self) -> Option<(CommandId, String)> {
        None
    }
}

/// The line that refuses a client which is not admitted.
pub(crate) fn refusal(why: &str) -> String {
    format!("{}\n", serde_json::json!({ "error": why }))
}

/// One connection of a control client, as a machine.
#[derive(Debug, Default)]
pub struct Lines {
    line: Vec<u8>,
    is_waiting: bool,
    is_over: bool,
    out: Outgoing,
}

impl Lines {
    /// Takes bytes from the front of `input`, up to the end of the next command, and returns that. Takes nothing while a
    /// command waits for its answer.
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

    /// Queues the answer to the command. A line break in it becomes a space.
    pub fn answer(&mut self, answer: &str) {
        self.is_waiting = false;
        self.out.push_copy(answer.replace('\n', " ").as_bytes());
        self.out.push_copy(b"\n");
    }

    /// Can it take more input now? Not while a command waits for its answer, and not after the end.
    pub fn wants_input(&self) -> bool {
        !self.is_waiting && !self.is_over
    }

    /// Is a command waiting for its answer?
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Bytes ready to be sent.
    pub fn output_len(&self) -> usize {
        self.out.len()
    }

    /// Takes the bytes that are ready to be sent, and leaves `empty` in their place.
    pub fn take_output(&mut self, empty: Outgoing) -> Outgoing {
        std::mem::replace(&mut self.out, empty)
    }

    /// Is its input over? The answer to a command under way is still sent.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Ends its input: no further command is read.
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
