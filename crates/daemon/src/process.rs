//! A process with a time-out, of whose output a bounded amount is read.

use std::io::{self, Read};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The interval between checks whether a process whose output has ended is gone.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How a process ended.
#[derive(Debug)]
pub enum ProcessEnding {
    /// It ended, with this output.
    Ended(Vec<u8>, ExitStatus),
    /// It wrote more than was to be read, and was killed.
    TooMuch,
    /// It did not end in time, and was killed.
    TimedOut,
    /// Its pipe or its status cannot be read.
    Lost(io::Error),
}

/// Reads a process's output until it ends, no more than `bytes_max` bytes of it, and kills it if that takes too long. Returns in time even
/// if it cannot be killed: a process that waits for a drive inside the kernel dies when the drive answers.
pub fn wait_for_output(mut child: Child, time_out: Duration, bytes_max: usize) -> ProcessEnding {
    let deadline = Instant::now() + time_out;
    let Some(pipe) = child.stdout.take() else { return ProcessEnding::Lost(io::ErrorKind::BrokenPipe.into()) };
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut output = Vec::new();
        let read = pipe.take(bytes_max as u64 + 1).read_to_end(&mut output);
        // The receiver is gone if this took too long.
        let _ = sender.send(read.map(|_| output));
    });
    match receiver.recv_timeout(time_out) {
        Ok(Ok(output)) if output.len() > bytes_max => {
            kill_and_reap(child);
            ProcessEnding::TooMuch
        }
        Ok(Ok(output)) => loop {
            match child.try_wait() {
                Ok(Some(status)) => return ProcessEnding::Ended(output, status),
                Ok(None) if Instant::now() < deadline => thread::sleep(POLL_INTERVAL),
                Ok(None) => {
                    kill_and_reap(child);
                    return ProcessEnding::TimedOut;
                }
                Err(error) => return ProcessEnding::Lost(error),
            }
        },
        Ok(Err(error)) => {
            kill_and_reap(child);
            ProcessEnding::Lost(error)
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            kill_and_reap(child);
            ProcessEnding::TimedOut
        }
    }
}

/// Kills it, and has a thread reap it.
fn kill_and_reap(mut child: Child) {
    // It may have ended meanwhile.
    let _ = child.kill();
    thread::spawn(move || child.wait());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_hangs_is_killed_and_leaves_no_zombie() {
        // Even on a slow machine it does not end by itself.
        let child = Command::new("sleep").arg("infinity").stdout(Stdio::piped()).spawn().unwrap();
        let place = format!("/proc/{}", child.id());
        assert!(matches!(wait_for_output(child, Duration::from_millis(50), 100), ProcessEnding::TimedOut));
        while Path::new(&place).exists() {
            thread::yield_now();
        }
    }

    #[test]
    fn a_process_that_closes_its_output_and_hangs_is_killed_as_well() {
        let child = Command::new("sh").args(["-c", "exec sleep infinity >&-"]).stdout(Stdio::piped()).spawn().unwrap();
        let place = format!("/proc/{}", child.id());
        assert!(matches!(wait_for_output(child, Duration::from_millis(50), 100), ProcessEnding::TimedOut));
        while Path::new(&place).exists() {
            thread::yield_now();
        }
    }
}
