//! `bench disk` and `bench verify` on files: the shape of the JSON, refusals, and what is kept and written.

use crate::bench::Bench;
use serde_json::Value;
use std::fs;

/// A folder where direct reads work: the temporary folder may be in memory, which is refused.
fn bench_on_disk() -> Option<Bench> {
    let bench = Bench::with_image(8);
    let ran =
        bench.run(&["bench", "disk", "disk.img", "--seconds", "0.02", "--depth", "1", "--no-history", "--no-progress"]);
    if ran.code == Some(2) && ran.stderr.contains("memory would be measured") {
        eprintln!("SKIPPED: temporary files lie in memory here");
        return None;
    }
    Some(bench)
}

fn measured(bench: &Bench, more: &[&str]) -> Value {
    let arguments =
        [&["bench", "disk", "disk.img", "--seconds", "0.1", "--depth", "1,4", "--json", "--no-progress"], more]
            .concat();
    let ran = bench.run(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).expect("JSON and nothing else")
}

#[test]
fn the_json_of_a_measurement_has_every_promised_field() {
    let Some(bench) = bench_on_disk() else { return };
    let document = measured(&bench, &[]);
    assert_eq!((&document["schema"], &document["target"]), (&1.into(), &"disk.img".into()));
    assert_eq!((&document["bytes"], &document["state"]), (&(8u64 << 20).into(), &"complete".into()));
    assert!(document["sentence"].as_str().unwrap().contains(" IOPS at "));
    for (pattern, request) in [("random", 4096), ("sequential", 1 << 20)] {
        let steps = document[pattern].as_array().unwrap();
        let depths: Vec<&Value> = steps.iter().map(|step| &step["depth"]).collect();
        assert_eq!(depths, [1, 4], "{pattern}");
        for step in steps {
            assert_eq!((&step["request_bytes"], &step["faults"]), (&request.into(), &0.into()));
            let number = |field: &str| step[field].as_f64().unwrap_or_else(|| panic!("{field}: {step}"));
            assert!(number("iops") > 0.0 && number("requests") > 0.0 && number("bytes_per_second") > 0.0);
            assert!(number("min_seconds") <= number("p50_seconds") && number("p50_seconds") <= number("p95_seconds"));
            assert!(number("p95_seconds") <= number("p99_seconds") && number("p99_seconds") <= number("max_seconds"));
            let counted: u64 = step["distribution"].as_array().unwrap().iter().map(|b| b[1].as_u64().unwrap()).sum();
            assert_eq!(Some(counted), step["requests"].as_u64());
        }
    }
    assert!(
        document["positions"]
            .as_array()
            .is_some_and(|zones| zones.iter().all(|zone| zone["bytes_per_second"].is_number()))
    );
    for field in ["class", "kernel", "logical_block_bytes", "is_rotational", "below"] {
        assert!(!document["disk"][field].is_null(), "{field}");
    }
    assert!(document["budget_seconds"].is_number() && document["verdict"].is_string());
    assert_eq!((&document["span"], &document["comparison"]["unlike"]), (&"file".into(), &0.into()));
    // An intermediary is named exactly for the classes in which the disk does not answer for itself.
    let (class, answers) = (document["disk"]["class"].as_str().unwrap(), document["disk"]["intermediary"].as_str());
    let has_intermediary = ["virtual disk", "made of others", "served by another host"].contains(&class);
    assert_eq!(has_intermediary, answers.is_some(), "{class}, {answers:?}");
    let sentence = document["sentence"].as_str().unwrap();
    assert!(
        !has_intermediary || document["verdict"] == "unknown" || sentence.contains("no verdict, because the disk is "),
        "{sentence}"
    );
}

