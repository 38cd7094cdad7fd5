//! Every file that this program writes: it appears under its name as a whole, or not at all.
//!
//! It is written in the same folder under an unpredictable name, synced, and renamed, so a reader meanwhile sees the old file.
//! Links are not followed, and devices, pipes and sockets are not written to, whatever `--force` says: another user may have
//! put the name there, and a disk holds data.

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What happens to a file that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is written.
    Kept,
    /// It is replaced in one step.
    Replaced,
}

/// Why a file is not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file exists, and is to be kept.
    #[error("{path} exists")]
    Exists {
        /// Path, as the user gave it.
        path: PathBuf,
    },
    /// Something other than a file is there.
    #[error("{path} {kind}: name a file")]
    Unfit {
        /// Path, as the user gave it.
        path: PathBuf,
        /// What is there.
        kind: &'static str,
    },
    /// Anything else.
    #[error("cannot write {path}: {source}")]
    Io {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The error of the system or library below.
        source: io::Error,
    },
}

impl From<OutputError> for io::Error {
    fn from(error: OutputError) -> io::Error {
        match error {
            OutputError::Io { source, .. } => source,
            OutputError::Exists { .. } => io::Error::new(io::ErrorKind::AlreadyExists, error),
            OutputError::Unfit { .. } => io::Error::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

/// A file being written. Nothing remains of it unless it is committed.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    existing: Existing,
    /// Kept open, so that the folder cannot be exchanged meanwhile.
    folder: OwnedFd,
    name: OsString,
    /// Its name until it is complete; `None` afterwards.
    temporary: Option<OsString>,
    file: File,
}

/// End of the name of an incomplete file.
const ENDING: &str = ".new";

/// Mode of a file that all may read and write, as far as the umask allows.
const OPEN: Mode = Mode::from_raw_mode(0o666);

impl OutputFile {
    /// Begins to write the file that will be `path`.
    ///
    /// # Errors
    /// [`OutputError`]; nothing new is left behind then.
    pub fn create(path: &Path, existing: Existing) -> Result<OutputFile, OutputError> {
        OutputFile::create_with(path, existing, OPEN)
    }

    /// Begins to write a file that only its owner may read.
    ///
    /// # Errors
    /// [`OutputError`]; nothing new is left behind then.
    pub fn create_private(path: &Path, existing: Existing) -> Result<OutputFile, OutputError> {
        OutputFile::create_with(path, existing, Mode::RUSR | Mode::WUSR)
    }

    fn create_with(path: &Path, existing: Existing, mode: Mode) -> Result<OutputFile, OutputError> {
        let fail = |source: Errno| OutputError::Io { path: path.to_owned(), source: source.into() };
        let (folder, name) = parts(path)?;
        let folder = rustix::fs::openat(CWD, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let folder = folder.map_err(fail)?;
        check_replaceable(&folder, &name, path, existing)?;
        // Each `RandomState` has keys from the kernel's random numbers.
        let mut temporary = beginning(&name);
        temporary.push(format!("{:016x}{ENDING}", RandomState::new().hash_one(std::process::id())));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&folder, &temporary, flags, mode).map_err(fail)?);
        Ok(OutputFile { path: path.to_owned(), existing, folder, name, temporary: Some(temporary), file })
    }

    /// The file itself, for a writer that needs a [`File`].
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Puts the file in its place durably: after a loss of power either the former file is there, or all of the new one.
    ///
    /// # Errors
    /// [`OutputError`]; the former file is then still there.
    pub fn commit(mut self) -> Result<(), OutputError> {
        let fail = |source| OutputError::Io { path: self.path.clone(), source };
        self.file.sync_all().map_err(fail)?;
        self.put_in_place()?;
        let fail = |source: Errno| OutputError::Io { path: self.path.clone(), source: source.into() };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.folder, ".", flags, Mode::empty()) {
            Ok(folder) => rustix::fs::fsync(folder).map_err(fail),
            Err(Errno::ACCESS) => Ok(()), // a folder that may be written and not read
            Err(error) => Err(fail(error)),
        }
    }

