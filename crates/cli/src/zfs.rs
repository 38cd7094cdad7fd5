//! Pools of ZFS in the words of `scrubjay`, `status`, `doctor` and `explain`: asked of `zpool`, else read from labels.

use crate::say::shown;
use scrubjay_control::ArrayEntry;
use scrubjay_control::wording::{ago, can_lose, pool_found, pool_now};
use scrubjay_daemon::control::document::unwatched_array_entry;
use scrubjay_daemon::discovery::zfs::PoolLooker;
use scrubjay_words::typed;
use std::time::Duration;

/// How long `zpool` may take while somebody waits.
pub const TIME_OUT: Duration = Duration::from_secs(5);

/// The imported pools.
pub fn pools() -> Vec<ArrayEntry> {
    PoolLooker::within(TIME_OUT).look().into_iter().map(unwatched_array_entry).collect()
}

/// The pools that this disk, by its kernel name, is a member of.
pub fn pools_of(disk: &str) -> Vec<ArrayEntry> {
    let mut pools = pools();
    pools.retain(|pool| pool.members.iter().flatten().any(|member| member == disk));
    pools
}

/// Is something wrong with it that somebody has to see to?
pub fn is_faulty(pool: &ArrayEntry) -> bool {
    let is_bad =
        pool.pool.as_ref().is_some_and(|said| said.failed.is_some() || said.lost_blocks.is_some_and(|lost| lost > 0));
    is_bad || pool.is_degraded
}

/// How it is, in one sentence without its end: `tank (ZFS mirror of sda, sdb): it may lose 1 disk, no lost data, scrubbed 3 d ago`.
pub fn words(pool: &ArrayEntry, now: u64) -> String {
    let Some(said) = &pool.pool else { return String::new() };
    let members: Vec<&str> = pool.members.iter().map(|member| member.as_deref().unwrap_or("-")).collect();
    let state = match (&said.failed, pool.is_degraded) {
        (Some(state), _) => format!("it is {state} and does not serve its data, "),
        (None, true) => "it is DEGRADED, ".to_owned(),
        (None, false) => String::new(),
    };
    let may_lose = match can_lose(pool).as_str() {
        "none" => "it may lose no disk".to_owned(),
        "data lost" => "too many of its disks are gone".to_owned(),
        disks => format!("it may lose {disks}"),
    };
    let scrubbed = match said.scrubbed {
        None => "its last whole scrub is not known".to_owned(),
        Some(0) => "never scrubbed".to_owned(),
        at => format!("scrubbed {}", ago(now, at)),
    };
    let scan = if said.scan.is_empty() { String::new() } else { format!(", now: {}", pool_now(pool)) };
    let (name, level, members) = (shown(&pool.name), &pool.level, members.join(", "));
    format!("{name} ({level} of {members}): {state}{may_lose}, {}, {scrubbed}{scan}", pool_found(said))
}

/// What to do about it; `None`: nothing.
pub fn advice(pool: &ArrayEntry) -> Option<String> {
    let said = pool.pool.as_ref()?;
    let name = typed(&pool.name);
    if said.lost_blocks.is_some_and(|lost| lost > 0) {
        return Some(format!(
            "sudo zpool status -v {name} names the files: restore them from a backup, then sudo zpool scrub {name}"
        ));
    }
    if said.failed.is_some() || pool.is_degraded {
        return Some(format!("sudo zpool status {name} names the device: look at its cable, power and port first"));
    }
    if let Some(why) = &said.unknown_why {
        return Some(format!("sudo zpool status -v {name} tells whether data are lost ({why})"));
    }
    if !said.member_errors.is_empty() {
        return Some(format!("see to these devices, then sudo zpool clear {name}"));
    }
    (said.scrubbed == Some(0)).then(|| format!("sudo zpool scrub {name}, every month"))
}
