//! A connection, plain or encrypted, with time limits for reading and for writing.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A stream whose reads and writes take bounded time.
pub trait TimedStream: Read + Write {
    /// Limits the time of all reads from now on, together; after that they fail.
    ///
    /// # Errors
    /// The kernel reports an error.
    fn time_reads(&mut self, time: Duration) -> io::Result<()>;

    /// Limits the time of all writes from now on, together: a client that takes a byte now and then takes no more time
    /// than one that takes none.
    fn time_writes(&mut self, time: Duration);
}

/// The shortest time-out that the kernel accepts.
const LEAST: Duration = Duration::from_millis(1);

/// A connection whose reads, and whose writes, all end at one time: below encryption one read or write is many of the
/// kernel's.
pub struct DeadlineStream {
    stream: TcpStream,
    read_deadline: Instant,
    write_deadline: Instant,
}

impl DeadlineStream {
    /// Limits all reads together, and all writes together, to `time` until another limit is set.
    pub fn new(stream: TcpStream, time: Duration) -> DeadlineStream {
        let deadline = Instant::now() + time;
        DeadlineStream { stream, read_deadline: deadline, write_deadline: deadline }
    }

    /// The connection below.
    pub fn inner(&self) -> &TcpStream {
        &self.stream
    }
}

/// The time that is left; none left is an error.
fn left(deadline: Instant) -> io::Result<Duration> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left.max(LEAST)),
    }
}

impl Read for DeadlineStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.read_deadline)?))?;
        self.stream.read(into)
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.write_deadline)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl TimedStream for DeadlineStream {
    fn time_reads(&mut self, time: Duration) -> io::Result<()> {
        self.read_deadline = Instant::now() + time;
        Ok(())
    }

    fn time_writes(&mut self, time: Duration) {
        self.write_deadline = Instant::now() + time;
    }
}

impl TimedStream for rustls::StreamOwned<rustls::ServerConnection, DeadlineStream> {
    fn time_reads(&mut self, time: Duration) -> io::Result<()> {
        self.sock.time_reads(time)
    }

    fn time_writes(&mut self, time: Duration) {
        self.sock.time_writes(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().unwrap().0, peer)
    }

    /// A peer that sends slowly does not extend the limit, though each of its bytes comes well within it.
    #[test]
    fn all_reads_together_end_at_one_time() {
        let (server, mut peer) = pair();
        let writer = thread::spawn(move || {
            let is_taken = |_: &u32| {
                thread::sleep(Duration::from_millis(5));
                peer.write_all(b"x").is_ok()
            };
            (0..4000).take_while(is_taken).count()
        });
        let mut stream = DeadlineStream::new(server, Duration::from_millis(300));
        let ended = loop {
            match stream.read(&mut [0; 1]) {
                Ok(0) => panic!("the peer was waited for to its end"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(ended.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{ended}");
        drop(stream);
        assert!(writer.join().unwrap() < 4000);
    }

    /// A peer that takes an answer slowly does not extend the limit, though each piece is taken well within it.
    #[test]
    fn all_writes_together_end_at_one_time() {
        const PIECES: usize = 4000;
        let (server, mut peer) = pair();
        let reader = thread::spawn(move || {
            let is_there = |_: &usize| {
                thread::sleep(Duration::from_millis(5));
                matches!(peer.read(&mut [0; 4096]), Ok(1..))
            };
            (0..PIECES).take_while(is_there).count()
        });
        let mut stream = DeadlineStream::new(server, Duration::from_secs(60));
        stream.time_writes(Duration::from_millis(300));
        let answer = vec![b'x'; PIECES * 4096];
        let ended = stream.write_all(&answer).expect_err("it was waited for to the end");
        assert!(matches!(ended.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{ended}");
        stream.inner().shutdown(std::net::Shutdown::Both).unwrap();
        assert!(reader.join().unwrap() < PIECES);
    }
}
