//! Why a path cannot be a member, in one line each.

use super::busy::MemberHolder;
use crate::completion::own_uid;
use crate::target::permission_advice;
use std::io;
use std::path::{Path, PathBuf};

/// Why a path cannot be a member.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// No file has this name.
    #[error("{path}: no such file or device")]
    Absent {
        /// Path, as the user gave it.
        path: PathBuf,
    },
    /// The user may not open it in this way.
    #[error("{path}: permission denied: {advice}")]
    Permission {
        /// Path, as the user gave it.
        path: PathBuf,
        /// What to do.
        advice: &'static str,
        /// Is it no matter of who asks: it may not be written by anybody?
        is_for_all: bool,
    },
    /// A directory, a terminal, ...
    #[error("{path} is a {kind}: name a block device or a file{hint}")]
    Kind {
        /// Path, as the user gave it.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
        /// What may have been meant.
        hint: String,
    },
    /// Another program or the kernel uses it.
    #[error("{path} {holder}")]
    Busy {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Its holder.
        holder: MemberHolder,
    },
    /// A disk whose blocks are larger than those that the volume was made for.
    #[error("{path} has blocks of {disk_block} bytes, and the volume was made for {volume_block}")]
    Block {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The disk's block size in bytes.
        disk_block: u64,
        /// The volume's block size in bytes.
        volume_block: u64,
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
    /// The error for a system call on `path`.
    pub(super) fn of(path: &Path, source: io::Error) -> MemberError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => MemberError::Absent { path },
            io::ErrorKind::PermissionDenied => {
                let advice = permission_advice(&path);
                let is_for_all = source.raw_os_error() == Some(libc::EPERM) || own_uid() == 0;
                MemberError::Permission { path, advice, is_for_all }
            }
            _ => MemberError::Io { path, source },
        }
    }
}
