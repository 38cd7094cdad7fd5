//! The state folder: one state file for each scrub, replaced as a whole or not at all.

use crate::output::{self, Existing, OutputFile};
use crate::owner::{self, Meddler};
use crate::speed::SpeedStore;
use rustix::fs::OFlags;
use scrubjay_core::finding::FoundList;
use scrubjay_core::scrub::idle::{LEARNT_BYTES_MAX, SavedObservations};
use scrubjay_core::scrub::saved::{Saved, SavedError};
use scrubjay_core::units::{SectorRange, UnixSeconds};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The place of one scrub's state.
#[derive(Clone, Debug)]
pub struct StateStore {
    path: PathBuf,
}

/// How durable a save is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveMethod {
    /// Survives a loss of power.
    Durably,
    /// Survives the death of this process, but not a loss of power.
    Unsynced,
}

/// Why a state cannot be loaded or saved.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder cannot be made or written.
    #[error("state folder {folder}: {source}: choose another one")]
    Folder {
        /// Path of the folder.
        folder: PathBuf,
        /// The error of the system or library below.
        source: io::Error,
    },
    /// A user other than root could put any state there.
    #[error("state folder {folder}: {meddler}: choose one that only root can change, such as /var/lib/scrubjay")]
    Meddled {
        /// The folder.
        folder: PathBuf,
        /// Who could change it.
        meddler: Meddler,
    },
    /// The file cannot be read.
    #[error("state file {path}: {source}")]
    Read {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The error of the system or library below.
        source: io::Error,
    },
    /// The file was not written by a scrub, or is damaged.
    #[error("state file {path}, {source}: begin afresh (it is kept beside as .damaged)")]
    Damaged {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The line, and what is wrong with it.
        source: SavedError,
    },
    /// The state of another disk, or of the same one when it had another size.
    #[error(
        "state file {path} is that of another disk, or of this one when it had another size ({found}, not {expected}): begin afresh"
    )]
    Foreign {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Identity and size of the disk in the file.
        found: String,
        /// Identity and size of the disk to scrub.
        expected: String,
    },
}

/// The default state folder: `$XDG_STATE_HOME/scrubjay`, else `/var/lib/scrubjay` for root, else
/// `~/.local/state/scrubjay`.
pub fn default_folder() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = variable("XDG_STATE_HOME").filter(|home| home.is_absolute()) {
        return home.join("scrubjay");
    }
    match variable("HOME") {
        Some(home) if !owner::is_root() => home.join(".local/state/scrubjay"),
        _ => PathBuf::from("/var/lib/scrubjay"),
    }
}

