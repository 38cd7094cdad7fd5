//! Exit codes, one-line refusals, help, and the shape of the JSON.

use crate::bench::{Bench, RunResult};
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

#[test]
fn a_clean_image_is_clean() {
    let bench = Bench::with_image(8);
    let ran = bench.run(&["scrub", "disk.img", "--policy", "none"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("disk.img: clean: all of 8 MiB verified\n"), "{ran:?}");
}

#[test]
fn the_json_has_every_promised_field() {
    let bench = Bench::with_image(8);
    let ran = bench.run(&["scrub", "disk.img", "--json", "--no-progress"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let target = ran.target();
    let expected = json!({
        "target": "disk.img",
        "id": fs::canonicalize(bench.image()).unwrap(),
        "bytes": 8 << 20,
        "bytes_verified": 8 << 20,
        "complete": true,
        "resumed": false,
        "verifier": "read",
        "order": "staggered",
        "policy": "budget",
        "unreadable": [],
        "bytes_requested": 8 << 20,
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&target[field], value, "{field}");
    }
    for field in ["seconds", "wait_seconds", "request_bytes", "idle_seconds", "oldest_unread_seconds"] {
        assert!(target[field].is_number(), "{field}: {}", target[field]);
    }
    for field in [
        "goal_mean_seconds",
        "mean_seconds",
        "worst_mean_so_far_seconds",
        "max_seconds",
        "foreground_requests",
        "collisions",
    ] {
        assert!(target["slowdown"][field].is_number(), "{field}: {}", target["slowdown"][field]);
    }
    assert!(target["slowdown"]["held_back_by_max"].is_boolean());
    assert!(target["detector"].is_string());
}

#[test]
fn bad_targets_are_refused_in_one_line() {
    let bench = Bench::with_image(1);
    fs::write(bench.folder.path().join("empty"), "").unwrap();
    fs::write(bench.folder.path().join("ragged"), "x").unwrap();
    bench.run(&["scrub", "nowhere"]).refused(2, "nowhere: no such device or file");
    bench.run(&["scrub", "empty"]).refused(2, "empty is empty: there is nothing to read");
    bench.run(&["scrub", "ragged"]).refused(2, "not a whole number of 512-byte sectors");
    bench.run(&["scrub", "."]).refused(2, "is a directory: name a block device or an image file");
    bench.run(&["scrub", "/dev/null"]).refused(2, "is a character device");
    bench.run(&["scrub", "disk.img", "nowhere"]).refused(2, "nowhere");
    assert!(!bench.state().join("scrubjay/nowhere").exists());
}

#[test]
fn bad_sizes_are_refused_in_one_line() {
    let bench = Bench::with_image(1);
    let refused =
        |arguments: &[&str], words| bench.run(&[&["scrub", "disk.img"], arguments].concat()).refused(2, words);
    refused(&["--range", "512KiB..2MiB"], "the range ends at 2 MiB (byte 2097152), outside its 1048576 bytes");
    refused(&["--range", "1TiB.."], "the range begins at 1.1 TB (byte 1099511627776), outside its 1048576 bytes");
    refused(&["--range", "4KiB..4KiB"], "is empty");
    refused(&["--range", "100..4KiB"], "multiple of its logical block");
    refused(&["--policy", "none", "--request", "1000"], "the request size 1 kB is not a multiple of its logical block");
    refused(&["--policy", "none", "--request", "1GiB"], "16 MiB is the most");
    refused(&["--region", "1MiB", "--segment", "2MiB"], "is greater than the region size");
    refused(&["--segment", "0"], "the segment size must be more than 0");
}

#[test]
fn a_record_never_replaces_a_file() {
    let bench = Bench::with_image(1);
    bench.run(&["scrub", "disk.img", "--record", "disk.img"]).refused(2, "no record can be written: disk.img exists");
    assert_eq!(fs::metadata(bench.image()).unwrap().len(), 1 << 20, "least of all the target");
}

/// A file may have any name, for each program.
#[test]
fn names_that_are_no_text_are_names() {
    let bench = Bench::with_image(1);
    let name = OsStr::from_bytes(b"disk-\xff.img");
    fs::rename(bench.image(), bench.folder.path().join(name)).unwrap();
    for (verb, code) in [(&["scrub", "--policy", "none"][..], 0), (&["trace", "info"], 2), (&["help"], 2)] {
        let ran = RunResult::new(bench.command(verb).arg(name).output().unwrap());
        assert!(ran.code == Some(code) && !ran.stderr.contains("panicked"), "{verb:?}: {ran:?}");
    }
}

/// A terminal executes control sequences: a file's name must not get any there.
#[test]
fn file_names_send_no_commands_to_the_terminal() {
    let bench = Bench::with_image(1);
    let name = "evil\u{1b}]0;PWN\u{7}\u{1b}[31m\n\u{202e}gpj.img";
    fs::copy(bench.image(), bench.folder.path().join(name)).unwrap();
    fs::write(bench.folder.path().join(format!("{name}.csv")), "no trace\n").unwrap();
    let trace = format!("{name}.csv");
    let nowhere = format!("no{name}");
    for arguments in [
        &["scrub", name, "--policy", "none"][..],
        &["scrub", name, "--policy", "none", "--range", "0..1GiB"],
        &["scrub", &nowhere],
        &["scrub", "disk.img", "--config", &nowhere],
        &["scrub", "disk.img", "--record", name],
        &["scrub", "disk.img", "--state", name],
        &["explain", name],
        &["explain", "--smart", name],
        &["explain", "--smart", &nowhere],
        &["probe", name, "--budget-ios", "50"],
        &["probe", name, "--allow-writes", "--mode", "paper", "--requests", "5", "--repeats", "1", "--budget", "1ns"],
        &["probe", &nowhere],
        &["probe", "disk.img", "--plot", name],
        &["trace", "info", &trace],
        &["trace", "info", &nowhere],
        &["trace", "convert", &nowhere, "a.csv"],
        &["trace", "generate", "--model", "mid-read", "--save", name],
        &["trace", "generate", "--model", "mid-read", name],
        &["trace", "generate", "--model", name, "a.csv"],
        &["trace", "capture", name, "a.csv", "--for", "1s"],
        &["tune", &nowhere],
        &["study", "idle", &nowhere, "--out", name],
        &["simulate", "scrub", &nowhere],
        &["generate", "man", name],
    ] {
        let ran = bench.run(arguments);
        let is_hostile = |char: char| char.is_control() && char != '\n' || char == '\u{202e}';
        assert!(!ran.stdout.contains(is_hostile) && !ran.stderr.contains(is_hostile), "{arguments:?}: {ran:?}");
        let lines = ran.stdout.lines().chain(ran.stderr.lines());
        let is_cut = |line: &str| line.trim_start_matches(['\u{202e}', '\u{fffd}']).starts_with("gpj");
        assert!(!lines.into_iter().any(is_cut), "{arguments:?}: {ran:?}");
    }
}

/// Standard error may fail (a full disk below a log, a closed terminal) without an effect on the scrub.
#[test]
fn a_full_standard_error_fails_no_scrub_but_a_full_standard_output_does() {
    let bench = Bench::with_image(1);
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = bench.command(&["scrub", "disk.img", "--policy", "none", "--json"]).stderr(full()).output().unwrap();
    assert_eq!(ran.status.code(), Some(0));
    let ran = bench.command(&["scrub", "disk.img", "--policy", "none"]).stdout(full()).output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("cannot write the result to standard output"));
}

#[test]
fn bad_words_are_refused_with_help() {
    let bench = Bench::with_image(1);
    for (arguments, words) in [
        (&["scrub"][..], "<TARGET>..."),
        (&["scrub", "disk.img", "--slowdown", "5"], "`5`: a time needs a unit, such as 5ms, 5s or 5min"),
        (&["scrub", "disk.img", "--slowdown", "-1ms"], "`-1ms`: a time cannot be negative"),
        (&["tune", "t.csv", "--slowdown", "-1ms"], "`-1ms`: a time cannot be negative"),
        (&["probe", "disk.img", "--budget", "0s"], "`0s` leaves no time to probe"),
        (&["probe", "disk.img", "--budget-ios", "0"], "0 is not in 1.."),
        (&["scrub", "disk.img", "--request", "big"], "`big` is no size: write 64KiB"),
        (&["scrub", "disk.img", "--policy", "nice"], "[possible values: budget, waiting, "),
        (&["scub"], "unrecognized subcommand"),
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "`{words}` in {ran:?}");
    }
}

/// docs/safety.md: what only reads opens nothing for writing.
#[test]
fn commands_that_only_read_leave_every_byte_and_the_time_of_writing() {
    let bench = Bench::with_image(8);
    let written = || (fs::read(bench.image()).unwrap(), fs::metadata(bench.image()).unwrap().modified().unwrap());
    let before = written();
    for arguments in [
        &["scrub", "disk.img", "--policy", "none"][..],
        &["probe", "disk.img", "--budget-ios", "100"],
        &["bench", "disk", "disk.img", "--seconds", "0.02", "--depth", "1", "--no-history"],
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(written() == before, "{arguments:?}");
    }
}

#[test]
fn a_file_that_is_not_there_is_reported_in_words() {
    let bench = Bench::with_image(1);
    for arguments in [
        &["tune", "nope"][..],
        &["trace", "info", "nope"],
        &["scrub", "disk.img", "--config", "nope"],
        &["explain", "--smart", "nope"],
        &["web", "--recorded", "nope"],
    ] {
        let ran = bench.run(arguments);
        assert!(ran.stderr.trim_end().ends_with("nope: no such file or directory"), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn a_scrub_of_a_range_does_not_count_for_the_pass() {
    let bench = Bench::with_image(8);
    let ran = bench.run(&["scrub", "disk.img", "--range", "1MiB..3MiB", "--policy", "none", "--json"]);
    assert_eq!(ran.target()["bytes_verified"], 2 << 20);
    assert_eq!(ran.target()["complete"], true);
    let ran = bench.run(&["scrub", "disk.img", "--policy", "none", "--json"]);
    assert_eq!((&ran.target()["bytes_requested"], &ran.target()["resumed"]), (&json!(8 << 20), &json!(false)));
}

#[test]
fn policies_that_need_the_foreground_note_that_it_cannot_be_seen() {
    let bench = Bench::with_image(1);
    let has_note = |policy: &str| {
        let ran = bench.run(&["scrub", "disk.img", "--detector", "none", "--json", "--policy", policy]);
        ran.target()["notes"].to_string().contains("cannot be seen here")
    };
    assert!(has_note("budget") && has_note("waiting"));
    assert!(!has_note("none") && !has_note("delay"));
}

#[test]
fn several_targets_run_side_by_side() {
    let bench = Bench::with_image(2);
    fs::copy(bench.image(), bench.folder.path().join("second.img")).unwrap();
    let ran = bench.run(&["scrub", "disk.img", "second.img", "--policy", "none"]);
    assert_eq!((ran.code, ran.stdout.matches(": clean: all of 2 MiB").count()), (Some(0), 2), "{ran:?}");
}

#[test]
fn the_help_has_examples_and_exit_codes() {
    let bench = Bench::with_image(1);
    let ran = bench.run(&["scrub", "--help"]);
    assert_eq!(ran.code, Some(0));
    for words in ["Examples:", "Exit codes:", "--max-slowdown", "kill -9"] {
        assert!(ran.stdout.contains(words), "`{words}` in the help");
    }
    let place = |words: &str| ran.stdout.find(words).unwrap_or_else(|| panic!("`{words}` in {ran:?}"));
    assert!(place("Examples:") < place("Usage:") && place("--slowdown <TIME>") < place("Exit codes:"), "{ran:?}");
    let short = bench.run(&["scrub", "-h"]);
    assert!(short.stdout.contains("--max-slowdown") && !short.stdout.contains("Exit codes:"), "{short:?}");
}

#[test]
fn without_a_verb_it_shows_the_disks() {
    let bench = Bench::with_image(1);
    let ran = bench.run(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("scrubjay scrub"), "what to do next: {ran:?}");
    assert!(!bench.state().exists(), "nothing is written");
}

#[test]
fn man_pages_and_completions_come_from_the_same_table() {
    let bench = Bench::with_image(1);
    assert_eq!(bench.run(&["generate", "man", "man"]).code, Some(0));
    let page = fs::read_to_string(bench.folder.path().join("man/scrubjay-scrub.1")).unwrap();
    let sees_also = page.split(".SH \"SEE ALSO\"").nth(1).unwrap();
    assert!(sees_also.contains("scrubjay(1)") && sees_also.contains("generate(1)"), "{sees_also}");
    assert!(bench.folder.path().join("man/scrubjay-generate.1").exists());
    let ran = bench.run(&["generate", "man", "no/such/folder"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("cannot make the folder no/such/folder"), "{ran:?}");
    for words in ["slowdown", "SH EXAMPLES", "SH \"EXIT STATUS\"", "SH FILES", "SH ENVIRONMENT", "NO_COLOR"] {
        assert!(page.contains(words), "`{words}` in {page}");
    }
    assert!(bench.run(&["generate", "completions", "bash"]).stdout.contains("--policy"));
    let page_of = |verb: &str| fs::read_to_string(bench.folder.path().join(format!("man/scrubjay-{verb}.1"))).unwrap();
    for (verb, files) in [
        ("watch", &["/etc/scrubjay/config.toml", "/var/lib/scrubjay/history.db"][..]),
        ("set", &["/etc/scrubjay/config.toml"]),
        ("setup", &["/etc/scrubjay/config.toml", "/etc/scrubjay/smtp.password"]),
        ("history", &["/var/lib/scrubjay/history.db"]),
        ("volume-serve", &["/run/scrubjay"]),
        ("web", &["/var/lib/scrubjay-web/key"]),
    ] {
        let page = page_of(verb);
        let section = page.split(".SH FILES").nth(1).unwrap_or_default().split(".SH").next().unwrap_or_default();
        let section = section.replace("\\-", "-");
        assert!(files.iter().all(|file| section.contains(file)), "{verb}: {section}");
    }
    assert!(!page_of("tune").contains(".SH FILES"));
    for entry in fs::read_dir(bench.folder.path().join("man")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let title = text.lines().find(|line| line.starts_with(".TH")).unwrap_or_default();
        assert!(title.contains(concat!("scrubjay ", env!("CARGO_PKG_VERSION"))), "{title}");
        let examples = text.split(".nf").nth(1).unwrap_or_default().split(".fi").next().unwrap_or_default();
        let plain =
            |line: &str| line.replace("\\*(Aq", "'").replace("\\-", "-").replace("\\ ", " ").replace("\\\\", "\\");
        let wide = examples.lines().map(plain).find(|line| line.chars().count() > 73 && line.trim().contains(' '));
        assert_eq!(wide, None, "{title}");
    }
}
