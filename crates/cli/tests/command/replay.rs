//! A run on a real file, replayed by the simulator: the same machine with the same events gives the same operations.

use crate::bench::Bench;
use scrubjay_core::scrub::coverage::Coverage;
use scrubjay_core::scrub::idle::{Goal, PolicyConfig};
use scrubjay_core::scrub::recording::Recording;
use scrubjay_core::scrub::tour::{Grid, OrderKind, REGION_BYTES, SEGMENT_BYTES};
use scrubjay_core::scrub::{Config, Pass, Scrub};
use scrubjay_core::units::{Bytes, Nanos, UnixSeconds};
use scrubjay_sim::replay::replay;
use std::fs;

/// The number that follows a word in the head of a recording.
fn number(record: &str, word: &str) -> u64 {
    let mut words = record.lines().take_while(|line| line.starts_with('#')).flat_map(str::split_whitespace);
    words.find(|found| *found == word).expect("the word is there");
    words.next().and_then(|number| number.parse().ok()).expect("a number follows it")
}

/// The number that follows a word which is there only if it has a value.
fn number_if_any(record: &str, word: &str) -> Option<u64> {
    record
        .lines()
        .take_while(|line| line.starts_with('#'))
        .any(|line| line.split(' ').any(|found| found == word))
        .then(|| number(record, word))
}

/// The machine that the head of a recording describes.
fn machine(record: &str, policy: PolicyConfig) -> Scrub {
    let grid = Grid::new(number(record, "sectors"), REGION_BYTES.sectors(), SEGMENT_BYTES.sectors());
    let config = Config {
        range: grid.disk(),
        granule: number(record, "granule"),
        depth: number(record, "depth") as usize,
        held_max: number_if_any(record, "held").map(Nanos),
        started: Nanos(number(record, "started")),
        today: UnixSeconds(number(record, "today")),
    };
    let order = OrderKind::STAGGERED.order(&[]);
    Scrub::new(config, order, policy.policy(), Coverage::new(grid), Pass::default())
}

/// A recording that does not fit on the disk is reported, and no part of it is left.
#[test]
fn a_recording_that_cannot_be_written_is_reported() {
    let bench = Bench::with_image(24);
    let policy = ["--policy", "none", "--detector", "none", "--request", "512KiB"];
    // The state fits and the recording does not: its last part fails when it is written at the end.
    let ran = bench.run_on_full_disk(&[&["scrub", "disk.img", "--record", "run.recording"], &policy[..]].concat());
    assert!(ran.code == Some(1) && ran.stderr.contains("THE RECORD IS NOT WRITTEN: File too large"), "{ran:?}");
    assert!(!bench.folder.path().join("run.recording").exists());
}

#[test]
fn a_recorded_run_gives_the_same_operations_in_the_simulator() {
    let bench = Bench::with_image(24);
    let ran = bench.run(&["scrub", "disk.img", "--record", "run.recording"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let record = fs::read_to_string(bench.folder.path().join("run.recording")).unwrap();
    let recorded: Recording = record.parse().unwrap();
    assert!(recorded.ops().count() > 6, "several operations were given");
    let replayed = replay(&mut machine(&record, PolicyConfig::budget(Goal::default())), &recorded);
    assert_eq!(replayed.difference(&recorded), None);

    // The test can fail: a machine with another policy gives another first operation. (Later operations cannot be compared:
    // their completions do not belong to what it gave.)
    let beginning: Vec<&str> = record.lines().take_while(|line| !line.contains(" done ")).collect();
    let beginning: Recording = beginning.join("\n").parse().unwrap();
    let back_to_back = PolicyConfig::full_speed(Bytes::kib(128));
    let other = replay(&mut machine(&record, back_to_back), &beginning);
    assert!(other.difference(&beginning).is_some());
}
