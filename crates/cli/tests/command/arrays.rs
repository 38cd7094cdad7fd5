//! Modelled arrays: the result in text and JSON, the effect of a seed, and refusals.

use crate::bench::{Bench, RunResult};
use crate::probe::{DOCUMENT, fields};
use serde_json::Value;

fn simulated(arguments: &[&str]) -> RunResult {
    Bench::with_image(1).run(&[&["simulate", "array", "--layout"], arguments].concat())
}

/// The JSON of the only run.
fn run_json(arguments: &[&str]) -> Value {
    let ran = simulated(&[arguments, &["--json"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let document: Value = serde_json::from_str(&ran.stdout).expect("JSON and nothing else");
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    runs[0].clone()
}

#[test]
fn a_modelled_array_is_described_exactly() {
    let ran = simulated(&["raid0", "--disks", "4", "--chunk", "320KiB", "--phase", "0"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in [
        "seed 1: an array of 4 disks\n",
        "  pattern  1280 KiB\n",
        "  chunk    320 KiB",
        "all that was found is right\n",
    ] {
        assert!(ran.stdout.contains(line), "`{line}` in {ran:?}");
    }
    assert!(ran.stdout.contains("(reads cannot tell them apart; --allow-writes can)"), "{ran:?}");
    let run = run_json(&["raid0", "--disks", "4", "--chunk", "12KiB", "--phase", "1KiB", "--allow-writes"]);
    assert_eq!((&run["right"], &run["said"]["level"]), (&Value::from(true), &Value::from("raid0")));
    assert_eq!(run["said"]["layout"], "raid0");
    let advice: Vec<&str> =
        run["said"]["advice"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    // A chunk begins at 11 KiB: 11,264 + 22 * 49,152 = 1,092,608 bytes.
    assert_eq!(advice[0], "sfdisk DEVICE <<< 'start=2134'");
    assert_eq!(advice[1], "mkfs.xfs -d su=12k,sw=4 DEVICE1");
}

#[test]
fn the_json_has_just_the_promised_fields() {
    let ran = simulated(&["raid0", "--disks", "3", "--trials", "3", "--json"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let summary = ["ios_mean", "right", "runs", "schema", "seconds_mean", "trials", "version", "wrong_layouts"];
    assert_eq!(fields(&document), summary);
    assert_eq!((&document["schema"], &document["trials"]), (&Value::from(1), &Value::from(3)));
    let run_fields = [
        "chunk_right",
        "classes_right",
        "copies_right",
        "disks_right",
        "findings_right",
        "layout_right",
        "pattern_right",
        "right",
        "said",
        "seed",
    ];
    for (seed, run) in (1..).zip(document["runs"].as_array().unwrap()) {
        assert_eq!((fields(run), &run["seed"]), (run_fields.map(str::to_owned).to_vec(), &Value::from(seed)));
        assert_eq!(fields(&run["said"]), DOCUMENT);
    }
    let ran = simulated(&["raid0", "--disks", "3", "--trials", "3"]);
    assert!(ran.stdout.starts_with("right: 3 of 3\n") && ran.stdout.contains("wrong layouts accepted: 0"), "{ran:?}");
}

#[test]
fn a_seed_decides_all() {
    let run = |seed: &str| simulated(&["raid5-la", "--disks", "4", "--noise", "tail", "--json", "--seed", seed]).stdout;
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn slow_lost_and_shared_members_are_reported() {
    for (arguments, kind, words) in [
        (["raid5-ls", "--disks", "6", "--slow", "2:1.4"], "slow", "is slow: 1."),
        (["raid5-ls", "--disks", "6", "--lost", "2"], "lost", "is lost: its chunks are computed from all others"),
        (["raid0", "--disks", "4", "--same", "0,1"], "unequal", "several members share a disk"),
    ] {
        let ran = simulated(&arguments);
        let line = ran.stdout.lines().find(|line| line.starts_with("! "));
        assert!(line.is_some_and(|line| line.contains(words)), "`{words}` in {ran:?}");
        let run = run_json(&arguments);
        let finding = &run["said"]["findings"][0];
        assert_eq!(fields(finding), ["class", "confidence", "factor", "kind", "sizes", "text"]);
        assert_eq!((&finding["kind"], &run["disks_right"]), (&Value::from(kind), &Value::from(true)), "{run}");
        assert!(finding["text"].as_str().is_some_and(|text| text.contains(words)), "{run}");
        match kind {
            "slow" => assert!((finding["factor"].as_f64().unwrap() - 1.4).abs() < 0.1, "{run}"),
            "lost" => assert!(finding["class"].is_u64() && finding["factor"].is_null(), "{run}"),
            _ => assert_eq!(finding["sizes"], serde_json::json!([2, 1, 1])),
        }
    }
}

#[test]
fn nonsense_is_refused_in_one_line() {
    let refused = |arguments: &[&str], words: &str| simulated(arguments).refused(2, words);
    let base = |layout: &'static str, disks: &'static str| [layout, "--disks", disks];
    refused(&base("raid0", "0"), "--disks must be more than 0");
    refused(&base("raid5-ls", "1"), "--layout raid5-ls needs 2 disks or more");
    refused(&base("raid6-md", "2"), "--layout raid6-md needs 3 disks or more");
    refused(&base("raid1", "3"), "an even number of disks");
    refused(&base("raid0", "1000"), "1000 disks are more than 256");
    refused(&base("rotating", "5"), "--layout rotating needs --parity");
    for (arguments, words) in [
        (["--slow", "9:1.4"], "--slow 9:1.4: there is no disk 9; 4 disks are numbered 0 to 3"),
        (["--lost", "4"], "--lost 4: there is no disk 4"),
        (["--lost", "1"], "an array without redundancy does not live without a member"),
        (["--same", "0,0"], "--same 0,0: name two different disks"),
        (["--same", "0,4"], "--same 0,4: there is no disk 4"),
        (["--chunk", "0"], "--chunk 0 B: a chunk is a multiple of 512 bytes, and not empty"),
        (["--chunk", "1"], "--chunk 1 B"),
        (["--chunk", "1TiB"], "no room for a stripe"),
        (["--phase", "100"], "--phase 100 B: a partition begins at a multiple of 512 bytes"),
        (["--parity", "1"], "--layout raid0 has 0 parities, not --parity 1"),
        (["--trials", "0"], "--trials must be more than 0"),
        (["--max-pattern", "8KiB"], "--max-pattern 8 KiB: 16 KiB is the least"),
        (["--requests", "0"], "--requests must be more than 0"),
    ] {
        refused(&[&base("raid0", "4")[..], &arguments].concat(), words);
    }
    for (arguments, words) in [
        (["--slow", "1:0"], "a factor lies between 0.01 and 100"),
        (["--slow", "one"], "is no slow disk: write DISK:FACTOR"),
        (["--same", "1"], "are no two disks: write DISK,DISK"),
    ] {
        let ran = simulated(&[&base("raid0", "4")[..], &arguments].concat());
        assert!(ran.code == Some(2) && ran.stderr.contains(words), "`{words}` in {ran:?}");
    }
}
