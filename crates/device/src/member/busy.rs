//! Finds the holder of a member: mounts, swap, devices made of it, other programs.
//!
//! The kernel refuses a second holder of a block device, but does not name the first; and it does not prevent the use of a file
//! that is swap, or the disk behind a loop device. So the holder is looked up first.

use crate::sysfs::DiskNode;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// The holder of a member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemberHolder {
    /// A mounted file system.
    #[error("is mounted at {0}")]
    Mounted(String),
    /// A mounted file system on one of its partitions.
    #[error("has a partition, {partition}, that is mounted at {at}")]
    PartitionMounted {
        /// Name of the partition.
        partition: String,
        /// Where it is mounted.
        at: String,
    },
    /// The kernel, as swap.
    #[error("is in use as swap")]
    Swap,
    /// Devices that are made of it: `md0`, `dm-3`.
    #[error("is part of {0}")]
    Held(String),
    /// The loop device on this file.
    #[error("is the disk behind /dev/{0}")]
    Loop(String),
    /// Another program, as far as that can be known.
    #[error("is in use by process {pid} ({command}), or is named twice")]
    Process {
        /// Its process ID.
        pid: u32,
        /// Its command line.
        command: String,
    },
    /// This program.
    #[error("is named twice, perhaps by another name")]
    Twice,
    /// Not known.
    #[error("is in use by another program, or is named twice")]
    Unknown,
    /// Another file took the name while it was being opened.
    #[error("was replaced by something else just now")]
    Replaced,
}

impl MemberHolder {
    /// Whether the holder is certainly alive. (A process that is gone has no command line any more.)
    pub fn is_alive(&self) -> bool {
        match self {
            MemberHolder::Process { command, .. } => !command.is_empty(),
            MemberHolder::Unknown => false,
            _ => true,
        }
    }
}

/// The holder, as far as it can be known before the file is opened.
pub fn find_holder(path: &Path, metadata: &Metadata) -> Option<MemberHolder> {
    if metadata.file_type().is_block_device() { device(metadata.rdev()) } else { file(path) }
}

/// The holder of a lock on this file. `/proc/locks`: `1: FLOCK  ADVISORY  WRITE 4242 fe:00:131075 0 EOF`.
pub fn holder(path: &Path) -> MemberHolder {
    let Ok(metadata) = fs::metadata(path) else { return MemberHolder::Unknown };
    let (major, minor) = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
    let name = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let line = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let pid = line.filter(|words| words.get(5) == Some(&name.as_str())).find_map(|words| words[4].parse().ok());
    pid.map_or(MemberHolder::Unknown, |pid: u32| {
        if pid == std::process::id() {
            return MemberHolder::Twice;
        }
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = line.split(|&byte| byte == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy);
        MemberHolder::Process { pid, command: words.collect::<Vec<_>>().join(" ") }
    })
}

fn device(number: u64) -> Option<MemberHolder> {
    let (major, minor) = (libc::major(number), libc::minor(number));
    let folder = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mounted = |number: &str| mount_point(&fs::read_to_string("/proc/self/mountinfo").ok()?, number);
    if let Some(at) = mounted(&format!("{major}:{minor}")) {
        return Some(MemberHolder::Mounted(at));
    }
    if is_swap(&format!("/dev/{name}")) {
        return Some(MemberHolder::Swap);
    }
    let children = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let mut holders = children(&folder.join("holders"));
    for partition in children(&folder).into_iter().filter(|child| folder.join(child).join("partition").exists()) {
        let number = fs::read_to_string(folder.join(&partition).join("dev")).unwrap_or_default();
        if let Some(at) = mounted(number.trim()) {
            return Some(MemberHolder::PartitionMounted { partition, at });
        }
        if is_swap(&format!("/dev/{partition}")) {
            return Some(MemberHolder::Swap);
        }
        holders.extend(children(&folder.join(partition).join("holders")));
    }
    holders.sort();
    (!holders.is_empty()).then(|| MemberHolder::Held(holders.join(", ")))
}

fn file(path: &Path) -> Option<MemberHolder> {
    let path = fs::canonicalize(path).ok()?;
    if is_swap(&path.to_string_lossy()) {
        return Some(MemberHolder::Swap);
    }
    let disks = fs::read_dir("/sys/block").ok()?.flatten();
    let loops = disks.filter(|disk| disk.file_name().to_string_lossy().starts_with("loop"));
    let nodes = loops.filter_map(|disk| DiskNode::of_folder(&disk.path()).ok());
    let is_on_path = |node: &DiskNode| node.attribute("loop/backing_file").is_some_and(|file| Path::new(&file) == path);
    nodes.into_iter().find(is_on_path).map(|node| MemberHolder::Loop(node.name))
}

/// The mount point of a device. `36 35 98:0 / /mnt rw ...`: the fifth word of the line whose third is the device's number.
fn mount_point(mounts: &str, number: &str) -> Option<String> {
    let mut lines = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let line = lines.find(|words| words.get(2) == Some(&number))?;
    line.get(4).map(|at| at.replace("\\040", " "))
}

/// Whether a device or file is swap: the first word of a line of `/proc/swaps`, except the first line.
fn is_swap(path: &str) -> bool {
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    swaps
        .lines()
        .skip(1)
        .any(|line| line.split_whitespace().next().is_some_and(|word| word.replace("\\040", " ") == path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_found_by_device_number() {
        let mounts =
            "22 1 0:20 / /proc rw shared:1 - proc proc rw\n36 35 98:0 / /mnt/my\\040disk rw - ext4 /dev/x rw\n";
        assert_eq!(mount_point(mounts, "98:0").as_deref(), Some("/mnt/my disk"));
        assert_eq!(mount_point(mounts, "8:0"), None);
    }
}
