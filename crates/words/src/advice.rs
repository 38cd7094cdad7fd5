//! What to do about a disk: how to replace it, by its bay and its arrays, and where to look.

use crate::line::{Label, Line};
use crate::sentence::{Said, Typed, sentences};
use scrubjay_core::units::{Bytes, SECTOR_BYTES};
use scrubjay_watch::facts::ArrayKind;
use scrubjay_watch::health::HealthSign;
use scrubjay_watch::problem::{DiskEvidence, DiskMembership};

sentences! {
    pub(crate) ReplaceSteps: "How to replace a disk" {
        Backup => "back up what has no backup yet",
        Order { size: String = "16.0 TB" } => "order a disk of {size} or larger",
        OrderOne => "order a disk that is as large",
        Find { serial: Typed = "ZL2ABCDE" } => "find it: sudo scrubjay locate {serial}",
        FindInBay { serial: Typed = "ZL2ABCDE", bay: String = "3" } => "find it, in bay {bay}: sudo scrubjay locate {serial}",
        NoRedundancy { array: String = "md0" } =>
            "{array} has no redundancy left: start no rebuild; copy what can be read first (docs/repair.md)",
        IsLacking { array: String = "md0" } => "it is the member that {array} lacks: put the new disk in its place",
        OtherFirst { array: String = "md0" } => "{array} lacks a member: replace that one first, and this one when it is whole",
        Md { device: String = "/dev/md0", name: String = "sdc" } =>
            "sudo mdadm {device} --add /dev/NEW && sudo mdadm {device} --replace /dev/{name} --with /dev/NEW",
        MdPart { device: String = "/dev/md0" } => "in place of a whole disk name its part, where cat /proc/mdstat does; it is out when {device} is whole",
        Btrfs { array: String = "pool", name: String = "sdc" } =>
            "where {array} is mounted: sudo btrfs replace start -B -r /dev/{name} /dev/NEW MOUNTPOINT",
        Zfs { array: Typed = "tank", name: String = "sdc" } =>
            "{name}, as sudo zpool status {array} names it: sudo zpool replace {array} OLD NEW",
        Volume { place: usize = 2usize } =>
            "when the new disk is in: sudo scrubjay volume fail {place} && sudo scrubjay volume replace {place} /dev/NEW",
        Swap => "swap it, and restore what it held",
        SwapAbsent => "put the new disk in its place, in its array if it was in one; else restore what it held",
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
    let size = Bytes(disk.sectors.saturating_mul(SECTOR_BYTES));
    let serial = (&disk.serial).into();
    let name = disk.name.as_deref().unwrap_or("OLD");
    let mut steps: Vec<Said> = vec![
        ReplaceSteps::Backup.into(),
        if size.0 == 0 { ReplaceSteps::OrderOne } else { ReplaceSteps::Order { size: size.to_string() } }.into(),
        match disk.bay.clone() {
            Some(bay) => ReplaceSteps::FindInBay { serial, bay },
            None => ReplaceSteps::Find { serial },
        }
        .into(),
    ];
    for membership in arrays {
        steps.push(in_array(membership, name).into());
        let is_md = membership.array.kind() == ArrayKind::Md && membership.left > 0 && !membership.is_degraded;
        steps.extend(is_md.then(|| ReplaceSteps::MdPart { device: md_device(&membership.array.name) }.into()));
    }
    if arrays.is_empty() {
        let is_there = disk.name.is_some();
        steps.push(if is_there { ReplaceSteps::Swap } else { ReplaceSteps::SwapAbsent }.into());
    }
    steps
}

fn in_array(membership: &DiskMembership, name: &str) -> ReplaceSteps {
    let (array, name) = (membership.array.name.clone(), name.to_owned());
    match membership.array.kind() {
        _ if !membership.is_in_sync => ReplaceSteps::IsLacking { array },
        // md's rebuild reads every sector of the others, and fails at a bad one.
        ArrayKind::Md | ArrayKind::Volume if membership.left <= 0 => ReplaceSteps::NoRedundancy { array },
        _ if membership.is_degraded => ReplaceSteps::OtherFirst { array },
        ArrayKind::Md => ReplaceSteps::Md { device: md_device(&array), name },
        ArrayKind::Btrfs => ReplaceSteps::Btrfs { array, name },
        ArrayKind::Zfs => ReplaceSteps::Zfs { array: (&array).into(), name },
        ArrayKind::Volume => ReplaceSteps::Volume { place: membership.place },
    }
}

/// The path of an array of md: it is called by its name in /dev/md, or by the kernel's.
fn md_device(array: &str) -> String {
    let is_kernels = array.strip_prefix("md").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    let folder = if is_kernels { "/dev" } else { "/dev/md" };
    format!("{folder}/{array}")
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
