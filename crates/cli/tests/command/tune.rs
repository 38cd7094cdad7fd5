//! `tune`, `simulate scrub` and `scrub --config`: the same answer from the trace to the disk.

use crate::bench::{Bench, RunResult};
use serde_json::Value;
use std::fmt::Write;
use std::fs;

/// An MSR trace, a file in the bench's folder: bursts of 20 requests, 20 ms apart, of 64 KiB, and idle intervals
/// between them that grow from 0.1 s to `idle_max` seconds and begin again.
fn trace(bench: &Bench, name: &str, devices: &[(&str, usize)], idle_max: f64) {
    let mut lines = Vec::new();
    for (device, bursts) in devices {
        let mut at = 128_166_372_000_000_000u64;
        for burst in 0..*bursts {
            let idle = 0.1 + idle_max * ((burst % 10) as f64 / 9.0).powi(3);
            at += (idle * 1e7) as u64;
            for request in 0..20 {
                at += 200_000;
                lines.push((at, format!("{at},{device},0,Read,{},65536,50000\n", request * 65536)));
            }
        }
    }
    lines.sort();
    let text = lines.iter().fold(String::new(), |mut text, (_, line)| {
        let _ = write!(text, "{line}");
        text
    });
    fs::write(bench.folder.path().join(name), text).expect("room for a trace");
}

fn documents(ran: &RunResult) -> Vec<Value> {
    let document = |line: &str| -> Value { serde_json::from_str(line).expect("a JSON object a line") };
    ran.stdout.lines().map(document).collect()
}

/// A folder with `usr.csv`, the trace of one busy and one nearly unused device.
fn bench() -> Bench {
    let bench = Bench::with_image(1);
    trace(&bench, "usr.csv", &[("usr", 100), ("few", 4)], 60.0);
    bench
}

