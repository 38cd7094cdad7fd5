//! A connection, plain or encrypted, with a time for what is read and one for what is written.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What is read and written in bounded time.
pub trait TimedStream: Read + Write {
    /// All reads from now on, together, take no longer than this; then they fail.
    ///
    /// # Errors
    /// The kernel says no.
    fn time_reads(&mut self, time: Duration) -> io::Result<()>;

    /// The same of writes: who takes a byte now and then takes no more of our time than who takes none.
    fn time_writes(&mut self, time: Duration);
}

/// The kernel takes none below this.
const LEAST: Duration = Duration::from_millis(1);

/// A connection on which many reads of the kernel's, or writes, end at one time: below encryption one of ours is many of its.
pub struct DeadlineStream {
    stream: TcpStream,
    read_by: Instant,
    write_by: Instant,
}

impl DeadlineStream {
    /// Reads of it take no longer than this, all together, nor do writes, until another time is set.
    pub fn new(stream: TcpStream, time: Duration) -> DeadlineStream {
        let by = Instant::now() + time;
        DeadlineStream { stream, read_by: by, write_by: by }
    }

    /// The connection itself.
    pub fn inner(&self) -> &TcpStream {
        &self.stream
    }
}

/// What is left until then; nothing is an error.
fn left(by: Instant) -> io::Result<Duration> {
    match by.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left.max(LEAST)),
    }
}

impl Read for DeadlineStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.read_by)?))?;
        self.stream.read(into)
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.write_by)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl TimedStream for DeadlineStream {
    fn time_reads(&mut self, time: Duration) -> io::Result<()> {
        self.read_by = Instant::now() + time;
        Ok(())
    }

    fn time_writes(&mut self, time: Duration) {
        self.write_by = Instant::now() + time;
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

    /// A peer that trickles keeps nobody beyond the time: each of its bytes comes well within it.
    #[test]
    fn all_reads_together_end_at_one_time() {
        let (ours, mut peer) = pair();
        let trickle = thread::spawn(move || {
            let is_taken = |_: &u32| {
                thread::sleep(Duration::from_millis(5));
                peer.write_all(b"x").is_ok()
            };
            (0..4000).take_while(is_taken).count()
        });
        let mut stream = DeadlineStream::new(ours, Duration::from_millis(300));
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

    /// Nor does one that takes an answer in sips: each of them comes well within it.
    #[test]
    fn all_writes_together_end_at_one_time() {
        const SIPS: usize = 4000;
        let (ours, mut peer) = pair();
        let sips = thread::spawn(move || {
            let is_there = |_: &usize| {
                thread::sleep(Duration::from_millis(5));
                matches!(peer.read(&mut [0; 4096]), Ok(1..))
            };
            (0..SIPS).take_while(is_there).count()
        });
        let mut stream = DeadlineStream::new(ours, Duration::from_secs(60));
        stream.time_writes(Duration::from_millis(300));
        let answer = vec![b'x'; SIPS * 4096];
        let ended = stream.write_all(&answer).expect_err("it was waited for to the end");
        assert!(matches!(ended.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{ended}");
        stream.inner().shutdown(std::net::Shutdown::Both).unwrap();
        assert!(sips.join().unwrap() < SIPS);
    }
}
