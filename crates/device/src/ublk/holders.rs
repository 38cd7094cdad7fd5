//! Finds the users of a ublk block device, which is not stopped while it is in use.

use crate::member;
use crate::sysfs::DiskNode;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A claim on a block device: while it lives, the device cannot be mounted or made a part of another device.
#[derive(Debug)]
pub struct Claimed {
    file: File,
}

impl Claimed {
    /// Makes the kernel write its cached data of the device. After a stop such writes would fail, long after their program ended.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_back(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// Claims a block device, or returns who uses it, in words that continue its name.
pub fn claim(path: &Path) -> Result<Claimed, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if let Some(holder) = member::find_holder(path, &metadata) {
        return Err(holder.to_string());
    }
    let exclusive = OFlags::EXCL.bits() as i32; // without O_CREAT: the kernel's claim (open(2))
    let file = match OpenOptions::new().read(true).custom_flags(exclusive).open(path) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            return Err("is mounted elsewhere, or part of something else".to_owned());
        }
        Err(error) => return Err(error.to_string()),
    };
    match process(&numbers(path)).or_else(|| loop_device(path)) {
        Some(user) => Err(user),
        None => Ok(Claimed { file }),
    }
}

/// The numbers of a block device and its partitions.
fn numbers(path: &Path) -> Vec<(u32, u32)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = Path::new("/sys/block").join(&name);
    let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
    let partitions = inside.filter(|entry| entry.file_name().to_string_lossy().starts_with(&name));
    let folders = partitions.map(|entry| entry.path()).chain([folder.clone()]);
    folders.filter_map(|folder| DiskNode::of_folder(&folder).ok()).map(|node| (node.major, node.minor)).collect()
}

/// A process, other than this one, that has one of these devices open.
fn process(numbers: &[(u32, u32)]) -> Option<String> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let ids = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    let id = ids.filter(|id| *id != std::process::id()).find(|id| has_open(*id, numbers))?;
    let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    Some(format!("is open in process {id} ({})", name.trim_end()))
}

fn has_open(process: u32, numbers: &[(u32, u32)]) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    descriptors.map(|descriptor| descriptor.path()).any(|descriptor| {
        // Only links into /dev are followed, because a file system that does not answer would block this.
        let is_device_path = fs::read_link(&descriptor).is_ok_and(|target| target.starts_with("/dev/"));
        let metadata = is_device_path.then(|| fs::metadata(&descriptor).ok()).flatten();
        metadata.is_some_and(|metadata| numbers.contains(&(libc::major(metadata.rdev()), libc::minor(metadata.rdev()))))
    })
}

/// A loop device over it. (A loop device does not claim the device below it.)
fn loop_device(path: &Path) -> Option<String> {
    let folders = fs::read_dir("/sys/block").ok()?.flatten().map(|entry| entry.path());
    let nodes = folders.filter_map(|folder| DiskNode::of_folder(&folder).ok());
    let is_over = |node: &DiskNode| node.attribute("loop/backing_file").is_some_and(|below| Path::new(&below) == path);
    nodes.into_iter().find(is_over).map(|node| format!("is the disk behind /dev/{}", node.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_a_device_open_is_found() {
        let numbers = |path: &str| {
            let metadata = fs::metadata(path).unwrap();
            vec![(libc::major(metadata.rdev()), libc::minor(metadata.rdev()))]
        };
        let zero = File::open("/dev/zero").unwrap();
        assert!(has_open(std::process::id(), &numbers("/dev/zero")));
        drop(zero);
        assert!(!has_open(std::process::id(), &[(4095, 1)]));
    }
}
