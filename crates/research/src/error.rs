//! Why a question to traces or models cannot be answered.

use scrubjay_jobs::JobError;
use scrubjay_trace::InputError;

/// Why a question cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum ResearchError {
    /// As with any job: an input, a file, a parameter.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A trace cannot be opened, or cannot be read to its end.
    #[error(transparent)]
    Trace(InputError),
    /// A trace has no device of this name.
    #[error("the trace has no device `{name}`; it has {known}")]
    NoDevice {
        /// The name that was asked for.
        name: String,
        /// Devices that the trace has, or some of them.
        known: String,
    },
    /// No device of the traces has enough requests for a result.
    #[error("{most} requests are too few to tune to: min_requests asks for {least} of a device")]
    TooFewRequests {
        /// The requests of the busiest device.
        most: u64,
        /// The least number that was asked for.
        least: u64,
    },
    /// The job was stopped before its end.
    #[error("stopped before the end")]
    Stopped,
}
