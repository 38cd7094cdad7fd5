//! The clock of the real-time pump: `CLOCK_MONOTONIC`, the one that BPF and perf stamp their records with.

use scrubjay_core::units::{Nanos, UnixSeconds};
use std::time::{SystemTime, UNIX_EPOCH};

/// Now, on `CLOCK_MONOTONIC`.
pub fn now() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live, writable timespec; CLOCK_MONOTONIC always exists.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    assert_eq!(result, 0, "CLOCK_MONOTONIC is always readable");
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The date, in whole seconds.
pub fn today() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
