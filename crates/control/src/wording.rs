//! The status in words for people: the same in a terminal and on the page.

use super::documents::{ArrayEntry, DiskEntry, PoolEntry, ReadingActivity, ReadingEntry, WatchDocument};
use crate::zone::ZonedCalendar;
use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_core::units::{Nanos, UnixSeconds};
use scrubjay_watch::calendar::{DAY, HOUR};
use scrubjay_watch::facts::ArrayActivity;
use scrubjay_watch::health::HealthState;
use scrubjay_watch::pool::PoolDamage;
use scrubjay_words::{Said, counted, damage};

pub use scrubjay_core::shown::shown;

/// A date such as `12 Mar 2026`, local.
pub fn date(at: u64) -> String {
    scrubjay_words::show_date(&ZonedCalendar::system(), UnixSeconds(at))
}

/// A date and time such as `12 Mar 2026 03:41`, local.
pub fn moment(at: u64) -> String {
    scrubjay_words::show_time(&ZonedCalendar::system(), UnixSeconds(at))
}

/// How long ago a time is, in days: `today`, `12 d ago`, `never`.
pub fn ago(now: u64, at: Option<u64>) -> String {
    match at.map(|at| now.saturating_sub(at)) {
        None => "never".to_owned(),
        Some(0..DAY) => "today".to_owned(),
        Some(seconds) => format!("{} d ago", seconds / DAY),
    }
}

/// A span of time in its largest unit, rounded up: `3 d`, `5 h`, `20 min`.
pub fn span(seconds: u64) -> String {
    match seconds {
        DAY.. => format!("{} d", seconds.div_ceil(DAY)),
        HOUR.. => format!("{} h", seconds.div_ceil(HOUR)),
        _ => show_time(Nanos::from_secs(seconds.div_ceil(60) * 60)),
    }
}

/// Disks in the order in which people look for them: those that are here by bay, then those without a bay by name, then
/// those that are gone.
pub fn in_order(disks: &[DiskEntry]) -> Vec<&DiskEntry> {
    // 2 before 10, sda before sdb before sdaa, nvme2n1 before nvme10n1.
    let natural = |text: &str| {
        let letters = text.trim_end_matches(|c: char| c.is_ascii_digit());
        (letters.len(), letters.to_owned(), text.len(), text.to_owned())
    };
    let mut ordered: Vec<&DiskEntry> = disks.iter().collect();
    ordered.sort_by_cached_key(|disk| {
        let (bay, name) = (disk.bay.as_deref(), disk.name.as_deref().unwrap_or(&disk.last_name));
        (disk.name.is_none(), bay.is_none(), bay.map(natural), natural(name))
    });
    ordered
}

/// What the scrub of a disk or the check of an array does now, and when that ends.
pub fn now_of(reading: &ReadingEntry) -> String {
    let ends = reading.forecast.map(|forecast| format!(", ends {}", date(forecast.likely))).unwrap_or_default();
    let ends = if reading.activity == ReadingActivity::Reading { ends } else { String::new() };
    format!("{}{ends}", doing_of(reading))
}

/// What the scrub of a disk or the check of an array does now.
pub fn doing_of(reading: &ReadingEntry) -> String {
    let share = reading.pass_share.map(|share| format!("{:.0} %", (share * 100.0).floor())).unwrap_or_default();
    match (reading.activity, &reading.why) {
        (ReadingActivity::Reading, _) => joined(["reading", &share]),
        (ReadingActivity::Waiting, why) => joined([&share, why.as_ref().map_or("waiting", Said::as_str)]),
        (_, Some(why)) if share.is_empty() => why.clone().into(),
        (_, Some(why)) => format!("{share} read; {why}"),
        (_, None) => "next in turn".to_owned(),
    }
}