#[test]
fn the_best_pair_keeps_the_goal() {
    let ran = bench().run(&["tune", "usr.csv", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("one device is left out") && ran.stderr.contains("few_0"), "{ran:?}");
    let [document] = &documents(&ran)[..] else { panic!("one object: {ran:?}") };
    assert_eq!((&document["schema"], &document["requests"]), (&1.into(), &2000.into()));
    assert_eq!((&document["goal_mean_seconds"], &document["goal_max_seconds"]), (&0.001.into(), &0.0504.into()));
    let number = |field: &str| document[field].as_f64().unwrap_or_else(|| panic!("{field} in {document}"));
    assert!(number("mean_slowdown_seconds") <= 0.001 && number("max_slowdown_seconds") <= 0.0504);
    assert!(number("wait_seconds") > 0.0 && number("collision_rate") < 1.0 && number("idle_used_ratio") > 0.5);
    assert!(number("scrub_bytes_per_second") > document["idle_class"]["scrub_bytes_per_second"].as_f64().unwrap());
    assert!(number("scrub_bytes_per_second") < number("disk_bytes_per_second"));
    for field in ["read_seconds", "tune_seconds", "span_seconds", "idle_seconds", "collisions", "scrub_bytes"] {
        number(field);
    }
    let candidates = document["candidates"].as_array().expect("candidates");
    assert_eq!(candidates.len(), 64);
    let rate = |candidate: &Value| candidate["scrub_bytes_per_second"].as_f64().expect("a rate");
    assert!(candidates.iter().all(|candidate| rate(candidate) <= number("scrub_bytes_per_second")));
    assert_eq!((&document["trace"], &document["error"]), (&"usr.csv:usr_0".into(), &Value::Null));
}

#[test]
fn every_device_has_its_answer() {
    let bench = bench();
    let ran = bench.run(&["tune", "usr.csv", "--min-requests", "1", "--json", "--sizes", "1MiB..2MiB"]);
    let found = documents(&ran);
    assert_eq!(found.len(), 2, "{ran:?}");
    assert!(found.iter().all(|document| document["candidates"].as_array().map(Vec::len) == Some(17)));
    let ran = bench.run(&["tune", "usr.csv", "--min-requests", "1"]);
    assert_eq!(ran.stdout.matches("idle class (10 ms, 64 KiB)").count(), 2, "{ran:?}");
    assert!(!ran.stdout.contains("[scrub]"), "a snippet is for one disk: {ran:?}");
}

#[test]
fn scrub_accepts_the_file_that_tune_writes() {
    let bench = bench();
    let ran = bench.run(&["tune", "usr.csv", "--device", "usr_0", "--config", "sda.toml"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stdout.contains("scrubjay scrub /dev/sdX --config sda.toml"), "{ran:?}");
    let path = bench.folder.path().join("sda.toml");
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.contains("[scrub]\npolicy = \"waiting\"\nwait = \""), "{written}");

    let tuned = &documents(&bench.run(&["tune", "usr.csv", "--device", "usr_0", "--json"]))[0];
    // If waits near the best one lose more, another pair is recommended.
    let steady = &tuned["near"]["steady"];
    assert_eq!(tuned["near"]["is_lucky"], !steady.is_null(), "{tuned}");
    let tuned = if steady.is_null() { tuned } else { steady };
    // No other program uses the image, so a short wait is over soon.
    let quick = ["--wait", "1ms", "--detector", "none"];
    let scrub = |more: &[&str]| bench.run(&[&["scrub", "disk.img", "--fresh", "--json"], more].concat()).target();
    let ran = scrub(&[&["--config", "sda.toml"], &quick[..]].concat());
    assert_eq!((&ran["policy"], &ran["request_bytes"]), (&"waiting".into(), &tuned["request_bytes"]));
    assert_eq!(ran["wait_seconds"], 0.001, "the command line wins");
    let ran = scrub(&["--config", "sda.toml", "--policy", "none"]);
    assert_eq!((&ran["policy"], &ran["request_bytes"]), (&"none".into(), &tuned["request_bytes"]));

    fs::write(&path, "precious").unwrap();
    let again = ["tune", "usr.csv", "--device", "usr_0", "--config", "sda.toml"];
    bench.run(&again).refused(2, "sda.toml exists; --force replaces it");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(bench.run(&[&again[..], &["--force"]].concat()).code, Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
}

#[test]
fn the_snippet_is_printed_where_no_file_is_named() {
    let ran = bench().run(&["tune", "usr.csv", "--device", "usr_0"]);
    for words in ["mean slowdown", "of what the disk could alone", "[scrub]\npolicy = \"waiting\"", "tuned in"] {
        assert!(ran.stdout.contains(words), "`{words}` in {ran:?}");
    }
}

#[test]
fn a_goal_that_cannot_be_kept_is_reported_with_one_that_can() {
    let bench = bench();
    let tune = |more: &[&str]| bench.run(&[&["tune", "usr.csv", "--device", "usr_0"], more].concat());
    let ran = tune(&["--max-slowdown", "1ms"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("a request of 64 KiB takes the disk 4.39 ms"), "{ran:?}");
    let ran = tune(&["--slowdown", "1ns", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let document = &documents(&ran)[0];
    assert_eq!((&document["wait_seconds"], &document["scrub_bytes"]), (&Value::Null, &Value::Null));
    assert!(document["error"].as_str().is_some_and(|error| error.contains("the smallest that one keeps")), "{ran:?}");
}

#[test]
fn a_trace_that_cannot_be_tuned_to_gives_its_reason_and_no_timing() {
    let bench = Bench::with_image(1);
    let lines: Vec<String> = (0..200)
        .map(|number| format!("{},usr,0,Read,{},512,100", 128_166_372_003_061_629_u64 + 10 * number, 512 * number))
        .collect();
    fs::write(bench.folder.path().join("busy.csv"), lines.join("\n")).unwrap();
    let ran = bench.run(&["tune", "busy.csv", "--format", "msr", "--min-requests", "1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.ends_with("is never idle for long enough to read anything\n"), "{ran:?}");
}

#[test]
fn bad_input_is_refused() {
    let bench = bench();
    fs::write(bench.folder.path().join("bad.toml"), "[scrub]\n\nwait = \"soon\"\n").unwrap();
    let refused = |arguments: &[&str], words| bench.run(arguments).refused(2, words);
    refused(&["scrub", "disk.img", "--config", "bad.toml"], "bad.toml:3: wait: `soon` is not a time");
    refused(&["scrub", "disk.img", "--config", "none.toml"], "none.toml: no such file");
    refused(&["tune", "none.csv"], "none.csv");
    refused(&["tune", "disk.img"], "disk.img");
    refused(&["tune", "usr.csv", "--device", "usr_1"], "no device `usr_1`");
    refused(&["tune", "usr.csv", "--min-requests", "10000"], "2,000 requests are too few to tune to");
    refused(&["tune", "usr.csv", "--min-requests", "1", "--config", "x.toml"], "name one with --device");
    for (arguments, words) in [
        (&["tune"][..], "<TRACE>..."),
        (&["tune", "usr.csv", "--sizes", "100KiB..1MiB"], "is not a multiple of 64 KiB"),
        (&["simulate", "scrub", "usr.csv"], "--policy <POLICY>"),
        (&["simulate", "scrub", "usr.csv", "--policy", "oracle", "--share", "2"], "no number from 0 to 1"),
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "`{words}` in {ran:?}");
    }
}

#[test]
fn every_policy_can_be_simulated() {
    let bench = Bench::with_image(1);
    trace(&bench, "usr.csv", &[("usr", 60)], 3.0);
    for policy in scrubjay_sim::play::Playable::all().map(|policy| policy.name()) {
        let ran = bench.run(&["simulate", "scrub", "usr.csv", "--policy", policy, "--json"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
        let document = &documents(&ran)[0];
        assert_eq!((&document["policy"], &document["requests"]), (&policy.into(), &1200.into()));
        assert!(document["parameters"].as_object().is_some_and(|parameters| !parameters.is_empty()), "{ran:?}");
        for field in [
            "span_seconds",
            "idle_seconds",
            "intervals",
            "collisions",
            "collision_rate",
            "scrub_requests",
            "scrub_bytes",
            "scrub_bytes_per_second",
            "idle_used_ratio",
            "mean_slowdown_seconds",
            "max_slowdown_seconds",
        ] {
            assert!(document[field].is_number(), "{field} of {policy}");
        }
        let ran = bench.run(&["simulate", "scrub", "usr.csv", "--policy", policy]);
        assert!(ran.stdout.contains(&format!("  {policy}: ")), "{ran:?}");
    }
}

/// The simulator confirms the figures of the tuner, and the policy `lossless`, which gets its wait back, reads more.
#[test]
fn the_simulator_and_the_tuner_agree() {
    let bench = bench();
    let tuned = &documents(&bench.run(&["tune", "usr.csv", "--device", "usr_0", "--json"]))[0];
    let wait = format!("{}us", tuned["wait_seconds"].as_f64().unwrap() * 1e6);
    let request = tuned["request_bytes"].to_string();
    let simulate = |policy: &str| {
        let fixed = ["simulate", "scrub", "usr.csv", "--device", "usr_0", "--json", "--policy", policy];
        documents(&bench.run(&[&fixed[..], &["--wait", &wait, "--request", &request]].concat())).remove(0)
    };
    let simulated = simulate("waiting");
    for field in ["scrub_bytes", "mean_slowdown_seconds", "max_slowdown_seconds", "collisions", "idle_used_ratio"] {
        assert_eq!(tuned[field], simulated[field], "{field}");
    }
    assert!(simulate("lossless")["scrub_bytes"].as_u64() > simulated["scrub_bytes"].as_u64());
}

/// Idle means the same for all of them: by the recorded responses, unless another source is asked for.
#[test]
fn all_commands_find_the_same_idle_intervals() {
    let bench = bench();
    for (source, name) in [(&[][..], "recorded"), (&["--service", "model"], "model")] {
        let document = |command: &[&str]| {
            let ran = bench.run(&[command, &["usr.csv", "--device", "usr_0", "--json"], source].concat());
            assert_eq!(ran.code, Some(0), "{ran:?}");
            documents(&ran).remove(0)
        };
        let info = document(&["trace", "info"]);
        assert_eq!(info["idle"]["service"], name);
        for command in [&["tune"][..], &["simulate", "scrub", "--policy", "budget"]] {
            let document = document(command);
            assert_eq!(document["service"], name, "{command:?}");
            assert_eq!(document["intervals"], info["idle"]["count"], "{command:?}, {name}");
        }
    }
}
