//! Rate limits: a token bucket for each client, and what counts as one client.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

/// Clients that are distinguished, at most; beyond that, those whose last request is oldest are forgotten.
const CLIENTS_MAX: usize = 1024;

/// What counts as one client for rate limits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HttpCaller {
    /// All clients from this network without anything that distinguishes them.
    From(IpAddr),
    /// The owner of this secret mark: clients without it do not count, however many they are and wherever they come from.
    Known(String),
}

impl HttpCaller {
    /// The client at an address; for IPv6 its network, because one line has any number of addresses.
    pub fn from(address: IpAddr) -> HttpCaller {
        HttpCaller::From(network(address))
    }
}

/// The address; for IPv6 its network of 64 bits.
pub fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(ipv6) if !ipv6.is_loopback() => Ipv6Addr::from_bits(ipv6.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

/// Token buckets of one size, one for each client.
#[derive(Debug)]
pub struct RateLimit<C> {
    /// Requests at once, at most.
    burst: f64,
    /// Requests a second, on average.
    per_second: f64,
    clients: HashMap<C, (f64, Instant)>,
}

impl<C: Clone + Eq + Hash> RateLimit<C> {
    /// A limit of `burst` requests at once, and `per_second` on average.
    pub fn new(burst: f64, per_second: f64) -> RateLimit<C> {
        RateLimit { burst, per_second, clients: HashMap::new() }
    }

    /// May this client send a request now?
    pub fn take(&mut self, client: C, now: Instant) -> bool {
        if self.clients.len() >= CLIENTS_MAX && !self.clients.contains_key(&client) {
            let oldest = self.clients.iter().min_by_key(|(_, (_, at))| *at).map(|(client, _)| client.clone());
            if let Some(client) = oldest {
                self.clients.remove(&client);
            }
        }
        let (left, at) = self.clients.entry(client).or_insert((self.burst, now));
        *left = (*left + now.saturating_duration_since(*at).as_secs_f64() * self.per_second).min(self.burst);
        *at = now;
        let is_left = *left >= 1.0;
        if is_left {
            *left -= 1.0;
        }
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_client_has_its_own_bucket_and_it_fills_again() {
        let mut limit = RateLimit::new(3.0, 1.0);
        let (first, second) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([10, 0, 0, 7]));
        let now = Instant::now();
        let taken: Vec<bool> = (0..4).map(|_| limit.take(first, now)).collect();
        assert_eq!(taken, [true, true, true, false]);
        assert!(limit.take(second, now));
        assert!(limit.take(first, now + Duration::from_secs(1)));
        assert!(!limit.take(first, now + Duration::from_secs(1)));
    }

    #[test]
    fn many_clients_are_not_remembered_for_ever() {
        let mut limit = RateLimit::new(1.0, 1.0);
        let now = Instant::now();
        for number in 0..5000_u32 {
            assert!(limit.take(IpAddr::from(number.to_be_bytes()), now));
        }
        assert!(limit.clients.len() <= CLIENTS_MAX);
    }
}