    /// Puts the file in its place without waiting for the disk. It survives the death of this process, not a loss of power.
    ///
    /// # Errors
    /// [`OutputError`]; the former file is then still there.
    pub fn commit_unsynced(mut self) -> Result<(), OutputError> {
        self.put_in_place()
    }

    fn put_in_place(&mut self) -> Result<(), OutputError> {
        let Some(temporary) = &self.temporary else { return Ok(()) };
        let rename = |flags| rustix::fs::renameat_with(&self.folder, temporary, &self.folder, &self.name, flags);
        let renamed = match self.existing {
            Existing::Replaced => check_replaceable(&self.folder, &self.name, &self.path, self.existing)
                .map(|()| rename(RenameFlags::empty())),
            Existing::Kept => match rename(RenameFlags::NOREPLACE) {
                // Not every file system supports NOREPLACE; a second check must do there.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    check_replaceable(&self.folder, &self.name, &self.path, self.existing)
                        .map(|()| rename(RenameFlags::empty()))
                }
                renamed => Ok(renamed),
            },
        };
        match renamed? {
            Ok(()) => {
                self.temporary = None;
                Ok(())
            }
            Err(Errno::EXIST) => Err(OutputError::Exists { path: self.path.clone() }),
            Err(source) => Err(OutputError::Io { path: self.path.clone(), source: source.into() }),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        // An incomplete file is of no use.
        let _ = self.temporary.take().map(|name| rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()));
    }
}

/// Writes a whole file.
///
/// # Errors
/// [`OutputError`]; the former file is then still there.
pub fn write(path: &Path, existing: Existing, bytes: &[u8]) -> Result<(), OutputError> {
    complete(OutputFile::create(path, existing)?, bytes)
}

/// Writes a whole file that only its owner may read.
///
/// # Errors
/// [`OutputError`]; the former file is then still there.
pub fn write_private(path: &Path, existing: Existing, bytes: &[u8]) -> Result<(), OutputError> {
    complete(OutputFile::create_private(path, existing)?, bytes)
}

fn complete(mut output: OutputFile, bytes: &[u8]) -> Result<(), OutputError> {
    output.write_all(bytes).map_err(|source| OutputError::Io { path: output.path.clone(), source })?;
    output.commit()
}

/// Checks that a file can be put there, before long work whose result it will hold.
///
/// # Errors
/// As [`write()`], except for errors that only writing shows.
pub fn check(path: &Path, existing: Existing) -> Result<(), OutputError> {
    let (folder, name) = parts(path)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, folder, flags, Mode::empty())
        .map_err(|source| OutputError::Io { path: path.to_owned(), source: source.into() })?;
    check_replaceable(&folder, &name, path, existing)
}

/// Removes incomplete files that killed writers of `path` left behind. No other process may be writing it now.
pub fn sweep(path: &Path) {
    let Ok((folder, name)) = parts(path) else { return };
    let beginning = beginning(&name);
    let is_incomplete = |name: &OsStr| {
        let name = name.as_encoded_bytes();
        name.starts_with(beginning.as_encoded_bytes()) && name.ends_with(ENDING.as_bytes())
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| is_incomplete(&entry.file_name())).for_each(|entry| drop(fs::remove_file(entry.path())));
}

/// The beginning of the names of incomplete files that will be called `name`.
fn beginning(name: &OsStr) -> OsString {
    let mut beginning = OsString::from(".");
    beginning.push(name);
    beginning.push(".");
    beginning
}

