//! Studies: the page's files, the output, and refusals.

use crate::bench::{Bench, RunResult};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// An SPC trace: devices 0 and 1 with a request every 12 and 24 s for two hours, device 2 with five requests.
fn bench() -> Bench {
    let bench = Bench::with_image(1);
    let mut requests: Vec<(u64, u32)> = (0..600).map(|n| (n * 12_000 + n * n % 997, 0)).collect();
    requests.extend((0..300).map(|n| (n * 24_000 + n * 7919 % 8191, 1)));
    requests.extend((0..5).map(|n| (n * 1000, 2)));
    requests.sort_unstable();
    let mut text = String::new();
    for (millis, device) in requests {
        let (seconds, rest) = (millis / 1000, millis % 1000);
        writeln!(text, "{device},{},4096,r,{seconds}.{rest:03}000", millis * 8 % 100_000).unwrap();
    }
    fs::write(bench.folder.path().join("t.spc"), text).unwrap();
    bench
}

fn folder(bench: &Bench, name: &str) -> PathBuf {
    bench.folder.path().join(name)
}

/// Checks a page with these exhibits: its files exist, are whole, and have no links to elsewhere.
fn has_page(ran: &RunResult, folder: &Path, figures: &[&str], tables: &[&str]) -> String {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let index = fs::read_to_string(folder.join("index.html")).unwrap();
    for figure in figures {
        let svg = fs::read_to_string(folder.join(format!("{figure}.svg"))).unwrap();
        assert!(svg.trim_end().ends_with("</svg>"), "{figure}");
        assert!(folder.join(format!("{figure}.csv")).is_file(), "{figure}");
        assert!(index.contains(&format!("id=\"{figure}\"")), "{figure}");
    }
    for table in tables {
        assert!(folder.join(format!("{table}.csv")).is_file(), "{table}");
    }
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        let rest = index.replace("http://www.w3.org/", "");
        assert!(!rest.contains(outside), "{outside}");
    }
    assert!(index.contains("How this was made") && index.contains("scrubjay study "), "the facts");
    assert!(ran.stdout.starts_with(&format!("{}", folder.file_name().unwrap().display())), "{ran:?}");
    assert_eq!(ran.stdout.matches(":\n  ").count(), 3, "three findings: {ran:?}");
    index
}

