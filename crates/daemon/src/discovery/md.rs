//! Arrays of md, from `/sys/block/md*/md`.

use super::below::disk_below;
use super::identity::udev_notes;
use super::md_shape::MdShape;
use super::root::{SystemRoot, last_name};
use scrubjay_watch::facts::{ArrayActivity, ArrayFacts, ArrayMember};
use std::collections::BTreeMap;
use std::path::Path;

/// A device in an array's folder.
struct MdDevice {
    /// Its place; `None`: a spare, a journal, or a device that was removed.
    slot: Option<usize>,
    /// The member for the watch; if the start of its data is not known, it is 0.
    member: ArrayMember,
    /// Is the start of its data known?
    is_located: bool,
    /// Sectors of it that are used (the kernel gives KiB).
    used: u64,
    /// Does it replace another device that is still in its place?
    is_replacement: bool,
}

/// The arrays that run; others are reported in `warnings`. `other_paths` names the disks that have several paths.
pub fn md_arrays(
    root: &SystemRoot,
    other_paths: &BTreeMap<String, String>,
    warnings: &mut Vec<String>,
) -> Vec<ArrayFacts> {
    let block = Path::new("/sys/block");
    let names = root.names(block);
    let with_md = names.iter().filter(|name| root.has(&block.join(name).join("md")));
    let mut arrays: Vec<ArrayFacts> = with_md.filter_map(|name| array(root, name, other_paths, warnings)).collect();
    arrays.sort_by(|a, b| a.name.cmp(&b.name));
    arrays
}

/// UUID and kernel's name of each array.
pub fn md_keys(root: &SystemRoot) -> Vec<(String, String)> {
    let block = Path::new("/sys/block");
    let names = root.names(block).into_iter().filter(|name| root.has(&block.join(name).join("md")));
    names.map(|name| (uuid(root, &block.join(&name), &name).unwrap_or_else(|| name.clone()), name)).collect()
}

fn array(
    root: &SystemRoot,
    kernel_name: &str,
    other_paths: &BTreeMap<String, String>,
    warnings: &mut Vec<String>,
) -> Option<ArrayFacts> {
    let folder = Path::new("/sys/block").join(kernel_name);
    let md = folder.join("md");
    let text = |file: &str| root.text(&md.join(file));
    let name = name(root, kernel_name);
    let level = text("level").filter(|level| level != "container")?; // the contents of a container are arrays of their own
    let state = text("array_state").unwrap_or_default();
    let places = root.number(&md.join("raid_disks")).unwrap_or(0) as usize;
    if matches!(state.as_str(), "clear" | "inactive") || places == 0 {
        if state != "clear" {
            warnings.push(format!("array {name} is not running: see `mdadm --detail /dev/{kernel_name}`"));
        }
        return None;
    }
    let devices: Vec<MdDevice> = root
        .names(&md)
        .iter()
        .filter(|file| file.starts_with("dev-"))
        .filter_map(|file| device(root, &md.join(file), other_paths))
        .collect();
    let shape = MdShape {
        level,
        disks: places,
        layout: root.number(&md.join("layout")).unwrap_or(0),
        chunk: root.number(&md.join("chunk_size")).unwrap_or(0) / 512,
        is_even: devices.iter().all(|device| devices.first().is_some_and(|first| first.used == device.used)),
    };
    let is_located = devices.iter().filter(|device| device.slot.is_some()).all(|device| device.is_located);
    let is_reshaping = text("reshape_position").is_some_and(|at| at != "none");
    let key = uuid(root, &folder, kernel_name).unwrap_or_else(|| {
        warnings.push(format!("array {name} does not say its UUID: it is known by its name only"));
        kernel_name.to_owned()
    });
    Some(ArrayFacts {
        key,
        level: shape.words(),
        redundancy: shape.redundancy(),
        members: members(&devices, places),
        activity: activity(text("sync_action").as_deref()),
        layout: shape.map().filter(|_| is_located && !is_reshaping),
        check_sectors: None,
        pool: None,
        lost_stripes: None,
        name,
    })
}

/// The members by place; where a replacement is being filled beside the old device, the old one counts.
fn members(devices: &[MdDevice], places: usize) -> Vec<ArrayMember> {
    let empty = ArrayMember { disk: None, is_in_sync: false, data_start: 0 };
    let member_at = |place: usize| {
        let of_place = devices.iter().filter(|device| device.slot == Some(place));
        of_place.max_by_key(|device| (device.member.is_in_sync, !device.is_replacement))
    };
    (0..places).map(|place| member_at(place).map_or_else(|| empty.clone(), |device| device.member.clone())).collect()
}

