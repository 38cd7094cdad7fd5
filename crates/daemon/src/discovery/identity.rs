//! The identity of a disk: its WWN and serial number, where they are plausible.

use super::root::SystemRoot;
use scrubjay_device::sysfs::unit_serial;
use std::path::Path;

/// The names by which a disk identifies itself. Implausible names are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskNames {
    /// Its World Wide Name, in lower case, without `naa.` and `0x`; of an NVMe namespace the kernel's `wwid`.
    pub wwn: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Another name that identifies it: a backing file, the UUID of a device mapper's table.
    pub other: Option<String>,
}

/// Serial numbers that makers of bridges forget to change; letters and digits only.
const PLACEHOLDERS: [&str; 14] = [
    "0123456789ABCDEF",
    "0123456789ABCDE",
    "0123456789",
    "123456789",
    "1234567890",
    "1234567890ABCDEF",
    "123456789ABC",
    "123456789ABCDEF",
    "123456789012",
    "DEADBEEF",
    "NONE",
    "NA",
    "UNKNOWN",
    "SERIALNUMBER",
];

impl DiskNames {
    /// Reads the kernel's attributes, and udev's records about the drive. `folder` is the disk's in `/sys/block`.
    pub fn read(root: &SystemRoot, folder: &Path) -> DiskNames {
        let attribute = |path: &str| root.text(&folder.join(path));
        let udev = UdevNotes::of(root, folder);
        let from_udev = |key: &str| udev.get(key);
        // A `t10.` name is the serial number with more words around it.
        let wwid = attribute("wwid").or_else(|| attribute("device/wwid")).filter(|wwid| !wwid.starts_with("t10."));
        let wwn = wwid.or_else(|| from_udev("ID_WWN_WITH_EXTENSION")).or_else(|| from_udev("ID_WWN"));
        let page = || root.bytes(&folder.join("device/vpd_pg80")).and_then(|page| unit_serial(&page));
        let serial = attribute("serial").or_else(|| attribute("device/serial")).or_else(page);
        let other = attribute("dm/uuid").or_else(|| attribute("md/uuid").map(|uuid| format!("md {uuid}")));
        DiskNames {
            wwn: wwn.and_then(|text| plausible_wwn(&text)).and_then(|wwn| without_serial(wwn, serial.as_deref())),
            serial: serial.and_then(|text| plausible_serial(&text)).or_else(|| {
                let serial = from_udev("ID_SCSI_SERIAL").or_else(|| from_udev("ID_SERIAL_SHORT"));
                serial.and_then(|text| plausible_serial(&text))
            }),
            other: other.or_else(|| attribute("loop/backing_file").map(|file| format!("loop on {file}"))),
        }
    }
}

/// Removes the serial number from the kernel's name for an NVMe namespace without a name of its own,
/// `nvme.VENDOR-SERIAL-MODEL-NUMBER` (each as hexadecimal digits): it says no more than the serial number, except that
/// the number tells a second namespace from the first.
fn without_serial(wwn: String, serial: Option<&str>) -> Option<String> {
    let number = wwn.strip_prefix("nvme.").and_then(|rest| u32::from_str_radix(rest.rsplit('-').next()?, 16).ok());
    match number.zip(serial.and_then(plausible_serial)) {
        Some((1, _)) => None,
        Some((number, serial)) => Some(format!("{serial} namespace {number}")),
        None => Some(wwn),
    }
}

/// A plausible serial number, its white space normalised: not empty, not one repeated character, none of those that
/// whole series of bridges have.
pub fn plausible_serial(text: &str) -> Option<String> {
    let bare: String = text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    let is_one_character = bare.chars().all(|c| bare.starts_with(c));
    if bare.len() < 3 || is_one_character || PLACEHOLDERS.contains(&bare.as_str()) {
        return None;
    }
    let normalised = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(normalised.chars().filter(|c| !c.is_control()).collect())
}

/// A plausible World Wide Name. In an NAA name the parts of the maker and of the drive must not be zero.
pub fn plausible_wwn(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let bare = text.strip_prefix("naa.").or_else(|| text.strip_prefix("0x")).unwrap_or(&text);
    let digits = bare.strip_prefix("eui.").unwrap_or(bare);
    if !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return (!digits.is_empty()).then(|| bare.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let own = digits.get(1..).unwrap_or_default();
    let is_one_character = own.chars().all(|c| own.starts_with(c));
    let drive = digits.get(digits.len().saturating_sub(9)..).unwrap_or_default(); // behind the maker's 24 bits
    let is_blank = digits.len() >= 16 && drive.chars().all(|c| c == '0');
    (digits.len() >= 8 && !is_one_character && !is_blank && !PLACEHOLDERS.contains(&bare.to_ascii_uppercase().as_str()))
        .then(|| bare.to_owned())
}

/// Udev's records about a device: lines `E:KEY=VALUE`.
pub struct UdevNotes(String);

impl UdevNotes {
    /// The records of the block device with this folder in `/sys`; empty if udev does not run.
    pub fn of(root: &SystemRoot, folder: &Path) -> UdevNotes {
        let numbers = root.text(&folder.join("dev"));
        UdevNotes(numbers.and_then(|dev| root.text(Path::new(&format!("/run/udev/data/b{dev}")))).unwrap_or_default())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<String> {
        let value = |line: &str| line.strip_prefix("E:")?.strip_prefix(key)?.strip_prefix('=').map(str::to_owned);
        self.0.lines().find_map(value).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implausible_serial_numbers_are_refused() {
        for text in
            ["", " ", "000000000000", "0000:0000", "0123456789ABCDEF", "0123456789abcdef", "DEADBEEF", "--", "N/A"]
        {
            assert_eq!(plausible_serial(text), None, "{text:?}");
        }
        assert_eq!(plausible_serial("     WD-WCC4N0000001 ").as_deref(), Some("WD-WCC4N0000001"));
        assert_eq!(plausible_serial("S3Z8 NB0K").as_deref(), Some("S3Z8 NB0K"));
        assert_eq!(plausible_serial("lab-0").as_deref(), Some("lab-0"));
    }

    #[test]
    fn world_wide_names_of_zeros_are_refused() {
        for text in
            ["naa.0000000000000000", "0x5000000000000000", "naa.5000c50000000000", "eui.0000000000000000", "", "0x"]
        {
            assert_eq!(plausible_wwn(text), None, "{text:?}");
        }
        assert_eq!(plausible_wwn("naa.5000C500A1B2C3D4").as_deref(), Some("5000c500a1b2c3d4"));
        assert_eq!(plausible_wwn("0x5000c500a1b2c3d4").as_deref(), Some("5000c500a1b2c3d4"));
        assert_eq!(plausible_wwn("eui.002538b511b0d0c7").as_deref(), Some("eui.002538b511b0d0c7"));
        assert!(plausible_wwn("nvme.8086-6c61622d36-51454d55204e564d65204374726c-00000001").is_some());
        let nvme_name =
            |number: &str, serial: Option<&str>| without_serial(format!("nvme.8086-6c61-51454d-{number}"), serial);
        assert_eq!(nvme_name("00000001", Some("lab-6")), None, "the serial number is enough");
        assert_eq!(nvme_name("0000000a", Some("lab-6")).as_deref(), Some("lab-6 namespace 10"));
        assert_eq!(nvme_name("00000001", Some("0000")).as_deref(), Some("nvme.8086-6c61-51454d-00000001"));
        assert!(plausible_wwn("uuid.0b0e0f10-1111-4222-8333-444455556666").is_some());
    }
}
