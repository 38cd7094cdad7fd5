//! Refusals before anything was done, with their exit codes.

use crate::exit::Exit;
use scrubjay_core::layout::LayoutError;
use scrubjay_core::volume::format::assemble::AssembleError;
use scrubjay_core::volume::format::geometry::GeometryError;
use scrubjay_device::member::MemberError;

/// A refusal; nothing was done.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Refused {
    /// Why, in one line.
    pub text: String,
    /// The exit code.
    pub exit: Exit,
}

impl Refused {
    /// The command or a member is wrong.
    pub fn usage(text: impl Into<String>) -> Refused {
        Refused { text: text.into(), exit: Exit::Usage }
    }
}

impl From<MemberError> for Refused {
    fn from(error: MemberError) -> Refused {
        let exit = match error {
            MemberError::Permission { .. } => Exit::Permission,
            MemberError::Io { .. } => Exit::Failed,
            _ => Exit::Usage,
        };
        Refused { text: error.to_string(), exit }
    }
}

impl From<LayoutError> for Refused {
    fn from(error: LayoutError) -> Refused {
        Refused::usage(error.to_string())
    }
}

impl From<GeometryError> for Refused {
    fn from(error: GeometryError) -> Refused {
        Refused::usage(error.to_string())
    }
}

impl From<AssembleError> for Refused {
    fn from(error: AssembleError) -> Refused {
        Refused::usage(error.to_string())
    }
}
