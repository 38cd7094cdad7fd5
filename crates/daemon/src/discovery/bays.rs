//! The bays of enclosures: which disk is in which bay, and the bay's light.

use super::root::{SystemRoot, last_name};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder in which the kernel lists SES enclosures.
const ENCLOSURES: &str = "/sys/class/enclosure";
/// Words that enclosures put before the number of a bay, in lower case.
const WORDS: [&str; 6] = ["arraydevice", "device", "drive", "slot", "disk", "bay"];

/// A bay with a disk in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskBay {
    /// Its name, without the word for "bay"; if several enclosures have disks, with the end of the enclosure's name.
    pub name: String,
    /// The file that makes its light blink.
    pub locate: Option<PathBuf>,
}

/// The bays of all enclosures, by the path in `/sys/devices` of the device in them. Only names and links are read,
/// because any other file would query the enclosure.
pub fn bays(root: &SystemRoot) -> BTreeMap<PathBuf, DiskBay> {
    let mut found = Vec::new();
    for enclosure in root.names(Path::new(ENCLOSURES)) {
        let folder = Path::new(ENCLOSURES).join(&enclosure);
        for slot in root.names(&folder) {
            if let Some(device) = root.resolve(&folder.join(&slot).join("device")).filter(|_| slot != "device") {
                found.push((folder.clone(), slot, device));
            }
        }
    }
    let is_one_enclosure = found.iter().all(|(folder, ..)| found.first().is_some_and(|(first, ..)| first == folder));
    let name = |folder: &Path, slot: &str| {
        let bay = bay_number(slot);
        if is_one_enclosure { bay } else { format!("{bay} of enclosure {}", enclosure_name(root, folder)) }
    };
    let bay = |(folder, slot, device): (PathBuf, String, PathBuf)| {
        let file = folder.join(&slot).join("locate");
        let locate = root.has(&file).then(|| root.real(&file));
        (device, DiskBay { name: name(&folder, &slot), locate })
    };
    found.into_iter().map(bay).collect()
}

/// The number of a bay: `Slot 03` is bay 03, `ArrayDevice07` bay 07; any other name is kept.
fn bay_number(slot: &str) -> String {
    let slot = slot.trim();
    let small = slot.to_ascii_lowercase();
    let rest = WORDS.iter().find_map(|word| small.strip_prefix(word)).map(|rest| &slot[slot.len() - rest.len()..]);
    let rest = rest.map(|rest| rest.trim_start_matches([' ', '_', '-', '#'])).unwrap_or(slot);
    if rest.is_empty() { slot.to_owned() } else { rest.to_owned() }
}

/// The last digits of the enclosure's own identity, which is printed on many; without one its place in `/sys`.
fn enclosure_name(root: &SystemRoot, folder: &Path) -> String {
    match root.text(&folder.join("id")).map(|id| id.trim_start_matches("0x").to_owned()) {
        Some(id) if id.len() > 4 && id.is_ascii() => id[id.len() - 4..].to_owned(),
        _ => last_name(folder),
    }
}

/// Switches the blinking light of a bay on or off: writes to a [`DiskBay::locate`] file and to nothing else.
///
/// # Errors
/// It is no such file, or cannot be written: only root may.
pub fn locate(file: &Path, is_on: bool) -> io::Result<()> {
    if last_name(file) != "locate" {
        let words = format!("{}: not a bay's `locate` file", file.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    }
    OpenOptions::new().write(true).open(file)?.write_all(if is_on { b"1\n" } else { b"0\n" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bay_is_named_by_the_number_printed_on_it() {
        let names = ["Slot 03", "SLOT 003,DISK", "ArrayDevice07", "Bay_1", "12", "Front left", "Slot", "Drive-5"];
        assert_eq!(names.map(bay_number), ["03", "003,DISK", "07", "1", "12", "Front left", "Slot", "5"]);
    }

    #[test]
    fn only_the_light_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let [light, other] = ["locate", "fault"].map(|name| folder.path().join(name));
        std::fs::write(&light, "0\n").unwrap();
        std::fs::write(&other, "0\n").unwrap();
        locate(&light, true).unwrap();
        assert_eq!(std::fs::read_to_string(&light).unwrap(), "1\n");
        locate(&light, false).unwrap();
        assert_eq!(std::fs::read_to_string(&light).unwrap(), "0\n");
        assert!(locate(&other, true).is_err());
        assert!(locate(&folder.path().join("gone/locate"), true).is_err());
    }
}
