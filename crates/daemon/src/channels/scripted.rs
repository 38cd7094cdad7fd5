//! Scripted servers on loopback for tests, which record what they receive.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

/// A server for one connection.
pub(crate) struct ScriptedServer {
    /// The port on which it listens.
    pub(crate) port: u16,
    thread: JoinHandle<String>,
}

impl ScriptedServer {
    /// A server that runs `serve` with the connection, which returns what it received.
    pub(crate) fn new(serve: impl FnOnce(TcpStream) -> String + Send + 'static) -> ScriptedServer {
        ScriptedServer::at(0, serve)
    }

    /// The same, at this port; 0: any.
    fn at(port: u16, serve: impl FnOnce(TcpStream) -> String + Send + 'static) -> ScriptedServer {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = thread::spawn(move || serve(listener.accept().unwrap().0));
        ScriptedServer { port, thread }
    }

    /// A server that reads an HTTP request, and answers with this.
    pub(crate) fn http(answer: impl Into<Vec<u8>>) -> ScriptedServer {
        let answer = answer.into();
        ScriptedServer::new(move |mut stream| {
            let request = request(&mut stream);
            // The client may have closed the connection.
            let _ = stream.write_all(&answer);
            request
        })
    }

    /// A mail server that answers each line in turn: `(beginning of the line, answer)`; the first answer is the greeting.
    pub(crate) fn smtp(script: &[(&'static str, &'static str)]) -> ScriptedServer {
        ScriptedServer::smtp_at(0, script)
    }

    /// The same, at this port; 0: any.
    pub(crate) fn smtp_at(port: u16, script: &[(&'static str, &'static str)]) -> ScriptedServer {
        let script = script.to_vec();
        ScriptedServer::at(port, move |stream| {
            let (mut reader, mut received) = (BufReader::new(stream), String::new());
            for (expected, answer) in script {
                if !expected.is_empty() {
                    let line_start = received.len();
                    // A mail is read up to its final dot.
                    while reader.read_line(&mut received).is_ok_and(|length| length > 0) && expected == "." {
                        if received.ends_with("\r\n.\r\n") {
                            break;
                        }
                    }
                    let line = received[line_start..].to_owned();
                    if expected != "." && !line.starts_with(expected) {
                        return format!("{received}[expected {expected}]");
                    }
                }
                if reader.get_mut().write_all(format!("{answer}\r\n").as_bytes()).is_err() {
                    return received;
                }
            }
            let _ = reader.read_to_string(&mut received);
            received
        })
    }

    /// What it received.
    pub(crate) fn received(self) -> String {
        self.thread.join().unwrap()
    }
}

/// Reads a request: its head, and as much of a body as the head announces.
pub(crate) fn request(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
    let mut length =
        head.lines().filter_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    let length: usize = length.next().map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}
