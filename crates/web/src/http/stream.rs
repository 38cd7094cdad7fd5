//! A connection, plain or encrypted, with a time for what is read.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What is read and written in bounded time.
pub trait TimedStream: Read + Write {
    /// A read that takes longer than this fails.
    ///
    /// # Errors
    /// The kernel says no.
    fn time_reads(&mut self, time: Duration) -> io::Result<()>;
}

/// The kernel takes none below this.
const LEAST: Duration = Duration::from_millis(1);

impl TimedStream for TcpStream {
    fn time_reads(&mut self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time.max(LEAST)))
    }
}

impl TimedStream for rustls::StreamOwned<rustls::ServerConnection, TcpStream> {
    fn time_reads(&mut self, time: Duration) -> io::Result<()> {
        self.sock.set_read_timeout(Some(time.max(LEAST)))
    }
}
