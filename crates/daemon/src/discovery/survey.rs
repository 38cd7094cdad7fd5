//! Looks at all of a machine: one survey, from text files only. No device is opened, no disk is woken, no permission is needed.

use super::btrfs::btrfs_arrays;
use super::disks::disks;
use super::md::md_arrays;
use super::others::other_scrubbers;
use super::power::is_on_battery;
use super::root::SystemRoot;
use super::seen::HostSurvey;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What is there now, below `root`. `also` names devices that are to be watched although they are no hardware with a medium that
/// stays: `/dev/loop7`, a card reader.
pub fn survey(root: &SystemRoot, also: &[PathBuf]) -> HostSurvey {
    let found = disks(root, also);
    let mut warnings = found.warnings;
    let mut arrays = md_arrays(root, &found.other_paths, &mut warnings);
    arrays.extend(btrfs_arrays(root, &found.other_paths, &mut warnings));
    // What lies on devices alone that are not watched is somebody else's: images on loop devices.
    let is_watched = |name: &String| found.disks.iter().any(|disk| disk.facts.name == *name);
    arrays.retain(|array| {
        let mut known = array.members.iter().filter_map(|member| member.disk.as_ref()).peekable();
        known.peek().is_none() || known.any(is_watched)
    });
    let mut keys = BTreeSet::new();
    arrays.retain(|array| {
        let is_first = keys.insert(array.key.clone());
        if !is_first {
            warnings.push(format!("array {} has the UUID of another one, and is left out", array.name));
        }
        is_first
    });
    warnings.extend(pools(root));
    HostSurvey {
        disks: found.disks,
        arrays,
        checks: BTreeMap::new(),
        is_on_battery: is_on_battery(root),
        others: other_scrubbers(root),
        warnings,
    }
}

/// ZFS says in text files which pools there are and how they are, not which disks they have.
fn pools(root: &SystemRoot) -> Vec<String> {
    let folder = Path::new("/proc/spl/kstat/zfs");
    let words = "nothing tells its disks without `zpool`, so they may be read side by side, and while it scrubs";
    let pool = |name: String| {
        let state = root.text(&folder.join(&name).join("state"))?;
        Some(format!("ZFS pool {name} is {state}; {words}"))
    };
    root.names(folder).into_iter().filter_map(pool).collect()
}

#[cfg(test)]
mod tests;
