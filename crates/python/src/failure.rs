//! Errors as the exceptions of `scrubjay._errors`: one line of text, with the file and the place if they are known.

use pyo3::prelude::*;
use scrubjay_device::output::OutputError;
use scrubjay_jobs::JobError;
use scrubjay_research::ResearchError;
use scrubjay_trace::{InputError, SourcePlace, TraceError};
use std::io;

/// The exception for a job's error.
pub fn raised(py: Python<'_>, error: impl Into<ResearchError>) -> PyErr {
    let error = error.into();
    let text = error.to_string();
    match &error {
        ResearchError::Trace(InputError::Trace { name, error: TraceError::Io(error) }) => {
            raise(py, of_io(error, "TraceError"), text, Some(name), None)
        }
        ResearchError::Trace(InputError::Trace { name, error }) => {
            raise(py, "TraceError", text, Some(name), place(error))
        }
        ResearchError::Trace(InputError::Empty { name } | InputError::Mixed { name, .. }) => {
            raise(py, "TraceError", text, Some(name), None)
        }
        ResearchError::Trace(_) | ResearchError::Job(JobError::UnusedParameter(_)) => {
            raise(py, "OptionError", text, None, None)
        }
        ResearchError::Job(JobError::Unopened { what, error } | JobError::Io { what, error }) => {
            raise(py, of_io(error, "FileError"), text, Some(what), None)
        }
        ResearchError::NoDevice { .. } => raise(py, "DeviceError", text, None, None),
        ResearchError::Job(JobError::Output(OutputError::Exists { path })) => {
            let name = path.display().to_string();
            raise(py, "FileError", format!("{name} exists; force=True replaces it"), Some(&name), None)
        }
        ResearchError::Job(JobError::Output(OutputError::Unfit { path, .. } | OutputError::Io { path, .. })) => {
            raise(py, "FileError", text, Some(&path.display().to_string()), None)
        }
        ResearchError::TooFewRequests { .. } | ResearchError::Job(JobError::Input(_)) => {
            raise(py, "TraceError", text, None, None)
        }
        _ => raise(py, "Error", text, None, None),
    }
}

/// The exception for an invalid option.
pub fn refused(py: Python<'_>, option: &str, complaint: &str) -> PyErr {
    raise(py, "OptionError", format!("{option}: {complaint}"), None, None)
}

/// The place of the error in the file.
fn place(error: &TraceError) -> Option<SourcePlace> {
    match error {
        TraceError::Corrupt { place, .. } | TraceError::Malformed { place, .. } => Some(*place),
        TraceError::OutOfOrder { record, .. } => Some(SourcePlace::Row(*record)),
        _ => None,
    }
}

fn of_io(error: &io::Error, otherwise: &'static str) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "MissingFileError",
        _ if error.raw_os_error().is_some() => "FileError",
        _ => otherwise,
    }
}

/// An exception of this class; if it cannot be made, the error from making it.
fn raise(py: Python<'_>, class: &str, text: String, file: Option<&str>, place: Option<SourcePlace>) -> PyErr {
    let build = || -> PyResult<PyErr> {
        let class = py.import("scrubjay._errors")?.getattr(class)?;
        let exception = class.call1((text,))?;
        exception.setattr("file", file)?;
        exception.setattr("place", place.map(|place| place.to_string()))?;
        Ok(PyErr::from_value(exception))
    };
    build().unwrap_or_else(|error| error)
}
