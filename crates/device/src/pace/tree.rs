//! A process and all that it started, as `/proc` has them.
//!
//! This process is made the reaper of orphans below it, so what starts a session of its own, or outlives its parent, stays below it.

use std::collections::BTreeSet;
use std::{fs, io};

/// The children of a process, of all its threads.
fn children(pid: i32) -> Vec<i32> {
    let mut all = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        all.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    all
}

/// All processes below `pid`, without those in `except` and what is below them.
pub(super) fn below(pid: i32, except: &[i32]) -> BTreeSet<i32> {
    let mut all = BTreeSet::new();
    let mut next = children(pid);
    while let Some(pid) = next.pop() {
        if !except.contains(&pid) && all.insert(pid) {
            next.extend(children(pid));
        }
    }
    all
}

/// The state of a process, one letter as in `proc(5)`, and the ID of its session.
pub(super) fn state(pid: i32) -> Option<(char, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let session = fields.nth(2)?.parse().ok()?;
    Some((state, session))
}

/// Do all threads of this process stand still?
pub(super) fn stands_still(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.into_iter().all(|thread| {
        let text = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = text.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        state.is_none_or(|state| matches!(state, 'T' | 't' | 'Z' | 'X'))
    })
}

/// Bytes that a process caused to be read from disks, as far as it may be asked.
pub(super) fn read_bytes(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix("read_bytes:"));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

/// Sends a signal; a process that has ended is no error.
pub(super) fn send(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: the call takes two plain numbers and touches no memory of this process.
    if unsafe { libc::kill(pid, signal) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
}
