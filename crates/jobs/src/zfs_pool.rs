//! Which pool of ZFS a name stands for: the pool's own, a place where its files are mounted, or a volume (zvol) of it.

use scrubjay_device::target;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The folder with a folder for each imported pool.
const POOLS: &str = "/proc/spl/kstat/zfs";
/// The folder with a folder for each pool that has volumes, whose links lead to their devices.
const VOLUMES: &str = "/dev/zvol";

/// The pool; `None`: it has nothing to do with ZFS.
pub fn pool_of(path: &Path) -> Option<String> {
    let is_word = path.components().count() == 1 && !path.to_string_lossy().contains('/');
    if is_word && !path.exists() && Path::new(POOLS).join(path).join("state").exists() {
        return Some(path.to_string_lossy().into_owned());
    }
    let metadata = fs::metadata(path).ok()?;
    if metadata.is_dir() {
        return mounted(&fs::read_to_string("/proc/self/mountinfo").ok()?, metadata.dev());
    }
    let device = fs::canonicalize(path).ok().filter(|_| metadata.file_type().is_block_device())?;
    let name = device.file_name()?.to_string_lossy().into_owned();
    let is_volume = name.strip_prefix("zd").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_volume.then(|| with_volume(&device).unwrap_or_else(|| "POOL".to_owned()))
}

/// The pool of the file system with this number, by the text of mountinfo.
fn mounted(mounts: &str, device: u64) -> Option<String> {
    let (major, minor) = target::numbers(device);
    let numbers = format!("{major}:{minor}");
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(&numbers))?;
    let mut rest = line.split_once(" - ")?.1.split(' ');
    let (kind, source) = (rest.next()?, rest.next()?);
    (kind == "zfs").then(|| source.split(['/', '@']).next().unwrap_or(source).to_owned())
}

/// The pool whose folder of volumes leads to this device.
fn with_volume(device: &Path) -> Option<String> {
    let mut folders: Vec<(PathBuf, String)> = fs::read_dir(VOLUMES)
        .ok()?
        .flatten()
        .map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned()))
        .collect();
    while let Some((folder, pool)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push((entry.path(), pool.clone()));
            } else if fs::canonicalize(entry.path()).is_ok_and(|target| target == device) {
                return Some(pool);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mounted_dataset_names_its_pool() {
        let mounts =
            "30 1 0:26 / / rw - ext4 /dev/sda1 rw\n40 30 0:34 / /tank/a rw,relatime - zfs tank/home/a rw,xattr\n";
        assert_eq!(mounted(mounts, 34).as_deref(), Some("tank"));
        assert_eq!(mounted(mounts, 26), None, "another file system");
        assert_eq!(mounted(mounts, 35), None);
    }

    #[test]
    fn what_has_nothing_to_do_with_zfs_has_no_pool() {
        for path in ["/proc", "/dev/null", "no-such-pool", "/no/such/path"] {
            assert_eq!(pool_of(Path::new(path)), None, "{path}");
        }
    }
}
