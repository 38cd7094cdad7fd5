//! Why a job cannot be done, before it begins.

use scrubjay_serve::remote::client::ClientError;
use std::io;

/// Why a job cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// What was asked for cannot be, or an input is not what it should be; the text says what to do.
    #[error("{0}")]
    Input(String),
    /// The system refused something.
    #[error("{what}: {error}")]
    Io {
        /// What was to be done, with its path.
        what: String,
        /// What the system says.
        error: io::Error,
    },
    /// No server says that it serves this volume, and one does not answer.
    #[error("no server says that it serves {volume}: {error}")]
    Unanswered {
        /// As it was named.
        volume: String,
        /// Of the server that does not answer.
        error: Box<JobError>,
    },
    /// The server of a volume does not answer as it should.
    #[error(transparent)]
    Client(ClientError),
}

impl JobError {
    /// Of a file that cannot be opened or made: a matter of rights, or else of a wrong name.
    pub fn inaccessible(what: String, error: io::Error) -> JobError {
        match error.kind() {
            io::ErrorKind::PermissionDenied => JobError::Io { what, error },
            _ => JobError::Input(format!("{what}: {error}")),
        }
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
