//! Why a trace cannot be had, and which of its inputs is to blame.

use crate::error::TraceError;

/// Why inputs could not be opened, or not be read to their end.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// There is none.
    #[error("no trace is named")]
    Nothing,
    /// An input has no bytes at all.
    #[error("{name}: is empty")]
    Empty {
        /// Its name.
        name: String,
    },
    /// Two inputs are of different formats.
    #[error("{name}: is in format {format}, but {other} is in format {format_other}")]
    Mixed {
        /// The name of the one.
        name: String,
        /// Its format.
        format: &'static str,
        /// The name of the other.
        other: String,
        /// Its format.
        format_other: &'static str,
    },
    /// Units were named, but the format leaves no doubt about them.
    #[error("the numbers of {format} leave no doubt about their units: only those of mqsim and disksim can be set")]
    Units {
        /// The format.
        format: &'static str,
    },
    /// An input is not what it should be.
    #[error("{name}: {error}")]
    Trace {
        /// Its name.
        name: String,
        /// What is wrong with it.
        #[source]
        error: TraceError,
    },
}
