//! What a pattern comes to in one idle interval.

use scrubjay_core::scrub::idle::IdlePattern;
use scrubjay_core::units::{Bytes, Nanos};

/// The requests of ours in one idle interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Firing {
    /// Number of requests.
    pub requests: u64,
    /// Of how many bytes, the one included that was at the disk at the end.
    pub bytes: u64,
    /// For how long one was at the disk.
    pub used: Nanos,
    /// How much longer the last one took than the interval lasted; zero: nobody had to wait.
    pub residual: Nanos,
}

impl Firing {
    /// Plays `pattern` in an interval of `idle`, with requests that take `service` of their size. A request that would
    /// begin at the very end is not sent.
    pub fn of(pattern: &IdlePattern, idle: Nanos, service: impl Fn(Bytes) -> Nanos) -> Firing {
        let mut firing = Firing::default();
        if idle <= pattern.wait {
            return firing;
        }
        let mut now = pattern.wait;
        let mut last = None;
        while now < idle {
            let size = pattern.next_size(last, now);
            let each = service(size);
            // All of the same size from here on: as many as still begin in time.
            let count = if pattern.is_steady(size, now) { (idle - now).0.div_ceil(each.0.max(1)) } else { 1 };
            firing.requests += count;
            firing.bytes += size.0 * count;
            now = now.saturating_add(Nanos(each.0.max(1) * count));
            last = Some(size);
        }
        firing.used = idle - pattern.wait;
        firing.residual = now - idle;
        firing
    }
}
