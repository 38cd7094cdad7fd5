//! Runs third-party programs.

use std::path::Path;
use std::process::{Command, Stdio};

/// The command that installs those that the tests use, on Debian.
const INSTALL: &str = "apt-get install --no-install-recommends libnbd-bin python3-libnbd qemu-utils fio";

/// Runs a program to its end, and returns its output. `None`: it is not installed and not required, or
/// `SCRUBJAY_CLIENTS=none` forbids it.
///
/// # Panics
/// When it fails, and when it is not installed and `SCRUBJAY_CLIENTS=required`.
pub fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let (succeeded, text) = outcome(program, arguments)?;
    assert!(succeeded, "{program} {arguments:?}:\n{text}");
    Some(text)
}

/// Runs a program that may fail; returns whether it succeeded, and its output. It runs in a folder of its own, where it may
/// leave files (fio leaves the state of a verification).
pub fn outcome(program: &str, arguments: &[&str]) -> Option<(bool, String)> {
    if setting_is(NONE) {
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    match Command::new(program).args(arguments).current_dir(&folder).stdin(Stdio::null()).output() {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            Some((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
        }
        Err(_) => missing(program),
    }
}

/// Runs a Python program with Debian's Python, which has libnbd, and returns its output.
pub fn python(program: &str, arguments: &[&str]) -> Option<String> {
    let (succeeded, text) = python_outcome(program, arguments)?;
    assert!(succeeded, "{arguments:?}:\n{text}\n{program}");
    Some(text)
}

/// Runs a Python program that may fail, as [`outcome`] does.
pub fn python_outcome(program: &str, arguments: &[&str]) -> Option<(bool, String)> {
    let python = "/usr/bin/python3";
    if setting_is(NONE) {
        return None;
    }
    if !Path::new(python).exists() || !outcome(python, &["-c", "import nbd"])?.0 {
        return missing("python3-libnbd");
    }
    outcome(python, &[&["-c", program], arguments].concat())
}

/// Values of `SCRUBJAY_CLIENTS`: third-party programs are not run, or must be installed.
const NONE: &str = "none";
const REQUIRED: &str = "required";

fn setting_is(setting: &str) -> bool {
    std::env::var("SCRUBJAY_CLIENTS").is_ok_and(|value| value == setting)
}

fn missing<T>(program: &str) -> Option<T> {
    assert!(!setting_is(REQUIRED), "{program} is not installed: {INSTALL}");
    eprintln!("NOT TESTED: {program} is not installed: {INSTALL}");
    None
}
