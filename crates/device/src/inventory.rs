//! Lists the disks of this machine, and what prevents reading each. Writes nothing and touches no medium.

use crate::sysfs::DiskNode;
use crate::target::{self, Target, TargetError, TargetIdentity};
use scrubjay_core::units::Bytes;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A disk of this machine.
#[derive(Debug)]
pub struct InventoryDisk {
    /// Path of the device, such as `/dev/sda`.
    pub path: PathBuf,
    /// Vendor and model, where the disk reports them.
    pub model: Option<String>,
    /// Serial number, where the disk reports it.
    pub serial: Option<String>,
    /// The identity under which its state is saved.
    pub id: TargetIdentity,
    /// Its size.
    pub bytes: Bytes,
    /// Whether it is hardware, not a device made of others (loop, dm, md).
    pub is_hardware: bool,
    /// Whether it spins.
    pub is_rotational: bool,
    /// Why it cannot be read; `None`: it can.
    pub obstacle: Option<TargetError>,
}

/// All disks whose size is not zero: hardware first, then by name. Loop devices and the like count when they are in use.
///
/// # Errors
/// When `/sys/block` cannot be read.
pub fn disks() -> io::Result<Vec<InventoryDisk>> {
    let mut disks = Vec::new();
    for entry in fs::read_dir("/sys/block")? {
        let Ok(node) = DiskNode::of_folder(&entry?.path()) else { continue };
        // A floppy drive may take seconds to report that it is empty; RAM is no disk.
        if !node.name.starts_with("fd") && !node.name.starts_with("ram") {
            disks.extend(describe(node));
        }
    }
    disks.sort_by_key(|disk| (!disk.is_hardware, natural(&disk.path)));
    Ok(disks)
}

/// The disks that `name` may mean: a path (of a partition, too), the kernel's name, a serial number or a WWN. There may be
/// several, since some bridges report the same serial number for every disk.
///
/// # Errors
/// When `/sys/block` cannot be read.
pub fn find(name: &str) -> io::Result<Vec<InventoryDisk>> {
    let mut disks = disks()?;
    let paths = [PathBuf::from(name), Path::new("/dev").join(name)];
    let place = paths.iter().find_map(|path| whole_disk(path));
    disks.retain(|disk| place.as_ref().map_or_else(|| is_called(disk, name), |place| disk.path == *place));
    Ok(disks)
}

/// `/dev/sda` for any path to it or to a partition of it.
fn whole_disk(path: &Path) -> Option<PathBuf> {
    let metadata = fs::metadata(path).ok().filter(|metadata| metadata.file_type().is_block_device())?;
    let (major, minor) = target::numbers(metadata.rdev());
    Some(Path::new("/dev").join(DiskNode::of_device(major, minor).ok()?.name))
}

/// The identity of a disk, under which its state and its claim are filed, from the kernel's name for it. Reads `/sys` only.
pub fn identity(name: &str) -> Option<TargetIdentity> {
    DiskNode::of_folder(&Path::new("/sys/block").join(name)).ok().map(|node| target::disk_id(&node))
}

/// Whether two serial numbers or WWNs are the same, ignoring the prefixes that udev, smartctl and labels put before a WWN.
pub fn is_alike(first: &str, second: &str) -> bool {
    let bare = |text: &str| {
        let text = text.to_ascii_lowercase();
        let text = ["wwn-", "naa.", "eui."].iter().find_map(|start| text.strip_prefix(start)).unwrap_or(&text);
        text.strip_prefix("0x").unwrap_or(text).to_owned()
    };
    bare(first) == bare(second)
}

fn is_called(disk: &InventoryDisk, name: &str) -> bool {
    // The identity consists of WWN and serial number.
    let words = disk.id.is_certain.then_some(disk.id.name.as_str()).into_iter().flat_map(str::split_whitespace);
    !name.is_empty() && words.chain(disk.serial.as_deref()).any(|word| is_alike(word, name))
}

fn describe(node: DiskNode) -> Option<InventoryDisk> {
    let sectors = node.number("size").filter(|&sectors| sectors > 0)?;
    let path = Path::new("/dev").join(&node.name);
    let first = |paths: &[&str]| paths.iter().find_map(|path| node.attribute(path));
    let words = [
        first(&["device/vendor"]).filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x")),
        first(&["device/model"]),
    ];
    let model = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let model = if model.is_empty() { first(&["loop/backing_file", "dm/name", "md/level"]) } else { Some(model) };
    Some(InventoryDisk {
        serial: node.serial(),
        id: target::disk_id(&node),
        bytes: Bytes(sectors * 512),
        is_hardware: node.folder().join("device").exists(),
        is_rotational: node.number("queue/rotational") == Some(1),
        obstacle: Target::open(&path).err(),
        model,
        path,
    })
}

/// Sort key: sda before sdb before sdaa; loop2 before loop10.
fn natural(path: &Path) -> (String, usize, String) {
    let name = path.to_string_lossy().into_owned();
    (name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned(), name.len(), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_called_by_its_serial_number_and_by_its_wwn() {
        let disk = InventoryDisk {
            path: "/dev/sdc".into(),
            model: None,
            serial: Some("ZL2ABCDE".to_owned()),
            id: TargetIdentity::new("naa.5000c500a1b2c3d4 ZL2ABCDE", String::new(), true),
            bytes: Bytes(512),
            is_hardware: true,
            is_rotational: true,
            obstacle: None,
        };
        for name in ["ZL2ABCDE", "zl2abcde", "5000c500a1b2c3d4", "wwn-0x5000c500a1b2c3d4", "0x5000C500A1B2C3D4"] {
            assert!(is_called(&disk, name), "{name}");
        }
        for name in ["", "ZL2ABCD", "sdc", "5000c500", "naa."] {
            assert!(!is_called(&disk, name), "{name}");
        }
    }
}
