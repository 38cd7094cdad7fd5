//! The server: a thread for each of few connections, each for a short time.

use super::connections::OpenConnections;
use super::rate::{HttpCaller, RateLimit};
use super::request::{self, HttpMethod, HttpRequest, RequestError};
use super::response::HttpResponse;
use super::stream::{DeadlineStream, TimedStream};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time after which a connection without a request is closed.
const IDLE: Duration = Duration::from_secs(20);
/// Time within which a client must take a whole answer, even if it takes a little of it all the time: enough for a page
/// of a large host over a line of 100 kbit/s. For an event stream it applies to each event.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// Requests on one connection, at most.
const REQUESTS_MAX: u32 = 200;
/// Threads, at most: those of all connections, and some of closed connections that have not ended yet.
const THREADS_MAX: usize = 160;
/// Bytes of a thread's stack: drawing a page of a large host takes far less.
const STACK: usize = 512 << 10;
/// Requests of one client at once, and a second: a page and its files are five.
const RATE: (f64, f64) = (120.0, 20.0);

/// The client of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpPeer {
    /// Its address.
    pub address: IpAddr,
    /// Is the connection encrypted?
    pub is_encrypted: bool,
}

/// A site that answers requests.
pub trait HttpSite: Send + Sync + 'static {
    /// Answers a request.
    fn answer(&self, request: &HttpRequest, peer: HttpPeer) -> HttpResponse;

    /// The client to which a request counts; called before it is answered.
    fn caller(&self, request: &HttpRequest, peer: HttpPeer) -> HttpCaller;

    /// The next events of a stream in wire format; empty: there is nothing new, and the server only checks that the
    /// client is there. It is called repeatedly, and returns after some seconds at most. `seen` records for the site
    /// what this stream has received.
    fn events(&self, seen: &mut u64) -> String;
}

/// A server.
pub struct HttpServer<S> {
    site: Arc<S>,
    tls: Option<Arc<ServerConfig>>,
    open: Arc<OpenConnections>,
    rate: Arc<Mutex<RateLimit<HttpCaller>>>,
    threads: Arc<AtomicUsize>,
    write_time: Duration,
}

impl<S: HttpSite> HttpServer<S> {
    /// A server of this site, encrypted if there is a configuration for TLS.
    pub fn new(site: Arc<S>, tls: Option<Arc<ServerConfig>>) -> HttpServer<S> {
        let rate = Arc::new(Mutex::new(RateLimit::new(RATE.0, RATE.1)));
        HttpServer { site, tls, open: Arc::default(), rate, threads: Arc::default(), write_time: WRITE_TIME }
    }

