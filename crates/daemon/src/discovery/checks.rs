//! Which arrays have a checker of their own that the watch can drive: served volumes and mounted btrfs.
//!
//! This asks servers and opens devices, to be read only; it takes as long as those take to answer. So it is no part of the survey.

use super::seen::{CheckWay, HostSurvey};
use super::volumes::add_served_volumes;
use scrubjay_device::btrfs::BtrfsPool;
use scrubjay_device::subject::Subject;
use std::path::Path;

/// Adds the volumes that are served here, and how the checkers are driven of all arrays that have one.
pub fn add_checks(seen: &mut HostSurvey) {
    add_served_volumes(seen);
    for point in BtrfsPool::mount_points() {
        // One that cannot be looked at now has no checker now.
        let Ok(pool) = BtrfsPool::look(&point, false) else { continue };
        add(seen, &pool.uuid(), &point, &pool);
    }
}

/// The array with this UUID is checked by scrubbing `target`.
fn add(seen: &mut HostSurvey, key: &str, target: &Path, subject: &dyn Subject) {
    // Of several mounts of one file system the first will do.
    let Some(array) = seen.arrays.iter_mut().find(|array| array.key == key && array.check_sectors.is_none()) else {
        return;
    };
    array.check_sectors = Some(subject.sectors());
    let way = CheckWay { target: target.to_owned(), identity: subject.id().clone() };
    seen.checks.insert(key.to_owned(), way);
}
