//! Why a job cannot be done, before it begins.

use crate::parameter::UnusedParameter;
use scrubjay_control::FolderError;
use scrubjay_device::output::OutputError;
use scrubjay_serve::remote::client::ClientError;
use std::io;

/// Why a job cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The job that was asked for is impossible, or an input is not what it should be; the text says what to do.
    #[error("{0}")]
    Input(String),
    /// A file cannot be opened: mostly there is none of this name.
    #[error("{what}: {error}")]
    Unopened {
        /// Its path, or what was to be done with it.
        what: String,
        /// The system's error.
        error: io::Error,
    },
    /// A parameter that the policy does not use.
    #[error(transparent)]
    UnusedParameter(UnusedParameter),
    /// A file cannot be written.
    #[error(transparent)]
    Output(OutputError),
    /// The system refused something.
    #[error("{what}: {error}")]
    Io {
        /// What was to be done, with its path.
        what: String,
        /// The system's error.
        error: io::Error,
    },
    /// No server reports that it serves this volume, and one does not answer.
    #[error("no server says that it serves {volume}: {error}")]
    Unanswered {
        /// The volume's name, as it was given.
        volume: String,
        /// The error of the server that does not answer.
        error: Box<JobError>,
    },
    /// The server of a volume does not answer as it should.
    #[error(transparent)]
    Client(ClientError),
}

impl JobError {
    /// The error for a file that cannot be opened or made: [`JobError::Io`] if rights are missing, else
    /// [`JobError::Unopened`].
    pub fn inaccessible(what: String, error: io::Error) -> JobError {
        match error.kind() {
            io::ErrorKind::PermissionDenied => JobError::Io { what, error },
            _ => JobError::Unopened { what, error },
        }
    }
}

impl From<FolderError> for JobError {
    fn from(error: FolderError) -> JobError {
        JobError::Input(error.to_string())
    }
}

impl From<ClientError> for JobError {
    fn from(error: ClientError) -> JobError {
        match error {
            ClientError::Refused(why) => JobError::Input(why),
            ClientError::Io { socket, source } => JobError::Io { what: socket.display().to_string(), error: source },
            error => JobError::Client(error),
        }
    }
}