fn device(root: &SystemRoot, folder: &Path, other_paths: &BTreeMap<String, String>) -> Option<MdDevice> {
    let state = root.text(&folder.join("state")).unwrap_or_default();
    let has_state = |word: &str| state.split(',').any(|state| state == word);
    if has_state("journal") {
        return None;
    }
    // The link of a disk that was pulled out is broken, and md calls it in sync until it needs the disk (seen with
    // Linux 6.12). Its place counts as empty; so does that of a disk that the kernel has taken offline.
    let below = disk_below(root, &folder.join("block"), other_paths);
    let start = below.as_ref().and_then(|below| below.start);
    let member = ArrayMember {
        is_in_sync: has_state("in_sync") && !has_state("faulty") && below.is_some(),
        data_start: start.unwrap_or(0) + root.number(&folder.join("offset")).unwrap_or(0),
        disk: below.map(|below| below.disk),
    };
    Some(MdDevice {
        slot: root.number(&folder.join("slot")).map(|slot| slot as usize).filter(|_| !has_state("faulty")),
        is_located: start.is_some() || member.disk.is_none(),
        member,
        used: root.number(&folder.join("size")).unwrap_or(0).saturating_mul(2),
        is_replacement: has_state("replacement"),
    })
}

fn activity(action: Option<&str>) -> ArrayActivity {
    match action {
        Some("check" | "repair") => ArrayActivity::Checking,
        Some("resync" | "recover" | "reshape") => ArrayActivity::Rebuilding,
        _ => ArrayActivity::Idle,
    }
}

/// The name in `/dev/md`, if there is one that is more than a number; else the kernel's.
fn name(root: &SystemRoot, kernel_name: &str) -> String {
    let folder = Path::new("/dev/md");
    let is_link_to_array = |name: &String| {
        !name.bytes().all(|c| c.is_ascii_digit())
            && root.link(&folder.join(name)).is_some_and(|target| last_name(&target) == kernel_name)
    };
    root.names(folder).into_iter().find(is_link_to_array).unwrap_or_else(|| kernel_name.to_owned())
}

/// The UUID as mdadm writes it. Newer kernels report it; else mdadm or udev has recorded it, for the array or for a member.
fn uuid(root: &SystemRoot, folder: &Path, kernel_name: &str) -> Option<String> {
    let by_kernel = || root.text(&folder.join("md/uuid"));
    let by_mdadm = || {
        let map = root.text(Path::new("/run/mdadm/map"))?;
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let line = map.lines().map(words).find(|words| words.first().is_some_and(|name| name == kernel_name))?;
        line.get(2).cloned()
    };
    let by_udev = || udev_notes(root, folder).get("MD_UUID");
    let by_member = || {
        let devices = root.names(&folder.join("md"));
        devices.iter().filter(|file| file.starts_with("dev-")).find_map(|file| {
            let notes = udev_notes(root, &folder.join("md").join(file).join("block"));
            notes.get("ID_FS_UUID").filter(|_| notes.get("ID_FS_TYPE").as_deref() == Some("linux_raid_member"))
        })
    };
    [by_kernel(), by_mdadm(), by_udev(), by_member()].into_iter().flatten().find_map(|text| mdadm_format(&text))
}

/// A UUID in mdadm's form, `0a1b2c3d:...`: 32 digits in four groups, whatever separators it had. Zeros are no UUID.
fn mdadm_format(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect::<String>().to_ascii_lowercase();
    let is_uuid = digits.len() == 32 && digits.bytes().any(|digit| digit != b'0');
    is_uuid.then(|| [&digits[..8], &digits[8..16], &digits[16..24], &digits[24..]].join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_the_same_however_it_is_written() {
        let mdadm = "0a1b2c3d:44556677:8899aabb:ccddeeff";
        for text in [mdadm, "0A1B2C3D-4455-6677-8899-AABBCCDDEEFF", "0a1b2c3d44556677 8899aabbccddeeff"] {
            assert_eq!(mdadm_format(text).as_deref(), Some(mdadm));
        }
        assert_eq!(mdadm_format("00000000:00000000:00000000:00000000"), None);
        assert_eq!(mdadm_format("none"), None);
    }
}
