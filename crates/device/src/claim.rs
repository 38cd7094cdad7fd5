//! Claims: two scrubs of one disk would delay each other, so the second is refused, with an error that names the holder.
//!
//! A claim is a locked file (`flock(2)`) in a folder that only its user may enter: `/run/scrubjay/claims` for root,
//! `$XDG_RUNTIME_DIR/scrubjay/claims` for others, `/tmp/scrubjay-UID/claims` where there is none. So no other user can keep root
//! from scrubbing, and a lock is taken at once or not at all. The kernel releases it however its holder ends, but not before the
//! holder's last requests at the disk have ended.
//! (Users do not see each other's claims, nor do containers with a `/run` of their own.)

use crate::owner::{self, Meddler};
use crate::store;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use scrubjay_core::shown::shown;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A claim on a disk, held until it is dropped.
#[derive(Debug)]
pub struct DiskClaim {
    folder: OwnedFd,
    name: String,
    _file: File,
}

/// Why a claim is refused.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Another process holds it.
    #[error("is being scrubbed already, by process {pid} ({command}): let it finish, or stop it (a stop is a pause)")]
    Held {
        /// Process ID.
        pid: u32,
        /// Its command line.
        command: String,
    },
    /// A killed process still holds it: it does not end before its last requests at the disk do.
    #[error(
        "is still held by process {pid}, which was killed and waits for its last requests at the disk: try again in a moment"
    )]
    Ending {
        /// Process ID.
        pid: u32,
    },
    /// Another process holds it, but it is not known which.
    #[error("is being scrubbed already, by a process that cannot be seen from here: let it finish, or stop it there")]
    HeldUnseen,
    /// This process itself holds it.
    #[error("lies on the same disk as another target of this command: scrub them one after the other")]
    HeldByThisProcess,
    /// Another user owns the folder, or may write to it.
    #[error(
        "cannot be claimed: {folder}: {meddler}, and others could be in the way: remove it, or give it to us alone"
    )]
    Meddled {
        /// The folder of claims.
        folder: PathBuf,
        /// Who can change it.
        meddler: Meddler,
    },
    /// The kernel refuses a call.
    #[error("cannot be claimed: {path}: {source}")]
    Io {
        /// The folder or file that cannot be made or locked.
        path: PathBuf,
        /// The error of the system or library below.
        source: io::Error,
    },
}

/// Mode of the folders: for their owner alone.
const FOLDER_MODE: Mode = Mode::RWXU;
/// Mode of the files: for their owner alone.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Attempts to make and lock the file, at most: its last holder may remove it between our opening and locking it.
const TRIES_MAX: usize = 100;
/// Retries while a killed holder still has requests at the disk, at most.
const ENDING_RETRIES: u32 = 40;
/// Pause before each such retry. A request to a good disk takes no longer than all of them, 2 s.
const ENDING_RETRY_PAUSE: Duration = Duration::from_millis(50);

impl DiskClaim {
    /// Claims the disk that `name` stands for, one holder at a time. Waits for a holder that was killed, at most two seconds, because
    /// its last requests may not have ended when a scrub is started again at once. Waits for no other holder.
    ///
    /// # Errors
    /// [`ClaimError::Held`] when another process holds it.
    pub fn take(name: &str) -> Result<DiskClaim, ClaimError> {
        let mut retries = 0;
        loop {
            match DiskClaim::take_in_folder(&folder(), name) {
                Err(ClaimError::Ending { .. }) if retries < ENDING_RETRIES => thread::sleep(ENDING_RETRY_PAUSE),
                result => return result,
            }
            retries += 1;
        }
    }

    fn take_in_folder(path: &Path, name: &str) -> Result<DiskClaim, ClaimError> {
        let name = store::file_name(name);
        let fail = |source: Errno| ClaimError::Io { path: path.join(&name), source: source.into() };
        let folder = open(path)?;
        for _ in 0..TRIES_MAX {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let mut file = File::from(rustix::fs::openat(&folder, &name, flags, FILE_MODE).map_err(fail)?);
            match file.try_lock() {
                Ok(()) => (),
                Err(TryLockError::WouldBlock) => return Err(holder_error(&mut file)),
                Err(TryLockError::Error(source)) => return Err(ClaimError::Io { path: path.join(&name), source }),
            }
            // The last holder removed the file meanwhile: the next process would make and lock another one.
            if !is_named(&folder, &name, &file) {
                continue;
            }
            // For the message of a process that is refused. Without the number it cannot name the holder.
            let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
            return Ok(DiskClaim { folder, name, _file: file });
        }
        Err(fail(Errno::AGAIN))
    }
}