#[test]
fn the_study_of_idle_intervals_compares_two_devices() {
    let bench = bench();
    let ran = bench.run(&["study", "idle", "t.spc", "--out", "idle"]);
    let index = has_page(&ran, &folder(&bench, "idle"), &["idle-survival", "idle-hazard"], &["idle-numbers"]);
    assert!(index.contains("t.spc:asu0, here asu0: 600 requests") && !index.contains("asu2"), "{index}");
    assert!(index.contains("<li>asu1: a scrub that waits"), "a line for each: {index}");
    assert!(
        ran.stdout.contains("\n  asu0: the intervals") && ran.stdout.contains("\n  asu1: the intervals"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("left out: one device with fewer than 100 requests"), "{ran:?}");
    let numbers = fs::read_to_string(folder(&bench, "idle/idle-numbers.csv")).unwrap();
    assert_eq!(numbers.lines().count(), 3, "a row for each: {numbers}");

    assert!(index.contains("<dt>SHA-256</dt>") && index.contains("  t.spc</dd>"), "the input can be told: {index}");

    let again = ["study", "idle", "t.spc", "--device", "asu1", "--out", "idle"];
    let ran = bench.run(&again);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "a page is not replaced unasked: {ran:?}");
    assert!(ran.stderr.contains("--out idle: has a page already; --force replaces it"), "{ran:?}");
    assert_eq!(fs::read_to_string(folder(&bench, "idle/index.html")).unwrap(), index, "it is as it was");
    let ran = bench.run(&[&again[..], &["--force"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "a page is written again: {ran:?}");
}

#[test]
fn the_study_of_scrubs_writes_its_page() {
    let bench = bench();
    let arguments = ["study", "scrub", "t.spc", "--device", "asu0", "--out", "scrub", "--slowdown", "1ms,2ms"];
    let ran = bench.run(&arguments);
    has_page(&ran, &folder(&bench, "scrub"), &["scrub-predictors", "scrub-sizes"], &["scrub-goals"]);
}

#[test]
fn the_study_of_latent_errors_counts_in_tours_and_in_hours() {
    let bench = bench();
    let ran = bench.run(&["study", "mlet", "--out", "tours", "--disks", "100"]);
    let index = has_page(&ran, &folder(&bench, "tours"), &["mlet-region", "mlet-segment"], &["mlet-orders"]);
    assert!(!index.contains("mlet-hours"));

    let arguments = ["study", "mlet", "t.spc", "--device", "asu0", "--disk-size", "20GB", "--disks", "100"];
    let run = |out: &str, seed: &str| bench.run(&[&arguments[..], &["--out", out, "--seed", seed]].concat());
    let ran = run("hours", "1");
    has_page(&ran, &folder(&bench, "hours"), &["mlet-progress", "mlet-region"], &["mlet-hours", "mlet-orders"]);
    let numbers = |out: &str| fs::read_to_string(folder(&bench, out).join("mlet-hours.csv")).unwrap();
    run("again", "1");
    run("other", "2");
    assert_eq!(numbers("hours"), numbers("again"), "a seed says all");
    assert_ne!(numbers("hours"), numbers("other"));
}

#[test]
fn nonsense_is_refused() {
    let bench = bench();
    bench.run(&["study", "idle", "t.spc", "--out", "disk.img"]).refused(2, "--out disk.img: is a file, not a folder");
    bench.run(&["study", "idle", "t.spc", "--device", "9", "--out", "o"]).refused(2, "the trace has no device `9`");
    bench.run(&["study", "idle", "t.spc", "--device", "asu2", "--out", "o"]).refused(2, "too few requests");
    bench.run(&["study", "idle", "nowhere", "--out", "o"]).refused(2, "nowhere");
    let hopeless = ["study", "mlet", "t.spc", "--device", "asu0", "--slowdown", "0ms", "--disks", "100", "--out", "o"];
    for (arguments, words) in [
        (&hopeless[..], "within this goal no trace leaves anything"),
        (&["study", "idle", "t.spc"], "--out <DIR>"),
        (&["study", "idle", "--out", "o"], "<TRACE>..."),
        (&["study", "mlet", "--out", "o", "--disk-size", "1MB"], "is no disk for this"),
        (&["study", "mlet", "--out", "o", "--device", "asu0"], "TRACE"),
        (&["study", "scrub", "t.spc", "--out", "o", "--slowdown", "1"], "`1`: a time needs a unit"),
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "`{words}` in {ran:?}");
    }
    assert!(!folder(&bench, "o").exists(), "nothing is written");
}

#[test]
fn a_folder_of_another_program_is_not_overwritten() {
    let bench = bench();
    fs::create_dir(folder(&bench, "theirs")).unwrap();
    fs::write(folder(&bench, "theirs/index.html"), "theirs").unwrap();
    let ran = bench.run(&["study", "idle", "t.spc", "--device", "asu0", "--out", "theirs"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(fs::read_to_string(folder(&bench, "theirs/index.html")).unwrap(), "theirs");
}

#[test]
fn the_study_of_silent_corruption_writes_its_page() {
    let bench = Bench::with_image(1);
    let ran = bench.run(&["study", "integrity", "--no-speed", "--out", "integrity"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = folder(&bench, "integrity");
    for table in ["integrity-table1", "integrity-schemes", "integrity-volume", "integrity-table2", "integrity-chooser"]
    {
        assert!(page.join(format!("{table}.csv")).is_file(), "{table}");
    }
    for figure in ["integrity-writes-raid6", "integrity-reads-raid5", "integrity-workloads-8k"] {
        assert!(page.join(format!("{figure}.svg")).is_file(), "{figure}");
    }
    assert!(!page.join("integrity-speed-disks-raid6.svg").exists(), "nothing was measured");
}

#[test]
fn the_study_of_unknown_arrays_writes_its_page() {
    let bench = Bench::with_image(1);
    let arguments = ["study", "shear", "--requests", "40", "--repeats", "1"];
    let run = |out: &str| bench.run(&[&arguments[..], &["--out", out]].concat());
    let figures = ["shear-fig03", "shear-fig06", "shear-fig10", "shear-fig13-layout", "shear-fig17", "shear-fig20"];
    let tables = ["shear-fig07-counts", "shear-verdicts", "shear-versus"];
    has_page(&run("shear"), &folder(&bench, "shear"), &figures, &tables);
    let maps = fs::read_to_string(folder(&bench, "shear/shear-fig06.csv")).unwrap();
    assert_eq!(maps.lines().count(), 1 + 6 * 6 + 12 * 12, "a line a pair");
    let ran = bench.run(&["study", "shear", "--out", "o", "--repeats", "0"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("--repeats"), "{ran:?}");
}