#[test]
fn results_are_kept_unless_no_history_is_asked_for() {
    let Some(bench) = bench_on_disk() else { return };
    let kept =
        || fs::read_to_string(bench.state().join("scrubjay/bench-results.jsonl")).unwrap_or_default().lines().count();
    assert_eq!(kept(), 0);
    let runs = (0..3).map(|_| measured(&bench, &[]));
    // A run that was disturbed is not kept, and is no past run of the next one.
    let counted: Vec<(u64, usize)> =
        runs.map(|run| (run["comparison"]["past_runs"].as_u64().unwrap(), kept())).collect();
    let mut before = 0;
    for (past, now) in counted {
        assert!(past == before || past == 0, "{past} of {before}");
        assert!(now as u64 == before || now as u64 == before + 1);
        before = now as u64;
    }
    let text = fs::read_to_string(bench.state().join("scrubjay/bench-results.jsonl")).unwrap_or_default();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let row = ["engine", "request_bytes", "bytes", "span", "depths"].map(|field| line[field].clone());
        let depths = Value::from(vec![1, 4]);
        assert_eq!(row, ["own (io_uring)".into(), 4096.into(), (8u64 << 20).into(), "file".into(), depths], "{line}");
    }
}

#[test]
fn targets_that_cannot_be_measured_are_refused_in_one_line() {
    let bench = Bench::with_image(1);
    fs::write(bench.folder.path().join("empty"), "").unwrap();
    bench.run(&["bench", "disk", "nowhere"]).refused(2, "nowhere: no such device or file");
    bench.run(&["bench", "disk", "empty"]).refused(2, "empty is empty: there is nothing to read");
    bench.run(&["bench", "disk", "."]).refused(2, "is a directory: name a block device or an image file");
    bench.run(&["bench", "verify", "nowhere"]).refused(2, "nowhere: no such device or file");
    for wrong in [["--depth", "0"], ["--depth", "300"], ["--seconds", "0"], ["--budget", "0ms"]] {
        let ran = bench.run(&["bench", "disk", "disk.img", wrong[0], wrong[1]]);
        assert!(ran.code == Some(2) && ran.stderr.contains(wrong[0]), "{ran:?}");
    }
}

#[test]
fn nothing_is_written_unless_the_user_names_what_is_lost() {
    let Some(bench) = bench_on_disk() else { return };
    let before = fs::read(bench.image()).unwrap();
    let ran = bench.run(&["bench", "disk", "disk.img", "--write"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("--i-know"), "{ran:?}");
    bench.run(&["bench", "disk", "disk.img", "--write", "--i-know", "other"]).refused(2, "so say its name");
    let reader = fs::File::open(bench.image()).unwrap();
    let ran = bench.run(&["bench", "disk", "disk.img", "--write", "--i-know", "disk.img"]);
    assert!(ran.code != Some(0) && ran.stderr.contains("Nothing was written"), "{ran:?}");
    assert!(fs::read(bench.image()).unwrap() == before);
    drop(reader);
    let document = measured(&bench, &["--write", "--i-know", "disk.img"]);
    assert_eq!((&document["is_write"], &document["verdict"]), (&true.into(), &"unknown".into()));
    let after = fs::read(bench.image()).unwrap();
    assert!(after.len() == before.len() && after != before);
}

#[test]
fn a_file_has_no_verify_and_the_json_lists_what_is_missing() {
    let bench = Bench::with_image(64);
    let ran = bench.run(&["bench", "verify", "disk.img", "--json", "--no-progress"]);
    if ran.stderr.contains("memory would be measured") {
        return eprintln!("SKIPPED: temporary files lie in memory here");
    }
    assert_eq!(ran.code, Some(2), "nothing that can be measured: {ran:?}");
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["verdicts"].as_array().map(Vec::len), Some(0));
    assert_eq!(document["missing"].as_array().map(Vec::len), Some(3));
    assert!(!document["missing"].to_string().contains("use the verifier"), "advice for a scrub: {document}");
    let sizes = document["times"][0]["sizes"].as_array().unwrap();
    assert!(sizes.len() >= 10 && sizes.iter().all(|size| size["median_seconds"].as_f64() > Some(0.0)), "{sizes:?}");
}
