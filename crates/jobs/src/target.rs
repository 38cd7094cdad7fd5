//! Resolves the name of a scrub's target: a path (disk, md array, file, btrfs mount point), or a volume's name or socket.

use crate::sockets;
use crate::subject_state::SubjectLog;
use crate::zfs_pool;
use scrubjay_device::btrfs::{BtrfsPool, PoolError};
use scrubjay_device::md::{MdArray, MdError};
use scrubjay_device::subject::Subject;
use scrubjay_device::target::{Target, TargetError};
use scrubjay_serve::remote::{Remote, RemoteError};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A target that was resolved.
pub struct ResolvedTarget {
    /// What is scrubbed.
    pub subject: Box<dyn Subject>,
    /// What it tells beside its verdicts.
    pub log: SubjectLog,
}

/// Which errors are to be repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepairWish {
    /// Those that are repaired in any case: by a volume's server, by btrfs; by md, what a member cannot read.
    #[default]
    AsUsual,
    /// None, where repair can be switched off.
    None,
    /// Those, and mismatches: md makes the members agree.
    Disagreements,
}

/// Why a name stands for nothing that can be scrubbed.
#[derive(Debug, thiserror::Error)]
pub enum TargetNameError {
    /// The disk or file cannot be opened.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The btrfs cannot be scrubbed.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// Whether a volume is repaired is decided when it is served, not by the scrub.
    #[error("{0}: a volume repairs itself while it is scrubbed: serve it read-only if it is not to")]
    Repairs(PathBuf),
    /// Only md needs an order to repair.
    #[error(
        "{0}: --repair is for arrays of md: volumes and btrfs repair by themselves, and of a disk alone nothing shows what is right"
    )]
    NothingToRepair(PathBuf),
    /// It is an array, and may not be checked now.
    #[error(transparent)]
    Array(#[from] MdError),
    /// There is neither a file nor a volume of this name.
    #[error("{0}: no such device or file, and no volume of this name is running")]
    Absent(PathBuf),
    /// There is both a file and a volume of this name.
    #[error("{path} is a file here, and a volume, too: say ./{path} or {socket}")]
    Both {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The volume's socket.
        socket: PathBuf,
    },
    /// It is a pool of ZFS, part of one, or a device made of one.
    #[error(
        "{path}: part of the ZFS pool {pool}, which is scrubbed as a whole: sudo scrubjay scrub {pool} (its disks are scrubbed by their \
         own names)"
    )]
    Zfs {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The pool.
        pool: String,
    },
    /// There are several volumes of this name.
    #[error("several volumes are called {path}: name one of {}", .arrays.join(", "))]
    Several {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Their UUIDs.
        arrays: Vec<String>,
    },
    /// The volume cannot be scrubbed.
    #[error("{path}: {source}")]
    Remote {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The error of the system or library below.
        source: RemoteError,
    },
}

impl ResolvedTarget {
    /// Opens what the user calls `path`. A note in the folder `state` says what to restore on an array if this process
    /// is killed.
    ///
    /// # Errors
    /// [`TargetNameError`].
    pub fn open(path: &Path, state: &Path, wish: RepairWish) -> Result<ResolvedTarget, TargetNameError> {
        let resolved = ResolvedTarget::resolve(path, state, wish)?;
        match (&resolved.log, wish) {
            (SubjectLog::Md(..), _) => Ok(resolved),
            (_, RepairWish::Disagreements) => Err(TargetNameError::NothingToRepair(path.to_owned())),
            _ => Ok(resolved),
        }
    }

    fn resolve(path: &Path, state: &Path, wish: RepairWish) -> Result<ResolvedTarget, TargetNameError> {
        let is_read_only = wish == RepairWish::None;
        let kind = fs::metadata(path).map(|metadata| metadata.file_type());
        if kind.as_ref().is_ok_and(FileTypeExt::is_socket) {
            return ResolvedTarget::volume(path, path, is_read_only);
        }
        // A volume's name is one word; `./word` is a path.
        let is_word = path.components().count() == 1 && !path.to_string_lossy().contains('/');
        let mut sockets = path.to_str().filter(|_| is_word).map(sockets::sockets_of).unwrap_or_default();
        if sockets.len() > 1 {
            let arrays = sockets.iter().map(|socket| sockets::array_of(socket)).collect();
            return Err(TargetNameError::Several { path: path.to_owned(), arrays });
        }
        let socket = sockets.pop();
        let is_target = kind.as_ref().is_ok_and(|kind| kind.is_file() || kind.is_block_device());
        let pool = if socket.is_none() { zfs_pool::pool_of(path) } else { None };
        match (socket, kind) {
            (None, _) if pool.is_some() => {
                Err(TargetNameError::Zfs { path: path.to_owned(), pool: pool.unwrap_or_default() })
            }
            (Some(socket), _) if is_target => Err(TargetNameError::Both { path: path.to_owned(), socket }),
            (Some(socket), _) => ResolvedTarget::volume(path, &socket, is_read_only),
            (None, Err(error)) if is_word && error.kind() == ErrorKind::NotFound => {
                Err(TargetNameError::Absent(path.to_owned()))
            }
            (None, Ok(kind)) if kind.is_dir() => ResolvedTarget::pool(path, is_read_only),
            (None, Ok(kind)) if kind.is_block_device() => ResolvedTarget::device(path, state, wish),
            (None, _) => ResolvedTarget::disk(path),
        }
    }

    /// Opens a disk or a file itself, even if it belongs to an array or a volume.
    ///
    /// # Errors
    /// [`TargetNameError`].
    pub fn disk(path: &Path) -> Result<ResolvedTarget, TargetNameError> {
        Ok(ResolvedTarget { subject: Box::new(Target::open(path)?), log: SubjectLog::Plain })
    }

    fn device(path: &Path, state: &Path, wish: RepairWish) -> Result<ResolvedTarget, TargetNameError> {
        match MdArray::open(path, state)? {
            Some(array) => {
                let array = if wish == RepairWish::Disagreements { array.repairing() } else { array };
                let log = SubjectLog::Md(array.level(), array.log());
                Ok(ResolvedTarget { subject: Box::new(array), log })
            }
            None => ResolvedTarget::disk(path),
        }
    }

    fn pool(path: &Path, is_read_only: bool) -> Result<ResolvedTarget, TargetNameError> {
        let btrfs = BtrfsPool::open(path, is_read_only)?;
        let log = SubjectLog::Btrfs(Box::new(btrfs.facts()), btrfs.log());
        Ok(ResolvedTarget { subject: Box::new(btrfs), log })
    }

    fn volume(path: &Path, socket: &Path, is_read_only: bool) -> Result<ResolvedTarget, TargetNameError> {
        if is_read_only {
            return Err(TargetNameError::Repairs(path.to_owned()));
        }
        let failed = |source| TargetNameError::Remote { path: path.to_owned(), source };
        let remote = Remote::open(path, socket).map_err(failed)?;
        let log = SubjectLog::Volume(remote.findings());
        Ok(ResolvedTarget { subject: Box::new(remote), log })
    }
}
