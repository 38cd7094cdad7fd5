//! How disks and arrays are called.

use crate::line::{Label, Line};
use crate::sentence::{Count, Said, sentences};
use scrubjay_core::units::{Bytes, SECTOR_BYTES};
use scrubjay_watch::facts::ArrayKind;
use scrubjay_watch::problem::{ArrayCard, DiskCard, SubjectCard};

sentences! {
    pub(crate) Called: "How disks and arrays are called" {
        InBay { bay: String = "3", serial: String = "ZL2ABCDE" } => "bay {bay} ({serial})",
        Named { name: String = "sdc", serial: String = "ZL2ABCDE" } => "{name} ({serial})",
        Nameless { serial: String = "ZL2ABCDE" } => "a disk ({serial})",
        Array { name: String = "md0" } => "array {name}",
        Pool { name: String = "tank" } => "pool {name}",
        DiskInBay {
            bay: String = "3",
            name: String = "sdc",
            model: String = "ST16000NM001G",
            serial: String = "ZL2ABCDE",
            size: String = "16.0 TB",
        } => "bay {bay} · {name} · {model} · {serial} · {size}",
        Disk { name: String = "sdc", model: String = "ST16000NM001G", serial: String = "ZL2ABCDE", size: String = "16.0 TB" } =>
            "{name} · {model} · {serial} · {size}",
        ArrayOf { name: String = "md0", level: String = "RAID6", members: Count = Count(8, "member") } =>
            "{name} ({level}), {members}",
    }
}

/// What people find a disk by: `bay 3 (ZL2ABCDE)`.
pub(crate) fn disk_label(disk: &DiskCard) -> Said {
    let serial = disk.serial.clone();
    let words = match (&disk.bay, &disk.name) {
        (Some(bay), _) => Called::InBay { bay: bay.clone(), serial },
        (None, Some(name)) => Called::Named { name: name.clone(), serial },
        (None, None) => Called::Nameless { serial },
    };
    words.into()
}

pub(crate) fn example_label() -> Called {
    Called::InBay { bay: "3".into(), serial: "ZL2ABCDE".into() }
}

/// `array md0`, `pool tank`.
pub(crate) fn array_label(array: &ArrayCard) -> Said {
    let name = array.name.clone();
    match array.kind() {
        ArrayKind::Zfs => Called::Pool { name }.into(),
        _ => Called::Array { name }.into(),
    }
}

pub(crate) fn label(subject: &SubjectCard) -> Said {
    match subject {
        SubjectCard::Disk(disk) => disk_label(disk),
        SubjectCard::Array(array) => Called::Array { name: array.name.clone() }.into(),
    }
}

/// The line of a message that identifies a disk.
pub(crate) fn disk_line(disk: &DiskCard) -> Line {
    let (model, serial) = (disk.model.clone(), disk.serial.clone());
    let name = disk.name.clone().unwrap_or_else(|| "not there".to_owned());
    let size = Bytes(disk.sectors.saturating_mul(SECTOR_BYTES)).to_string();
    let words = match disk.bay.clone() {
        Some(bay) => Called::DiskInBay { bay, name, model, serial, size },
        None => Called::Disk { name, model, serial, size },
    };
    Line::of(Label::Disk, words)
}

/// The line of a message that identifies an array.
pub(crate) fn array_line(array: &ArrayCard) -> Line {
    let (name, level) = (array.name.clone(), array.level.clone());
    Line::of(Label::Array, Called::ArrayOf { name, level, members: Count(array.members, "member") })
}

pub(crate) fn subject_line(subject: &SubjectCard) -> Line {
    match subject {
        SubjectCard::Disk(disk) => disk_line(disk),
        SubjectCard::Array(array) => array_line(array),
    }
}
