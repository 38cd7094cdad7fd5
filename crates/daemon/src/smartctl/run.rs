//! Runs smartctl: a process with a time-out, of whose output a bounded amount is read.

use super::obstacle::SmartObstacle;
use super::parse::{self, RecoveryLimit, SmartctlAnswer};
use crate::process::{ProcessEnding, wait_for_output};
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Bytes of output that are read, at most: with all logs (`-x`) it is some 100 KiB.
pub const OUTPUT_MAX: usize = 1 << 20;
/// The time limit: longer than the 60 s that smartctl gives a drive for one command (`SCSI_TIMEOUT_DEFAULT` in its
/// scsicmds.h).
pub const TIME_OUT: Duration = Duration::from_secs(75);
/// Its usual paths; a user's PATH often lacks the second and third.
const PROGRAMS: [&str; 3] = ["smartctl", "/usr/sbin/smartctl", "/usr/local/sbin/smartctl"];

/// How smartctl is run.
#[derive(Clone, Debug)]
pub struct Smartctl {
    programs: Vec<PathBuf>,
    time_out: Duration,
    device_type: Option<String>,
}

impl Default for Smartctl {
    /// The system's smartctl, within [`TIME_OUT`]; it detects the type of the device itself.
    fn default() -> Smartctl {
        Smartctl { programs: PROGRAMS.map(PathBuf::from).to_vec(), time_out: TIME_OUT, device_type: None }
    }
}

impl Smartctl {
    /// Uses this program instead of the system's.
    pub fn with_program(self, program: &Path) -> Smartctl {
        Smartctl { programs: vec![program.to_owned()], ..self }
    }

    /// Sets the type of the device, such as `sat` (smartctl's option `-d`).
    pub fn with_device_type(self, device_type: Option<&str>) -> Smartctl {
        Smartctl { device_type: device_type.map(str::to_owned), ..self }
    }

    /// Reads the SMART data of the drive behind `device`. Does not wake it.
    pub fn read(&self, device: &Path) -> SmartctlAnswer {
        let mut arguments: Vec<&OsStr> = ["--json", "-a", "-n", "standby"].map(OsStr::new).to_vec();
        if let Some(device_type) = &self.device_type {
            arguments.extend([OsStr::new("-d"), OsStr::new(device_type)]);
        }
        arguments.push(device.as_os_str());
        match self.run(&arguments) {
            Ok(ending) => to_answer(ending, self.time_out),
            Err(obstacle) => SmartctlAnswer::refused(obstacle),
        }
    }

    /// Reads for how long the drive behind `device` may try to read a bad sector. Does not wake it.
    ///
    /// # Errors
    /// The drive was not asked, or did not answer.
    pub fn recovery_limit(&self, device: &Path) -> Result<RecoveryLimit, SmartObstacle> {
        let arguments = ["--json", "-l", "scterc", "-n", "standby"].map(OsStr::new);
        let ending = self.run(&[&arguments[..], &[device.as_os_str()]].concat())?;
        output_and_status(ending, self.time_out).and_then(|(output, status)| parse::recovery_limit(&output, status))
    }

    /// The version of the program. No drive is asked.
    ///
    /// # Errors
    /// There is no program, or an old one.
    pub fn version(&self) -> Result<String, SmartObstacle> {
        let ending = self.run(&[OsStr::new("--json"), OsStr::new("--version")])?;
        let answer = to_answer(ending, self.time_out);
        answer.about.version.ok_or(match answer.outcome {
            Err(obstacle) => obstacle,
            Ok(_) => SmartObstacle::TooOld(None),
        })
    }

    fn run(&self, arguments: &[&OsStr]) -> Result<ProcessEnding, SmartObstacle> {
        for program in &self.programs {
            let mut command = Command::new(program);
            command.args(arguments).env("LC_ALL", "C");
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
            match command.spawn() {
                Ok(child) => return Ok(wait_for_output(child, self.time_out, OUTPUT_MAX)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    let message = format!("{} may not be run: permission denied", program.display());
                    return Err(SmartObstacle::Failed(message));
                }
                Err(error) => {
                    let message = format!("{} cannot be run: {error}", program.display());
                    return Err(SmartObstacle::Failed(message));
                }
            }
        }
        Err(SmartObstacle::NoProgram)
    }
}

fn to_answer(ending: ProcessEnding, time_out: Duration) -> SmartctlAnswer {
    match output_and_status(ending, time_out) {
        Ok((output, status)) => parse::answer(&output, Some(status)),
        Err(obstacle) => SmartctlAnswer::refused(obstacle),
    }
}

