//! Which disks are there, and what stops us from reading each? Nothing is written, no medium is touched.

use crate::sysfs::DiskNode;
use crate::target::{self, Target, TargetError, TargetIdentity};
use scrubjay_core::units::Bytes;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A disk of this machine.
#[derive(Debug)]
pub struct InventoryDisk {
    /// `/dev/sda`.
    pub path: PathBuf,
    /// Vendor and model, where the disk says so.
    pub model: Option<String>,
    /// Serial number, where the disk says so.
    pub serial: Option<String>,
    /// What its saved state is filed under.
    pub id: TargetIdentity,
    /// Its size.
    pub bytes: Bytes,
    /// A device of its own, not one made of others (loop, dm, md)?
    pub is_hardware: bool,
    /// Does it spin?
    pub is_rotational: bool,
    /// What stops us from reading it.
    pub obstacle: Option<TargetError>,
}

/// All disks that have a size: hardware first, then by name. Loop devices and the like count when something lies below them.
///
/// # Errors
/// When `/sys/block` cannot be read.
pub fn disks() -> io::Result<Vec<InventoryDisk>> {
    let mut disks = Vec::new();
    for entry in fs::read_dir("/sys/block")? {
        let Ok(node) = DiskNode::of_folder(&entry?.path()) else { continue };
        // A floppy drive may take seconds to say that it is empty; RAM is no disk.
        if !node.name.starts_with("fd") && !node.name.starts_with("ram") {
            disks.extend(describe(node));
        }
    }
    disks.sort_by_key(|disk| (!disk.is_hardware, natural(&disk.path)));
    Ok(disks)
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

/// sda before sdb before sdaa; loop2 before loop10.
fn natural(path: &Path) -> (String, usize, String) {
    let name = path.to_string_lossy().into_owned();
    (name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned(), name.len(), name)
}
