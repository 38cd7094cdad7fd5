//! Disks that the kernel has taken offline: their nodes and sizes stay, and requests fail.

use super::root::SystemRoot;
use scrubjay_device::sysfs::is_live_state;
use std::path::Path;

/// Has the kernel given up the disk with this folder in `/sys`? Not while its path is only blocked, or its controller is reset.
pub fn is_offline(root: &SystemRoot, folder: &Path) -> bool {
    root.text(&folder.join("device/state")).is_some_and(|state| !is_live_state(&state))
}