/// Its output and its exit status.
fn output_and_status(ending: ProcessEnding, time_out: Duration) -> Result<(Vec<u8>, u8), SmartObstacle> {
    Err(match ending {
        ProcessEnding::Ended(output, status) => match status.code().and_then(|code| u8::try_from(code).ok()) {
            Some(code) => return Ok((output, code)),
            None => {
                let signal = status.signal().map_or("a signal".to_owned(), |signal| format!("signal {signal}"));
                SmartObstacle::Failed(format!("smartctl was ended by {signal}"))
            }
        },
        ProcessEnding::TooMuch => SmartObstacle::Nonsense(format!("more than {OUTPUT_MAX} bytes")),
        ProcessEnding::TimedOut => SmartObstacle::TimedOut(time_out.as_secs()),
        ProcessEnding::Lost(error) => SmartObstacle::Failed(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    /// A program that runs the script.
    fn program(folder: &TempDir, script: &str) -> Smartctl {
        let path = folder.path().join("smartctl");
        let written = folder.path().join("written");
        fs::write(&written, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&written, fs::Permissions::from_mode(0o755)).unwrap();
        // A file that a thread has open for writing may not be run, and another thread that forks inherits such
        // descriptors; a copy made by another process was never open in this one.
        assert!(Command::new("cp").args([&written, &path]).status().unwrap().success());
        Smartctl::default().with_program(&path)
    }

    fn outcome(smartctl: &Smartctl) -> Result<scrubjay_watch::facts::SmartFacts, SmartObstacle> {
        smartctl.read(Path::new("/dev/sdzz")).outcome
    }

    #[test]
    fn a_read_does_not_wake_the_disk_and_is_parsed_whatever_the_exit_status() {
        let folder = tempfile::tempdir().unwrap();
        let json = r#"{"smartctl": {"version": [7, 4]}, "smart_status": {"passed": false}}"#;
        let script = format!("echo \"$@\" >'{}'; echo '{json}'; exit 24", folder.path().join("asked").display());
        let answer = program(&folder, &script).with_device_type(Some("sat")).read(Path::new("/dev/sdzz"));
        assert_eq!(answer.outcome.unwrap().passed, Some(false));
        assert_eq!(answer.about.exit, Some(super::super::exit::SmartctlExit(24)));
        let arguments = fs::read_to_string(folder.path().join("asked")).unwrap();
        assert_eq!(arguments, "--json -a -n standby -d sat /dev/sdzz\n");
    }

    #[test]
    fn the_recovery_limit_is_read_without_waking_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let json = r#"{"device": {"protocol": "ATA"}, "ata_sct_erc": {"read": {"enabled": true, "deciseconds": 70}}}"#;
        let script = format!("echo \"$@\" >'{}'; echo '{json}'", folder.path().join("asked").display());
        let limit = program(&folder, &script).recovery_limit(Path::new("/dev/sdzz"));
        assert_eq!(limit, Ok(RecoveryLimit::Deciseconds(70)));
        let arguments = fs::read_to_string(folder.path().join("asked")).unwrap();
        assert_eq!(arguments, "--json -l scterc -n standby /dev/sdzz\n");
        assert!(program(&folder, "kill -9 $$").recovery_limit(Path::new("/dev/sdzz")).is_err());
    }

    #[test]
    fn an_absent_a_forbidden_and_a_killed_smartctl_each_give_a_clear_error() {
        let folder = tempfile::tempdir().unwrap();
        let absent = Smartctl::default().with_program(&folder.path().join("absent"));
        assert_eq!(outcome(&absent), Err(SmartObstacle::NoProgram));
        let barred = folder.path().join("barred");
        fs::write(&barred, "").unwrap();
        let Err(SmartObstacle::Failed(message)) = outcome(&Smartctl::default().with_program(&barred)) else {
            panic!("it cannot be run")
        };
        assert!(message.ends_with("barred may not be run: permission denied"), "{message}");
        let killed = program(&folder, "kill -9 $$");
        assert_eq!(outcome(&killed), Err(SmartObstacle::Failed("smartctl was ended by signal 9".into())));
    }

    #[test]
    fn the_version_is_read_without_a_drive() {
        let folder = tempfile::tempdir().unwrap();
        let json = r#"{"smartctl": {"version": [7, 4]}}"#;
        let script = format!("echo \"$@\" >'{}'; echo '{json}'", folder.path().join("asked").display());
        assert_eq!(program(&folder, &script).version().as_deref(), Ok("7.4"));
        assert_eq!(fs::read_to_string(folder.path().join("asked")).unwrap(), "--json --version\n");
        assert_eq!(
            program(&folder, "echo 'smartctl 6.6 2017'").version(),
            Err(SmartObstacle::TooOld(Some("6.6".into())))
        );
        let absent = Smartctl::default().with_program(&folder.path().join("absent"));
        assert_eq!(absent.version(), Err(SmartObstacle::NoProgram));
    }

    #[test]
    fn endless_output_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let endless = program(&folder, "exec yes");
        assert_eq!(outcome(&endless), Err(SmartObstacle::Nonsense("more than 1048576 bytes".into())));
    }
}
