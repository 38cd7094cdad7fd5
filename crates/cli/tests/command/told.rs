//! The verbs of the watch without a running watch, and invalid settings. (With a watch: tests/lab/watch.sh. No test here
//! starts one: it would read the disks of this machine.)

use crate::bench::{Bench, Ran};
use std::fs;

fn told(bench: &Bench, arguments: &[&str]) -> Ran {
    let run = bench.folder.path().join("run");
    Ran::new(bench.command(arguments).env("SCRUBJAY_RUN", run).output().expect("it runs"))
}

#[test]
fn without_a_watch_each_verb_says_so_and_what_to_do() {
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
        told(&bench, verb).refused(1, "the watch is not running");
    }
    let check = told(&bench, &["check"]);
    assert_eq!((check.code, check.stderr.as_str()), (Some(3), ""), "{check:?}");
    assert!(check.stdout.starts_with("UNKNOWN: the watch is not running"), "{check:?}");
    let status = told(&bench, &["status"]);
    assert_eq!(status.code, Some(0), "{status:?}");
    assert!(status.stdout.contains("The watch is not running"), "{status:?}");
    let json = told(&bench, &["status", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON and nothing else");
    assert!(document["watch"].is_null() && document["disks"].is_array(), "{json:?}");
    let doctor = told(&bench, &["doctor"]);
    assert_eq!(doctor.code, Some(3), "{doctor:?}");
    assert!(doctor.stdout.contains("MISSING  watch"), "{doctor:?}");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_begins() {
    let bench = Bench::with_image(1);
    for (time, what) in [("100d", "more than 90 days"), ("soon", "write 35d, 4h or 30m"), ("0s", "less than a second")]
    {
        let ran = told(&bench, &["pause", time]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(what), "`{what}` in {ran:?}");
    }
    told(&bench, &["locate", "ZZ-no-such-disk"]).refused(2, "no such disk");
    let state = bench.folder.path().join("watched");
    let state = state.to_str().expect("a path in UTF-8");
    told(&bench, &["history", "--state", state]).refused(2, "no watch has run");
    let settings = |text: &str| {
        fs::write(bench.folder.path().join("watch.toml"), text).expect("it is written");
        told(&bench, &["watch", "--config", "watch.toml", "--state", state])
    };
    settings("[scrub]\nevery = \"1h\"\n").refused(2, "watch.toml: scrub.every: less than a day");
    settings("[scrub]\nspeed = 7\n").refused(2, "watch.toml:2: unknown field `speed`");
    settings("[alert.email]\nto = [\"nobody\"]\n").refused(2, "watch.toml: alert.email.to");
    told(&bench, &["watch", "--config", "none.toml", "--state", state]).refused(2, "none.toml");
    assert!(!bench.folder.path().join("watched").exists(), "nothing is written");
}

#[test]
fn a_file_of_settings_can_be_had_and_nobody_answers_no_questions() {
    let bench = Bench::with_image(1);
    let printed = told(&bench, &["watch", "--print-config"]);
    assert_eq!(printed.code, Some(0));
    assert!(printed.stdout.contains("#every = \"35d\"\n"), "{printed:?}");
    let setup = told(&bench, &["setup", "--config", "new.toml"]);
    assert_eq!(setup.code, Some(2), "{setup:?}");
    assert!(setup.stderr.contains("nobody answers"), "{setup:?}");
    assert!(!bench.folder.path().join("new.toml").exists());
}
