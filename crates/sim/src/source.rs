//! The foreground of a pump: an open stream, or clients that wait for their answers.
//!
//! In an *open* stream the time of an arrival does not depend on how slow the disk is ([`OpenLoop`]: any iterator). A
//! *closed* one consists of clients that think only after they were answered ([`Clients`]): a client that is delayed
//! sends its next request later, and never queues behind itself. Real programs are mostly closed, recorded traces are
//! played open; a budget must hold in both.

use crate::workload::TimeSpan;
use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::disk_server::ForegroundRequest;
use scrubjay_core::units::Nanos;
use std::iter::Peekable;

/// A source of foreground requests, one after the other.
pub trait RequestSource {
    /// When the next one arrives; `None`: never.
    fn next_at(&mut self) -> Option<Nanos>;

    /// Takes the next one. It never arrives before its predecessor.
    fn take(&mut self) -> Option<ForegroundRequest>;

    /// Notes that the request taken last will be answered at `finished`.
    fn answered(&mut self, finished: Nanos) {
        let _ = finished;
    }
}

/// An open stream: any list or iterator of requests.
#[derive(Clone, Debug)]
pub struct OpenLoop<I: Iterator<Item = ForegroundRequest>>(Peekable<I>);

impl<I: Iterator<Item = ForegroundRequest>> OpenLoop<I> {
    /// The stream of these requests.
    pub fn new(requests: impl IntoIterator<IntoIter = I>) -> OpenLoop<I> {
        OpenLoop(requests.into_iter().peekable())
    }
}

impl<I: Iterator<Item = ForegroundRequest>> RequestSource for OpenLoop<I> {
    fn next_at(&mut self) -> Option<Nanos> {
        self.0.peek().map(|request| request.at)
    }

    fn take(&mut self) -> Option<ForegroundRequest> {
        self.0.next()
    }
}

/// Clients with one request at the disk each: they send bursts of requests, each one after the answer to the one
/// before, and then think. They never end.
#[derive(Clone, Debug)]
pub struct Clients {
    burst: u32,
    gap: TimeSpan,
    think: TimeSpan,
    service: TimeSpan,
    rng: Rng,
    clients: Vec<SourceClient>,
    /// The client whose request was taken last.
    last_taken: usize,
}

#[derive(Clone, Copy, Debug)]
struct SourceClient {
    /// When it sends its next request.
    next: Nanos,
    /// Requests left of its burst, the next one included.
    left: u32,
}

impl Clients {
    /// Makes `clients` clients, which begin with a time to think. `gap` is from an answer to the next request of a burst.
    ///
    /// # Panics
    /// When there are none, or a burst has no requests.
    pub fn new(clients: usize, burst: u32, gap: TimeSpan, think: TimeSpan, service: TimeSpan, mut rng: Rng) -> Clients {
        assert!(clients > 0 && burst > 0, "somebody asks for something");
        let clients = (0..clients).map(|_| SourceClient { next: think.draw(&mut rng), left: burst }).collect();
        Clients { burst, gap, think, service, rng, clients, last_taken: 0 }
    }

    fn first(&self) -> usize {
        (0..self.clients.len()).min_by_key(|&client| self.clients[client].next).expect("there is a client")
    }
}

impl RequestSource for Clients {
    fn next_at(&mut self) -> Option<Nanos> {
        Some(self.clients[self.first()].next)
    }

    fn take(&mut self) -> Option<ForegroundRequest> {
        self.last_taken = self.first();
        Some(ForegroundRequest { at: self.clients[self.last_taken].next, service: self.service.draw(&mut self.rng) })
    }

    fn answered(&mut self, finished: Nanos) {
        let client = &mut self.clients[self.last_taken];
        client.left -= 1;
        let span = if client.left > 0 { self.gap } else { self.think };
        client.left = if client.left > 0 { client.left } else { self.burst };
        client.next = finished.saturating_add(span.draw(&mut self.rng));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_sends_its_next_request_after_the_answer() {
        let [gap, think, service] = [2, 100, 10].map(|nanos| TimeSpan::Fixed(Nanos(nanos)));
        let mut clients = Clients::new(1, 2, gap, think, service, Rng::new(0));
        let mut times = Vec::new();
        for delay in [0, 0, 7, 0] {
            let request = clients.take().unwrap();
            times.push(request.at.0);
            clients.answered(request.at + request.service + Nanos(delay));
        }
        assert_eq!(times, [100, 112, 222, 241], "the third one was answered 7 ns later than it could have been");
    }
}
