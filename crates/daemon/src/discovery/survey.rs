//! Surveys a machine from text files only: no device is opened, no disk is woken, no permission is needed.

use super::btrfs::btrfs_arrays;
use super::disks::disks;
use super::md::md_arrays;
use super::others::other_scrubbers;
use super::power::is_on_battery;
use super::root::SystemRoot;
use super::seen::HostSurvey;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

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
    let pools = pools(root);
    let are_arrays_known = are_arrays_known && pools.is_empty();
    let warnings = found.warnings.into_iter().chain(warnings).chain(pools).collect();
    HostSurvey {
        disks: found.disks,
        offline: found.offline,
        arrays,
        checks: BTreeMap::new(),
        are_arrays_known,
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

/// What is not known of each ZFS pool. The kernel's text files give its name, and the state of its devices as a whole: a
/// pool whose devices all work is ONLINE there also when it has lost data, so that a good state is not told as one.
fn pools(root: &SystemRoot) -> Vec<String> {
    let folder = Path::new("/proc/spl/kstat/zfs");
    let pool = |name: String| {
        let state = root.text(&folder.join(&name).join("state"))?;
        let devices = match state.as_str() {
            "ONLINE" => String::new(),
            state => format!("its devices are {state}; "),
        };
        Some(format!(
            "ZFS pool {name}: {devices}whether it has lost data is not known here (sudo zpool status -v {name}); the watch \
             does not know its disks, so it may read several of them at once, and while it scrubs or resilvers"
        ))
    };
    root.names(folder).into_iter().filter_map(pool).collect()
}

#[cfg(test)]
mod tests;
