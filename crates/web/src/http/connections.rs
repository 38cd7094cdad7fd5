//! Decides which connection is closed when there are too many: one from the network with the most connections.
//!
//! It is the one that has waited longest with an incomplete request, or else has taken its answer for longest. So a
//! flood of slow clients displaces itself, and clients from elsewhere, or fast ones, are answered.

use super::rate::network;
use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Open connections, at most; each has a thread with a small stack.
pub const CONNECTIONS_MAX: usize = 128;
/// Event streams among them, at most.
pub const STREAMS_MAX: usize = 32;
/// Time within which a normal client takes an answer: a slower one may have to make room for others from its network.
const SOON: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    /// Its request has been incomplete since this time.
    Waits(Instant),
    /// It has been taking its answer since this time.
    Answered(Instant),
    /// It has been an event stream since this time.
    Streams(Instant),
}

#[derive(Debug)]
struct Slot {
    number: u64,
    /// Its network, as given by [`network`].
    from: IpAddr,
    stream: TcpStream,
    state: ConnectionState,
}

/// All open connections.
#[derive(Debug, Default)]
pub struct OpenConnections {
    slots: Mutex<(u64, Vec<Slot>)>,
}

impl OpenConnections {
    /// Enters a connection from this address; returns its number, if there is room for it. Another connection may be
    /// closed for it.
    pub fn enter(&self, stream: &TcpStream, address: IpAddr) -> Option<u64> {
        let (handle, from) = (stream.try_clone().ok()?, network(address));
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, open) = &mut *slots;
        if open.len() >= CONNECTIONS_MAX {
            let number = connection_to_close(open, from, Instant::now())?;
            hang_up(open, number);
        }
        *next += 1;
        open.push(Slot { number: *next, from, stream: handle, state: ConnectionState::Waits(Instant::now()) });
        Some(*next)
    }

    /// Records that a connection's request is complete, or that it waits for another one.
    pub fn is_answered(&self, number: u64, is_answered: bool) {
        let now = Instant::now();
        let state = if is_answered { ConnectionState::Answered(now) } else { ConnectionState::Waits(now) };
        self.change(number, state);
    }

    /// Records that a connection is an event stream now. If there are too many, the oldest stream is closed; its
    /// browser reconnects.
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

    /// Removes a connection that is gone.
    pub fn leave(&self, number: u64) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).1.retain(|slot| slot.number != number);
    }

    fn change(&self, number: u64, state: ConnectionState) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.1.iter_mut().filter(|slot| slot.number == number).for_each(|slot| slot.state = state);
    }
}

/// The number of the connection that makes room for a new one from `from`. `None`: `from` has the most connections, and
/// all of them take their answers in time.
fn connection_to_close(open: &[Slot], from: IpAddr, now: Instant) -> Option<u64> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    open.iter().for_each(|slot| *counts.entry(slot.from).or_default() += 1);
    let most = counts.values().copied().max()?;
    let is_own_network = counts.get(&from) == Some(&most);
    // If `from` has the most connections, the new one makes no room at the expense of other networks.
    let candidates =
        open.iter().filter(|slot| if is_own_network { slot.from == from } else { counts[&slot.from] == most });
    let order = |slot: &&Slot| match slot.state {
        ConnectionState::Waits(since) => (0, since),
        ConnectionState::Answered(since) => (1, since),
        ConnectionState::Streams(since) => (2, since),
    };
    let is_closable = |slot: &&Slot| match slot.state {
        ConnectionState::Answered(since) => !is_own_network || now.saturating_duration_since(since) >= SOON,
        ConnectionState::Waits(_) => true,
        ConnectionState::Streams(_) => !is_own_network,
    };
    candidates.filter(is_closable).min_by_key(order).map(|slot| slot.number)
}

/// Closes a connection: its thread will find its stream at an end.
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

    fn home() -> IpAddr {
        [192, 0, 2, 1].into()
    }

    /// Opens as many connections from there as are allowed.
    fn fill(open: &OpenConnections, from: IpAddr) -> (TcpListener, Vec<(TcpStream, TcpStream, u64)>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let clients = (0..CONNECTIONS_MAX).map(|_| {
            let client = TcpStream::connect(address).unwrap();
            let (server, _) = listener.accept().unwrap();
            let number = open.enter(&server, from).unwrap();
            (client, server, number)
        });
        let clients = clients.collect();
        (listener, clients)
    }

    fn connect(open: &OpenConnections, listener: &TcpListener, from: IpAddr) -> Option<u64> {
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        open.enter(&listener.accept().unwrap().0, from)
    }

    #[test]
    fn the_connection_that_waits_longest_is_closed_and_answered_ones_stay() {
        let open = OpenConnections::default();
        let (listener, mut clients) = fill(&open, home());
        open.is_answered(clients[0].2, true);
        assert!(connect(&open, &listener, home()).is_some());
        assert_eq!(clients[1].0.read(&mut [0; 8]).unwrap(), 0, "the second client is hung up on");
        let set_all = |state| open.slots.lock().unwrap().1.iter_mut().for_each(|slot| slot.state = state);
        set_all(ConnectionState::Answered(Instant::now() + Duration::from_secs(600)));
        assert!(connect(&open, &listener, home()).is_none(), "all are being answered");
    }

    /// Clients from one network take their answers slowly: clients elsewhere are not kept out, and others there not for long.
    #[test]
    fn slow_clients_displace_only_clients_of_their_own_network() {
        let open = OpenConnections::default();
        let (listener, mut clients) = fill(&open, home());
        let soon = Instant::now() + Duration::from_secs(600);
        open.slots.lock().unwrap().1.iter_mut().for_each(|slot| slot.state = ConnectionState::Answered(soon));
        let elsewhere: IpAddr = [198, 51, 100, 7].into();
        let stranger = connect(&open, &listener, elsewhere).expect("from elsewhere there is room");
        assert_eq!(clients[0].0.read(&mut [0; 8]).unwrap(), 0, "the first of the many is hung up on");
        assert!(connect(&open, &listener, elsewhere).is_some());
        assert!(open.slots.lock().unwrap().1.iter().any(|slot| slot.number == stranger), "of the few nobody is");
        let slots = open.slots.lock().unwrap();
        let later = soon + SOON;
        let first = slots.1.iter().find(|slot| slot.from == home()).unwrap().number;
        assert_eq!(connection_to_close(&slots.1, home(), later), Some(first), "there, who takes longest");
        assert_eq!(connection_to_close(&slots.1, home(), soon), None);
    }

    #[test]
    fn ipv6_addresses_of_one_network_count_as_one_client() {
        let open = OpenConnections::default();
        let address = |last: u16| IpAddr::from([0x2001, 0xdb8, 0, 7, 0, 0, 0, last]);
        let (listener, _clients) = fill(&open, address(1));
        open.slots
            .lock()
            .unwrap()
            .1
            .iter_mut()
            .for_each(|slot| slot.state = ConnectionState::Answered(Instant::now() + Duration::from_secs(600)));
        assert!(connect(&open, &listener, address(2)).is_none());
        assert!(connect(&open, &listener, [0x2001, 0xdb8, 0, 8, 0, 0, 0, 1].into()).is_some());
    }
}
