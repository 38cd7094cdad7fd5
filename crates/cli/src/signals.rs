//! The signals that ask a command to stop: Ctrl-C, `kill`, and a terminal that is closed.

use crate::exit::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// SIGINT and SIGTERM; SIGHUP too, unless this process was started with it ignored (`nohup`).
pub fn stop_signals() -> impl Iterator<Item = i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    [SIGINT, SIGTERM].into_iter().chain((!is_hangup_ignored(&status)).then_some(SIGHUP))
}

/// A flag that the first of them sets; the second ends the process at once.
///
/// # Errors
/// When no handler can be installed.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let is_stop_requested = Arc::new(AtomicBool::new(false));
    for signal in stop_signals() {
        signal_hook::flag::register_conditional_shutdown(signal, Exit::Paused as i32, Arc::clone(&is_stop_requested))?;
        signal_hook::flag::register(signal, Arc::clone(&is_stop_requested))?;
    }
    Ok(is_stop_requested)
}

/// A flag that each of them sets, and that ends nothing by itself: for what has to be put back at the end.
///
/// # Errors
/// When no handler can be installed.
pub fn patient_flag() -> io::Result<Arc<AtomicBool>> {
    let is_stop_requested = Arc::new(AtomicBool::new(false));
    for signal in stop_signals() {
        signal_hook::flag::register(signal, Arc::clone(&is_stop_requested))?;
    }
    Ok(is_stop_requested)
}

/// Parses `SigIgn` of `proc(5)`: a bit for each signal, that of the first one lowest; SIGHUP is the first.
fn is_hangup_ignored(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|bits| bits & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nohup_is_recognised_by_the_lowest_bit() {
        assert!(is_hangup_ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"));
        assert!(!is_hangup_ignored("Name:\tx\nSigIgn:\t0000000000001000\nSigCgt:\t1\n"));
        assert!(!is_hangup_ignored(""));
    }
}
