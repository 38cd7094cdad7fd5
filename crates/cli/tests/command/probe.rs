//! Probes of image files and loop devices: the output, that nothing is changed, and refusals.
//!
//! The timing of a file proves nothing, so no test here depends on what the probe finds.

use crate::bench::{Bench, RunResult, kill};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The fields of the JSON, schema 1.
pub const DOCUMENT: [&str; 20] = [
    "advice",
    "chunk_bytes",
    "class_times",
    "classes",
    "confidence",
    "copies",
    "disks",
    "findings",
    "ios",
    "joined",
    "kernel",
    "layout",
    "level",
    "pattern_bytes",
    "phase_bytes",
    "schema",
    "seconds",
    "unmeasurable",
    "version",
    "write_ratio",
];

/// The names of an object's fields, sorted.
pub fn fields(object: &Value) -> Vec<String> {
    let mut names: Vec<String> = object.as_object().expect("an object").keys().cloned().collect();
    names.sort();
    names
}

/// Arguments for the paper's prober, also with writes, by which it takes a second at most.
const PAPER: [&str; 8] = ["--mode", "paper", "--requests", "20", "--repeats", "1", "--max-pattern", "64KiB"];

/// An image in a folder whose file system supports direct reads: the one with the build's target folder. The contents of
/// each block depend on its place.
fn bench() -> Bench {
    let bench = Bench { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
    let bytes: Vec<u8> = (0..8u32 << 20).map(|at| (at / 4096 * 31) as u8).collect();
    fs::write(bench.image(), bytes).unwrap();
    bench
}

fn document(ran: &RunResult) -> Value {
    let document: Value = serde_json::from_str(&ran.stdout).expect("JSON and nothing else");
    assert_eq!((fields(&document), &document["schema"]), (DOCUMENT.map(str::to_owned).to_vec(), &Value::from(1)));
    document
}

/// Did the probe end with a result? On a busy machine a file may look like an array with a slow member.
fn is_answer(ran: &RunResult) -> bool {
    matches!(ran.code, Some(0 | 3))
}

/// The time of the last write to a file.
fn write_time(path: &Path) -> (i64, i64) {
    let metadata = fs::metadata(path).unwrap();
    (metadata.mtime(), metadata.mtime_nsec())
}

#[test]
fn a_probed_file_is_not_changed() {
    let bench = bench();
    let before = write_time(&bench.image());
    let ran = bench.run(&["probe", "disk.img", "--budget-ios", "500"]);
    assert!(is_answer(&ran) && ran.stderr.is_empty(), "{ran:?}");
    assert!(ran.stdout.starts_with("disk.img (8 MiB): ") && ran.stdout.contains(" requests in "), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains("the kernel says"), "{ran:?}");
    assert_eq!(write_time(&bench.image()), before);
}

#[test]
fn the_json_has_just_the_promised_fields() {
    let bench = bench();
    let document = document(&bench.run(&["probe", "disk.img", "--json", "--budget-ios", "500"]));
    assert!(document["kernel"].is_null() && document["seconds"].is_number(), "{document}");
    let confidences = ["chunk", "classes", "copies", "disks", "layout", "level", "pattern", "phase"];
    assert_eq!(fields(&document["confidence"]), confidences);
}

#[test]
fn writes_change_nothing_but_the_time_of_the_file() {
    let bench = bench();
    let before = (fs::read(bench.image()).unwrap(), write_time(&bench.image()));
    let ran = bench.run(&[&["probe", "disk.img", "--allow-writes", "--json"], &PAPER[..]].concat());
    assert!(is_answer(&ran) && ran.stderr.lines().count() == 1, "{ran:?}");
    assert!(ran.stderr.contains("disk.img will be written to: blocks get what they hold"), "{ran:?}");
    assert!(document(&ran)["write_ratio"].is_number(), "{ran:?}");
    assert!(fs::read(bench.image()).unwrap() == before.0, "every byte is as it was");
    assert_ne!(write_time(&bench.image()), before.1, "it was written to");
}

#[test]
fn a_probe_whose_budget_is_spent_prints_what_is_known() {
    let bench = bench();
    let ran = bench.run(&["probe", "disk.img", "--budget", "1ns"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("disk.img (8 MiB): not known yet\n"), "{ran:?}");
    assert!(ran.stdout.contains("(it ended early, before it knew: device class)"), "{ran:?}");
    let ran = bench.run(&["probe", "disk.img", "--budget-ios", "10", "--json"]);
    assert_eq!((document(&ran)["ios"].as_u64(), ran.code), (Some(10), Some(0)), "single reads: {ran:?}");
}

#[test]
fn options_of_the_published_prober_are_refused_without_it() {
    let bench = bench();
    for option in ["--requests", "--repeats", "--block"] {
        let ran = bench.run(&["probe", "disk.img", option, "4096"]);
        ran.refused(2, &format!("{option} has no effect without --mode paper"));
    }
    let ran = bench.run(&["probe", "disk.img", "--mode", "paper", "--block", "4MiB"]);
    ran.refused(2, "--block 4 MiB: 1 MiB is the most");
    let ran = bench.run(&["probe", "disk.img", "--mode", "paper", "--requests", "100001"]);
    ran.refused(2, "--requests 100001: 100000 is the most");
}

#[test]
fn a_stop_prints_what_is_known() {
    let bench = bench();
    let arguments = ["probe", "disk.img", "--allow-writes", "--mode", "paper", "--repeats", "1000000", "--json"];
    let mut child = bench.start(&arguments);
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("will be written to"), "{line}");
    kill(&child, "-INT");
    let mut stdout = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let ran = RunResult { code: None, stdout, stderr: line };
    assert!(document(&ran)["pattern_bytes"].is_null());
}

#[test]
fn a_closed_standard_output_is_no_failure() {
    let bench = bench();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ran = bench.command(&["probe", "disk.img", "--budget", "1ns"]).stdout(writer).output().unwrap();
    assert_eq!((ran.status.code(), ran.stderr.len()), (Some(0), 0), "{ran:?}");
}

#[test]
fn targets_that_cannot_be_probed_are_refused_in_one_line() {
    let bench = bench();
    fs::write(bench.folder.path().join("empty"), "").unwrap();
    fs::write(bench.folder.path().join("ragged"), "x").unwrap();
    for writes in [&[][..], &["--allow-writes"]] {
        let refused = |name: &str, words: &str| bench.run(&[&["probe", name], writes].concat()).refused(2, words);
        refused("nowhere", "nowhere: no such device or file");
        refused("empty", "empty is empty");
        refused("ragged", "not a whole number of 512-byte sectors");
        refused(".", "is a directory: name a block device or an image file");
        refused("/dev/null", "is a character device");
    }
    for (arguments, words) in [
        (["--max-pattern", "0"], "--max-pattern must be more than 0"),
        (["--max-pattern", "8KiB"], "--max-pattern 8 KiB: 16 KiB is the least"),
        (["--requests", "0"], "--requests must be more than 0"),
        (["--requests", "100001"], "--requests has no effect without --mode paper"),
        (["--repeats", "0"], "--repeats must be more than 0"),
        (["--block", "0"], "--block must be more than 0"),
        (["--plot", "disk.img"], "--plot disk.img: is a file, not a folder"),
    ] {
        bench.run(&[&["probe", "disk.img", "--allow-writes"][..], &arguments].concat()).refused(2, words);
    }
}

#[test]
fn a_file_that_is_open_elsewhere_is_not_rewritten() {
    let bench = bench();
    let before = write_time(&bench.image());
    let user = fs::OpenOptions::new().read(true).write(true).open(bench.image()).unwrap();
    let arguments = [&["probe", "disk.img", "--allow-writes"], &PAPER[..]].concat();
    bench.run(&arguments).refused(2, "disk.img is open in another program, or a second time: close it there first");
    assert_eq!(write_time(&bench.image()), before);
    drop(user);
    assert!(is_answer(&bench.run(&arguments)));
}

#[test]
fn a_user_without_permission_gets_a_clear_error() {
    let bench = bench();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    fs::set_permissions(bench.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (mode, arguments) in [(0o000, &["probe", "disk.img"][..]), (0o444, &["probe", "disk.img", "--allow-writes"])] {
        fs::set_permissions(bench.image(), fs::Permissions::from_mode(mode)).unwrap();
        let mut command = bench.command(arguments);
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        match command.output() {
            Ok(output) => RunResult::new(output).refused(4, "permission denied: run as its owner, or as root"),
            Err(error) => eprintln!("SKIPPED: nobody may not start what was built here ({error})"),
        }
    }
}

#[test]
fn only_known_results_are_drawn() {
    let bench = bench();
    let ran = bench.run(&[&["probe", "disk.img", "--json", "--plot", "page"], &PAPER[..]].concat());
    assert!(is_answer(&ran), "{ran:?}");
    document(&ran);
    assert!(ran.stderr.starts_with("scrubjay: page/index.html: pictures, and "), "{ran:?}");
    let page = bench.folder.path().join("page");
    let svg = fs::read_to_string(page.join("patterns.svg")).unwrap();
    assert!(svg.trim_end().ends_with("</svg>") && page.join("patterns.csv").is_file());
    assert!(fs::read_to_string(page.join("index.html")).unwrap().contains("How disk.img is laid out"));
    assert!(
        fs::read_to_string(page.join("facts.csv")).unwrap().starts_with("fact,found,confidence\n"),
        "a file has no kernel's limits"
    );
    bench
        .run(&["probe", "disk.img", "--plot", "page"])
        .refused(2, "--plot page: has a page already; --force replaces it");
    for verb in ["disk", "verify"] {
        bench.run(&["bench", verb, "disk.img", "--page", "page"]).refused(2, "--page page: has a page already");
    }
    let ran = bench.run(&["probe", "disk.img", "--plot", "none", "--budget", "1ns"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("nothing is known that could be drawn") && !bench.folder.path().join("none").exists());
}

#[test]
fn the_help_has_examples_and_exit_codes() {
    let ran = bench().run(&["probe", "--help"]);
    for words in ["Examples:", "Exit codes:", "130  stopped by a signal", "--plot <DIR>", "--budget-ios"] {
        assert!(ran.stdout.contains(words), "`{words}` in the help");
    }
}

/// A loop device; it is detached when dropped.
pub struct Loop(pub String);

impl Loop {
    /// A loop device on an image; `None`, with a message: there can be none.
    pub fn on(image: &Path, options: &[&str]) -> Option<Loop> {
        let result =
            Command::new("losetup").args(options).args(["-f", "--show"]).arg(image).stderr(Stdio::null()).output();
        match result {
            Ok(output) if output.status.success() => {
                Some(Loop(String::from_utf8(output.stdout).unwrap().trim().to_owned()))
            }
            _ => {
                eprintln!("SKIPPED: loop devices need root, losetup, and a kernel that has some");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn a_loop_device_is_probed_and_stays_as_it_is() {
    let bench = bench();
    let before = fs::read(bench.image()).unwrap();
    let Some(device) = Loop::on(&bench.image(), &[]) else { return };
    let ran = bench.run(&[&["probe", &device.0, "--allow-writes", "--json"], &PAPER[..]].concat());
    assert!(is_answer(&ran), "{ran:?}");
    let kernel = &document(&ran)["kernel"];
    assert_eq!(fields(kernel), ["alignment_offset", "minimum_io_size", "optimal_io_size", "physical_block_size"]);
    let ran = bench.run(&["probe", &device.0, "--budget-ios", "500"]);
    assert!(ran.stdout.contains("the kernel says: minimum_io_size ") && is_answer(&ran), "{ran:?}");
    assert!(fs::read(bench.image()).unwrap() == before);
}

/// A program that maps a device and closes it has no file open, and can still write.
#[test]
fn a_device_that_is_mapped_elsewhere_is_not_rewritten() {
    const SCRIPT: &str = "import ctypes, os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\n\
            mmap = ctypes.CDLL(None).mmap\nmmap.argtypes = [ctypes.c_long] * 6\nmmap(0, 4096, 3, 1, fd, 0)\n\
            os.close(fd)\nos.write(2, b'held!')\nsys.stdin.read()\n";
    let bench = bench();
    let Some(device) = Loop::on(&bench.image(), &[]) else { return };
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT, &device.0]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let python = python.spawn();
    let Ok(mut holder) = python else { return eprintln!("SKIPPED: no python3") };
    holder.stderr.as_mut().unwrap().read_exact(&mut [0; 5]).unwrap();
    let ran = bench.run(&[&["probe", &device.0, "--allow-writes"], &PAPER[..]].concat());
    holder.kill().unwrap();
    holder.wait().unwrap();
    ran.refused(2, &format!("is mapped into the memory of process {}", holder.id()));
}

/// Inside a PID namespace, processes outside cannot be seen.
#[test]
fn from_inside_a_container_no_device_is_rewritten() {
    let bench = bench();
    let Some(device) = Loop::on(&bench.image(), &[]) else { return };
    let inside = ["--pid", "--fork", "--mount-proc"];
    let command = bench.command(&[&["probe", &device.0, "--allow-writes"], &PAPER[..]].concat());
    let unshared = Command::new("unshare").args(inside).arg("true").output();
    if !unshared.is_ok_and(|ran| ran.status.success()) {
        return eprintln!("SKIPPED: no namespace can be made here");
    }
    let ran = Command::new("unshare").args(inside).arg(command.get_program()).args(command.get_args()).output();
    RunResult::new(ran.unwrap()).refused(4, "in a container (a PID namespace of its own) other writers cannot be seen");
}

#[test]
fn loop_devices_that_are_read_only_or_share_their_file_are_not_rewritten() {
    let bench = bench();
    let refused = |device: &str, words: &str| bench.run(&["probe", device, "--allow-writes"]).refused(2, words);
    let Some(fixed) = Loop::on(&bench.image(), &["-r"]) else { return };
    refused(&fixed.0, "is read-only, so nothing can be rewritten");
    refused("disk.img", &format!("is the disk behind {}", fixed.0));
    let Some(other) = Loop::on(&bench.image(), &[]) else { return };
    refused(&other.0, &format!("which is the disk behind {}, too", fixed.0));
    fs::hard_link(bench.image(), bench.folder.path().join("alias.img")).unwrap();
    refused("alias.img", "is open in another program");
}
