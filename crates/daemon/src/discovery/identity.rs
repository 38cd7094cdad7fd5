//! The identity of a disk: its WWN and serial number, where they are plausible.

use super::root::SystemRoot;
use scrubjay_device::plausible::{is_plausible_wwid, plausible_serial, plausible_wwn};
use scrubjay_device::sysfs::unit_serial;
use scrubjay_device::udev::UdevNotes;
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

impl DiskNames {
    /// Reads the kernel's attributes, and udev's records about the drive. `folder` is the disk's in `/sys/block`.
    pub fn read(root: &SystemRoot, folder: &Path) -> DiskNames {
        let attribute = |path: &str| root.text(&folder.join(path));
        let udev = udev_notes(root, folder);
        let from_udev = |key: &str| udev.get(key);
        // A `t10.` name is the serial number with more words around it.
        let wwid = attribute("wwid").or_else(|| attribute("device/wwid")).filter(|wwid| !wwid.starts_with("t10."));
        let wwn = wwid.or_else(|| from_udev("ID_WWN_WITH_EXTENSION")).or_else(|| from_udev("ID_WWN"));
        let page = || root.bytes(&folder.join("device/vpd_pg80")).and_then(|page| unit_serial(&page));
        let serial = attribute("serial").or_else(|| attribute("device/serial")).or_else(page);
        let other = attribute("dm/uuid").or_else(|| attribute("md/uuid").map(|uuid| format!("md {uuid}")));
        DiskNames {
            wwn: wwn
                .filter(|name| is_plausible_wwid(name))
                .and_then(|text| plausible_wwn(&text))
                .and_then(|wwn| without_serial(wwn, serial.as_deref())),
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

/// Udev's records about the block device with this folder in `/sys`; none if udev does not run.
pub fn udev_notes(root: &SystemRoot, folder: &Path) -> UdevNotes {
    let numbers = root.text(&folder.join("dev"));
    UdevNotes::new(numbers.and_then(|dev| root.text(Path::new(&format!("/run/udev/data/b{dev}")))).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_nvme_name_is_left_out_where_the_serial_number_says_as_much() {
        let nvme_name =
            |number: &str, serial: Option<&str>| without_serial(format!("nvme.8086-6c61-51454d-{number}"), serial);
        assert_eq!(nvme_name("00000001", Some("lab-6")), None, "the serial number is enough");
        assert_eq!(nvme_name("0000000a", Some("lab-6")).as_deref(), Some("lab-6 namespace 10"));
        assert_eq!(nvme_name("00000001", Some("0000")).as_deref(), Some("nvme.8086-6c61-51454d-00000001"));
    }
}