fn joined(words: [&str; 2]) -> String {
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// How many more members of an array may be lost, in words.
pub fn can_lose(array: &ArrayEntry) -> String {
    match array.redundancy_left {
        left if left < 0 => "data lost".to_owned(),
        0 => "none".to_owned(),
        1 => "1 disk".to_owned(),
        left => format!("{left} disks"),
    }
}

/// What an array does now.
pub fn array_now(array: &ArrayEntry) -> String {
    match &array.check {
        _ if !array.is_there => "missing".to_owned(),
        _ if array.pool.is_some() => pool_now(array),
        Some(check) if array.activity == ArrayActivity::Idle => now_of(check),
        _ => array.activity.word().to_owned(),
    }
}

/// What a pool of ZFS does now: serve nothing, scan, or nothing.
pub fn pool_now(array: &ArrayEntry) -> String {
    let pool = array.pool.as_ref();
    let failed = pool.and_then(|pool| pool.failed.clone());
    let scan = pool.map(|pool| String::from(pool.scan.clone())).filter(|scan| !scan.is_empty());
    failed.or(scan).unwrap_or_else(|| array.activity.word().to_owned())
}

/// What is known of a pool's data: how much is lost, and errors that were healed.
pub fn pool_found(pool: &PoolEntry) -> String {
    let lost = match pool.lost_blocks {
        None => "whether data are lost is not known".to_owned(),
        Some(0) => "no lost data".to_owned(),
        Some(blocks) => format!("DATA LOST: {}", damage(&PoolDamage::of(blocks, &pool.damaged_files))),
    };
    let errors = pool.member_errors.iter().map(|(member, count)| format!("{} at {member}", counted(*count, "error")));
    [lost].into_iter().chain(errors).collect::<Vec<_>>().join(", ")
}

/// When an array's own check last covered all of it; `-` where the watch does not drive one. Of a pool, when its scrub did.
pub fn array_checked(array: &ArrayEntry, now: u64) -> String {
    if let Some(pool) = &array.pool {
        return match pool.scrubbed {
            None => "not known".to_owned(),
            Some(0) => "never".to_owned(),
            scrubbed => ago(now, scrubbed),
        };
    }
    array.check.as_ref().map_or("-".to_owned(), |check| ago(now, check.oldest_read))
}

/// What a disk does now, or which process scrubs it.
pub fn disk_now(disk: &DiskEntry) -> String {
    match disk.scrubbed_by {
        Some(pid) => format!("scrubbed by process {pid}"),
        None => now_of(&disk.reading),
    }
}

/// The present name of a disk, and its bay.
pub fn disk_called(disk: &DiskEntry) -> String {
    match (&disk.bay, &disk.name) {
        (Some(bay), Some(name)) => format!("{name} bay {bay}"),
        (None, Some(name)) => name.clone(),
        (Some(bay), None) => format!("gone (was {} bay {bay})", disk.last_name),
        (None, None) => format!("gone (was {})", disk.last_name),
    }
}

/// The number of a disk's unreadable sectors; `-`: none is known, and not all of the disk was read yet.
pub fn disk_bad(disk: &DiskEntry) -> String {
    match (disk.reading.unreadable, disk.reading.oldest_read) {
        (0, None) => "-".to_owned(),
        (count, _) => show_count(count),
    }
}

/// Does a disk need a line of its own in the status?
pub fn is_deviant(disk: &DiskEntry) -> bool {
    disk.health != HealthState::Ok || disk.reading.activity != ReadingActivity::Held || disk.scrubbed_by.is_some()
}

/// A line of the status, and what to type, if anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLine {
    /// What is so.
    pub words: String,
    /// What to type.
    pub command: Option<&'static str>,
}

/// The remaining lines of the status: a pause, alerts that fail, messages that wait, troubles of the watch itself.
pub fn rest(document: &WatchDocument) -> Vec<StatusLine> {
    let paused = document.paused_until.map(|until| StatusLine {
        words: format!("Paused until {}", moment(until)),
        command: Some("sudo scrubjay resume"),
    });
    let mut lines: Vec<String> = Vec::new();
    for channel in &document.channels {
        if let Some(last) = channel.last.as_ref().filter(|last| !last.is_accepted) {
            lines.push(format!("Alerts by {} fail: {}", channel.name, last.said));
        }
    }
    if document.messages_waiting > 0 {
        let messages = if document.messages_waiting == 1 { "message waits" } else { "messages wait" };
        lines.push(format!("{} {messages} to be sent", document.messages_waiting));
    }
    lines.extend(document.troubles.iter().map(|trouble| format!("Trouble: {trouble}")));
    paused.into_iter().chain(lines.into_iter().map(|words| StatusLine { words, command: None })).collect()
}

/// The incidents that a person accepted, and since when each is open.
pub fn accepted(document: &WatchDocument) -> Vec<String> {
    let accepted = document.incidents.iter().filter(|incident| incident.is_accepted);
    accepted.map(|incident| format!("{} (since {})", incident.headline, date(incident.since))).collect()
}
