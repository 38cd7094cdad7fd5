//! Which arrays have a checker of their own that the watch can drive: served volumes, md with redundancy, mounted btrfs.
//!
//! This asks servers and opens devices, to be read only; it takes as long as those take to answer. So it is no part of the survey.

use super::md::md_keys;
use super::root::SystemRoot;
use super::seen::{CheckWay, HostSurvey};
use super::volumes::add_served_volumes;
use scrubjay_device::btrfs::BtrfsPool;
use scrubjay_device::md::MdArray;
use scrubjay_device::subject::Subject;
use std::path::Path;

/// Adds the volumes that are served here, and how the checkers are driven of all arrays that have one.
pub fn add_checks(seen: &mut HostSurvey) {
    add_served_volumes(seen);
    for (key, name) in md_keys(&SystemRoot::default()) {
        if let Some((identity, sectors)) = MdArray::outline(&name) {
            add(seen, &key, CheckWay { target: Path::new("/dev").join(name), identity }, sectors);
        }
    }
    for point in BtrfsPool::mount_points() {
        // One that cannot be looked at now has no checker now.
        let Ok(pool) = BtrfsPool::look(&point, false) else { continue };
        let way = CheckWay { target: point, identity: pool.id().clone() };
        add(seen, &pool.uuid(), way, pool.sectors());
    }
}

/// The array with this UUID is checked in this way.
fn add(seen: &mut HostSurvey, key: &str, way: CheckWay, sectors: u64) {
    // Of several mounts of one file system the first will do.
    if let Some(array) = seen.arrays.iter_mut().find(|array| array.key == key && array.check_sectors.is_none()) {
        array.check_sectors = Some(sectors);
        seen.checks.insert(key.to_owned(), way);
    }
}
