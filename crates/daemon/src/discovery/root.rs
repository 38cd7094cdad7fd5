//! Text files and links below a folder that stands for `/`: small readers without policy. No device is opened.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Links that are followed before they count as a circle; the same number as in Linux (`MAXSYMLINKS`).
const LINKS_MAX: usize = 40;

/// The folder below which `/sys`, `/etc`, `/run` and the others are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemRoot(PathBuf);

impl Default for SystemRoot {
    /// This machine: `/`.
    fn default() -> SystemRoot {
        SystemRoot(PathBuf::from("/"))
    }
}

impl SystemRoot {
    /// A folder that stands for `/`, such as a recording of another machine.
    pub fn below(folder: &Path) -> SystemRoot {
        SystemRoot(folder.to_owned())
    }

    /// The real path of a path of the machine; links are not followed.
    pub fn real(&self, path: &Path) -> PathBuf {
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of a file without surrounding white space and zeros; `None`: it is absent, unreadable, or empty.
    pub fn text(&self, path: &Path) -> Option<String> {
        let text = String::from_utf8_lossy(&self.bytes(path)?).into_owned();
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The contents of a file.
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        fs::read(self.real(&self.resolve(path)?)).ok()
    }

    /// The number at the beginning of a file. (`md` writes `4 (3)` while an array is reshaped.)
    pub fn number(&self, path: &Path) -> Option<u64> {
        self.text(path)?.split_whitespace().next()?.parse().ok()
    }

    /// Does the path exist, links followed?
    pub fn has(&self, path: &Path) -> bool {
        self.resolve(path).is_some_and(|path| self.real(&path).symlink_metadata().is_ok())
    }

    /// The names in a folder, in order; empty if it cannot be read.
    pub fn names(&self, folder: &Path) -> Vec<String> {
        let entries = self.resolve(folder).and_then(|folder| fs::read_dir(self.real(&folder)).ok());
        let names =
            entries.into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The target of a link, as it is written there.
    pub fn link(&self, path: &Path) -> Option<PathBuf> {
        let parent = self.resolve(path.parent()?)?;
        fs::read_link(self.real(&parent.join(path.file_name()?))).ok()
    }

    /// The path of the machine without links, `.` and `..`; `None`: it does not exist, or the links form a circle. A
    /// link that begins with `/` begins at this root.
    pub fn resolve(&self, path: &Path) -> Option<PathBuf> {
        let mut resolved = PathBuf::from("/");
        let mut remaining: Vec<PathBuf> = parts(path);
        let mut links = 0;
        while let Some(part) = remaining.pop() {
            if part.as_os_str() == ".." {
                resolved.pop();
                continue;
            }
            let next = resolved.join(&part);
            let metadata = self.real(&next).symlink_metadata().ok()?;
            if !metadata.file_type().is_symlink() {
                resolved = next;
                continue;
            }
            links += 1;
            if links > LINKS_MAX {
                return None;
            }
            let target = fs::read_link(self.real(&next)).ok()?;
            if target.is_absolute() {
                resolved = PathBuf::from("/");
            }
            remaining.extend(parts(&target));
        }
        Some(resolved)
    }
}

/// The names and `..` of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// The last name of a path, as text.
pub fn last_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_stay_below_the_root_and_circles_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = SystemRoot::below(folder.path());
        let make = |path: &str| fs::create_dir_all(folder.path().join(path)).unwrap();
        make("sys/devices/pci/sda");
        make("sys/block");
        fs::write(folder.path().join("sys/devices/pci/sda/size"), "4 (3)\n").unwrap();
        symlink("../devices/pci/sda", folder.path().join("sys/block/sda")).unwrap();
        symlink("/sys/devices/pci", folder.path().join("absolute")).unwrap();
        symlink("round", folder.path().join("round")).unwrap();
        symlink("../../../../etc", folder.path().join("outside")).unwrap();
        assert_eq!(root.number(Path::new("/sys/block/sda/size")), Some(4));
        assert_eq!(root.resolve(Path::new("/sys/block/sda")), Some("/sys/devices/pci/sda".into()));
        assert_eq!(root.text(Path::new("/absolute/sda/size")).as_deref(), Some("4 (3)"));
        assert_eq!(root.resolve(Path::new("/round")), None);
        assert!(!root.has(Path::new("/outside/passwd")) && !root.has(Path::new("/sys/block/sdb")));
        assert_eq!(root.names(Path::new("/sys/block")), ["sda"]);
        assert_eq!(root.link(Path::new("/sys/block/sda")), Some("../devices/pci/sda".into()));
    }
}
