//! The clock of the real-time pump: `CLOCK_MONOTONIC`, with which BPF and perf stamp their records.

use scrubjay_core::units::{Nanos, UnixSeconds};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// The current time on `CLOCK_MONOTONIC`.
pub fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The boot ID, which distinguishes this clock from that of another boot; empty if unknown.
pub fn name() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or_else(|_| String::new(), |boot| boot.trim().to_owned())
}

/// Whether the kernel reports the date as synchronised (by NTP, say). `None`: the kernel does not report it.
pub fn is_synchronised() -> Option<bool> {
    // SAFETY: the struct is plain numbers, and modes 0 changes nothing.
    let state = unsafe {
        let mut status: libc::timex = std::mem::zeroed();
        libc::adjtimex(&mut status)
    };
    (state >= 0).then_some(state != libc::TIME_ERROR)
}

/// For how long this machine was suspended since it started: what passed on `CLOCK_BOOTTIME` and not on `CLOCK_MONOTONIC`.
pub fn suspended() -> Nanos {
    use rustix::time::{ClockId, clock_gettime};
    let nanos = |id| {
        let time = clock_gettime(id);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    // In this order it is no less than it was.
    let monotonic = nanos(ClockId::Monotonic);
    Nanos(nanos(ClockId::Boottime).saturating_sub(monotonic))
}

/// The date in whole seconds since 1970.
pub fn today() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
