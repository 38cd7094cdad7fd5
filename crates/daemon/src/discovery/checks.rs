//! Arrays with a checker of their own that the watch can drive: served volumes, md with redundancy, mounted btrfs.
//!
//! This asks servers and file systems, and takes as long as they take to answer. So it is not part of the survey. It opens no
//! device: a read every half a minute would keep a disk from sleeping.

use super::md::md_keys;
use super::root::SystemRoot;
use super::seen::{CheckWay, HostSurvey};
use super::volumes::add_served_volumes;
use scrubjay_device::btrfs::BtrfsPool;
use scrubjay_device::md::MdArray;
use std::path::Path;

/// Adds the volumes that are served here, and for all arrays with a checker how it is driven.
pub fn add_checks(seen: &mut HostSurvey) {
    add_served_volumes(seen);
    for (key, name) in md_keys(&SystemRoot::default()) {
        if let Some((identity, sectors)) = MdArray::outline(&name) {
            add(seen, &key, CheckWay { target: Path::new("/dev").join(name), identity }, sectors);
        }
    }
    for point in BtrfsPool::mount_points() {
        // A file system that cannot be examined now has no checker now.
        let Some((key, identity, sectors)) = BtrfsPool::outline(&point) else { continue };
        add(seen, &key, CheckWay { target: point, identity }, sectors);
    }
}

/// Adds the checker of the array with this UUID.
fn add(seen: &mut HostSurvey, key: &str, way: CheckWay, sectors: u64) {
    // If a file system has several mounts, the first one is used.
    if let Some(array) = seen.arrays.iter_mut().find(|array| array.key == key && array.check_sectors.is_none()) {
        array.check_sectors = Some(sectors);
        seen.checks.insert(key.to_owned(), way);
    }
}
