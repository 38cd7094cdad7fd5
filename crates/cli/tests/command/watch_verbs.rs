//! The verbs of the watch without a running watch, and invalid settings. (With a watch: tests/lab/watch.sh. No test here
//! starts one: it would read the disks of this machine.)

use crate::bench::{Bench, RunResult};
use std::fs;

fn run_verb(bench: &Bench, arguments: &[&str]) -> RunResult {
    let run = bench.folder.path().join("run");
    RunResult::new(bench.command(arguments).env("SCRUBJAY_RUN", run).output().expect("it runs"))
}

#[test]
fn without_a_watch_each_verb_reports_that_it_is_not_running() {
    let bench = Bench::with_image(1);
    let verbs: [&[&str]; 9] = [
        &["plan"],
        &["plan", "--json"],
        &["alert", "test"],
        &["alert", "list"],
        &["alert", "confirm", "004711"],
        &["accept", "sda"],
        &["scrub-now", "sda"],
        &["pause", "2h"],
        &["resume"],
    ];
    for verb in verbs {
        run_verb(&bench, verb).refused(1, "the watch is not running");
    }
    let check = run_verb(&bench, &["check"]);
    assert_eq!((check.code, check.stderr.as_str()), (Some(3), ""), "{check:?}");
    assert!(check.stdout.starts_with("UNKNOWN: the watch is not running"), "{check:?}");
    let status = run_verb(&bench, &["status"]);
    assert_eq!(status.code, Some(0), "{status:?}");
    assert!(status.stdout.contains("The watch is not running"), "{status:?}");
    let json = run_verb(&bench, &["status", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON and nothing else");
    assert!(document["watch"].is_null() && document["disks"].is_array(), "{json:?}");
    let doctor = run_verb(&bench, &["doctor"]);
    assert_eq!(doctor.code, Some(3), "{doctor:?}");
    assert!(doctor.stdout.contains("MISSING  watch"), "{doctor:?}");
}

#[test]
fn invalid_arguments_and_settings_are_refused_before_anything_begins() {
    let bench = Bench::with_image(1);
    for (time, words) in [("100d", "more than 90 days"), ("soon", "write 35d, 4h or 30m"), ("0s", "less than a second")]
    {
        let ran = run_verb(&bench, &["pause", time]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "`{words}` in {ran:?}");
    }
    run_verb(&bench, &["locate", "ZZ-no-such-disk"]).refused(2, "no such disk");
    let state = bench.folder.path().join("watched");
    let state = state.to_str().expect("a path in UTF-8");
    run_verb(&bench, &["history", "--state", state]).refused(2, "no watch has run");
    let settings = |text: &str| {
        fs::write(bench.folder.path().join("watch.toml"), text).expect("it is written");
        run_verb(&bench, &["watch", "--config", "watch.toml", "--state", state])
    };
    settings("[scrub]\nevery = \"1h\"\n").refused(2, "watch.toml: scrub.every: less than a day");
    settings("[scrub]\nspeed = 7\n").refused(2, "watch.toml:2: unknown field `speed`");
    settings("[alert.email]\nto = [\"nobody\"]\n").refused(2, "watch.toml: alert.email.to");
    run_verb(&bench, &["watch", "--config", "none.toml", "--state", state]).refused(2, "none.toml");
    assert!(!bench.folder.path().join("watched").exists(), "nothing is written");
}

#[test]
fn a_settings_file_can_be_printed_and_setup_without_answers_is_refused() {
    let bench = Bench::with_image(1);
    let printed = run_verb(&bench, &["watch", "--print-config"]);
    assert_eq!(printed.code, Some(0));
    assert!(printed.stdout.contains("#every = \"35d\"\n"), "{printed:?}");
    let setup = run_verb(&bench, &["setup", "--config", "new.toml"]);
    assert_eq!(setup.code, Some(2), "{setup:?}");
    assert!(setup.stderr.contains("there is no terminal"), "{setup:?}");
    assert!(!bench.folder.path().join("new.toml").exists());
}
