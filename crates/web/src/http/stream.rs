//! A connection, plain or encrypted, with a time for what is read.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

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

/// A connection below encryption, where one read may be many of the kernel's: all of them end at one time.
pub struct DeadlineStream {
    stream: TcpStream,
    until: Instant,
}

impl DeadlineStream {
    /// Reads of it take no longer than this, all together, until another time is set.
    pub fn new(stream: TcpStream, time: Duration) -> DeadlineStream {
        DeadlineStream { stream, until: Instant::now() + time }
    }
}

impl Read for DeadlineStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.time_reads(left)?;
        self.stream.read(into)
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl TimedStream for rustls::StreamOwned<rustls::ServerConnection, DeadlineStream> {
    fn time_reads(&mut self, time: Duration) -> io::Result<()> {
        self.sock.until = Instant::now() + time;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// A peer that trickles keeps nobody beyond the time: each of its bytes comes well within it.
    #[test]
    fn all_reads_together_end_at_one_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let trickle = thread::spawn(move || {
            let is_taken = |_: &u32| {
                thread::sleep(Duration::from_millis(5));
                peer.write_all(b"x").is_ok()
            };
            (0..4000).take_while(is_taken).count()
        });
        let mut stream = DeadlineStream::new(listener.accept().unwrap().0, Duration::from_millis(300));
        let ended = loop {
            match stream.read(&mut [0; 1]) {
                Ok(0) => panic!("the peer was waited for to its end"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(ended.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{ended}");
        drop(stream);
        assert!(trickle.join().unwrap() < 4000);
    }
}
