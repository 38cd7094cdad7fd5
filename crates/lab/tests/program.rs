//! The built program, called by itself. (What it does for `scrubjay` is tested with that command, crates/cli/tests/command: this test
//! makes cargo build it.)

use std::process::Command;

fn said(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_scrubjay-lab")).args(arguments).output().expect("it starts");
    (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
}

#[test]
fn its_verbs_are_called_as_those_of_scrubjay() {
    let (code, help) = said(&["tune", "--help"]);
    assert!(code == Some(0) && help.contains("\nUsage: scrubjay tune ["), "{help}");
    let (code, version) = said(&["--version"]);
    assert!(code == Some(0) && version.starts_with("scrubjay-lab "), "{version}");
    let (code, refusal) = said(&["scrub", "/dev/sda"]);
    assert!(code == Some(2) && refusal.contains("unrecognized subcommand 'scrub'"), "{refusal}");
}
