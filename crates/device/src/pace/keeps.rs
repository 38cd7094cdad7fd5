//! What a held program keeps from others: locks on files, and network connections that wait for it.

use std::collections::BTreeSet;
use std::fs;

/// What the held processes keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keeps {
    /// Locks on files (count).
    pub locks: usize,
    /// Established network connections (count).
    pub connections: usize,
}

impl Keeps {
    /// What these processes keep now.
    pub(super) fn of(processes: &BTreeSet<i32>) -> Keeps {
        let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
        let sockets = processes.iter().flat_map(|&pid| sockets_of(pid)).collect::<BTreeSet<u64>>();
        let tables = ["tcp", "tcp6"].map(|table| {
            let first = processes.first().copied().unwrap_or(0);
            fs::read_to_string(format!("/proc/{first}/net/{table}")).unwrap_or_default()
        });
        let established = tables.iter().flat_map(|table| table.lines().filter_map(established));
        Keeps {
            locks: locks
                .lines()
                .filter_map(parse_lock)
                .filter(|lock| !lock.waits && processes.contains(&lock.pid))
                .count(),
            connections: established.filter(|inode| sockets.contains(inode)).count(),
        }
    }
}

/// A process, not one of these, that waits for a lock that one of these holds.
pub(super) fn waiter(processes: &BTreeSet<i32>) -> Option<i32> {
    waiter_in(&fs::read_to_string("/proc/locks").unwrap_or_default(), processes)
}

fn waiter_in(locks: &str, processes: &BTreeSet<i32>) -> Option<i32> {
    // A waiter's line follows that of the lock it waits for, with the same number.
    let mut is_ours = false;
    for lock in locks.lines().filter_map(parse_lock) {
        if !lock.waits {
            is_ours = processes.contains(&lock.pid);
        } else if is_ours && !processes.contains(&lock.pid) {
            return Some(lock.pid);
        }
    }
    None
}

struct FileLock {
    waits: bool,
    pid: i32,
}

/// `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`, with `->` after the number where it waits.
fn parse_lock(line: &str) -> Option<FileLock> {
    let mut fields = line.split_ascii_whitespace().skip(1).peekable();
    let waits = fields.next_if_eq(&"->").is_some();
    Some(FileLock { waits, pid: fields.nth(3)?.parse().ok()? })
}

/// The inode of an established connection in a line of `/proc/net/tcp`; none of this machine with itself.
fn established(line: &str) -> Option<u64> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (peer, state, inode) = (fields.get(2)?, fields.get(3)?, fields.get(9)?);
    let is_local = peer.starts_with("0100007F") || peer.starts_with("00000000000000000000000001000000");
    (*state == "01" && !is_local).then(|| inode.parse().ok())?
}

fn sockets_of(pid: i32) -> Vec<u64> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let inode = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    files.filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: &str = "\
1: FLOCK  ADVISORY  WRITE 100 08:01:1234 0 EOF
1: -> FLOCK  ADVISORY  WRITE 200 08:01:1234 0 EOF
2: POSIX  ADVISORY  READ 300 08:01:77 128 128
";

    #[test]
    fn who_waits_for_a_lock_of_the_held_is_found() {
        assert_eq!(waiter_in(LOCKS, &BTreeSet::from([100])), Some(200));
        assert_eq!(waiter_in(LOCKS, &BTreeSet::from([100, 200])), None, "its own child waits");
        assert_eq!(waiter_in(LOCKS, &BTreeSet::from([300])), None);
        assert_eq!(waiter_in("", &BTreeSet::from([100])), None);
    }

    #[test]
    fn connections_to_other_hosts_count() {
        let line = "   1: 0A00000A:BF68 0100000A:01BB 01 00000000:00000000 00:00000000 00000000     0        0 4242 1";
        assert_eq!(established(line), Some(4242));
        assert_eq!(established(&line.replace(" 01 ", " 0A ")), None, "it only listens");
        assert_eq!(established(&line.replace("0100000A", "0100007F")), None, "with itself");
        assert_eq!(established("  sl  local_address rem_address   st tx_queue"), None);
    }
}
