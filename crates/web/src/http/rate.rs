//! How often somebody may ask: a bucket a client, filled evenly; and who is one client.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

/// So many clients are told apart; beyond, those that asked longest ago are forgotten.
const CLIENTS_MAX: usize = 1024;

/// Who is counted as one client, when somebody asks too often.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HttpCaller {
    /// Whoever comes from there, and shows nothing that tells them apart from others who do.
    From(IpAddr),
    /// Who has this, that nobody else can have: strangers, however many, and from wherever they come, do not count.
    Known(String),
}

impl HttpCaller {
    /// Whoever comes from there; of IPv6 from that network: one line has as many addresses as it likes.
    pub fn from(address: IpAddr) -> HttpCaller {
        HttpCaller::From(network(address))
    }
}

/// The address, or of IPv6 its network of 64 bits.
pub fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) if !six.is_loopback() => Ipv6Addr::from_bits(six.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

/// Buckets of one size, by who is one client.
#[derive(Debug)]
pub struct RateLimit<C> {
    /// So many at once,
    burst: f64,
    /// and so many a second.
    per_second: f64,
    clients: HashMap<C, (f64, Instant)>,
}

impl<C: Clone + Eq + Hash> RateLimit<C> {
    /// So many at once, and so many a second.
    pub fn new(burst: f64, per_second: f64) -> RateLimit<C> {
        RateLimit { burst, per_second, clients: HashMap::new() }
    }

    /// May this client ask now?
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
        let (one, other) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([10, 0, 0, 7]));
        let now = Instant::now();
        let taken: Vec<bool> = (0..4).map(|_| limit.take(one, now)).collect();
        assert_eq!(taken, [true, true, true, false]);
        assert!(limit.take(other, now));
        assert!(limit.take(one, now + Duration::from_secs(1)));
        assert!(!limit.take(one, now + Duration::from_secs(1)));
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
