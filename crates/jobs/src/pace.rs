//! A paced program: what cannot be paced, and its outcome as JSON, schema 1.

use crate::json::{LatencyDocument, SlowdownDocument};
use scrubjay_core::scrub::idle::Goal;
use scrubjay_device::pace::PacedEnd;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Commands that have the kernel do the work, by name and the words that follow, and what pauses each. A held process would
/// hold nothing.
const IN_KERNEL: [(&str, &[&str], &str); 12] = [
    ("btrfs", &["balance"], "btrfs balance pause PATH"),
    ("btrfs", &["scrub"], "scrubjay scrub PATH, which keeps a budget (or btrfs scrub cancel PATH)"),
    ("btrfs", &["replace"], "btrfs replace cancel PATH, which throws its work away"),
    ("btrfs", &["device", "remove"], "btrfs device remove cancel PATH"),
    ("btrfs", &["device", "delete"], "btrfs device remove cancel PATH"),
    ("btrfs", &["filesystem", "resize"], "btrfs filesystem resize cancel PATH"),
    ("zpool", &["scrub"], "zpool scrub -p POOL"),
    ("zpool", &["initialize"], "zpool initialize -s POOL"),
    ("zpool", &["trim"], "zpool trim -s POOL"),
    ("zpool", &["replace"], "none: a resilver is left alone"),
    ("pvmove", &[], "pvmove --abort"),
    ("mdadm", &["--grow"], "echo frozen >/sys/block/mdX/md/sync_action"),
];

/// What pauses the work of this command, if it cannot be paced because the kernel does it.
pub fn in_kernel(command: &[OsString]) -> Option<&'static str> {
    let (program, arguments) = command.split_first()?;
    let name = Path::new(program).file_name()?;
    let mut words = arguments.iter().filter(|word| !word.as_encoded_bytes().starts_with(b"-") || *word == "--grow");
    let words: Vec<&OsString> = words.by_ref().take(2).collect();
    let row = IN_KERNEL.iter().find(|(program, subcommand, _)| {
        name == OsStr::new(program)
            && subcommand.len() <= words.len()
            && subcommand.iter().zip(&words).all(|(wanted, word)| *word == OsStr::new(wanted))
    });
    row.map(|&(_, _, pauses)| pauses)
}

/// The JSON object of one run.
#[derive(Debug, Serialize)]
pub struct PaceDocument {
    schema: u32,
    version: &'static str,
    command: Vec<String>,
    /// Its exit code; null if a signal ended it.
    exit_code: Option<i32>,
    /// The signal that ended it.
    signal: Option<i32>,
    /// The disks whose users were spared.
    disks: Vec<String>,
    /// `cgroup` or `signals`.
    held_by: &'static str,
    seconds: f64,
    /// For how long it ran.
    ran_seconds: f64,
    /// For how long it was held.
    held_seconds: f64,
    held_longest_seconds: f64,
    /// How often it was held.
    holds: u64,
    /// Half of the holds took so long until nothing of it was at the disk; null: there was none.
    hold_median_seconds: Option<f64>,
    /// How often it went on because it had been held for as long as it may be.
    respites: u64,
    bytes_read: u64,
    bytes_written: u64,
    /// Its requests that were seen at the disks.
    requests: u64,
    slowdown: SlowdownDocument,
    latency: Option<LatencyDocument>,
    idle_seconds: f64,
    /// Events that were not seen, as there were too many at once.
    events_lost: u64,
    /// Processes that it started and left behind.
    left_behind: usize,
    /// Why it was held no longer from some time on.
    released: Option<String>,
}

impl PaceDocument {
    /// Makes the document of a run.
    pub fn new(command: &[OsString], goal: Option<Goal>, end: &PacedEnd) -> PaceDocument {
        let report = &end.report;
        PaceDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            exit_code: end.exit_code(),
            signal: end.signal(),
            disks: end.disks.clone(),
            held_by: end.paced.freezer.name(),
            seconds: report.elapsed.as_secs_f64(),
            ran_seconds: report.ran.as_secs_f64(),
            held_seconds: report.held.as_secs_f64(),
            held_longest_seconds: report.held_longest.as_secs_f64(),
            holds: report.holds,
            hold_median_seconds: report.hold_median.map(|time| time.as_secs_f64()),
            respites: report.respites,
            bytes_read: end.read.0,
            bytes_written: end.written.0,
            requests: report.requests,
            slowdown: SlowdownDocument::of(&report.slowdown, goal, report.foreground_requests),
            latency: report.latency.as_ref().map(LatencyDocument::of),
            idle_seconds: report.idle.as_secs_f64(),
            events_lost: end.lost,
            left_behind: end.left,
            released: end.released.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(command: &str) -> Option<&'static str> {
        in_kernel(&command.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn work_of_the_kernel_is_known_by_its_command() {
        assert_eq!(judged("btrfs balance start /mnt"), Some("btrfs balance pause PATH"));
        assert_eq!(judged("/usr/bin/btrfs -q balance start /mnt"), Some("btrfs balance pause PATH"));
        assert_eq!(judged("btrfs device remove /dev/sda /mnt"), Some("btrfs device remove cancel PATH"));
        assert!(judged("zpool scrub tank").is_some() && judged("mdadm --grow /dev/md0").is_some());
        assert!(judged("pvmove /dev/sda").is_some());
        for command in
            ["btrfs send /mnt/a", "btrfs check /dev/sda", "zpool status", "sha256sum balance", "mdadm -E /dev/sda"]
        {
            assert_eq!(judged(command), None, "{command}");
        }
    }
}
