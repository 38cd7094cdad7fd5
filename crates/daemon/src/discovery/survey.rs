//! Surveys a machine from text files only: no device is opened, no disk is woken, no permission is needed.

use super::btrfs::btrfs_arrays;
use super::disks::disks;
use super::md::md_arrays;
use super::mounted::mounted;
use super::others::other_scrubbers;
use super::power::is_on_battery;
use super::root::SystemRoot;
use super::seen::HostSurvey;
use super::zfs::imported;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Makes a survey below `root`. `also` names devices that are to be watched although they are no hardware with a fixed
/// medium: `/dev/loop7`, a card reader.
pub fn survey(root: &SystemRoot, also: &[PathBuf]) -> HostSurvey {
    let found = disks(root, also);
    let mut warnings = Vec::new();
    let mut arrays = md_arrays(root, &found.other_paths, &mut warnings);
    arrays.extend(btrfs_arrays(root, &found.other_paths, &mut warnings));
    let are_arrays_known = warnings.is_empty();
    // Images on loop devices are experiments, unless they are watched.
    let is_watched = |name: &String| found.disks.iter().any(|disk| disk.facts.name == *name);
    arrays.retain(|array| {
        let members = || array.members.iter().filter_map(|member| member.disk.as_ref());
        members().next().is_none() || members().any(|name| is_watched(name) || !is_image(name))
    });
    let mut keys = BTreeSet::new();
    arrays.retain(|array| {
        let is_first = keys.insert(array.key.clone());
        if !is_first {
            warnings.push(format!("array {} has the UUID of another one, and is left out", array.name));
        }
        is_first
    });
    let warnings = found.warnings.into_iter().chain(warnings).collect();
    HostSurvey {
        disks: found.disks,
        offline: found.offline,
        arrays,
        pools: imported(root).into_iter().map(|pool| pool.name).collect(),
        checks: BTreeMap::new(),
        are_arrays_known,
        mounted: mounted(root),
        is_on_battery: is_on_battery(root),
        others: other_scrubbers(root),
        warnings,
    }
}

/// Is it a device, such as `loop7`, whose medium is a file, memory or another machine's?
fn is_image(name: &str) -> bool {
    let number = ["loop", "zram", "ram", "nbd", "ublkb"].iter().find_map(|kind| name.strip_prefix(kind));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
