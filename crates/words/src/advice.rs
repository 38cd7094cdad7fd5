//! What to do about a disk: how to replace it, by its bay and its arrays, and where to look.

use crate::line::{Label, Line};
use crate::sentence::{Said, Typed, sentences};
use scrubjay_core::units::{Bytes, SECTOR_BYTES};
use scrubjay_watch::facts::ArrayKind;
use scrubjay_watch::health::HealthSign;
use scrubjay_watch::problem::{DiskEvidence, DiskMembership};

sentences! {
    pub(crate) ReplaceSteps: "How to replace a disk" {
        Backup => "back up what it holds",
        Order { size: String = "16.0 TB" } => "order a disk of {size} or larger",
        Find { serial: Typed = "ZL2ABCDE" } => "find it: sudo scrubjay locate {serial}",
        FindInBay { serial: Typed = "ZL2ABCDE", bay: String = "3" } => "find it: sudo scrubjay locate {serial} (bay {bay})",
        NoRedundancy { array: String = "md0" } =>
            "{array} has no redundancy left: start no rebuild; copy what can be read first (docs/repair.md)",
        OtherFirst { array: String = "md0" } => "{array} lacks a member: replace that one first, and this one when it is whole",
        Md { array: String = "md0", name: String = "sdc" } =>
            "sudo mdadm /dev/{array} --add /dev/NEW; sudo mdadm /dev/{array} --replace /dev/{name} --with /dev/NEW",
        Btrfs { array: String = "pool", name: String = "sdc" } =>
            "sudo btrfs replace start -B -r /dev/{name} /dev/NEW MOUNTPOINT (of {array})",
        Zfs { array: Typed = "tank", name: String = "sdc" } =>
            "sudo zpool replace {array} {name} NEW; sudo zpool status {array} shows the resilver",
        Volume { place: usize = 2usize } =>
            "sudo scrubjay volume fail {place}; sudo scrubjay volume replace {place} /dev/NEW",
        Swap => "swap it, and restore what it held",
    }
}

sentences! {
    pub(crate) PlaceWords: "Where a drive's own test failed" {
        Explain { name: String = "sdc", lba: u64 = 7u64 } =>
            "after the backup, what lies at that sector: sudo scrubjay explain /dev/{name} {lba}+1",
        InItsTurn => "The pass comes to it in its turn, and reads what fails in small requests.",
    }
}

/// How to replace a disk: this one, in this bay, in these arrays.
pub(crate) fn steps_to_replace(evidence: &DiskEvidence) -> Vec<Said> {
    let DiskEvidence { disk, arrays, .. } = evidence;
    let size = Bytes(disk.sectors.saturating_mul(SECTOR_BYTES)).to_string();
    let serial = (&disk.serial).into();
    let name = disk.name.as_deref().unwrap_or("OLD");
    let mut steps: Vec<Said> = vec![
        ReplaceSteps::Backup.into(),
        ReplaceSteps::Order { size }.into(),
        match disk.bay.clone() {
            Some(bay) => ReplaceSteps::FindInBay { serial, bay },
            None => ReplaceSteps::Find { serial },
        }
        .into(),
    ];
    steps.extend(arrays.iter().map(|membership| in_array(membership, name).into()));
    if arrays.is_empty() {
        steps.push(ReplaceSteps::Swap.into());
    }
    steps
}

fn in_array(membership: &DiskMembership, name: &str) -> ReplaceSteps {
    let (array, name) = (membership.array.name.clone(), name.to_owned());
    match membership.array.kind() {
        // A rebuild reads every sector of the others, and fails at a bad one.
        _ if membership.left <= 0 => ReplaceSteps::NoRedundancy { array },
        _ if membership.is_degraded => ReplaceSteps::OtherFirst { array },
        ArrayKind::Md => ReplaceSteps::Md { array, name },
        ArrayKind::Btrfs => ReplaceSteps::Btrfs { array, name },
        ArrayKind::Zfs => ReplaceSteps::Zfs { array: (&array).into(), name },
        ArrayKind::Volume => ReplaceSteps::Volume { place: membership.place },
    }
}

/// What to do about the place that a self-test could not read: a drive may lose more by being made to read it before the backup, so
/// the pass reads it in its turn.
pub(crate) fn place_lines(evidence: &DiskEvidence) -> Vec<Line> {
    let place = evidence.signs.iter().find_map(|sign| match sign {
        HealthSign::SelfTestFailed { lba, is_old: false } => *lba,
        _ => None,
    });
    let (Some(lba), Some(name)) = (place, evidence.disk.name.clone()) else { return Vec::new() };
    vec![Line::of(Label::Place, PlaceWords::Explain { name, lba }), Line::of(Label::More, PlaceWords::InItsTurn)]
}
