//! The disks of this machine, each once, whatever number of paths leads to it.

use super::bays::{DiskBay, bays};
use super::identity::DiskNames;
use super::offline::is_offline;
use super::place::DiskPlace;
use super::root::{SystemRoot, last_name};
use super::seen::SeenDisk;
use crate::mmc::{self, is_mmc, is_mmc_area};
use scrubjay_watch::facts::{DiskFacts, DiskKey, MediaKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Drivers whose devices are not disks of this machine, although the kernel may list them as hardware: memory, files,
/// the network, devices made of other disks, raw flash and tapes.
const NO_DISKS: [&str; 15] =
    ["sr", "fd", "ram", "zram", "loop", "dm-", "md", "nbd", "rbd", "drbd", "bcache", "ublkb", "zd", "mtdblock", "pmem"];

/// The disks, and the other paths to those with more than one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundDisks {
    /// Each disk once, `sda` before `sdb` before `sdaa`.
    pub disks: Vec<SeenDisk>,
    /// Disks that the kernel has taken offline, on all their paths.
    pub offline: Vec<SeenDisk>,
    /// Other paths to a disk: the kernel's name of the path, and that of the disk.
    pub other_paths: BTreeMap<String, String>,
    /// What could not be determined.
    pub warnings: Vec<String>,
}

/// A block device that is taken for a disk.
struct DiskCandidate {
    name: String,
    folder: PathBuf,
    names: DiskNames,
    place: DiskPlace,
    sectors: u64,
    is_offline: bool,
    /// The device mapper's multipath device above it.
    multipath: Option<String>,
}

/// Finds hardware disks with a size, and the devices of `also`, which may be of any kind.
pub fn disks(root: &SystemRoot, also: &[PathBuf]) -> FoundDisks {
    let mut found = FoundDisks::default();
    let block = Path::new("/sys/block");
    let requested: Vec<String> = also.iter().map(|path| requested_name(root, path)).collect();
    let mut candidates = Vec::new();
    for name in root.names(block) {
        let folder = block.join(&name);
        let is_requested = requested.contains(&name);
        let sectors = root.number(&folder.join("size")).unwrap_or(0);
        if sectors > 0 && (is_requested || is_hardware(root, &folder)) {
            candidates.push(candidate(root, name, folder, sectors));
        }
    }
    for (path, name) in also.iter().zip(&requested) {
        if !candidates.iter().any(|candidate| candidate.name == *name) {
            found.warnings.push(format!("{} is to be watched, but there is no such disk now", path.display()));
        }
    }
    // A path that works stands for the disk.
    candidates.sort_by_key(|candidate| (candidate.is_offline, natural_order(&candidate.name)));
    let given_up: Vec<String> = candidates
        .iter()
        .filter(|candidate| candidate.is_offline)
        .map(|candidate| {
            let words = "the kernel has given it up; look at its cable and power, then at `dmesg`";
            format!("{} is offline: {words}", candidate.name)
        })
        .collect();
    distrust_shared_wwns(&mut candidates, &mut found.warnings);
    merge_paths(&mut candidates, &mut found);
    let (offline, candidates): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|candidate| candidate.is_offline);
    let bays = bays(root);
    let is_shared = |own: &DiskCandidate| {
        candidates.iter().any(|other| other.name != own.name && other.place.controller == own.place.controller)
    };
    let described = |candidate: &DiskCandidate| describe(root, candidate, &bays, is_shared(candidate));
    found.disks = candidates.iter().map(described).collect();
    found.offline = offline.iter().map(described).collect();
    warn_of_twins(&mut found);
    found.warnings.extend(given_up);
    found
}

/// The kernel's name of what a user named: the device behind links; without one, the last part of the path.
fn requested_name(root: &SystemRoot, path: &Path) -> String {
    last_name(&root.resolve(path).unwrap_or_else(|| path.to_owned()))
}

/// Is it a device of its own with a fixed medium, and not one of [`NO_DISKS`]?
fn is_hardware(root: &SystemRoot, folder: &Path) -> bool {
    let name = last_name(folder);
    let has_driver_of_no_disk = NO_DISKS
        .iter()
        .any(|driver| name.strip_prefix(driver).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())));
    let is_set = |file: &str| root.number(&folder.join(file)) == Some(1);
    !has_driver_of_no_disk
        && !is_mmc_area(&name)
        && (!is_mmc(&name) || mmc::is_of_the_machine(root, folder))
        && root.has(&folder.join("device"))
        && !is_set("removable")
        && !is_set("hidden")
}

fn candidate(root: &SystemRoot, name: String, folder: PathBuf, sectors: u64) -> DiskCandidate {
    let is_multipath = |holder: &&String| {
        let uuid = root.text(&folder.join("holders").join(holder).join("dm/uuid"));
        uuid.is_some_and(|uuid| uuid.starts_with("mpath-"))
    };
    let multipath = root.names(&folder.join("holders")).iter().find(is_multipath).cloned();
    let (names, place) = (DiskNames::read(root, &folder), DiskPlace::read(root, &folder));
    let is_offline = is_offline(root, &folder);
    DiskCandidate { name, folder, names, place, sectors, is_offline, multipath }
}

