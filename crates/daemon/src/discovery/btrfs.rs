//! Btrfs file systems on several devices, from `/sys/fs/btrfs`, which has only mounted ones.

use super::below::disk_below;
use super::root::SystemRoot;
use scrubjay_watch::facts::{ArrayActivity, ArrayFacts, ArrayMember};
use std::collections::BTreeMap;
use std::path::Path;

/// Profiles: their names in `/sys` and for people, and how many devices may be missing (btrfs(5), "PROFILES").
const PROFILES: [(&str, &str, u32); 9] = [
    ("single", "single", 0),
    ("dup", "DUP", 0),
    ("raid0", "RAID0", 0),
    ("raid1", "RAID1", 1),
    ("raid1c3", "RAID1C3", 2),
    ("raid1c4", "RAID1C4", 3),
    ("raid10", "RAID10", 1),
    ("raid5", "RAID5", 1),
    ("raid6", "RAID6", 2),
];

/// The file systems with several devices, or with a missing one. Oddities are reported in `warnings`.
pub fn btrfs_arrays(
    root: &SystemRoot,
    other_paths: &BTreeMap<String, String>,
    warnings: &mut Vec<String>,
) -> Vec<ArrayFacts> {
    let all = Path::new("/sys/fs/btrfs");
    let is_uuid = |name: &&String| name.len() == 36 && name.bytes().all(|c| c == b'-' || c.is_ascii_hexdigit());
    let uuids = root.names(all);
    let mut arrays: Vec<ArrayFacts> = uuids
        .iter()
        .filter(is_uuid)
        .filter_map(|uuid| file_system(root, &all.join(uuid), uuid, other_paths, warnings))
        .collect();
    arrays.sort_by(|a, b| a.name.cmp(&b.name));
    arrays
}

fn file_system(
    root: &SystemRoot,
    folder: &Path,
    uuid: &str,
    other_paths: &BTreeMap<String, String>,
    warnings: &mut Vec<String>,
) -> Option<ArrayFacts> {
    let devices = root.names(&folder.join("devices"));
    let infos = folder.join("devinfo");
    // Number 0 is a device that a running `replace` fills.
    let numbers: Vec<String> = root.names(&infos).into_iter().filter(|number| number != "0").collect();
    let is_missing = |number: &&String| root.number(&infos.join(number).join("missing")) == Some(1);
    let missing = numbers.iter().filter(is_missing).count();
    if devices.len() + missing < 2 {
        return None;
    }
    let label = root.text(&folder.join("label"));
    let name = label.unwrap_or_else(|| format!("btrfs {}", uuid.get(..8).unwrap_or(uuid)));
    // Btrfs goes on without a disk that fails, and says `missing` only of one that was absent when it was mounted.
    let member = |device: &String| {
        let below = disk_below(root, &folder.join("devices").join(device), other_paths);
        ArrayMember { is_in_sync: below.is_some(), disk: below.map(|below| below.disk), data_start: 0 }
    };
    let gone = ArrayMember { disk: None, is_in_sync: false, data_start: 0 };
    let members = devices.iter().map(member).chain(vec![gone; missing]).collect();
    let data = used_profiles(root, folder, &["data", "mixed"]);
    let metadata = used_profiles(root, folder, &["metadata", "mixed"]);
    if let [(_, most, _), others @ ..] = &data[..] {
        for (_, other, _) in others {
            let words = "a conversion has not ended (`btrfs balance` ends it)";
            warnings.push(format!("btrfs {name}: some of its data are {other}, most are {most}: {words}"));
        }
    }
    for number in &numbers {
        warnings.extend(device_errors(root, &infos.join(number)).map(|errors| {
            format!("btrfs {name}: it has counted {errors} on device {number} since `btrfs device stats --reset`")
        }));
    }
    // The level is that of the profile with most of the data; if the metadata are lost, so are the data.
    let first = |profiles: &[UsedProfile]| profiles.first().copied();
    let level = first(&data).or_else(|| first(&metadata)).map_or("unknown", |(_, words, _)| words);
    let redundancy = [first(&data), first(&metadata)].into_iter().flatten().map(|(.., redundancy)| redundancy).min();
    Some(ArrayFacts {
        key: uuid.to_owned(),
        activity: activity(root, folder, uuid),
        level: format!("btrfs {level}"),
        redundancy: redundancy.unwrap_or(0),
        members,
        layout: None, // its own tree maps its chunks
        check_sectors: None,
        pool: None,
        lost_stripes: None,
        name,
    })
}

/// Used bytes, name and redundancy of a profile.
type UsedProfile = (u64, &'static str, u32);

/// The profiles that hold data, the one with the most first.
fn used_profiles(root: &SystemRoot, folder: &Path, kinds: &[&str]) -> Vec<UsedProfile> {
    let bytes = |kind: &str, profile: &str| {
        let profile_folder = folder.join("allocation").join(kind).join(profile);
        root.number(&profile_folder.join("used_bytes")).unwrap_or(0)
    };
    let is_present = |kind: &str, profile: &str| root.has(&folder.join("allocation").join(kind).join(profile));
    let mut used: Vec<UsedProfile> = Vec::new();
    for kind in kinds {
        let present: Vec<UsedProfile> = PROFILES
            .into_iter()
            .filter(|(profile, ..)| is_present(kind, profile))
            .map(|(profile, words, redundancy)| (bytes(kind, profile), words, redundancy))
            .collect();
        // In an empty file system the only profile is the one that will be used.
        let is_only_profile = present.len() == 1;
        used.extend(present.into_iter().filter(|(bytes, ..)| *bytes > 0 || is_only_profile));
    }
    used.sort_by_key(|(bytes, _, redundancy)| (std::cmp::Reverse(*bytes), *redundancy));
    used
}

/// The counters in `error_stats` above zero: `3 write errors, 1 corruption`.
fn device_errors(root: &SystemRoot, folder: &Path) -> Option<String> {
    let text = root.text(&folder.join("error_stats"))?;
    let count = |line: &str| {
        let (kind, number) = line.split_once(' ')?;
        let number: u64 = number.trim().parse().ok().filter(|number| *number > 0)?;
        Some(format!("{number} {} errors", kind.trim_end_matches("_errs")))
    };
    let counts: Vec<String> = text.lines().filter_map(count).collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

/// What btrfs is doing. An exclusive operation moves data; a scrub is recognised by the socket at which `btrfs scrub`
/// reports its progress, while a process listens there.
fn activity(root: &SystemRoot, folder: &Path, uuid: &str) -> ArrayActivity {
    let operation = root.text(&folder.join("exclusive_operation")).unwrap_or_default();
    let is_moving =
        ["balance", "device add", "device remove", "device replace", "resize"].contains(&operation.as_str());
    let is_replacing = root
        .names(&folder.join("devinfo"))
        .iter()
        .any(|number| root.number(&folder.join("devinfo").join(number).join("replace_target")) == Some(1));
    if is_moving || is_replacing {
        return ArrayActivity::Rebuilding;
    }
    let socket = format!("/var/lib/btrfs/scrub.progress.{uuid}");
    let listeners = root.text(Path::new("/proc/net/unix")).unwrap_or_default();
    match listeners.lines().any(|line| line.split_whitespace().last() == Some(socket.as_str())) {
        true => ArrayActivity::Checking,
        false => ArrayActivity::Idle,
    }
}