impl StateStore {
    /// The place for the state of `disk`, or of a part of it; no other process may use it now. Makes the folder, and proves that it
    /// can be written. For root, only root may be able to change the folder: others could have a state of their choice read.
    ///
    /// # Errors
    /// [`StoreError::Folder`], [`StoreError::Meddled`].
    pub fn open(folder: &Path, disk: &str, part: Option<SectorRange>) -> Result<StateStore, StoreError> {
        let fail = |source| StoreError::Folder { folder: folder.to_owned(), source };
        let meddled = |meddler| StoreError::Meddled { folder: folder.to_owned(), meddler };
        if owner::is_root() {
            // Checked before, so that nothing is made in such a folder, and afterwards, since another process may have made it.
            owner::meddler(folder).map_err(fail)?.map_or(Ok(()), |meddler| Err(meddled(meddler)))?;
        }
        fs::create_dir_all(folder).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => fail(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder")),
            _ => fail(error),
        })?;
        if owner::is_root() {
            owner::meddler(folder).map_err(fail)?.map_or(Ok(()), |meddler| Err(meddled(meddler)))?;
        }
        let store = StateStore::at(folder, disk, part);
        for path in [
            store.path.clone(),
            store.sibling_path("hasty"),
            store.sibling_path("learnt"),
            store.sibling_path("found"),
            store.sibling_path("visits"),
            store.sibling_path("maps"),
        ] {
            output::sweep(&path);
        }
        OutputFile::create(&store.sibling_path("probe"), Existing::Replaced).map_err(|error| fail(error.into()))?;
        Ok(store)
    }

    /// The place of a state for reading only: makes nothing and proves nothing.
    pub fn at(folder: &Path, disk: &str, part: Option<SectorRange>) -> StateStore {
        let part = part.map_or(String::new(), |range| format!("@{}-{}", range.start, range.end));
        StateStore { path: folder.join(format!("{}{part}.scrub", file_name(disk))) }
    }

    /// Path of the state file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is known of how fast the disk answers.
    pub fn speed(&self) -> SpeedStore {
        SpeedStore::beside(&self.path)
    }

    /// The state saved last; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or belongs to a disk other than `disk` of `sectors` sectors.
    pub fn load(&self, disk: &str, sectors: u64) -> Result<Option<Saved>, StoreError> {
        // A hasty save, if it is whole, is newer than a durable one, because a durable save removes it first.
        match self.load_from(&self.sibling_path("hasty"), disk, sectors) {
            Ok(Some(hasty)) => Ok(Some(hasty)),
            _ => self.load_from(&self.path, disk, sectors),
        }
    }

    fn load_from(&self, path: &Path, disk: &str, sectors: u64) -> Result<Option<Saved>, StoreError> {
        let text = match read_bounded(path, STATE_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StoreError::Read { path: path.into(), source }),
        };
        if text.len() > STATE_BYTES_MAX {
            let source = SavedError { line: 1, what: "far too long".to_owned() };
            return Err(StoreError::Damaged { path: path.into(), source });
        }
        let saved: Saved = text.parse().map_err(|source| StoreError::Damaged { path: path.into(), source })?;
        let saved_sectors = saved.coverage.grid().disk().count();
        if saved.disk != disk || saved_sectors != sectors {
            let of = |name: &str, sectors| format!("{name}, {sectors} sectors");
            let (found, expected) = (of(&saved.disk, saved_sectors), of(disk, sectors));
            return Err(StoreError::Foreign { path: path.into(), found, expected });
        }
        Ok(Some(saved))
    }

    /// Replaces the state durably: after a loss of power either the old state is there or the new one.
    ///
    /// # Errors
    /// The kernel's error; the old state is then still there.
    pub fn save(&self, saved: &Saved) -> io::Result<()> {
        let output = self.write_file(&self.path, saved)?;
        // The hasty save is removed before the commit: left behind by a death after it, it would pass for newer.
        output.file().sync_data()?;
        let _ = fs::remove_file(self.sibling_path("hasty"));
        Ok(output.commit()?)
    }

    /// Replaces the state without waiting for the disk. It survives the death of this process; after a loss of power the state
    /// of the last [`StateStore::save`] is loaded.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn save_unsynced(&self, saved: &Saved) -> io::Result<()> {
        Ok(self.write_file(&self.sibling_path("hasty"), saved)?.commit_unsynced()?)
    }

    /// What earlier runs of the pass that began then have found: empty if they found nothing.
    ///
    /// # Errors
    /// The list is there, and cannot be read.
    pub fn load_found(&self, begun: UnixSeconds) -> io::Result<FoundList> {
        let text = match read_bounded(&self.sibling_path("found"), FOUND_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FoundList::default()),
            Err(error) => return Err(error),
        };
        let (of, list) = FoundList::of_text(&text).map_err(io::Error::other)?;
        Ok(if of == begun { list } else { FoundList::default() })
    }

    /// Replaces the list of what a pass that began then has found.
    ///
    /// # Errors
    /// The kernel's error; the old list is then still there.
    pub fn save_found(&self, begun: UnixSeconds, list: &FoundList, method: SaveMethod) -> io::Result<()> {
        let output = self.write_file(&self.sibling_path("found"), &list.to_text(begun))?;
        match method {
            SaveMethod::Durably => Ok(output.commit()?),
            SaveMethod::Unsynced => Ok(output.commit_unsynced()?),
        }
    }

    /// Removes the list, when its pass is complete.
    pub fn remove_found(&self) {
        let _ = fs::remove_file(self.sibling_path("found"));
    }

    /// What an earlier run has learnt, if it was saved and is whole. A run can do without it.
    pub fn load_learnt(&self) -> Option<SavedObservations> {
        let text = read_bounded(&self.sibling_path("learnt"), LEARNT_BYTES_MAX).ok()?;
        text.parse().ok()
    }

    /// Replaces the learnt values without waiting for the disk.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn save_learnt(&self, learnt: &SavedObservations) -> io::Result<()> {
        Ok(self.write_file(&self.sibling_path("learnt"), learnt)?.commit_unsynced()?)
    }

    /// Writes a file completely, but does not yet put it in its place.
    fn write_file(&self, path: &Path, saved: &impl ToString) -> io::Result<OutputFile> {
        let mut output = OutputFile::create(path, Existing::Replaced)?;
        output.write_all(saved.to_string().as_bytes())?;
        Ok(output)
    }

    /// Puts the saved state aside, damaged or not, so that a new one can begin. A hasty save is removed: it is not readable
    /// either, or it would have been loaded.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn put_aside(&self) -> io::Result<()> {
        let _ = fs::remove_file(self.sibling_path("hasty"));
        match fs::rename(&self.path, self.sibling_path("damaged")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn sibling_path(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(ending);
        name.into()
    }
}

/// The longest list of findings, in bytes: [`scrubjay_core::finding::FOUND_MAX`] of them, with the names of many files.
const FOUND_BYTES_MAX: usize = 64 << 20;

