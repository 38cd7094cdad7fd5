//! Programs of the user's.

use super::super::secret::tests::file;
use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A program that runs the script. It is copied by another process, for the reason in `smartctl::run`.
pub(super) fn script(folder: &TempDir, script: &str) -> PathBuf {
    let written = file(folder, "written", &format!("#!/bin/sh\n{script}\n"), 0o755);
    let path = folder.path().join("program");
    assert!(Command::new("cp").args([&written, &path]).status().unwrap().success());
    path
}

fn run(program: &Path, message: &MessageRow, text: &MessageText) -> Result<DeliveryReceipt, DeliveryError> {
    channels(&format!("[exec]\nprogram = {program:?}")).deliver(message, text, &sender())
}

#[test]
fn a_program_gets_smartds_variables_scrubjays_own_and_the_text_as_input() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let program = script(&folder, &format!("env >'{place}/env'; cat >'{place}/text'; echo done; exit 0"));
    let row = MessageRow { reason: MessageReason::Reminder(2), ..message("exec") };
    assert_eq!(run(&program, &row, &said("a\nB=c", text().body())).unwrap().reply, "exit status 0: done");
    let variables = fs::read_to_string(folder.path().join("env")).unwrap();
    for line in [
        "SMARTD_DEVICE=/dev/sdc",
        "SMARTD_DEVICETYPE=auto",
        "SMARTD_DEVICESTRING=/dev/sdc [ST16000NM001G, ZL2ABCDE]",
        "SMARTD_FAILTYPE=Health",
        "SMARTD_SUBJECT=a B=c",
        "SMARTD_MESSAGE=Found 12 Mar 2026.",
        "SMARTD_FULLMESSAGE=Found 12 Mar 2026.",
        "SMARTD_TFIRSTEPOCH=1773286560",
        "SMARTD_PREVCNT=2",
        "SMARTD_NEXTDAYS=4",
        "SMARTD_ADDRESS=",
        "SCRUBJAY_HOST=nas1",
        "SCRUBJAY_REASON=reminder",
        "SCRUBJAY_URGENCY=replace",
        "SCRUBJAY_INCIDENTS=health disk ZL2ABCDE",
        "SCRUBJAY_DISK=ZL2ABCDE",
        "SCRUBJAY_BAY=3",
        "SCRUBJAY_MAY_BE_REPEATED=0",
    ] {
        assert!(variables.lines().any(|found| found == line), "{line} in\n{variables}");
    }
    assert!(variables.lines().any(|line| line.starts_with("SMARTD_TFIRST=Thu Mar 12 ")), "{variables}");
    assert_eq!(fs::read_to_string(folder.path().join("text")).unwrap(), text().body());
    run(&program, &MessageRow { reason: MessageReason::Test, about: Vec::new(), ..message("exec") }, &text()).unwrap();
    let variables = fs::read_to_string(folder.path().join("env")).unwrap();
    assert!(
        variables.contains("\nSMARTD_FAILTYPE=EmailTest\n") && variables.contains("\nSMARTD_NEXTDAYS=\n"),
        "{variables}"
    );
}

#[test]
fn the_error_of_a_failed_program_has_its_exit_status_and_output() {
    let folder = tempfile::tempdir().unwrap();
    let program = script(&folder, "echo no modem >&2; exit 3");
    let error = run(&program, &message("exec"), &text()).unwrap_err().to_string();
    let expected = "exit status 3: no modem: run it by hand; it has a minute, and is to end with 0";
    assert_eq!(error, format!("{}: {expected}", program.display()));
    let killed = run(&script(&folder, "kill -9 $$"), &message("exec"), &text()).unwrap_err().to_string();
    assert!(killed.contains(": ended by signal 9: "), "{killed}");
}

#[test]
fn a_program_may_ignore_its_input_and_write_a_lot() {
    let folder = tempfile::tempdir().unwrap();
    let program = script(&folder, "head -c 1000000 /dev/zero | tr '\\0' a; exit 0");
    let reply = run(&program, &message("exec"), &said("x", &"x".repeat(100_000))).unwrap().reply;
    assert!(reply.len() < 300, "{reply}");
}

#[test]
fn a_program_that_hangs_is_killed_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("child");
    let program =
        script(&folder, &format!("sleep infinity & echo $! >'{}.new'; mv '{0}.new' '{0}'; wait", place.display()));
    let mut channels = channels(&format!("[exec]\nprogram = {program:?}"));
    channels.bound = Duration::from_millis(100);
    // On a slow machine the time is doubled until the child was seen.
    let child = loop {
        let error = channels.deliver(&message("exec"), &text(), &sender()).unwrap_err();
        if let Ok(child) = fs::read_to_string(&place) {
            assert!(error.to_string().contains(": did not end in time, and was killed with all"), "{error}");
            break child;
        }
        channels.bound *= 2;
        channels.bound = channels.bound.min(DELIVERY_MAX);
    };
    // It is gone, or dead and not yet reaped by the process that adopts orphans.
    let is_alive = || match fs::read_to_string(format!("/proc/{}/stat", child.trim())) {
        Ok(stat) => !stat.contains(") Z "),
        Err(_) => false,
    };
    while is_alive() {
        std::thread::yield_now();
    }
}

#[test]
fn a_program_that_cannot_be_run_is_refused_in_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let fault_of = |path: &Path| fault(&format!("[exec]\nprogram = {path:?}"));
    assert!(fault_of(Path::new("notify.sh")).starts_with("alert.exec.program: notify.sh is no absolute path: "));
    assert!(
        fault_of(Path::new("/nowhere/at all"))
            .starts_with("alert.exec.program: /nowhere/at all cannot be read (No such")
    );
    assert!(fault_of(&file(&folder, "plain", "", 0o644)).contains("plain cannot be run: "));
    assert!(fault_of(folder.path()).contains(" cannot be run: "));
    assert!(fault_of(&file(&folder, "open", "", 0o777)).contains("open can be written by everybody: "));
    let program = script(&folder, "exit 0");
    let channels = channels(&format!("[exec]\nprogram = {program:?}"));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o600)).unwrap();
    let error = channels.deliver(&message("exec"), &text(), &sender()).unwrap_err().to_string();
    assert!(error.contains(": cannot be run: Permission denied"), "{error}");
}
