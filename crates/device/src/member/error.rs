//! Why something cannot be a member, in one line each.

use super::busy::MemberHolder;
use crate::target::permission_advice;
use std::io;
use std::path::{Path, PathBuf};

/// Why something cannot be a member.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// Nothing has this name.
    #[error("{path}: no such file or device")]
    Absent {
        /// Path, as the user gave it.
        path: PathBuf,
    },
    /// We may not do with it what was asked.
    #[error("{path}: permission denied: {advice}")]
    Permission {
        /// Path, as the user gave it.
        path: PathBuf,
        /// What to do.
        advice: &'static str,
    },
    /// A directory, a terminal, ...
    #[error("{path} is a {what}: name a block device or a file{hint}")]
    Kind {
        /// Path, as the user gave it.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What may have been meant.
        hint: String,
    },
    /// Somebody else has it.
    #[error("{path} {busy}")]
    Busy {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Who holds it.
        busy: MemberHolder,
    },
    /// A disk whose blocks are greater than those that the volume was made for.
    #[error("{path} has blocks of {theirs} bytes, and the volume was made for {ours}")]
    Block {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The disk's, in bytes.
        theirs: u64,
        /// The volume's.
        ours: u64,
    },
    /// Anything else.
    #[error("{path}: {source}")]
    Io {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The error of the system or library below.
        source: io::Error,
    },
}

impl MemberError {
    /// What the kernel said of `path`.
    pub(super) fn of(path: &Path, source: io::Error) -> MemberError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => MemberError::Absent { path },
            io::ErrorKind::PermissionDenied => {
                let advice = permission_advice(&path);
                MemberError::Permission { path, advice }
            }
            _ => MemberError::Io { path, source },
        }
    }
}