    /// Answers connections, for ever.
    pub fn serve(&self, listener: &TcpListener) -> ! {
        loop {
            // Threads of closed connections end as soon as they are scheduled.
            while self.threads.load(Ordering::SeqCst) >= THREADS_MAX {
                thread::sleep(Duration::from_millis(2));
            }
            match listener.accept() {
                Ok((stream, peer)) => self.accept_connection(stream, peer),
                // Too many open files: connections are closed after a while.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn accept_connection(&self, stream: TcpStream, peer: SocketAddr) {
        let Some(number) = self.open.enter(&stream, peer.ip().to_canonical()) else { return };
        let (site, tls, open, rate) =
            (Arc::clone(&self.site), self.tls.clone(), Arc::clone(&self.open), Arc::clone(&self.rate));
        let (threads, write_time) = (Arc::clone(&self.threads), self.write_time);
        threads.fetch_add(1, Ordering::SeqCst);
        let work = move || {
            let peer = HttpPeer { address: peer.ip().to_canonical(), is_encrypted: tls.is_some() };
            let connection = HttpConnection { site: &*site, open: &open, rate: &rate, number, peer, write_time };
            // A panic costs one answer, and keeps no slot.
            let _ = catch_unwind(AssertUnwindSafe(|| connection.run(stream, tls)));
            open.leave(number);
            threads.fetch_sub(1, Ordering::SeqCst);
        };
        if thread::Builder::new().name("http".into()).stack_size(STACK).spawn(work).is_err() {
            self.open.leave(number);
            self.threads.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// One connection.
struct HttpConnection<'t, S> {
    site: &'t S,
    open: &'t OpenConnections,
    rate: &'t Mutex<RateLimit<HttpCaller>>,
    number: u64,
    peer: HttpPeer,
    write_time: Duration,
}

impl<S: HttpSite> HttpConnection<'_, S> {
    fn run(&self, stream: TcpStream, tls: Option<Arc<ServerConfig>>) -> io::Result<()> {
        stream.set_nodelay(true)?;
        // A slow handshake ends when its time is over.
        let mut stream = DeadlineStream::new(stream, request::REQUEST_TIME);
        let Some(config) = tls else {
            let result = self.answer_requests(&mut stream);
            let _ = stream.inner().shutdown(Shutdown::Write);
            return result;
        };
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, stream);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        let result = self.answer_requests(&mut stream);
        stream.time_writes(request::REQUEST_TIME);
        stream.conn.send_close_notify();
        let _ = stream.flush();
        result
    }

    fn answer_requests(&self, stream: &mut dyn TimedStream) -> io::Result<()> {
        let mut rest = Vec::new();
        for _ in 0..REQUESTS_MAX {
            self.open.is_answered(self.number, false);
            let request = match request::read(stream, &mut rest, IDLE) {
                Ok(request) => request,
                Err(RequestError::Gone) => return Ok(()),
                Err(RequestError::Refused(status, why)) => {
                    stream.time_writes(self.write_time);
                    HttpResponse::plain(status, why).write("", false, false, stream)?;
                    return drain(stream);
                }
            };
            self.open.is_answered(self.number, true);
            let caller = self.site.caller(&request, self.peer);
            let may_ask = self.rate.lock().unwrap_or_else(PoisonError::into_inner).take(caller, Instant::now());
            let response = match may_ask {
                true => self.site.answer(&request, self.peer),
                false => HttpResponse::plain(429, "too many requests: wait a little").with("Retry-After", "5"),
            };
            let is_kept_open = request.is_kept_open && may_ask && !response.is_stream;
            let accepts = request.field("accept-encoding").unwrap_or_default();
            stream.time_writes(self.write_time);
            response.write(accepts, request.method == HttpMethod::Head, is_kept_open, stream)?;
            if response.is_stream && request.method == HttpMethod::Get {
                return self.stream(stream);
            }
            if !is_kept_open {
                return Ok(());
            }
        }
        Ok(())
    }

    fn stream(&self, stream: &mut dyn TimedStream) -> io::Result<()> {
        self.open.streams(self.number);
        let mut seen = 0;
        loop {
            let events = self.site.events(&mut seen);
            let bytes = if events.is_empty() { "event: pulse\ndata: 1\n\n" } else { &events };
            stream.time_writes(self.write_time);
            stream.write_all(bytes.as_bytes())?;
            stream.flush()?;
        }
    }
}

/// Reads for a moment what a refused client still sends: closing at once would destroy the answer on its way.
fn drain(stream: &mut dyn TimedStream) -> io::Result<()> {
    const BYTES_MAX: usize = 2 << 20;
    let until = Instant::now() + Duration::from_secs(1);
    let (mut buffer, mut read) = ([0; 8192], 0);
    while read < BYTES_MAX && Instant::now() < until {
        stream.time_reads(Duration::from_millis(200))?;
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => read += length,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// More bytes than the kernel buffers for a client that takes none of an answer.
    const LARGE: usize = 64 << 20;

    struct LargeSite;

    impl HttpSite for LargeSite {
        fn answer(&self, _: &HttpRequest, _: HttpPeer) -> HttpResponse {
            HttpResponse::new(200, "text/plain", vec![b'x'; LARGE])
        }

        fn caller(&self, _: &HttpRequest, peer: HttpPeer) -> HttpCaller {
            HttpCaller::from(peer.address)
        }

        fn events(&self, _: &mut u64) -> String {
            String::new()
        }
    }

    #[test]
    fn an_answer_taken_in_small_pieces_is_cut_off_though_each_comes_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server =
            HttpServer { write_time: Duration::from_millis(300), ..HttpServer::new(Arc::new(LargeSite), None) };
        thread::spawn(move || server.serve(&listener));
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let (mut piece, mut taken) = (vec![0; 16 << 10], 0);
        while let Ok(length @ 1..) = client.read(&mut piece) {
            taken += length;
            thread::sleep(Duration::from_millis(2));
        }
        assert!(taken < LARGE, "{taken} of {LARGE}");
    }
}
