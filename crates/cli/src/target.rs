//! What the name of a scrub's target stands for: a disk or a file by its path, or a volume by its name or its socket.

use crate::exit::Exit;
use crate::volume::sockets;
use scrubjay_device::subject::Subject;
use scrubjay_device::target::{Target, TargetError};
use scrubjay_serve::remote::client::ClientError;
use scrubjay_serve::remote::{FindingsFeed, Remote, RemoteError};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// What a name stands for.
pub struct ResolvedTarget {
    /// It.
    pub subject: Box<dyn Subject>,
    /// Of a volume: what it finds wrong from now on.
    pub finds: Option<FindingsFeed>,
}

/// It stands for nothing that can be scrubbed.
#[derive(Debug, thiserror::Error)]
pub enum NamedError {
    /// The disk or file cannot be opened.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Neither a file nor a volume is called so.
    #[error(
        "{0}: no such device or file, and no volume of this name is being served (start it with `scrubjay volume serve`)"
    )]
    Absent(PathBuf),
    /// Both a file and a volume are.
    #[error("{path} is a file here, and a volume, too: say ./{path} or {socket}")]
    Both {
        /// The name.
        path: PathBuf,
        /// The volume's socket.
        socket: PathBuf,
    },
    /// Several volumes are.
    #[error("several volumes are called {path}: name one of {}", .arrays.join(", "))]
    Several {
        /// The name.
        path: PathBuf,
        /// Their UUIDs.
        arrays: Vec<String>,
    },
    /// The volume cannot be scrubbed.
    #[error("{path}: {source}")]
    Remote {
        /// As named.
        path: PathBuf,
        /// Why not.
        source: RemoteError,
    },
}

impl ResolvedTarget {
    /// Opens what the user calls `path`.
    ///
    /// # Errors
    /// [`NamedError`].
    pub fn open(path: &Path) -> Result<ResolvedTarget, NamedError> {
        let kind = fs::metadata(path).map(|metadata| metadata.file_type());
        if kind.as_ref().is_ok_and(FileTypeExt::is_socket) {
            return ResolvedTarget::volume(path, path);
        }
        // A name is one word; `./word` is a path.
        let is_word = path.components().count() == 1 && !path.to_string_lossy().contains('/');
        let mut sockets = path.to_str().filter(|_| is_word).map(sockets::sockets_of).unwrap_or_default();
        if sockets.len() > 1 {
            let arrays = sockets.iter().map(|socket| sockets::array_of(socket)).collect();
            return Err(NamedError::Several { path: path.to_owned(), arrays });
        }
        let socket = sockets.pop();
        let is_target = kind.as_ref().is_ok_and(|kind| kind.is_file() || kind.is_block_device());
        match (socket, kind) {
            (Some(socket), _) if is_target => Err(NamedError::Both { path: path.to_owned(), socket }),
            (Some(socket), _) => ResolvedTarget::volume(path, &socket),
            (None, Err(error)) if is_word && error.kind() == ErrorKind::NotFound => {
                Err(NamedError::Absent(path.to_owned()))
            }
            (None, _) => Ok(ResolvedTarget { subject: Box::new(Target::open(path)?), finds: None }),
        }
    }

    fn volume(path: &Path, socket: &Path) -> Result<ResolvedTarget, NamedError> {
        let failed = |source| NamedError::Remote { path: path.to_owned(), source };
        let remote = Remote::open(path, socket).map_err(failed)?;
        let finds = Some(remote.finds());
        Ok(ResolvedTarget { subject: Box::new(remote), finds })
    }
}

impl NamedError {
    /// What to exit with.
    pub fn exit(&self) -> Exit {
        match self {
            NamedError::Target(TargetError::Permission { .. }) => Exit::Permission,
            NamedError::Remote { source: RemoteError::Client(ClientError::Io { source, .. }), .. }
                if source.kind() == ErrorKind::PermissionDenied =>
            {
                Exit::Permission
            }
            NamedError::Target(TargetError::Io { .. }) | NamedError::Remote { .. } => Exit::Failed,
            NamedError::Target(_) | NamedError::Absent(_) | NamedError::Both { .. } | NamedError::Several { .. } => {
                Exit::Usage
            }
        }
    }
}
