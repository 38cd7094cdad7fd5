//! Runs a program of the user's or the system's: in its own process group, all of which is killed at a time-out.

use super::bounds::TimeBound;
use super::error::DeliveryError;
use super::outgoing::excerpt;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of its output that are kept; the rest is read and dropped.
const OUTPUT_MAX: usize = 4096;
/// The interval between checks whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long its output is read after its end: processes that it left in the background may hold the output open.
const DRAIN_TIME: Duration = Duration::from_millis(200);
/// Variables between systemd and the daemon, which the program does not get.
const SYSTEMD_VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// A program to be run.
pub(crate) struct ProgramCall<'a> {
    /// The program.
    pub(crate) program: &'a Path,
    /// Its arguments.
    pub(crate) arguments: Vec<OsString>,
    /// Variables that are added to its environment.
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Its standard input.
    pub(crate) input: Vec<u8>,
    /// What to do if it fails.
    pub(crate) advice: &'static str,
}

impl ProgramCall<'_> {
    /// Runs it to its end; returns its output if it succeeded.
    pub(crate) fn run(self, bound: &TimeBound) -> Result<String, DeliveryError> {
        let peer = self.program.display().to_string();
        let advice = self.advice;
        let failed = |why: String| DeliveryError::Program { peer: peer.clone(), why, advice };
        let (mut child, output) = self.start().map_err(|error| failed(format!("cannot be run: {error}")))?;
        let pieces = read_output(output);
        feed(&mut child, self.input);
        let Some(status) = wait(&mut child, bound).map_err(|error| failed(format!("was lost: {error}")))? else {
            kill_group(child);
            return Err(failed("did not end in time, and was killed with all that it had started".to_owned()));
        };
        let output = collect_output(&pieces);
        if status.success() {
            return Ok(output);
        }
        let ending = exit_text(status);
        Err(failed(if output.is_empty() { ending } else { format!("{ending}: {output}") }))
    }

    fn start(&self) -> io::Result<(Child, PipeReader)> {
        let mut command = Command::new(self.program);
        command.args(&self.arguments).process_group(0);
        for (name, value) in &self.environment {
            command.env(name, OsStr::new(&value.replace('\0', " ")));
        }
        for name in SYSTEMD_VARIABLES {
            command.env_remove(name);
        }
        // Both streams into one pipe, so that the order is kept.
        let (reader, writer) = io::pipe()?;
        command.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
        // The command owns the writing ends and is dropped here, so the pipe ends when the program does.
        Ok((command.spawn()?, reader))
    }
}

/// Reads its output, in a thread, piece by piece.
fn read_output(mut output: PipeReader) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let (mut buffer, mut kept) = ([0; OUTPUT_MAX], 0);
        while let Ok(length @ 1..) = output.read(&mut buffer) {
            let piece = length.min(OUTPUT_MAX - kept);
            kept += piece;
            // It is read even without a receiver, because a full pipe would block the program.
            if piece > 0 {
                let _ = sender.send(buffer[..piece].to_vec());
            }
        }
    });
    receiver
}

/// Its output, in one line.
fn collect_output(pieces: &Receiver<Vec<u8>>) -> String {
    let mut all = Vec::new();
    let end = Instant::now() + DRAIN_TIME;
    while let Ok(piece) = pieces.recv_timeout(end.saturating_duration_since(Instant::now())) {
        all.extend(piece);
    }
    excerpt(&String::from_utf8_lossy(&all))
}

/// Writes its input, in a thread, because it need not read it.
fn feed(child: &mut Child, input: Vec<u8>) {
    if let Some(mut pipe) = child.stdin.take() {
        thread::spawn(move || pipe.write_all(&input));
    }
}

/// Waits until it ends or the time is over.
fn wait(child: &mut Child, bound: &TimeBound) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        match bound.left(POLL_INTERVAL) {
            Some(pause) => thread::sleep(pause),
            None => return Ok(None),
        }
    }
}

/// Kills it and its whole group, and has a thread reap it.
fn kill_group(mut child: Child) {
    // It is not reaped yet, so its id cannot belong to another process.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    thread::spawn(move || child.wait());
}

fn exit_text(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended somehow".to_owned(),
    }
}
