//! The clock of the real-time pump: `CLOCK_MONOTONIC`, the one that BPF and perf stamp their records with.

use scrubjay_core::units::{Nanos, UnixSeconds};
use std::time::{SystemTime, UNIX_EPOCH};

/// Now, on `CLOCK_MONOTONIC`.
pub fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The date, in whole seconds.
pub fn today() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
