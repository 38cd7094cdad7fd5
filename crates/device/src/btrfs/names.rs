//! Finds the files that a block belongs to. Users choose file names, so they are escaped for display.

use super::ioctl::{BlockUser, FsHandle, SearchRange};
use super::items::{self, ItemKey, TOP_SUBVOLUME};
use scrubjay_core::shown::shown;
use std::collections::BTreeMap;
use std::io;

/// Names that are returned for one place, at most.
const NAMES_MAX: usize = 16;
/// Blocks of one run that are looked up, at most, evenly spread: most runs lie in one file.
const BLOCKS_MAX: u64 = 64;
/// The deepest nesting of subvolumes that is followed.
const DEPTH_MAX: usize = 64;

/// Finds the names of files.
pub(super) struct FileNames {
    fs: FsHandle,
    /// The mount point of the file system.
    mount: String,
    /// The folder of the file system that is mounted there, without a slash at either end.
    root: String,
    /// The paths of subvolumes that were looked up; `None`: not found.
    subvolumes: BTreeMap<u64, Option<String>>,
}

impl FileNames {
    /// For the file system whose folder `root` is mounted at `mount`.
    pub fn new(fs: FsHandle, mount: &str, root: &str) -> FileNames {
        let root = root.trim_matches('/').to_owned();
        FileNames { fs, mount: mount.trim_end_matches('/').to_owned(), root, subvolumes: BTreeMap::new() }
    }

    /// The files that use blocks of `sector` bytes at these logical addresses; and the number of further ones.
    pub fn of(&mut self, logical: u64, bytes: u64, sector: u64) -> (Vec<String>, u64) {
        let blocks = (bytes / sector).max(1);
        let step = blocks.div_ceil(BLOCKS_MAX).max(1);
        let (mut names, mut seen, mut omitted) = (Vec::new(), std::collections::BTreeSet::new(), 0);
        for block in (0..blocks).step_by(step as usize) {
            let Ok((users, missed)) = self.fs.users_of(logical + block * sector) else { continue };
            omitted = omitted.max(missed);
            for BlockUser { inode, tree, .. } in users {
                if !seen.insert((tree, inode)) {
                    continue;
                }
                if names.len() == NAMES_MAX {
                    omitted += 1;
                    continue;
                }
                names.push(self.name(tree, inode));
            }
        }
        (names, omitted)
    }

    /// The files that use the block at this logical address; and the number of further ones.
    ///
    /// # Errors
    /// The trees cannot be searched.
    pub fn of_block(&mut self, logical: u64) -> io::Result<(Vec<String>, u64)> {
        let (users, mut omitted) = self.fs.users_of(logical)?;
        let files: std::collections::BTreeSet<(u64, u64)> = users.iter().map(|user| (user.tree, user.inode)).collect();
        omitted += files.len().saturating_sub(NAMES_MAX) as u64;
        Ok((files.into_iter().take(NAMES_MAX).map(|(tree, inode)| self.name(tree, inode)).collect(), omitted))
    }

    fn name(&mut self, tree: u64, inode: u64) -> String {
        let inside = self.fs.path_of(tree, inode);
        let subvolume = self.subvolume(tree, 0);
        match (inside, subvolume) {
            (Ok(inside), Some(subvolume)) => {
                let inside = String::from_utf8_lossy(&inside).into_owned();
                shown(&below(&self.mount, &self.root, &join(&subvolume, &inside))).into_owned()
            }
            _ => format!("inode {inode} of subvolume {tree}, which has no name any more"),
        }
    }

    /// The path of a subvolume from the top of the file system.
    fn subvolume(&mut self, tree: u64, depth: usize) -> Option<String> {
        if tree == TOP_SUBVOLUME {
            return Some(String::new());
        }
        if let Some(known) = self.subvolumes.get(&tree) {
            return known.clone();
        }
        let found = self.find_subvolume(tree, depth);
        self.subvolumes.insert(tree, found.clone());
        found
    }

    fn find_subvolume(&mut self, tree: u64, depth: usize) -> Option<String> {
        if depth == DEPTH_MAX {
            return None;
        }
        let (parent, folder, name) = self.backref(tree).ok()??;
        let folder = self.fs.path_of(parent, folder).ok()?;
        let above = self.subvolume(parent, depth + 1)?;
        let inside = join(&String::from_utf8_lossy(&folder), &String::from_utf8_lossy(&name));
        Some(join(&above, &inside))
    }

    /// The parent of a subvolume: its number, the inode of the folder, the name there.
    fn backref(&self, tree: u64) -> io::Result<Option<(u64, u64, Vec<u8>)>> {
        let key = |offset| ItemKey::new(tree, items::ROOT_BACKREF, offset);
        let range = SearchRange { tree: items::ROOT_TREE, first: key(0), last: key(u64::MAX) };
        let mut found = None;
        self.fs.search(range, &mut |key, item| {
            found = items::root_backref(item).map(|(folder, name)| (key.offset, folder, name.to_vec()));
            false
        })?;
        Ok(found)
    }
}

/// Joins two parts of a path; either may be empty.
fn join(above: &str, below: &str) -> String {
    if above.is_empty() || below.is_empty() { format!("{above}{below}") } else { format!("{above}/{below}") }
}

/// The display form of a path from the top of a file system whose folder `root` is mounted at `mount`.
fn below(mount: &str, root: &str, path: &str) -> String {
    let inside = match root {
        "" => Some(path),
        root => path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')),
    };
    match inside {
        Some(inside) => format!("{mount}/{inside}"),
        None => format!("{path} (from the top of the file system; not below {mount})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_shown_below_the_mount_point() {
        assert_eq!(below("/mnt", "", "@home/a"), "/mnt/@home/a");
        assert_eq!(below("/home", "@home", "@home/a/b"), "/home/a/b");
        let outside = below("/home", "@home", "@homes/a");
        assert_eq!(outside, "@homes/a (from the top of the file system; not below /home)");
        assert_eq!((join("", "a"), join("a", ""), join("a", "b")), ("a".into(), "a".into(), "a/b".into()));
    }
}
