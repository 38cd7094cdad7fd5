//! The place of a disk: its controller, and a name of the place that survives a restart.

use super::root::{SystemRoot, last_name};
use std::path::{Component, Path, PathBuf};

/// The place to which a disk is attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskPlace {
    /// The PCI function of its controller, such as `0000:00:17.0`; without PCI, what has its role. `None`: it has no
    /// controller of its own.
    pub controller: Option<String>,
    /// Its place as udev calls it, else in the kernel's words. Numbers that change with the order of discovery are left
    /// out where others identify the place.
    pub name: String,
    /// Its name in `/dev/disk/by-path`.
    pub by_path: Option<String>,
    /// Is it on USB, or on an ATA port of its own? Then no second path leads to it.
    pub has_one_path: bool,
}

impl DiskPlace {
    /// Reads the place of the disk with this folder in `/sys/block`.
    pub fn read(root: &SystemRoot, folder: &Path) -> DiskPlace {
        let kernel_name = last_name(folder);
        let device = device_path(root, folder);
        let parts: Vec<String> = device.iter().flat_map(|path| names(path)).collect();
        let by_path = by_path(root, &kernel_name);
        let place = by_path.clone().or_else(|| kernel_place(&parts)).unwrap_or_else(|| kernel_name.clone());
        DiskPlace {
            controller: controller(&parts),
            name: place,
            by_path,
            has_one_path: parts.iter().any(|part| is_numbered(part, "usb") || is_numbered(part, "ata")),
        }
    }
}

/// The path of its device in `/sys/devices`. An NVMe namespace that may have several controllers is below its
/// subsystem; its path is then that of the first controller.
fn device_path(root: &SystemRoot, folder: &Path) -> Option<PathBuf> {
    let device = root.resolve(&folder.join("device"))?;
    if !last_name(&device).starts_with("nvme-subsys") {
        return Some(device);
    }
    let is_controller = |name: &&String| is_numbered(name, "nvme") && root.link(&device.join(name)).is_some();
    let first = root.names(&device).iter().find(is_controller).cloned()?;
    root.resolve(&device.join(first))
}

fn names(path: &Path) -> Vec<String> {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect()
}

/// Is the name this word with a number: `ata3`, not `ata_port`?
fn is_numbered(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

/// Is it the name of a PCI function: `0000:00:17.0`?
fn is_pci_function(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_hex = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_hexdigit());
    bytes.len() >= 12 && name.split([':', '.']).count() == 4 && name.split([':', '.']).all(is_hex)
}

/// The last PCI function of the path; without one, what stands before the first port, host or bus.
fn controller(parts: &[String]) -> Option<String> {
    if let Some(function) = parts.iter().rev().find(|part| is_pci_function(part)) {
        return Some(function.clone());
    }
    let is_port = |part: &String| ["ata", "host", "usb", "nvme", "virtio"].iter().any(|kind| is_numbered(part, kind));
    let port = parts.iter().position(is_port)?;
    let before = parts.get(port.checked_sub(1)?)?;
    (!["devices", "platform", "virtual"].contains(&before.as_str())).then(|| before.clone())
}

/// The first name in order of a link such as `/dev/disk/by-path/NAME -> ../../sda`.
fn by_path(root: &SystemRoot, kernel_name: &str) -> Option<String> {
    let folder = Path::new("/dev/disk/by-path");
    let is_link_to_disk =
        |name: &String| root.link(&folder.join(name)).is_some_and(|target| last_name(&target) == kernel_name);
    root.names(folder).into_iter().find(is_link_to_disk)
}

/// The place in the kernel's words: PCI function, USB port, ATA port, and the numbers of channel, target and unit
/// without the host's.
fn kernel_place(parts: &[String]) -> Option<String> {
    let mut words: Vec<String> = parts.iter().rev().find(|part| is_pci_function(part)).cloned().into_iter().collect();
    // `2-1.4:1.0` is an interface of the device in port 1.4 of bus 2.
    words.extend(
        parts.iter().rev().find(|part| part.contains('-') && part.ends_with(":1.0")).map(|at| format!("usb {at}")),
    );
    let ata = parts.iter().find(|part| is_numbered(part, "ata")).cloned();
    let is_ata = ata.is_some();
    words.extend(ata);
    let scsi = parts.last().filter(|part| !is_ata && part.split(':').count() == 4 && !is_pci_function(part));
    words.extend(scsi.and_then(|address| Some(format!("scsi {}", address.split_once(':')?.1))));
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> Vec<String> {
        names(Path::new(path))
    }

    #[test]
    fn the_controller_is_the_last_pci_function() {
        let controller_of = |path: &str| controller(&parts(path));
        let ahci = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0";
        assert_eq!(controller_of(ahci).as_deref(), Some("0000:00:17.0"));
        let behind_a_bridge =
            "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0";
        assert_eq!(controller_of(behind_a_bridge).as_deref(), Some("0000:01:00.0"));
        let arm = "/sys/devices/platform/soc/f9890000.sata/ata1/host0/target0:0:0/0:0:0:0";
        assert_eq!(controller_of(arm).as_deref(), Some("f9890000.sata"));
        assert_eq!(controller_of("/sys/devices/platform/host3/session1/target3:0:0/3:0:0:0"), None);
        assert_eq!(controller_of("/sys/devices/vbd-51712"), None);
    }

    #[test]
    fn a_place_has_no_number_that_changes_with_the_order_of_discovery() {
        let place_of = |path: &str| kernel_place(&parts(path));
        let usb = |host: u32| {
            let path = "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/hostN/targetN:0:0/N:0:0:1";
            place_of(&path.replace('N', &host.to_string()))
        };
        assert_eq!(usb(6).as_deref(), Some("0000:00:14.0 usb 2-1:1.0 scsi 0:0:1"));
        assert_eq!(usb(6), usb(7));
        let ahci = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0";
        assert_eq!(place_of(ahci).as_deref(), Some("0000:00:17.0 ata3"));
        assert_eq!(place_of("/sys/devices/vbd-51712"), None);
    }
}