/// The name under which a disk of this identity is claimed.
pub fn name_of(key: &str) -> String {
    format!("name/{}", store::short_name(key))
}

/// The process that scrubs the disk of this identity now, as far as it can be seen from here. Takes no lock.
pub fn holder(key: &str) -> Option<u32> {
    let metadata = fs::symlink_metadata(folder().join(store::file_name(&name_of(key)))).ok()?;
    let device = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    lock_holder(&fs::read_to_string("/proc/locks").ok()?, device, metadata.ino())
}

/// The holder of the `flock` of a file: proc_locks(5), `1: FLOCK  ADVISORY  WRITE 1234 00:1a:5678 0 EOF`, the device in hex.
fn lock_holder(locks: &str, device: (u32, u32), inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, pid, place, ..] = words[..] else { return None };
        let mut parts = place.split(':');
        let major = u32::from_str_radix(parts.next()?, 16).ok()?;
        let minor = u32::from_str_radix(parts.next()?, 16).ok()?;
        let is_match = (major, minor) == device && parts.next()?.parse() == Ok(inode);
        if is_match { pid.parse().ok() } else { None }
    })
}

impl Drop for DiskClaim {
    fn drop(&mut self) {
        // Removed while still locked, so no other process can take this very file for its claim.
        let _ = rustix::fs::unlinkat(&self.folder, &self.name, rustix::fs::AtFlags::empty());
    }
}

/// Whether `name` still leads to this file.
fn is_named(folder: &OwnedFd, name: &str, file: &File) -> bool {
    let named = rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    named.is_ok_and(|named| {
        file.metadata().is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == (named.st_dev, named.st_ino))
    })
}

/// The folder of this user's claims.
fn folder() -> PathBuf {
    const NAME: &str = "scrubjay/claims";
    if owner::is_root() {
        return Path::new("/run").join(NAME);
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|folder| folder.is_absolute() && folder.is_dir()) {
        Some(folder) => folder.join(NAME),
        None => PathBuf::from(format!("/tmp/scrubjay-{}/claims", owner::user())),
    }
}

/// Opens the folder. Makes the last two parts of its path if they are missing, for this user alone.
fn open(path: &Path) -> Result<OwnedFd, ClaimError> {
    let fail = |at: &Path, source: Errno| ClaimError::Io { path: at.to_owned(), source: source.into() };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut opened = None;
    for at in [path.parent().unwrap_or(path), path] {
        match rustix::fs::mkdirat(CWD, at, FOLDER_MODE) {
            Ok(()) | Err(Errno::EXIST) => (),
            Err(source) => return Err(fail(at, source)),
        }
        let folder = rustix::fs::openat(CWD, at, flags, Mode::empty()).map_err(|source| fail(at, source))?;
        let status = rustix::fs::fstat(&folder).map_err(|source| fail(at, source))?;
        if status.st_uid != owner::user() {
            let meddler = Meddler::Owner { at: at.to_owned(), user: status.st_uid };
            return Err(ClaimError::Meddled { folder: path.to_owned(), meddler });
        }
        if status.st_mode & 0o022 != 0 {
            let meddler = Meddler::Others { at: at.to_owned() };
            return Err(ClaimError::Meddled { folder: path.to_owned(), meddler });
        }
        opened = Some(folder);
    }
    Ok(opened.expect("two folders were opened"))
}

