//! Arrays with a checker of their own that the watch can drive: served volumes, md with redundancy, mounted btrfs.
//!
//! This asks servers and file systems, so it is not part of the survey. A server has a time limit. A btrfs of which a disk hangs may
//! never answer, so [`pool_checks`] is for a thread of its own. No device is opened: a read every half a minute would keep a
//! disk from sleeping.

use super::md::md_keys;
use super::root::SystemRoot;
use super::seen::{CheckWay, HostSurvey};
use super::volumes::add_served_volumes;
use scrubjay_device::btrfs::BtrfsPool;
use scrubjay_device::md::MdArray;
use std::path::{Path, PathBuf};

/// The checker of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayCheck {
    /// The array's UUID.
    pub key: String,
    /// How it is driven.
    pub way: CheckWay,
    /// The sectors that it covers in one pass.
    pub sectors: u64,
}

/// Adds the volumes that are served here, and how their checkers and those of md are driven. It takes as long as the servers
/// take, half a minute for each that hangs.
pub fn add_checks(seen: &mut HostSurvey) {
    add_served_volumes(seen);
    for (key, name) in md_keys(&SystemRoot::default()) {
        if let Some((identity, sectors)) = MdArray::outline(&name) {
            let way = CheckWay { target: Path::new("/dev").join(name), identity };
            add_check(seen, &ArrayCheck { key, way, sectors });
        }
    }
}

/// How the checkers of mounted btrfs are driven. Where a disk hangs, this may never return.
pub fn pool_checks() -> Vec<ArrayCheck> {
    // A file system that cannot be examined now has no checker now.
    let check_at = |point: PathBuf| {
        let (key, identity, sectors) = BtrfsPool::outline(&point)?;
        Some(ArrayCheck { key, way: CheckWay { target: point, identity }, sectors })
    };
    BtrfsPool::mount_points().into_iter().filter_map(check_at).collect()
}

/// Adds how the checker of an array is driven, if the array is seen.
pub fn add_check(seen: &mut HostSurvey, check: &ArrayCheck) {
    // If a file system has several mounts, the first one is used.
    if let Some(array) = seen.arrays.iter_mut().find(|array| array.key == check.key && array.check_sectors.is_none()) {
        array.check_sectors = Some(check.sectors);
        seen.checks.insert(check.key.clone(), check.way.clone());
    }
}
