//! What the name of a scrub's target stands for: a disk, an array of md or a file by its path, a btrfs by where it is mounted, or
//! a volume by its name or its socket.

use crate::pool::WatchedPool;
use crate::sockets;
use scrubjay_device::btrfs::{BtrfsPool, PoolError};
use scrubjay_device::md::{MdArray, MdError, MdLog};
use scrubjay_device::subject::Subject;
use scrubjay_device::target::{Target, TargetError};
use scrubjay_serve::remote::{FindingsFeed, Remote, RemoteError};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// What a name stands for.
pub struct ResolvedTarget {
    /// What is scrubbed.
    pub subject: Box<dyn Subject>,
    /// Where it tells more than a disk can.
    pub logs: TargetLogs,
}

/// What some targets find wrong, told as it is found: of a disk there is none of these.
#[derive(Default)]
pub struct TargetLogs {
    /// Of a volume: what it finds wrong from now on.
    pub finds: Option<FindingsFeed>,
    /// Of a btrfs: how it is, and what is found.
    pub pool: Option<WatchedPool>,
    /// Of an array that md checks: what is found from now on.
    pub checked: Option<MdLog>,
}

/// Who makes right what is found wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepairWish {
    /// Whoever does so by himself: a volume's server, btrfs; md what a member cannot read.
    #[default]
    AsUsual,
    /// Nobody, where that can be had.
    None,
    /// Also md, where members do not agree.
    Disagreements,
}

/// It stands for nothing that can be scrubbed.
#[derive(Debug, thiserror::Error)]
pub enum TargetNameError {
    /// The disk or file cannot be opened.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The btrfs cannot be scrubbed.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A volume's server repairs, or not, as it was told.
    #[error("{0}: a volume repairs itself while it is scrubbed: serve it read-only if it is not to")]
    Repairs(PathBuf),
    /// Only md has to be told to repair.
    #[error(
        "{0}: --repair is for arrays of md: volumes and btrfs repair by themselves, and of a disk nothing tells what is right"
    )]
    NothingToRepair(PathBuf),
    /// It is an array, and may not be checked now.
    #[error(transparent)]
    Array(#[from] MdError),
    /// Neither a file nor a volume is called so.
    #[error("{0}: no such device or file, and no volume of this name is running")]
    Absent(PathBuf),
    /// Both a file and a volume are.
    #[error("{path} is a file here, and a volume, too: say ./{path} or {socket}")]
    Both {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The volume's socket.
        socket: PathBuf,
    },
    /// Several volumes are.
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
    /// Opens what the user calls `path`. In the folder `state` is noted what to put back of an array, should we be killed.
    ///
    /// # Errors
    /// [`TargetNameError`].
    pub fn open(path: &Path, state: &Path, wish: RepairWish) -> Result<ResolvedTarget, TargetNameError> {
        let resolved = ResolvedTarget::resolve(path, state, wish)?;
        match resolved.logs.checked {
            None if wish == RepairWish::Disagreements => Err(TargetNameError::NothingToRepair(path.to_owned())),
            _ => Ok(resolved),
        }
    }

    fn resolve(path: &Path, state: &Path, wish: RepairWish) -> Result<ResolvedTarget, TargetNameError> {
        let is_read_only = wish == RepairWish::None;
        let kind = fs::metadata(path).map(|metadata| metadata.file_type());
        if kind.as_ref().is_ok_and(FileTypeExt::is_socket) {
            return ResolvedTarget::volume(path, path, is_read_only);
        }
        // A name is one word; `./word` is a path.
        let is_word = path.components().count() == 1 && !path.to_string_lossy().contains('/');
        let mut sockets = path.to_str().filter(|_| is_word).map(sockets::sockets_of).unwrap_or_default();
        if sockets.len() > 1 {
            let arrays = sockets.iter().map(|socket| sockets::array_of(socket)).collect();
            return Err(TargetNameError::Several { path: path.to_owned(), arrays });
        }
        let socket = sockets.pop();
        let is_target = kind.as_ref().is_ok_and(|kind| kind.is_file() || kind.is_block_device());
        match (socket, kind) {
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

    /// Opens a disk or a file, whatever it belongs to.
    ///
    /// # Errors
    /// [`TargetNameError`].
    pub fn disk(path: &Path) -> Result<ResolvedTarget, TargetNameError> {
        Ok(ResolvedTarget { subject: Box::new(Target::open(path)?), logs: TargetLogs::default() })
    }

    fn device(path: &Path, state: &Path, wish: RepairWish) -> Result<ResolvedTarget, TargetNameError> {
        match MdArray::open(path, state)? {
            Some(array) => {
                let array = if wish == RepairWish::Disagreements { array.repairing() } else { array };
                let logs = TargetLogs { checked: Some(array.log()), ..TargetLogs::default() };
                Ok(ResolvedTarget { subject: Box::new(array), logs })
            }
            None => ResolvedTarget::disk(path),
        }
    }

    fn pool(path: &Path, is_read_only: bool) -> Result<ResolvedTarget, TargetNameError> {
        let btrfs = BtrfsPool::open(path, is_read_only)?;
        let pool = Some(WatchedPool { facts: btrfs.facts(), findings: btrfs.findings() });
        Ok(ResolvedTarget { subject: Box::new(btrfs), logs: TargetLogs { pool, ..TargetLogs::default() } })
    }

    fn volume(path: &Path, socket: &Path, is_read_only: bool) -> Result<ResolvedTarget, TargetNameError> {
        if is_read_only {
            return Err(TargetNameError::Repairs(path.to_owned()));
        }
        let failed = |source| TargetNameError::Remote { path: path.to_owned(), source };
        let remote = Remote::open(path, socket).map_err(failed)?;
        let logs = TargetLogs { finds: Some(remote.finds()), ..TargetLogs::default() };
        Ok(ResolvedTarget { subject: Box::new(remote), logs })
    }
}
