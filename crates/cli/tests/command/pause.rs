//! A stop is a pause: signals, kill -9, and what is saved.

use crate::bench::{Bench, RunResult, SAVED_BYTES, kill};
use serde_json::json;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_signal_pauses_and_the_same_command_goes_on() {
    for signal in ["-TERM", "-INT"] {
        pauses(signal);
    }
    // Below `nohup`, this process and its children ignore hangups.
    if !ignores_hangups() {
        pauses("-HUP");
    }
}

fn ignores_hangups() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 1
}

fn pauses(signal: &str) {
    let bench = Bench::with_image(16);
    let child = bench.start_slow_scrub();
    kill(&child, signal);
    let ran = RunResult::new(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{signal}: {ran:?}");
    let first = ran.target();
    assert_eq!(first["complete"], false);
    let ran = bench.run(&["scrub", "disk.img", "--policy", "none", "--json"]);
    let second = ran.target();
    assert_eq!((ran.code, &second["resumed"], &second["complete"]), (Some(0), &json!(true), &json!(true)));
    assert_eq!(second["bytes_verified"], 16 << 20);
    let sum = first["bytes_requested"].as_u64().unwrap() + second["bytes_requested"].as_u64().unwrap();
    assert_eq!(sum, 16 << 20, "nothing is read twice");
}

#[test]
fn the_time_for_which_the_process_was_stopped_is_not_the_scrubs() {
    let bench = Bench::with_image(16);
    let began = Instant::now();
    let child = bench.start_slow_scrub();
    kill(&child, "-STOP");
    let status = || fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    while !status().contains("State:\tT") {
        thread::yield_now();
    }
    let stopped = Instant::now();
    thread::sleep(Duration::from_secs(1));
    let stopped = stopped.elapsed().as_secs_f64();
    kill(&child, "-CONT");
    // A save tells that the session runs again.
    let saved = || {
        let files = fs::read_dir(bench.state().join("scrubjay")).unwrap().filter_map(|file| file.ok()?.metadata().ok());
        files.filter_map(|file| file.modified().ok()).max()
    };
    let before = saved();
    while saved() <= before {
        thread::yield_now();
    }
    kill(&child, "-TERM");
    let ran = RunResult::new(child.wait_with_output().unwrap());
    let elapsed = ran.target()["seconds"].as_f64().unwrap();
    assert!(
        elapsed + stopped <= began.elapsed().as_secs_f64(),
        "{elapsed} s beside {stopped} s of standstill: {ran:?}"
    );
}

#[test]
fn kill_minus_nine_costs_next_to_nothing() {
    let bench = Bench::with_image(16);
    let mut child = bench.start_slow_scrub();
    kill(&child, "-KILL");
    child.wait().unwrap();
    let ran = bench.run(&["scrub", "disk.img", "--policy", "none", "--json"]);
    let second = ran.target();
    assert_eq!((ran.code, &second["resumed"], &second["complete"]), (Some(0), &json!(true), &json!(true)));
    let requested = second["bytes_requested"].as_u64().unwrap();
    assert!(requested <= (16 << 20) - SAVED_BYTES, "what was saved is known: {second}");
}

#[test]
fn fresh_forgets_the_pass() {
    let bench = Bench::with_image(16);
    let child = bench.start_slow_scrub();
    kill(&child, "-TERM");
    child.wait_with_output().unwrap();
    let ran = bench.run(&["scrub", "disk.img", "--policy", "none", "--json", "--fresh"]);
    assert_eq!((&ran.target()["resumed"], &ran.target()["bytes_requested"]), (&json!(false), &json!(16 << 20)));
}

#[test]
fn a_second_scrub_of_a_disk_is_refused_and_names_the_process_of_the_first() {
    let bench = Bench::with_image(16);
    let child = bench.start_slow_scrub();
    bench.run(&["scrub", "disk.img"]).refused(1, &format!("is being scrubbed already, by process {}", child.id()));
    kill(&child, "-TERM");
    child.wait_with_output().unwrap();
}

#[test]
fn a_damaged_or_foreign_state_is_refused_and_fresh_puts_it_aside() {
    let bench = Bench::with_image(4);
    assert_eq!(bench.run(&["scrub", "disk.img", "--policy", "none"]).code, Some(0));
    let state = bench.state_file("scrub").unwrap();
    let good = fs::read_to_string(&state).unwrap();

    fs::write(&state, good.replace("sectors 8192", "sectors 9192")).unwrap();
    bench.run(&["scrub", "disk.img"]).refused(1, "the checksum does not match");
    assert_eq!(bench.run(&["scrub", "disk.img", "--fresh", "--policy", "none"]).code, Some(0));

    fs::write(bench.image(), vec![0; 8 << 20]).unwrap();
    bench.run(&["scrub", "disk.img"]).refused(1, "is that of another disk");
    assert_eq!(bench.run(&["scrub", "disk.img", "--fresh", "--policy", "none"]).code, Some(0));
}

/// A file that replaces another one is a different one: nothing of it has been read.
#[test]
fn a_pass_is_not_resumed_on_another_file_of_the_same_name() {
    let bench = Bench::with_image(16);
    let child = bench.start_slow_scrub();
    kill(&child, "-TERM");
    child.wait_with_output().unwrap();
    let other = bench.folder.path().join("other.img");
    fs::write(&other, vec![1; 16 << 20]).unwrap();
    fs::rename(&other, bench.image()).unwrap();
    let ran = bench.run(&["scrub", "disk.img", "--policy", "none", "--json"]);
    assert_eq!((&ran.target()["resumed"], &ran.target()["bytes_requested"]), (&json!(false), &json!(16 << 20)));
}

#[test]
fn a_state_folder_that_cannot_be_written_is_reported_before_anything_is_read() {
    let bench = Bench::with_image(1);
    fs::write(bench.folder.path().join("file"), "").unwrap();
    bench.run(&["scrub", "disk.img", "--state", "file/below"]).refused(1, "choose another one (--state DIR)");
}
