//! A connection to a mail server: commands, replies, and TLS from some moment on.
//!
//! lettre writes the mails and commands. Its own connection is not used: it reads a line of any length into memory,
//! restarts its time limit with every byte, and accepts data that a third party injected before TLS began.

use super::bounds::{CONNECT_MAX, DELIVERY_MAX, TimeBound};
use lettre::transport::smtp::response::Response;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;

/// Bytes that are received in a whole dialogue, at most.
const RECEIVED_MAX: usize = 1 << 20;
/// Bytes of one reply, at most (Postfix: `smtp_response_limit` is 102,400).
const ANSWER_MAX: usize = 100_000;

/// A failure of one step.
#[derive(Debug)]
pub(crate) enum WireFault {
    /// No connection could be made.
    Connect(io::Error),
    /// The connection failed, or the time is over.
    Lost(io::Error),
    /// The server refuses.
    Answer(Response),
    /// The server's reply is no SMTP.
    Nonsense(String),
}

/// A socket that fails when the time is over or too much was received.
struct BoundedSocket<'a> {
    stream: TcpStream,
    bound: &'a TimeBound,
    received: usize,
}

impl BoundedSocket<'_> {
    /// The remaining time, or the same error that a time-out of the socket gets.
    fn left(&self) -> io::Result<Option<std::time::Duration>> {
        self.bound.left(DELIVERY_MAX).map(Some).ok_or_else(|| io::ErrorKind::TimedOut.into())
    }
}

impl Read for BoundedSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.received > RECEIVED_MAX {
            return Err(io::Error::other("it says more than a mail server has to say"));
        }
        self.stream.set_read_timeout(self.left()?)?;
        let length = self.stream.read(buffer)?;
        self.received += length;
        Ok(length)
    }
}

impl Write for BoundedSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

enum WireStream<'a> {
    Plain(BoundedSocket<'a>),
    Tls(Box<StreamOwned<ClientConnection, BoundedSocket<'a>>>),
}

/// A connection to a mail server.
pub(crate) struct SmtpWire<'a> {
    stream: WireStream<'a>,
    /// Received bytes that were not processed yet.
    rest: Vec<u8>,
}

impl<'a> SmtpWire<'a> {
    /// Connects to the first address that answers.
    pub(crate) fn connect(host: &str, port: u16, bound: &'a TimeBound) -> Result<SmtpWire<'a>, WireFault> {
        let mut last = io::Error::other("its name has no address");
        for address in (host, port).to_socket_addrs().map_err(WireFault::Connect)? {
            let Some(left) = bound.left(CONNECT_MAX) else {
                return Err(WireFault::Lost(io::ErrorKind::TimedOut.into()));
            };
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => {
                    let stream = WireStream::Plain(BoundedSocket { stream, bound, received: 0 });
                    return Ok(SmtpWire { stream, rest: Vec::new() });
                }
                Err(error) => last = error,
            }
        }
        Err(WireFault::Connect(last))
    }

    /// Encrypts the connection from here on, and checks the server's identity by its certificate.
    pub(crate) fn encrypt(self, host: &str, config: Arc<ClientConfig>) -> Result<SmtpWire<'a>, WireFault> {
        if !self.rest.is_empty() {
            return Err(WireFault::Nonsense("something was slipped in before encryption began".to_owned()));
        }
        let WireStream::Plain(socket) = self.stream else { return Ok(self) };
        let name = ServerName::try_from(host.to_owned()).map_err(|error| WireFault::Nonsense(error.to_string()))?;
        let connection =
            ClientConnection::new(config, name).map_err(|error| WireFault::Lost(io::Error::other(error)))?;
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).map_err(WireFault::Lost)?;
        }
        Ok(SmtpWire { stream: WireStream::Tls(Box::new(stream)), rest: Vec::new() })
    }

    /// Sends a command, and reads the reply; one without success is a fault.
    pub(crate) fn command(&mut self, command: &dyn std::fmt::Display) -> Result<Response, WireFault> {
        self.send(command.to_string().as_bytes())?;
        self.answer()
    }

    /// Sends a mail, and reads the reply. A line that begins with a dot gets another one before it (RFC 5321, 4.5.2).
    pub(crate) fn mail(&mut self, mail: &[u8]) -> Result<Response, WireFault> {
        let mut bytes = Vec::with_capacity(mail.len() + 16);
        let mut is_line_start = true;
        for &byte in mail {
            if is_line_start && byte == b'.' {
                bytes.push(b'.');
            }
            is_line_start = byte == b'\n';
            bytes.push(byte);
        }
        bytes.extend_from_slice(if bytes.ends_with(b"\r\n") { b".\r\n" } else { b"\r\n.\r\n" });
        self.send(&bytes)?;
        self.answer()
    }

    /// Sends a command, and does not wait for the reply.
    pub(crate) fn farewell(&mut self, command: &dyn std::fmt::Display) -> Result<(), WireFault> {
        self.send(command.to_string().as_bytes())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), WireFault> {
        let stream: &mut dyn Write = match &mut self.stream {
            WireStream::Plain(socket) => socket,
            WireStream::Tls(stream) => stream,
        };
        stream.write_all(bytes).and_then(|()| stream.flush()).map_err(WireFault::Lost)
    }

    /// Reads a reply: lines `250-...` up to one `250 ...`.
    pub(crate) fn answer(&mut self) -> Result<Response, WireFault> {
        let (mut text, mut length) = (String::new(), 0);
        loop {
            let line = self.line()?;
            length += line.len();
            if length > ANSWER_MAX {
                return Err(WireFault::Nonsense("an answer without end".to_owned()));
            }
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            let is_code = line.len() >= 3 && line.bytes().take(3).all(|byte| byte.is_ascii_digit());
            if !is_code || !matches!(line.as_bytes().get(3), None | Some(b' ' | b'-')) {
                return Err(WireFault::Nonsense(line.to_owned()));
            }
            text.push_str(line);
            text.push_str("\r\n");
            if line.as_bytes().get(3) != Some(&b'-') {
                break;
            }
        }
        let answer = text.parse::<Response>().map_err(|_| WireFault::Nonsense(text.clone()))?;
        if answer.is_positive() { Ok(answer) } else { Err(WireFault::Answer(answer)) }
    }

    fn line(&mut self) -> Result<Vec<u8>, WireFault> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let after = self.rest.split_off(end + 1);
                return Ok(std::mem::replace(&mut self.rest, after));
            }
            if self.rest.len() > ANSWER_MAX {
                return Err(WireFault::Nonsense("a line without end".to_owned()));
            }
            let mut buffer = [0; 4096];
            let stream: &mut dyn Read = match &mut self.stream {
                WireStream::Plain(socket) => socket,
                WireStream::Tls(stream) => stream,
            };
            match stream.read(&mut buffer) {
                Ok(0) => return Err(WireFault::Lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(length) => self.rest.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(WireFault::Lost(error)),
            }
        }
    }
}
