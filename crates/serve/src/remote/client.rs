//! A client of a control socket: commands and answers, one line each.

use crate::volume::commands::{CommandAnswer, Occupied, VolumeCommand};
use scrubjay_device::completion::connect_unix;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest answer, in bytes. That to a verification of the most stripes, all of them lost, has a tenth of it.
const LINE_BYTES_MAX: usize = 4 << 20;
/// Bytes received at a time.
const INPUT_BYTES: usize = 64 << 10;

/// How long to wait for a server to accept the connection, or to take a command.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait for an answer. A server has one thread, which may be opening a disk, but for a shorter time than this.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// How long to wait for an answer to Replace, Readd and Stop: a disk may be wiped first, or the server ends.
const LONG_ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// A connection to a control socket.
#[derive(Debug)]
pub struct ControlClient {
    socket: PathBuf,
    stream: UnixStream,
    /// Bytes received that are no whole line yet.
    unread: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No server listens there.
    #[error("{0}: the server is gone, without a stop in order: serve the volume again")]
    Absent(PathBuf),
    /// The kernel refused it.
    #[error("{socket}: {source}")]
    Io {
        /// Path of the socket.
        socket: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// No answer came in time.
    #[error("{0}: the server does not answer: it hangs, or has too much to do")]
    Late(PathBuf),
    /// The server closed the connection.
    #[error("{0}: the server ended before it answered")]
    Ended(PathBuf),
    /// The answer is not understood.
    #[error("{0}: the server's answer makes no sense: another version?")]
    Nonsense(PathBuf),
    /// The server refused the command, for this reason.
    #[error("{0}")]
    Refused(String),
    /// The server refused a disk for a replacement, because it is not empty.
    #[error(transparent)]
    Occupied(Occupied),
}

impl From<ClientError> for io::Error {
    fn from(error: ClientError) -> io::Error {
        match error {
            ClientError::Io { source, .. } => source,
            error => io::Error::other(error.to_string()),
        }
    }
}

impl ControlClient {
    /// Connects to a server.
    ///
    /// # Errors
    /// [`ClientError::Absent`], [`ClientError::Late`] and [`ClientError::Io`].
    pub fn connect(socket: &Path) -> Result<ControlClient, ClientError> {
        match connect_unix(socket, CONNECT_TIMEOUT) {
            Ok(stream) => Ok(ControlClient { socket: socket.to_owned(), stream, unread: Vec::new() }),
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => {
                Err(ClientError::Absent(socket.to_owned()))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ClientError::Late(socket.to_owned())),
            Err(source) => Err(ClientError::Io { socket: socket.to_owned(), source }),
        }
    }

    /// Sends a command, and waits for its answer, with a time limit that depends on the command.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn ask(&mut self, command: &VolumeCommand) -> Result<CommandAnswer, ClientError> {
        let patience = match command {
            VolumeCommand::Replace { .. } | VolumeCommand::Readd { .. } | VolumeCommand::Stop => LONG_ANSWER_TIMEOUT,
            _ => ANSWER_TIMEOUT,
        };
        self.ask_within(command, patience)
    }

    /// Sends a command, and waits for its answer for `patience` at most.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn ask_within(&mut self, command: &VolumeCommand, patience: Duration) -> Result<CommandAnswer, ClientError> {
        match self.send(command) {
            // The server may have sent a reason before it closed the connection.
            Ok(()) | Err(ClientError::Ended(_)) => (),
            Err(error) => return Err(error),
        }
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.receive(left)? {
                Some(answer) => return Ok(answer),
                None if left.is_zero() => return Err(ClientError::Late(self.socket.clone())),
                None => (), // interrupted by a signal
            }
        }
    }

    /// Sends a command. The next one may be sent after its answer.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn send(&mut self, command: &VolumeCommand) -> Result<(), ClientError> {
        let mut line = serde_json::to_string(command).expect("commands are plain values");
        line.push('\n');
        self.stream.write_all(line.as_bytes()).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => ClientError::Ended(self.socket.clone()),
            ErrorKind::WouldBlock => ClientError::Late(self.socket.clone()),
            _ => ClientError::Io { socket: self.socket.clone(), source: error },
        })
    }

    /// Receives the answer to the command that was sent; `None`: it did not come within `patience`, or a signal came.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn receive(&mut self, patience: Duration) -> Result<Option<CommandAnswer>, ClientError> {
        let failed = |source| ClientError::Io { socket: self.socket.clone(), source };
        let until = Instant::now() + patience;
        let mut input = vec![0; INPUT_BYTES];
        loop {
            // A timeout of zero is refused: for the kernel it means no timeout.
            let rest = until.saturating_duration_since(Instant::now()).max(Duration::from_micros(1));
            self.stream.set_read_timeout(Some(rest)).map_err(failed)?;
            let count = match self.stream.read(&mut input) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return Ok(None);
                }
                Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
                result => result.map_err(failed)?,
            };
            if count == 0 {
                return Err(ClientError::Ended(self.socket.clone()));
            }
            self.unread.extend_from_slice(&input[..count]);
            if let Some(line) = self.unread.strip_suffix(b"\n") {
                let answer = serde_json::from_slice(line);
                self.unread.clear();
                return match answer {
                    Ok(CommandAnswer::Error(why)) => Err(ClientError::Refused(why)),
                    Ok(CommandAnswer::Occupied(occupied)) => Err(ClientError::Occupied(occupied)),
                    Ok(answer) => Ok(Some(answer)),
                    Err(_) => Err(ClientError::Nonsense(self.socket.clone())),
                };
            }
            if self.unread.len() > LINE_BYTES_MAX {
                return Err(ClientError::Nonsense(self.socket.clone()));
            }
        }
    }
}
