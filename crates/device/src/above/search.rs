//! Searches all folders below a mount point, within a limit, for names of inodes or for files whose data lie at a place.

use super::fsmap;
use crate::tool;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest search.
const TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// Names that are kept, at most.
const NAMES_MAX: usize = 64;

/// What to search for.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// The names of these inodes.
    Inodes(BTreeSet<u64>),
    /// The files with data in these bytes of the device.
    Places(Vec<Range<u64>>),
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchedNames {
    /// Inode and path below the mount point, with a leading slash.
    pub names: Vec<(u64, Vec<u8>)>,
    /// Whether everything below the mount point was searched.
    pub is_whole: bool,
    /// Number of entries that were checked.
    pub files: u64,
}

/// Searches all folders of the file system that is mounted at `mount`, except other mounts below it.
pub fn search(mount: &Path, wanted: &Wanted) -> SearchedNames {
    search_within(mount, wanted, tool::time_left(TIME_MAX))
}

fn search_within(mount: &Path, wanted: &Wanted, time_max: Duration) -> SearchedNames {
    let mut found = SearchedNames { is_whole: true, ..SearchedNames::default() };
    let Ok(top) = fs::symlink_metadata(mount) else { return SearchedNames::default() };
    let deadline = Instant::now() + time_max;
    let mut to_search = vec![PathBuf::new()];
    if let Wanted::Inodes(inodes) = wanted
        && inodes.contains(&top.ino())
    {
        found.names.push((top.ino(), b"/".to_vec()));
    }
    while let Some(inside) = to_search.pop() {
        let Ok(entries) = fs::read_dir(mount.join(&inside)) else {
            found.is_whole = false; // removed meanwhile, or damaged
            continue;
        };
        for entry in entries {
            if Instant::now() > deadline || found.names.len() == NAMES_MAX {
                found.is_whole = false;
                return found;
            }
            let Ok(entry) = entry else {
                found.is_whole = false;
                break;
            };
            found.files += 1;
            let (path, kind) = (inside.join(entry.file_name()), entry.file_type());
            let is_folder = kind.as_ref().is_ok_and(|kind| kind.is_dir());
            // If something is mounted on a folder, its entry is the lower file system's, its metadata the upper one's.
            let metadata = is_folder.then(|| fs::symlink_metadata(mount.join(&path)).ok()).flatten();
            if is_folder && metadata.is_some_and(|metadata| metadata.dev() == top.dev()) {
                to_search.push(path.clone());
            }
            let is_wanted = match wanted {
                Wanted::Inodes(inodes) => inodes.contains(&entry.ino()),
                Wanted::Places(places) if kind.is_ok_and(|kind| kind.is_file()) => {
                    let answer = open(&mount.join(&path), top.dev()).and_then(|file| fsmap::lies_in(&file, places));
                    found.is_whole &= answer.is_some();
                    answer == Some(true)
                }
                Wanted::Places(_) => false,
            };
            if is_wanted {
                found.names.push((entry.ino(), [b"/", path.as_os_str().as_bytes()].concat()));
            }
        }
    }
    found
}

/// Opens a regular file of this file system for reading, without following a link, waiting, or changing its time of access.
fn open(path: &Path, device: u64) -> Option<File> {
    let with = |flags| OpenOptions::new().read(true).custom_flags(flags).open(path);
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = with(flags | libc::O_NOATIME).or_else(|_| with(flags)).ok()?;
    let metadata = file.metadata().ok()?;
    (metadata.is_file() && metadata.dev() == device).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_of_an_inode_are_found_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::write(path("a/x"), "x").unwrap();
        fs::hard_link(path("a/x"), path("a/b/y")).unwrap();
        std::os::unix::fs::symlink(folder.path(), path("a/round")).unwrap();
        let inode = fs::metadata(path("a/x")).unwrap().ino();
        let found = search(folder.path(), &Wanted::Inodes(BTreeSet::from([inode])));
        let mut names: Vec<_> =
            found.names.iter().map(|(_, name)| String::from_utf8_lossy(name).into_owned()).collect();
        names.sort();
        assert_eq!((names, found.is_whole, found.files), (vec!["/a/b/y".to_owned(), "/a/x".to_owned()], true, 5));
        let top = fs::metadata(folder.path()).unwrap().ino();
        assert_eq!(search(folder.path(), &Wanted::Inodes(BTreeSet::from([top]))).names, [(top, b"/".to_vec())]);
    }

    #[test]
    fn a_search_that_was_cut_short_is_marked_incomplete() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x"), "x").unwrap();
        let wanted = Wanted::Inodes(BTreeSet::from([1]));
        assert!(!search_within(folder.path(), &wanted, Duration::ZERO).is_whole);
        assert!(!search(&folder.path().join("nowhere"), &wanted).is_whole);
    }
}
