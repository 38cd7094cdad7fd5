//! The errors of opening and reading a trace, with the input concerned.

use crate::error::TraceError;

/// Why inputs could not be opened, or not be read to their end.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// There is no input.
    #[error("no trace is named")]
    Nothing,
    /// An input has no bytes at all.
    #[error("{name}: is empty")]
    Empty {
        /// The input's name.
        name: String,
    },
    /// Two inputs are of different formats.
    #[error("{name}: is in format {format}, but {other} is in format {format_other}")]
    Mixed {
        /// The name of one input.
        name: String,
        /// The format of that input.
        format: &'static str,
        /// The name of the other input.
        other: String,
        /// The format of the other input.
        format_other: &'static str,
    },
    /// Units were given, but the format's units are fixed.
    #[error("the numbers of {format} leave no doubt about their units: only those of mqsim and disksim can be set")]
    Units {
        /// The format.
        format: &'static str,
    },
    /// An input cannot be read, or is not a sound trace. (The error is in the text, and is therefore no source.)
    #[error("{name}: {error}")]
    Trace {
        /// The input's name.
        name: String,
        /// The error.
        error: TraceError,
    },
}