/// The error that names the holder of a locked file.
fn holder_error(file: &mut File) -> ClaimError {
    let mut text = String::new();
    let read = file.take(32).read_to_string(&mut text);
    match read.ok().and_then(|_| text.trim().parse::<u32>().ok()) {
        Some(pid) if pid == std::process::id() => ClaimError::HeldByThisProcess,
        Some(pid) => match fs::read(format!("/proc/{pid}/cmdline")) {
            // The process has released its memory, and its command line with it.
            Ok(line) if line.is_empty() => ClaimError::Ending { pid },
            Ok(line) => {
                let words = line.split(|&byte| byte == 0).filter(|word| !word.is_empty());
                let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
                ClaimError::Held { pid, command: shown(&words.join(" ")).into_owned() }
            }
            Err(_) => ClaimError::HeldUnseen,
        },
        None => ClaimError::HeldUnseen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn claims() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scrubjay/claims");
        (folder, path)
    }

    #[test]
    fn the_holder_of_a_lock_is_found() {
        let locks = "1: POSIX  ADVISORY  WRITE 77 00:1a:5678 0 EOF\n2: FLOCK  ADVISORY  WRITE 1234 00:1a:5678 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 99 00:1a:5678 0 EOF\n3: FLOCK  ADVISORY  WRITE 5 08:01:9 0 EOF\n";
        assert_eq!(lock_holder(locks, (0, 0x1a), 5678), Some(1234));
        assert_eq!(lock_holder(locks, (8, 1), 9), Some(5));
        assert_eq!(lock_holder(locks, (8, 1), 10), None);
        assert_eq!(lock_holder("nonsense\n", (8, 1), 10), None);
    }

    #[test]
    fn a_claim_has_one_holder_at_a_time() {
        let name = format!("test/{}", std::process::id());
        let claim = DiskClaim::take(&name).unwrap();
        assert!(matches!(DiskClaim::take(&name), Err(ClaimError::HeldByThisProcess)));
        drop(claim);
        DiskClaim::take(&name).unwrap();
    }

    #[test]
    fn a_claim_is_private_and_leaves_no_file() {
        let (_folder, path) = claims();
        let claim = DiskClaim::take_in_folder(&path, "../../number/8:0").unwrap();
        let names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap()).collect();
        assert_eq!(names.len(), 1);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&names[0].path())), (0o700, 0o600));
        assert!(names[0].file_name().to_string_lossy().starts_with("number_8_0-"));
        drop(claim);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_other_users_may_change_is_refused() {
        let (folder, path) = claims();
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(DiskClaim::take_in_folder(&path, "a"), Err(ClaimError::Meddled { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        DiskClaim::take_in_folder(&path, "a").unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(matches!(DiskClaim::take_in_folder(&path, "a"), Err(ClaimError::Io { .. })), "a link");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn the_claim_of_a_killed_holder_is_taken_over() {
        let (_folder, path) = claims();
        drop(DiskClaim::take_in_folder(&path, "a").unwrap());
        fs::write(path.join(store::file_name("a")), "4242424242\n").unwrap();
        let claim = DiskClaim::take_in_folder(&path, "a").unwrap();
        assert!(matches!(DiskClaim::take_in_folder(&path, "a"), Err(ClaimError::HeldByThisProcess)));
        drop(claim);
    }

    /// A killed process with requests in flight has no command line any more, like one that has ended and was not waited for.
    #[test]
    fn a_holder_that_is_ending_is_distinguished_from_one_that_scrubs() {
        let (_folder, path) = claims();
        let claim = DiskClaim::take_in_folder(&path, "a").unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        // Not until it has ended: amid its start, too, it has no command line for a moment.
        let pid = rustix::process::Pid::from_child(&child);
        let until_ended = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), until_ended).unwrap();
        fs::write(path.join(store::file_name("a")), format!("{}\n", child.id())).unwrap();
        let refused = DiskClaim::take_in_folder(&path, "a").unwrap_err();
        assert!(matches!(refused, ClaimError::Ending { pid } if pid == child.id()), "{refused}");
        child.wait().unwrap();
        drop(claim);
    }

    #[test]
    fn concurrent_claims_never_have_two_holders() {
        let (_folder, path) = claims();
        let holders = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let Ok(claim) = DiskClaim::take_in_folder(&path, "a") else { continue };
                        assert_eq!(holders.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        holders.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                        drop(claim);
                    }
                });
            }
        });
    }
}
