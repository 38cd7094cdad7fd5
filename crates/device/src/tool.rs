//! Runs other programs that only read (debugfs, xfs_db, dmsetup, zpool), with a time-out and a limit on their output.

use std::cell::Cell;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The most output that is read, in bytes: block groups of 100 TB are some 100 MB of text.
const OUTPUT_MAX: usize = 256 << 20;
/// Bytes of error output that are kept.
const ERROR_OUTPUT_MAX: u64 = 64 << 10;
/// Time-out of a program: a search through all inodes of a large file system takes minutes.
const TIME_OUT: Duration = Duration::from_secs(15 * 60);
/// Folders of system programs; a user's path often leaves these out.
const FOLDERS: [&str; 4] = ["", "/usr/sbin/", "/sbin/", "/usr/local/sbin/"];

/// Why a program did not give a result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It is not installed.
    #[error("{0} is not installed")]
    Absent(&'static str),
    /// It may not be run.
    #[error("{0} may not be run")]
    Permission(&'static str),
    /// It takes too long.
    #[error("{0} did not end within {1} s")]
    TimedOut(&'static str, u64),
    /// Its output is too long.
    #[error("{0} said more than 256 MiB")]
    TooMuch(&'static str),
    /// It failed.
    #[error("{0} failed: {1}")]
    Failed(&'static str, String),
}

thread_local! {
    /// When what this thread looks up must have ended.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Does `work`, during which programs and searches that this thread begins end within `time`, whatever they may take otherwise.
pub fn within<T>(time: Duration, work: impl FnOnce() -> T) -> T {
    let before = DEADLINE.replace(Some(Instant::now() + time));
    let done = work();
    DEADLINE.set(before);
    done
}

/// The time that is left to what usually may take so long.
pub(crate) fn time_left(usual: Duration) -> Duration {
    DEADLINE.get().map_or(usual, |deadline| deadline.saturating_duration_since(Instant::now()).min(usual))
}

/// The program's standard output.
///
/// # Errors
/// [`ToolError`]; also when it ends with another status than 0.
pub fn run(program: &'static str, arguments: &[&str]) -> Result<Vec<u8>, ToolError> {
    run_within(program, arguments, time_left(TIME_OUT))
}

/// The same, within another time. Dates in the output are in UTC.
///
/// # Errors
/// [`ToolError`]; also when it ends with another status than 0.
pub fn run_within(program: &'static str, arguments: &[&str], time_out: Duration) -> Result<Vec<u8>, ToolError> {
    run_by(program, arguments, time_out, |_| ())
}

/// The same, in a process group of its own: Ctrl-C does not end the program in the midst of what it orders.
///
/// # Errors
/// [`ToolError`]; also when it ends with another status than 0.
pub fn run_apart(program: &'static str, arguments: &[&str], time_out: Duration) -> Result<Vec<u8>, ToolError> {
    run_by(program, arguments, time_out, |command| {
        command.process_group(0);
    })
}

fn run_by(
    program: &'static str,
    arguments: &[&str],
    time_out: Duration,
    prepare: impl Fn(&mut Command),
) -> Result<Vec<u8>, ToolError> {
    for folder in FOLDERS {
        let mut command = Command::new(format!("{folder}{program}"));
        command
            .args(arguments)
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("DEBUGFS_PAGER", "__none__")
            .env_remove("PAGER");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        prepare(&mut command);
        match command.spawn() {
            Ok(child) => return collect_output(program, child, time_out),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(ToolError::Permission(program));
            }
            Err(error) => return Err(ToolError::Failed(program, error.to_string())),
        }
    }
    Err(ToolError::Absent(program))
}

fn collect_output(program: &'static str, mut child: Child, time_out: Duration) -> Result<Vec<u8>, ToolError> {
    let failed = |error: io::Error| ToolError::Failed(program, error.to_string());
    let broken = || failed(io::ErrorKind::BrokenPipe.into());
    let (out, err) = (child.stdout.take().ok_or_else(broken)?, child.stderr.take().ok_or_else(broken)?);
    let (sender, receiver) = mpsc::channel();
    let error_output = thread::spawn(move || {
        let (mut output, mut err) = (Vec::new(), err);
        let _ = err.by_ref().take(ERROR_OUTPUT_MAX).read_to_end(&mut output);
        // A full pipe would block the program, or end it.
        let _ = io::copy(&mut err, &mut io::sink());
        output
    });
    thread::spawn(move || {
        let mut output = Vec::new();
        let read = out.take(OUTPUT_MAX as u64 + 1).read_to_end(&mut output);
        let _ = sender.send(read.map(|_| output));
    });
    let received = receiver.recv_timeout(time_out);
    if !matches!(&received, Ok(Ok(output)) if output.len() <= OUTPUT_MAX) {
        let _ = child.kill();
        thread::spawn(move || child.wait());
        return Err(match received {
            Err(_) => ToolError::TimedOut(program, time_out.as_secs()),
            Ok(Err(error)) => failed(error),
            Ok(Ok(_)) => ToolError::TooMuch(program),
        });
    }
    let output = received.ok().and_then(Result::ok).unwrap_or_default();
    let status = child.wait().map_err(failed)?;
    let error_output = error_output.join().unwrap_or_default();
    if status.success() {
        return Ok(output);
    }
    let error_output = String::from_utf8_lossy(&error_output).into_owned();
    let last = error_output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it did not say why");
    Err(ToolError::Failed(program, last.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_failures_of_a_program_are_returned() {
        assert_eq!(run("echo", &["a", "b"]).unwrap(), b"a b\n");
        let message = |result: Result<Vec<u8>, ToolError>| result.unwrap_err().to_string();
        assert_eq!(message(run("scrubjay-no-such-program", &[])), "scrubjay-no-such-program is not installed");
        assert_eq!(message(run("sh", &["-c", "echo first >&2; echo last >&2; exit 3"])), "sh failed: last");
        assert!(matches!(
            run_within("sleep", &["60"], Duration::from_millis(50)),
            Err(ToolError::TimedOut("sleep", 0))
        ));
    }
}
