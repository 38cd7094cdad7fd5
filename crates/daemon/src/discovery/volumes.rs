//! Scrubjay's own volumes, as reported by their servers at their control sockets.

use super::below::disk_below;
use super::root::SystemRoot;
use super::seen::{CheckWay, HostSurvey};
use scrubjay_core::layout::Shape;
use scrubjay_jobs::sockets;
use scrubjay_serve::remote::{scrub_sectors, volume_identity};
use scrubjay_serve::volume::conditions::MemberCondition;
use scrubjay_watch::facts::{ArrayActivity, ArrayFacts, ArrayMember};
use std::collections::BTreeMap;
use std::path::Path;

/// A server's report about its volume, as far as the watch needs it.
struct ServedVolume {
    uuid: String,
    name: String,
    /// Data and parity members.
    shape: Shape,
    is_busy: bool,
    /// The sectors that its scrub covers; `None`: the volume is broken.
    check_sectors: Option<u64>,
    /// The stripes that hold lost data.
    lost_stripes: Option<u64>,
    /// The path of each member, and its condition.
    members: Vec<(Option<String>, MemberCondition)>,
}

/// Adds the volumes that are served on this machine now, and warns of servers that do not answer. It takes as long as
/// the servers take, 20 s for each that hangs.
pub fn add_served_volumes(seen: &mut HostSurvey) {
    let sockets = match sockets::sockets() {
        Ok(sockets) => sockets,
        Err(error) => {
            seen.warnings.push(error.to_string());
            return;
        }
    };
    for socket in sockets {
        match sockets::status_of(&socket) {
            Ok(status) => {
                let identity = volume_identity(&status.array);
                let volume = ServedVolume {
                    is_busy: status.regions_to_resync > 0,
                    check_sectors: scrub_sectors(&status),
                    lost_stripes: status.lost_stripes,
                    members: status.members.into_iter().map(|member| (member.path, member.state)).collect(),
                    uuid: status.array,
                    name: status.name,
                    shape: status.shape,
                };
                seen.checks.insert(volume.uuid.clone(), CheckWay { target: socket, identity });
                seen.arrays.push(facts(&SystemRoot::default(), volume));
            }
            Err(error) => seen.warnings.push(format!("volume {}: {error}", sockets::array_of(&socket))),
        }
    }
}

fn facts(root: &SystemRoot, volume: ServedVolume) -> ArrayFacts {
    let is_filled = volume.members.iter().any(|(_, state)| *state == MemberCondition::Rebuilding);
    let member = |(path, state): (Option<String>, MemberCondition)| {
        let disk = path.as_deref().and_then(|path| disk_of(root, Path::new(path)));
        ArrayMember { disk, is_in_sync: state == MemberCondition::Active, data_start: 0 }
    };
    ArrayFacts {
        key: volume.uuid,
        name: volume.name,
        redundancy: volume.shape.parity as u32,
        level: format!("volume {}", volume.shape),
        members: volume.members.into_iter().map(member).collect(),
        activity: if is_filled || volume.is_busy { ArrayActivity::Rebuilding } else { ArrayActivity::Idle },
        check_sectors: volume.check_sectors,
        pool: None,
        lost_stripes: volume.lost_stripes,
        layout: None, // its rows are longer than its chunks: `core::layout` counts rows, the watch sectors
    }
}

/// The disk of a device or a partition; `None` for a file.
fn disk_of(root: &SystemRoot, path: &Path) -> Option<String> {
    let device = root.resolve(path)?;
    let folder = Path::new("/sys/class/block").join(device.strip_prefix("/dev").ok()?);
    disk_below(root, &folder, &BTreeMap::new()).map(|below| below.disk)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::MachineFiles;
    use super::*;

    #[test]
    fn a_volume_is_an_array_of_its_members_disks() {
        let machine = MachineFiles::new();
        machine.disk("sda", "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0");
        machine.partition("sda", 1, 2048);
        machine.file("dev/sda1", "");
        machine.link("dev/disk/by-id/wwn-1-part1", "../../sda1");
        machine.link("sys/class/block/sda1", "../../block/sda/sda1");
        let member = |path: Option<&str>, state| (path.map(str::to_owned), state);
        let volume = ServedVolume {
            uuid: "u".into(),
            name: "tank".into(),
            shape: Shape { data: 2, parity: 1 },
            is_busy: false,
            check_sectors: Some(4096),
            lost_stripes: Some(3),
            members: vec![
                member(Some("/dev/disk/by-id/wwn-1-part1"), MemberCondition::Active),
                member(Some("/srv/image"), MemberCondition::Rebuilding),
                member(None, MemberCondition::Missing),
            ],
        };
        let facts = facts(&machine.root(), volume);
        let disks: Vec<_> = facts.members.iter().map(|member| (member.disk.as_deref(), member.is_in_sync)).collect();
        assert_eq!(disks, [(Some("sda"), true), (None, false), (None, false)]);
        assert_eq!((facts.redundancy, facts.redundancy_left(), facts.activity), (1, -1, ArrayActivity::Rebuilding));
        assert_eq!((facts.check_sectors, facts.lost_stripes), (Some(4096), Some(3)));
    }
}
