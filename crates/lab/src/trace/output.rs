//! The destination of a trace: a file that appears when it is complete, or standard output; and the signals that stop it.

use crate::args::trace::Destination;
use anyhow::{Error, Result, ensure};
use scrubjay_cli::exit::Usage;
use scrubjay_cli::signals;
use scrubjay_cli::unwritable::unwritable;
use scrubjay_device::output::Existing;
use scrubjay_jobs::JobError;
use scrubjay_research::ResearchError;
use scrubjay_research::trace_output::TraceOutput;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by a signal, so that an incomplete file is removed before the end. A second signal ends the process at once.
#[derive(Debug)]
pub struct CleanupSignal(Arc<AtomicBool>);

impl CleanupSignal {
    /// Installs the signal handlers.
    ///
    /// # Errors
    /// When no handler can be installed.
    pub fn on_signals() -> io::Result<CleanupSignal> {
        signals::flag().map(CleanupSignal)
    }

    /// Continues, unless there was a signal.
    ///
    /// # Errors
    /// When there was a signal.
    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.0.load(Ordering::Relaxed),
            "stopped by a signal before the end: what was written is not complete"
        );
        Ok(())
    }
}

/// Begins an output at `path`; `-` is standard output.
///
/// # Errors
/// When the format is not known or cannot be written, the file exists and may not be replaced, or the file cannot be made.
pub fn create(path: &Path, destination: &Destination) -> Result<TraceOutput> {
    let to = destination.to.as_deref();
    if path != Path::new("-") {
        return TraceOutput::create(path, to, existing(destination.force), "--to").map_err(command_error);
    }
    let output = TraceOutput::to_stream(path, to, Box::new(io::stdout()), "standard output", "--to")?;
    if output.is_binary() && io::stdout().is_terminal() {
        let name = output.format().name;
        return Err(Usage(format!("{name} is not for a terminal: name a file, or a pipe")).into());
    }
    Ok(output)
}

/// Whether an existing file is replaced.
pub fn existing(force: bool) -> Existing {
    if force { Existing::Replaced } else { Existing::Kept }
}

/// The error in the words of the command.
fn command_error(error: ResearchError) -> Error {
    match error {
        ResearchError::Job(JobError::Output(error)) => unwritable(error),
        other => other.into(),
    }
}
