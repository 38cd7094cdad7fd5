//! Where the file system of a device is mounted, and the paths of its files there.

use crate::btrfs::mounts;
use scrubjay_core::shown::shown;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// A mount of a device's file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountedAt {
    /// The type of the file system: `ext4`, `xfs`.
    pub kind: String,
    /// The mount point.
    pub point: String,
    /// The folder of the file system that is mounted there, from its top; `/` is all of it.
    pub root: String,
    /// Whether it was mounted without its journal, so that its tables on disk may not be the valid ones.
    pub is_for_rescue: bool,
}

/// The message for such a mount.
pub const FOR_RESCUE: &str = "it is mounted without its journal (noload, norecovery, rescue), so what it says is free may hold a file: ask again when it was mounted in order";

impl MountedAt {
    /// The mount of the device with these numbers, preferably one of all of it.
    pub fn of((major, minor): (u32, u32)) -> Option<MountedAt> {
        let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let all = mounts::mounts(&text).into_iter().filter(|mount| mount.numbers == (major, minor));
        let all = all.map(|mount| MountedAt {
            kind: mount.kind,
            point: mount.point,
            root: mount.root,
            is_for_rescue: mount.is_for_rescue,
        });
        all.min_by_key(|mount| (mount.root.len(), mount.point.len()))
    }

    /// The visible path of a file, if it is below the folder that is mounted; `name` is its path from the file system's top.
    fn inside(&self, name: &str) -> Option<String> {
        let inside = name.strip_prefix(self.root.trim_end_matches('/'));
        let inside = inside.filter(|rest| rest.starts_with('/') || rest.is_empty())?;
        let path = format!("{}{inside}", self.point.trim_end_matches('/'));
        Some(if path.is_empty() { "/".to_owned() } else { path })
    }

    /// The path of a file, escaped for display; `name` is its path from the file system's top.
    pub fn path_of(&self, name: &[u8]) -> String {
        let name = String::from_utf8_lossy(name);
        let outside = || format!("{name} (from the top of the file system; not below {})", self.point);
        shown(&self.inside(&name).unwrap_or_else(outside)).into_owned()
    }

    /// The path of the file with this inode, escaped for display, with a remark if another file is at that path, or none.
    pub fn path_of_inode(&self, name: &[u8], inode: u64) -> String {
        let seen = self.inside(&String::from_utf8_lossy(name)).map(fs::symlink_metadata);
        let path = self.path_of(name);
        match seen {
            Some(Ok(metadata)) if metadata.ino() == inode => path,
            Some(_) => format!("{path} (where another file is seen, or none: hidden by a mount, or just moved)"),
            None => path,
        }
    }

    /// The path of a file on a device that is not mounted.
    pub fn path_without(name: &[u8], device: &str) -> String {
        format!("{} (on {device}, which is not mounted)", shown(&String::from_utf8_lossy(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_paths_are_shown_below_the_mount_point_and_on_one_line() {
        let mount = |point: &str, root: &str| MountedAt {
            kind: "ext4".into(),
            point: point.into(),
            root: root.into(),
            is_for_rescue: false,
        };
        assert_eq!(mount("/mnt", "/").path_of(b"/a b"), "/mnt/a b");
        assert_eq!(mount("/", "/").path_of(b"/etc/x"), "/etc/x");
        assert_eq!(mount("/", "/").path_of(b"/"), "/");
        assert_eq!(mount("/srv", "/data").path_of(b"/data/x"), "/srv/x");
        assert!(
            mount("/srv", "/data")
                .path_of(b"/database/x")
                .ends_with("(from the top of the file system; not below /srv)")
        );
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x"), "x").unwrap();
        let inode = fs::metadata(folder.path().join("x")).unwrap().ino();
        let mounted = mount(folder.path().to_str().unwrap(), "/");
        assert_eq!(mounted.path_of_inode(b"/x", inode), mounted.path_of(b"/x"));
        assert!(mounted.path_of_inode(b"/x", inode + 1).contains("another file is seen"));
        assert!(mounted.path_of_inode(b"/y", inode).contains("or none"));
        assert_eq!(mount("/mnt", "/").path_of(b"/a\nb\x1b[2J"), "/mnt/a\\nb\\e[2J");
        assert_eq!(MountedAt::path_without(b"/a\nb", "/dev/sda1"), "/a\\nb (on /dev/sda1, which is not mounted)");
    }
}