/// Drops a WWN that disks with different serial numbers share: it is the bridge's, or made up.
fn distrust_shared_wwns(candidates: &mut [DiskCandidate], warnings: &mut Vec<String>) {
    let mut by_wwn: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, candidate) in candidates.iter().enumerate() {
        if let Some(wwn) = &candidate.names.wwn {
            by_wwn.entry(wwn.clone()).or_default().push(index);
        }
    }
    for (wwn, indices) in by_wwn {
        let serial = |index: &usize| candidates[*index].names.serial.clone();
        let first = indices.first().and_then(serial);
        if indices.iter().all(|index| serial(index).is_some()) && indices.iter().any(|index| serial(index) != first) {
            let names: Vec<&str> = indices.iter().map(|index| candidates[*index].name.as_str()).collect();
            warnings.push(format!("{} give one WWN, {wwn}: they are told apart by serial number", names.join(" and ")));
            indices.iter().for_each(|index| candidates[*index].names.wwn = None);
        }
    }
}

/// Merges several paths to one disk: below one multipath device, or with the same WWN, serial number and size where
/// more than one path can lead to a disk. The first path stands for the disk.
fn merge_paths(candidates: &mut Vec<DiskCandidate>, found: &mut FoundDisks) {
    let is_path_to = |path: &DiskCandidate, first: &DiskCandidate| {
        let is_below_one_multipath = path.multipath.is_some() && path.multipath == first.multipath;
        let is_one_disk = path.names.wwn.is_some()
            && path.names.serial.is_some()
            && path.names == first.names
            && path.sectors == first.sectors
            && !path.place.has_one_path
            && !first.place.has_one_path;
        is_below_one_multipath || is_one_disk
    };
    let mut kept: Vec<DiskCandidate> = Vec::new();
    for candidate in candidates.drain(..) {
        match kept.iter().find(|first| is_path_to(&candidate, first)) {
            Some(first) => {
                let words = "it is read by the first path";
                found.warnings.push(format!("{} is another path to {}: {words}", candidate.name, first.name));
                found.other_paths.insert(candidate.name, first.name.clone());
            }
            None => kept.push(candidate),
        }
    }
    *candidates = kept;
}

fn describe(
    root: &SystemRoot,
    candidate: &DiskCandidate,
    bays: &BTreeMap<PathBuf, DiskBay>,
    is_shared: bool,
) -> SeenDisk {
    let DiskCandidate { name, folder, names, place, sectors, .. } = candidate;
    let bay = root.resolve(&folder.join("device")).and_then(|device| bays.get(&device));
    let is_spinning = root.number(&folder.join("queue/rotational")) == Some(1);
    SeenDisk {
        facts: DiskFacts {
            key: DiskKey::of(
                names.wwn.as_deref(),
                names.serial.as_deref(),
                names.other.as_deref().unwrap_or(&place.name),
            ),
            name: name.clone(),
            model: model(root, folder),
            serial: names.serial.clone(),
            bay: bay.map(|bay| bay.name.clone()),
            controller: place.controller.clone().filter(|_| is_shared),
            media: if is_spinning { MediaKind::Spinning } else { MediaKind::Flash },
            sectors: *sectors,
            place: Some(place.name.clone()),
        },
        device: Path::new("/dev").join(name),
        by_path: place.by_path.clone(),
        serial: names.serial.clone(),
        locate: bay.and_then(|bay| bay.locate.clone()),
    }
}

/// Vendor and model; without them, the kind of device.
fn model(root: &SystemRoot, folder: &Path) -> String {
    let attribute = |path: &str| root.text(&folder.join(path));
    // `ATA` is no vendor, and virtio gives a number.
    let vendor = attribute("device/vendor").filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"));
    let words: Vec<String> = [vendor, attribute("device/model")].into_iter().flatten().collect();
    let made_of = || ["loop/backing_file", "dm/name", "md/level"].iter().find_map(|path| attribute(path));
    match words.is_empty() {
        false => words.join(" ").split_whitespace().collect::<Vec<_>>().join(" "),
        true if last_name(folder).starts_with("vd") => "virtual disk".to_owned(),
        true => mmc::model(root, folder).or_else(made_of).unwrap_or_else(|| "unnamed disk".to_owned()),
    }
}

/// Warns of disks with the same identity, and leaves them as they are: the watch tells the second from the first by its name.
fn warn_of_twins(found: &mut FoundDisks) {
    let mut by_key: BTreeMap<&DiskKey, Vec<&str>> = BTreeMap::new();
    for disk in &found.disks {
        by_key.entry(&disk.facts.key).or_default().push(&disk.facts.name);
    }
    let twins = by_key.into_iter().filter(|(_, names)| names.len() > 1);
    let words = "they are told apart by size, else by where they are attached";
    let warnings: Vec<String> =
        twins.map(|(key, names)| format!("{} say that they are {key}: {words}", names.join(" and "))).collect();
    found.warnings.extend(warnings);
}

/// The natural order of names: sda before sdb before sdaa; loop2 before loop10.
fn natural_order(name: &str) -> (String, usize, String) {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let kind: String = letters.chars().take(2).collect();
    (kind, name.len(), name.to_owned())
}