/// The longest state, in bytes: a million regions, each with a line of its own.
const STATE_BYTES_MAX: usize = 128 << 20;

/// The first `bytes_max` bytes of a file, and one more if it is longer.
fn read_bounded(path: &Path, bytes_max: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A short name for any id: FNV-1a, 64 bits. For names, not for secrets.
pub fn short_name(id: &str) -> String {
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    format!("{:016x}", id.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}

/// A file name for any id: characters that are not plain become `_`, and a hash keeps such names distinct.
pub(crate) fn file_name(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain: String = id.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let tail: String = plain.chars().skip(plain.len().saturating_sub(80)).collect();
    format!("{}-{}", tail.trim_start_matches(['.', '_', '-']), short_name(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::finding::{FindingKind, Resolution};
    use scrubjay_core::scrub::EndedPass;
    use scrubjay_core::scrub::coverage::Coverage;
    use scrubjay_core::scrub::tour::Grid;

    fn saved(disk: &str) -> Saved {
        let coverage = Coverage::new(Grid::new(1000, 100, 10));
        Saved { disk: disk.to_owned(), at: UnixSeconds(7), coverage, pass: None, ended: EndedPass::default() }
    }

    #[test]
    fn a_saved_state_is_loaded_for_its_own_disk_only() {
        let folder = tempfile::tempdir().unwrap();
        let store = StateStore::open(folder.path(), "wwn-1", None).unwrap();
        assert!(store.load("wwn-1", 1000).unwrap().is_none());
        store.save(&saved("wwn-1")).unwrap();
        assert_eq!(store.load("wwn-1", 1000).unwrap(), Some(saved("wwn-1")));
        assert!(matches!(store.load("wwn-1", 2000), Err(StoreError::Foreign { .. })));
        assert!(matches!(store.load("wwn-2", 1000), Err(StoreError::Foreign { .. })));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_a_pass_found_is_kept_for_that_pass_only() {
        let folder = tempfile::tempdir().unwrap();
        let store = StateStore::open(folder.path(), "wwn-1", None).unwrap();
        assert!(store.load_found(UnixSeconds(7)).unwrap().is_empty());
        let mut list = FoundList::default();
        list.count_untold(FindingKind::Corrupt, Resolution::Repaired, 3);
        store.save_found(UnixSeconds(7), &list, SaveMethod::Unsynced).unwrap();
        assert_eq!(store.load_found(UnixSeconds(7)).unwrap(), list);
        assert!(store.load_found(UnixSeconds(8)).unwrap().is_empty(), "it is of another pass");
        fs::write(store.sibling_path("found"), "rubbish").unwrap();
        assert!(store.load_found(UnixSeconds(7)).is_err());
        store.remove_found();
        assert!(store.load_found(UnixSeconds(7)).unwrap().is_empty());
    }

    #[test]
    fn a_file_is_no_state_folder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = StateStore::open(file.path(), "wwn-1", None).unwrap_err().to_string();
        assert!(error.ends_with(": it is no folder: choose another one"), "{error}");
    }

    #[test]
    fn an_unsynced_save_counts_if_it_is_whole_and_newer() {
        let folder = tempfile::tempdir().unwrap();
        let store = StateStore::open(folder.path(), "wwn-1", None).unwrap();
        let at = |seconds| Saved { at: UnixSeconds(seconds), ..saved("wwn-1") };
        let loaded = || store.load("wwn-1", 1000).unwrap().map(|saved| saved.at.0);
        store.save(&at(10)).unwrap();
        store.save_unsynced(&at(12)).unwrap();
        assert_eq!(loaded(), Some(12));
        store.save(&at(14)).unwrap();
        assert_eq!(loaded(), Some(14));
        store.save_unsynced(&at(16)).unwrap();
        fs::write(store.sibling_path("hasty"), "cut sh").unwrap();
        assert_eq!(loaded(), Some(14), "a power loss took the hasty one");
    }

    #[test]
    fn a_damaged_state_is_reported_with_its_line_and_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let store = StateStore::open(folder.path(), "wwn-1", None).unwrap();
        fs::write(store.path(), "scrubjay scrub state 1\nrubbish\n").unwrap();
        let error = store.load("wwn-1", 1000).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("begin afresh"), "{error}");
        store.put_aside().unwrap();
        assert!(store.load("wwn-1", 1000).unwrap().is_none());
    }

    #[test]
    fn file_names_are_plain_and_distinct() {
        assert_ne!(file_name("/a/b"), file_name("/a_b"));
        assert!(file_name("../../etc/passwd").starts_with("etc_passwd-"));
        assert!(file_name(&"x".repeat(5000)).len() < 120);
    }
}
