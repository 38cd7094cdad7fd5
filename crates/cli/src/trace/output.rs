//! Where a trace is written to: a file that appears when it is complete, or standard output; and the signals that end it.

use crate::args::trace::Destination;
use crate::exit::Usage;
use crate::signals;
use crate::unwritable::unwritable;
use anyhow::{Error, Result, ensure};
use scrubjay_device::output::Existing;
use scrubjay_jobs::JobError;
use scrubjay_jobs::trace_output::TraceOutput;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by a signal, so that half a file is removed before the end. A second signal ends at once.
#[derive(Debug)]
pub struct CleanupSignal(Arc<AtomicBool>);

impl CleanupSignal {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the signals cannot be listened to.
    pub fn on_signals() -> io::Result<CleanupSignal> {
        signals::flag().map(CleanupSignal)
    }

    /// Goes on, unless there was a signal.
    ///
    /// # Errors
    /// When there was one.
    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.0.load(Ordering::Relaxed),
            "stopped by a signal before the end: what was written is not complete"
        );
        Ok(())
    }
}

/// Begins to write to `path`; `-` is standard output.
///
/// # Errors
/// When the format is not known or cannot be written, the file exists and may not be replaced, or cannot be made.
pub fn create(path: &Path, destination: &Destination) -> Result<TraceOutput> {
    let to = destination.to.as_deref();
    if path != Path::new("-") {
        return TraceOutput::create(path, to, existing(destination.force), "--to").map_err(refused);
    }
    let output = TraceOutput::to_stream(path, to, Box::new(io::stdout()), "standard output", "--to")?;
    if output.is_binary() && io::stdout().is_terminal() {
        let name = output.format().name;
        return Err(Usage(format!("{name} is not for a terminal: name a file, or a pipe")).into());
    }
    Ok(output)
}

/// What becomes of a file that is there already.
pub fn existing(force: bool) -> Existing {
    if force { Existing::Replaced } else { Existing::Kept }
}

/// As the command says it.
fn refused(error: JobError) -> Error {
    match error {
        JobError::Output(error) => unwritable(error),
        other => other.into(),
    }
}
