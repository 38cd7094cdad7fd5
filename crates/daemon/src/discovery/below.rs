//! The disk below a block device that an array uses: the whole disk of a partition, or what lies below encryption or a cache.

use super::offline::is_offline;
use super::root::{SystemRoot, last_name};
use std::collections::BTreeMap;
use std::path::Path;

/// Devices on top of each other, at most; no machine has more.
const DEPTH_MAX: usize = 8;

/// The place of a member's sectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskBelow {
    /// The kernel's name of the disk; if the device lies on several disks, its own.
    pub disk: String,
    /// The sector of the disk at which the device begins; `None`: not known.
    pub start: Option<u64>,
}

/// Follows a device's folder, or a link to it, down while there is exactly one device below. `other_paths` names the
/// disks that have several paths. `None`: it is absent, or the kernel has taken it offline.
pub fn disk_below(root: &SystemRoot, folder: &Path, other_paths: &BTreeMap<String, String>) -> Option<DiskBelow> {
    let mut folder = root.resolve(folder)?;
    let mut start = Some(0);
    for _ in 0..DEPTH_MAX {
        if root.has(&folder.join("partition")) {
            start = start.zip(root.number(&folder.join("start"))).map(|(above, own)| above + own);
            folder.pop();
        }
        let links = folder.join("slaves");
        let slaves = root.names(&links);
        let is_multipath = root.text(&folder.join("dm/uuid")).is_some_and(|uuid| uuid.starts_with("mpath-"));
        let is_array = root.has(&folder.join("md"));
        let below = match &slaves[..] {
            [first, ..] if is_multipath => {
                slaves.iter().find(|path| !is_offline(root, &links.join(path))).unwrap_or(first)
            }
            [only] if !is_array => only,
            _ => break,
        };
        folder = root.resolve(&links.join(below))?;
        // A path has the whole disk; the start of other devices is known only to the device mapper.
        start = start.filter(|_| is_multipath);
    }
    // An array on one path alone is without its disk, even if another path leads there.
    if is_offline(root, &folder) {
        return None;
    }
    let name = last_name(&folder);
    let disk = other_paths.get(&name).cloned().unwrap_or(name);
    Some(DiskBelow { disk, start })
}