/// The folder of a file, and its name in that folder.
fn parts(path: &Path) -> Result<(&Path, OsString), OutputError> {
    let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let Some(name) = path.file_name().filter(|_| !is_folder) else {
        return Err(OutputError::Unfit { path: path.to_owned(), kind: "is a folder" });
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((folder, name.to_owned()))
}

/// Checks that nothing is there that a file must not replace.
fn check_replaceable(folder: &OwnedFd, name: &OsStr, path: &Path, existing: Existing) -> Result<(), OutputError> {
    let path = || path.to_owned();
    let status = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(status) => status,
        Err(Errno::NOENT) => return Ok(()),
        Err(source) => return Err(OutputError::Io { path: path(), source: source.into() }),
    };
    let kind = match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile if existing == Existing::Replaced => return Ok(()),
        FileType::RegularFile => return Err(OutputError::Exists { path: path() }),
        FileType::Directory => "is a folder",
        FileType::Symlink => "is a link, and what it leads to may be anybody's",
        FileType::BlockDevice => "is a disk",
        FileType::CharacterDevice => "is a character device",
        FileType::Fifo => "is a pipe",
        FileType::Socket => "is a socket",
        FileType::Unknown => "is no file",
    };
    Err(OutputError::Unfit { path: path(), kind })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn names(folder: &Path) -> Vec<OsString> {
        let mut names: Vec<OsString> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_complete_and_leaves_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut output = OutputFile::create(&path, Existing::Kept).unwrap();
        output.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(output);
        assert!(names(folder.path()).is_empty(), "given up");
        write(&path, Existing::Kept, b"whole").unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"whole".to_vec(), vec!["a".into()]));
        assert!(matches!(write(&path, Existing::Kept, b"other"), Err(OutputError::Exists { .. })));
        let before = fs::metadata(&path).unwrap().ino();
        write(&path, Existing::Replaced, b"other").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"other");
        assert_ne!(fs::metadata(&path).unwrap().ino(), before, "replaced, not changed");
    }

    #[test]
    fn a_file_that_was_made_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let output = OutputFile::create(&path, Existing::Kept).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(matches!(output.commit(), Err(OutputError::Exists { .. })));
        assert_eq!((fs::read(&path).unwrap(), names(folder.path()).len()), (b"theirs".to_vec(), 1));
    }

    #[test]
    fn links_and_everything_but_files_are_refused_and_left_untouched() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("victim"), "precious").unwrap();
        symlink(at("victim"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        rustix::fs::mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        for existing in [Existing::Kept, Existing::Replaced] {
            for (name, kind) in [
                ("link", "is a link"),
                ("dangling", "is a link"),
                ("folder", "is a folder"),
                ("folder/", "is a folder"),
                ("socket", "is a socket"),
                ("pipe", "is a pipe"),
                ("..", "is a folder"),
            ] {
                let error = write(&at(name), existing, b"x").unwrap_err().to_string();
                assert!(error.contains(kind), "{name}: {error}");
                assert_eq!(check(&at(name), existing).unwrap_err().to_string(), error);
            }
        }
        let error = write(Path::new("/dev/null"), Existing::Replaced, b"x").unwrap_err().to_string();
        assert_eq!(error, "/dev/null is a character device: name a file");
        assert_eq!(fs::read(at("victim")).unwrap(), b"precious");
        assert!(names(folder.path()).len() == 6 && !at("nowhere").exists());
    }

    #[test]
    fn a_link_that_comes_meanwhile_is_not_followed_either() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        for existing in [Existing::Kept, Existing::Replaced] {
            let mut output = OutputFile::create(&path, existing).unwrap();
            output.write_all(b"x").unwrap();
            symlink(&victim, &path).unwrap();
            output.commit().unwrap_err();
            assert_eq!(fs::read(&victim).unwrap(), b"precious");
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_private_file_is_accessible_to_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_private(&path, Existing::Kept, b"secret").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn only_incomplete_files_of_the_same_name_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::mem::forget(OutputFile::create(&path, Existing::Kept).unwrap());
        std::mem::forget(OutputFile::create(&folder.path().join("b"), Existing::Kept).unwrap());
        fs::write(&path, "a").unwrap();
        sweep(&path);
        let left = names(folder.path());
        assert!(left.len() == 2 && left[1] == "a" && left[0].to_string_lossy().starts_with(".b."), "{left:?}");
    }
}
