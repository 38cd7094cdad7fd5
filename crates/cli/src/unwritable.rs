//! The error and exit code if a file cannot be written.

use crate::exit::Usage;
use anyhow::Error;
use scrubjay_device::output::OutputError;
use scrubjay_jobs::JobError;

/// Converts the error: missing rights, or a wrong name.
pub fn unwritable(error: OutputError) -> Error {
    match error {
        OutputError::Exists { path } => Usage(format!("{} exists; --force replaces it", path.display())).into(),
        OutputError::Unfit { .. } => Usage(error.to_string()).into(),
        OutputError::Io { path, source } => {
            JobError::inaccessible(format!("cannot write {}", path.display()), source).into()
        }
    }
}
