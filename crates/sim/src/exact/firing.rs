//! The result of an idle pattern in one idle interval.

use scrubjay_core::scrub::idle::IdlePattern;
use scrubjay_core::units::{Bytes, Nanos};

/// The scrub requests in one idle interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Firing {
    /// The number of requests.
    pub requests: u64,
    /// Bytes of all requests, including the one at the disk at the end of the interval.
    pub bytes: u64,
    /// Time within the interval during which a request was at the disk.
    pub used: Nanos,
    /// By how much the last request outlasted the interval; zero: the foreground did not wait.
    pub residual: Nanos,
}

impl Firing {
    /// Plays `pattern` in an interval of length `idle`, with requests that take `service` of their size. A request that
    /// would begin just at the end is not sent.
    pub fn of(pattern: &IdlePattern, idle: Nanos, service: impl Fn(Bytes) -> Nanos) -> Firing {
        let mut firing = Firing::default();
        if idle <= pattern.wait {
            return firing;
        }
        let mut now = pattern.wait;
        let mut last = None;
        while now < idle {
            let size = pattern.next_size(last, now);
            let request_time = service(size);
            // If all further requests have the same size: as many as begin in time.
            let count = if pattern.is_steady(size, now) { (idle - now).0.div_ceil(request_time.0.max(1)) } else { 1 };
            firing.requests += count;
            firing.bytes += size.0 * count;
            now = now.saturating_add(Nanos(request_time.0.max(1) * count));
            last = Some(size);
        }
        firing.used = idle - pattern.wait;
        firing.residual = now - idle;
        firing
    }
}
