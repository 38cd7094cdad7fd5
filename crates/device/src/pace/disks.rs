//! The disks that names stand for: of a device, or of the file system of a file.

use crate::sysfs::DiskNode;
use crate::target::numbers;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why a name stands for no disk.
#[derive(Debug, thiserror::Error)]
pub enum DisksError {
    /// There is no such file or disk.
    #[error("{0}: no such disk or file")]
    Absent(String),
    /// It is on no disk of this machine.
    #[error("{0}: on no disk of this machine")]
    NoDisk(String),
}

/// The whole disks below these names: of a device, of the file system of a file, or a kernel's name (`sda`).
///
/// # Errors
/// [`DisksError`].
pub fn named_disks(names: &[PathBuf]) -> Result<Vec<DiskNode>, DisksError> {
    let mut all = BTreeMap::new();
    for name in names {
        let shown = || name.display().to_string();
        let device = Path::new("/dev").join(name);
        let path = [name, &device].into_iter().find(|path| path.exists()).ok_or_else(|| DisksError::Absent(shown()))?;
        let disks = below(path);
        if disks.is_empty() {
            return Err(DisksError::NoDisk(shown()));
        }
        all.extend(disks.into_iter().map(|disk| (disk.name.clone(), disk)));
    }
    Ok(all.into_values().collect())
}

/// The whole disks below one path; none if it does not exist, or is in memory or on another host.
fn below(path: &Path) -> Vec<DiskNode> {
    let Ok(metadata) = fs::metadata(path) else { return Vec::new() };
    let device = if metadata.file_type().is_block_device() { metadata.rdev() } else { metadata.dev() };
    let (major, minor) = numbers(device);
    let devices = match DiskNode::of_device(major, minor) {
        Ok(disk) => vec![disk],
        Err(_) => fs::canonicalize(path).map(|path| mounted_from(&path)).unwrap_or_default(),
    };
    let mut all = Vec::new();
    devices.into_iter().for_each(|disk| add_leaves(disk, &mut all));
    all
}

/// The disks that the file system of this path is mounted from, where its number is not that of a device (btrfs).
fn mounted_from(path: &Path) -> Vec<DiskNode> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let parse = |line: &str| -> Option<(usize, PathBuf)> {
        let (before, after) = line.split_once(" - ")?;
        let at = Path::new(before.split(' ').nth(4)?);
        let source = after.split(' ').nth(1)?;
        path.starts_with(at).then(|| (at.as_os_str().len(), PathBuf::from(source)))
    };
    // Of several mounts in one place the last is what is seen.
    let last = mounts.lines().filter_map(parse).max_by_key(|(length, _)| *length);
    let Some(source) = last.map(|(_, source)| source).filter(|source| source.starts_with("/dev")) else {
        return Vec::new();
    };
    let name = fs::canonicalize(&source).ok().and_then(|path| path.file_name().map(|name| name.to_owned()));
    let Some(name) = name else { return Vec::new() };
    let systems = fs::read_dir("/sys/fs/btrfs").into_iter().flatten().flatten();
    let devices = systems.map(|system| system.path().join("devices")).find(|devices| devices.join(&name).exists());
    let names = match devices {
        Some(devices) => fs::read_dir(devices).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect(),
        None => vec![name],
    };
    let node = |name: &std::ffi::OsString| {
        let dev = fs::read_to_string(Path::new("/sys/class/block").join(name).join("dev")).ok()?;
        let (major, minor) = dev.trim().split_once(':')?;
        DiskNode::of_device(major.parse().ok()?, minor.parse().ok()?).ok()
    };
    names.iter().filter_map(node).collect()
}

/// Adds this disk, or those that it is made of.
fn add_leaves(disk: DiskNode, all: &mut Vec<DiskNode>) {
    let parts = fs::read_dir(disk.folder().join("slaves")).into_iter().flatten().flatten();
    let parts: Vec<DiskNode> = parts
        .filter_map(|part| {
            let dev = fs::read_to_string(part.path().join("dev")).ok()?;
            let (major, minor) = dev.trim().split_once(':')?;
            DiskNode::of_device(major.parse().ok()?, minor.parse().ok()?).ok()
        })
        .collect();
    if parts.is_empty() && !all.contains(&disk) {
        all.push(disk);
    } else {
        parts.into_iter().for_each(|part| add_leaves(part, all));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_file_is_on_no_disk() {
        assert!(below(Path::new("/no/such/file")).is_empty());
        assert!(below(Path::new("/proc")).is_empty(), "in memory");
        let missing = named_disks(&[PathBuf::from("/no/such/file")]).unwrap_err().to_string();
        assert_eq!(missing, "/no/such/file: no such disk or file");
        let memory = named_disks(&[PathBuf::from("/proc/self")]).unwrap_err().to_string();
        assert_eq!(memory, "/proc/self: on no disk of this machine");
    }
}
