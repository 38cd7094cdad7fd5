//! Runs a job on a thread of its own, without Python's lock; meanwhile signals are handled and progress is reported.

use crate::failure;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use scrubjay_research::ResearchError;
use scrubjay_research::job_control::JobControl;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The interval at which signals are checked and progress is reported.
const TURN: Duration = Duration::from_millis(50);

/// Runs `job` to its end on `threads` threads (zero: on all cores), and calls `progress(records, pieces,
/// pieces_expected)` every now and then, and at the end.
///
/// # Errors
/// The job's error; `KeyboardInterrupt`, or any exception raised by `progress`: then the job ends by itself soon
/// afterwards.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    threads: usize,
    job: impl FnOnce(&JobControl) -> Result<T, ResearchError> + Send + 'static,
) -> PyResult<T> {
    let control = Arc::new(JobControl::on_threads(threads));
    let (sender, mut receiver) = mpsc::channel();
    let thread_control = Arc::clone(&control);
    thread::spawn(move || drop(sender.send(job(&thread_control))));
    loop {
        let waiting = &mut receiver;
        match py.detach(move || waiting.recv_timeout(TURN)) {
            Ok(result) => {
                let result = result.map_err(|error| failure::raised(py, error))?;
                report(progress, &control)?;
                return Ok(result);
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = py.check_signals().and_then(|()| report(progress, &control)) {
                    control.stop();
                    return Err(interrupt);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("the job panicked: see stderr")),
        }
    }
}

fn report(progress: Option<&Bound<'_, PyAny>>, control: &JobControl) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    let now = control.progress();
    progress.call1((now.records, now.pieces, now.pieces_expected)).map(drop)
}
