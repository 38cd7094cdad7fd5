//! The clock of the real-time pump: `CLOCK_MONOTONIC`, the one that BPF and perf stamp their records with.

use scrubjay_core::units::{Nanos, UnixSeconds};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Now, on `CLOCK_MONOTONIC`.
pub fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Tells this clock from that of another boot; empty if that is not known.
pub fn name() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or_else(|_| String::new(), |boot| boot.trim().to_owned())
}

/// Is the date known to be right: does the kernel say that somebody (NTP) keeps its clock? None: it does not say.
pub fn is_synchronised() -> Option<bool> {
    // SAFETY: the struct is plain numbers, and modes 0 changes nothing.
    let state = unsafe {
        let mut about: libc::timex = std::mem::zeroed();
        libc::adjtimex(&mut about)
    };
    (state >= 0).then_some(state != libc::TIME_ERROR)
}

/// The date, in whole seconds.
pub fn today() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
