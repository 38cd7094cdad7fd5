//! Where the file system of a device is mounted, and what its files are called there.

use crate::btrfs::mounts;
use crate::shown::shown;
use std::fs;

/// A mount of a device's file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountedAt {
    /// `ext4`, `xfs`.
    pub kind: String,
    /// Where.
    pub point: String,
    /// Which of its folders is mounted there, from its top; `/` is all of it.
    pub root: String,
}

impl MountedAt {
    /// The mount of the device with these numbers, one of all of it if there is one.
    pub fn of((major, minor): (u32, u32)) -> Option<MountedAt> {
        let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let all = mounts::mounts(&text).into_iter().filter(|mount| mount.numbers == (major, minor));
        let all = all.map(|mount| MountedAt { kind: mount.kind, point: mount.point, root: mount.root });
        all.min_by_key(|mount| (mount.root.len(), mount.point.len()))
    }

    /// The path of a file, as it may be shown; `name` is its path from the file system's top.
    pub fn path_of(&self, name: &[u8]) -> String {
        let name = String::from_utf8_lossy(name);
        let root = self.root.trim_end_matches('/');
        let inside = name.strip_prefix(root).filter(|rest| rest.starts_with('/') || rest.is_empty());
        let path = match inside {
            Some(inside) => format!("{}{inside}", self.point.trim_end_matches('/')),
            None => format!("{name} (from the top of the file system; not below {})", self.point),
        };
        shown(if path.is_empty() { "/" } else { &path }).into_owned()
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
    fn files_are_called_as_they_are_mounted_and_stay_one_line() {
        let mount = |point: &str, root: &str| MountedAt { kind: "ext4".into(), point: point.into(), root: root.into() };
        assert_eq!(mount("/mnt", "/").path_of(b"/a b"), "/mnt/a b");
        assert_eq!(mount("/", "/").path_of(b"/etc/x"), "/etc/x");
        assert_eq!(mount("/", "/").path_of(b"/"), "/");
        assert_eq!(mount("/srv", "/data").path_of(b"/data/x"), "/srv/x");
        assert!(
            mount("/srv", "/data")
                .path_of(b"/database/x")
                .ends_with("(from the top of the file system; not below /srv)")
        );
        assert_eq!(mount("/mnt", "/").path_of(b"/a\nb\x1b[2J"), "/mnt/a\\nb\\e[2J");
        assert_eq!(MountedAt::path_without(b"/a\nb", "/dev/sda1"), "/a\\nb (on /dev/sda1, which is not mounted)");
    }
}
