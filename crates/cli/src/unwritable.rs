//! What is said, and exited with, when a file cannot be written.

use crate::exit::Usage;
use anyhow::Error;
use scrubjay_device::output::OutputError;
use scrubjay_jobs::JobError;

/// A matter of rights, or of a wrong name.
pub fn unwritable(error: OutputError) -> Error {
    match error {
        OutputError::Exists { path } => Usage(format!("{} exists; --force replaces it", path.display())).into(),
        OutputError::Unfit { .. } => Usage(error.to_string()).into(),
        OutputError::Io { path, source } => {
            JobError::inaccessible(format!("cannot write {}", path.display()), source).into()
        }
    }
}
