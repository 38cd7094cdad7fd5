//! Who may stay when there are too many: whoever waits with an unfinished request for longest makes room. So a flood of slow clients
//! drives out itself, and one that asks at once is answered.

use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// So many connections at a time; each has a thread with a small stack.
pub const CONNECTIONS_MAX: usize = 128;
/// So many streams of events among them.
pub const STREAMS_MAX: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    /// Its request has not come whole since then.
    Waits(Instant),
    /// It is being answered.
    Answered,
    /// It has events since then.
    Streams(Instant),
}

#[derive(Debug)]
struct Slot {
    number: u64,
    stream: TcpStream,
    state: ConnectionState,
}

/// All open connections.
#[derive(Debug, Default)]
pub struct OpenConnections {
    slots: Mutex<(u64, Vec<Slot>)>,
}

impl OpenConnections {
    /// A client has come; its number, if there is room for it. Another one may be hung up on.
    pub fn enter(&self, stream: &TcpStream) -> Option<u64> {
        let handle = stream.try_clone().ok()?;
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, open) = &mut *slots;
        if open.len() >= CONNECTIONS_MAX {
            let waits = |slot: &&Slot| matches!(slot.state, ConnectionState::Waits(_));
            let since = |slot: &&Slot| if let ConnectionState::Waits(since) = slot.state { Some(since) } else { None };
            let number = open.iter().filter(waits).min_by_key(since)?.number;
            hang_up(open, number);
        }
        *next += 1;
        open.push(Slot { number: *next, stream: handle, state: ConnectionState::Waits(Instant::now()) });
        Some(*next)
    }

    /// Its request has come whole, or another one is waited for.
    pub fn is_answered(&self, number: u64, is_answered: bool) {
        let state = if is_answered { ConnectionState::Answered } else { ConnectionState::Waits(Instant::now()) };
        self.change(number, state);
    }

    /// It has events from now on. The one that has had them for longest makes room if there are too many; its browser comes back.
    pub fn streams(&self, number: u64) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |slot: &Slot| if let ConnectionState::Streams(since) = slot.state { Some(since) } else { None };
        let streams: Vec<(Instant, u64)> =
            slots.1.iter().filter_map(|slot| Some((since(slot)?, slot.number))).collect();
        if streams.len() >= STREAMS_MAX
            && let Some((_, oldest)) = streams.iter().min()
        {
            hang_up(&mut slots.1, *oldest);
        }
        drop(slots);
        self.change(number, ConnectionState::Streams(Instant::now()));
    }

    /// It is gone.
    pub fn leave(&self, number: u64) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).1.retain(|slot| slot.number != number);
    }

    fn change(&self, number: u64, state: ConnectionState) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.1.iter_mut().filter(|slot| slot.number == number).for_each(|slot| slot.state = state);
    }
}

/// Its thread finds its stream at an end.
fn hang_up(open: &mut Vec<Slot>, number: u64) {
    open.retain(|slot| {
        if slot.number == number {
            let _ = slot.stream.shutdown(Shutdown::Both);
        }
        slot.number != number
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn the_one_that_waits_longest_makes_room_and_who_is_answered_stays() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let open = OpenConnections::default();
        let mut clients: Vec<(TcpStream, TcpStream, u64)> = Vec::new();
        for _ in 0..CONNECTIONS_MAX {
            let client = TcpStream::connect(address).unwrap();
            let (server, _) = listener.accept().unwrap();
            let number = open.enter(&server).unwrap();
            clients.push((client, server, number));
        }
        open.is_answered(clients[0].2, true);
        let client = TcpStream::connect(address).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert!(open.enter(&server).is_some());
        assert_eq!(clients[1].0.read(&mut [0; 8]).unwrap(), 0, "the second client is hung up on");
        open.slots.lock().unwrap().1.iter_mut().for_each(|slot| slot.state = ConnectionState::Answered);
        assert!(open.enter(&server).is_none(), "all are being answered");
        drop(client);
    }
}
