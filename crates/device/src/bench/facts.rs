//! Facts about a measured disk and the path to it, from `/sys`: class, rotation, controller, driver, caches, scheduler.

use crate::sysfs::DiskNode;
use scrubjay_core::bench::class::MediumClass;
use scrubjay_core::bench::intermediary::Intermediary;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Drivers of controllers that have a cache and firmware of their own in front of the disk.
const RAID_DRIVERS: [&str; 11] = [
    "hpsa",
    "smartpqi",
    "cciss",
    "megaraid_sas",
    "megaraid_mbox",
    "aacraid",
    "3w-9xxx",
    "3w-sas",
    "arcmsr",
    "ips",
    "mpi3mr",
];
/// Models that controllers report for their own volumes, where the driver serves plain disks, too.
const RAID_MODELS: [&str; 5] = ["LOGICAL VOLUME", "PERC", "MegaRAID", "RAID", "MR9"];

/// Models that hypervisors, clouds and drivers report for virtual disks.
const VIRTUAL_MODELS: [&str; 12] = [
    "QEMU",
    "VBOX",
    "VMware",
    "Virtual Disk",
    "Virtual disk",
    "Virtual HD",
    "Amazon Elastic Block Store",
    "PersistentDisk",
    "nvme_card-pd",
    "MSFT NVMe Accelerator",
    "scsi_debug",
    "FILEIO",
];
/// Intermediaries by the kernel's name of the disk.
const NAMES: [(&str, Intermediary); 12] = [
    ("loop", Intermediary::Loop),
    ("dm-", Intermediary::DeviceMapper),
    ("md", Intermediary::Md),
    ("zram", Intermediary::Zram),
    ("ublk", Intermediary::Ublk),
    ("nbd", Intermediary::Nbd),
    ("bcache", Intermediary::Bcache),
    ("drbd", Intermediary::Drbd),
    ("rbd", Intermediary::Rbd),
    ("null", Intermediary::Null),
    ("xvd", Intermediary::Xen),
    ("vd", Intermediary::Virtio),
];
/// Intermediaries by the driver of the disk's controller.
const DRIVERS: [(&str, Intermediary); 11] = [
    ("virtio_scsi", Intermediary::Virtio),
    ("virtio_blk", Intermediary::Virtio),
    ("xen-scsifront", Intermediary::Xen),
    ("vbd", Intermediary::Xen),
    ("hv_storvsc", Intermediary::HyperV),
    ("storvsc", Intermediary::HyperV),
    ("vmw_pvscsi", Intermediary::Vmware),
    ("iscsi_tcp", Intermediary::Iscsi),
    ("lpfc", Intermediary::FibreChannel),
    ("qla2xxx", Intermediary::FibreChannel),
    ("zfcp", Intermediary::FibreChannel),
];

/// Facts about a disk that are known without a command to it.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchedFacts {
    /// The kernel's name of the disk below, if there is one.
    pub disk: Option<String>,
    /// Vendor and model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// The class of its medium.
    pub class: MediumClass,
    /// What answers in place of a medium, if anything does.
    pub intermediary: Option<Intermediary>,
    /// Whether the kernel considers it rotational.
    pub is_rotational: bool,
    /// Driver of its controller: `ahci`, `nvme`, `virtio_blk`.
    pub driver: Option<String>,
    /// The PCI function of its controller, with vendor and device: `0000:00:17.0 (8086:a282)`.
    pub controller: Option<String>,
    /// Whether the driver or the model is one of a RAID controller.
    pub is_raid_controller: bool,
    /// Whether it is connected by USB.
    pub is_usb: bool,
    /// The kernel's scheduler in use.
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Requests that the disk takes at a time, where it reports that.
    pub queue_depth: Option<u64>,
    /// The longest request that is not split, in bytes.
    pub request_max: Option<u64>,
    /// Logical and physical block, in bytes.
    pub blocks: (u64, Option<u64>),
    /// `host-aware` or `host-managed`, where it has zones.
    pub zoned: Option<String>,
    /// Whether it supports discards, and therefore knows what was never written.
    pub is_thin: bool,
    /// The kernel's names of the devices below, or the file behind a loop device.
    pub below: Vec<String>,
    /// The kernel's release.
    pub kernel: String,
}

impl BenchedFacts {
    /// The facts about a disk; for a file whose file system lies on none, only the kernel's release is known.
    pub fn of(disk: Option<&DiskNode>, logical_block: u64) -> BenchedFacts {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        let Some(disk) = disk else { return BenchedFacts::unknown(kernel, logical_block) };
        let first = |paths: &[&str]| paths.iter().find_map(|path| disk.attribute(path));
        let vendor = first(&["device/vendor"]).filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"));
        let words: Vec<String> = vendor.into_iter().chain(first(&["device/model", "device/name"])).collect();
        let model =
            Some(words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")).filter(|model| !model.is_empty());
        let place = fs::canonicalize(disk.folder().join("device")).ok();
        let chain: Vec<PathBuf> = place.iter().flat_map(|place| place.ancestors()).map(Path::to_owned).collect();
        let driver = driver(&chain);
        let is_raid_controller = driver.as_deref().is_some_and(|driver| RAID_DRIVERS.contains(&driver))
            || model.as_deref().is_some_and(|model| RAID_MODELS.iter().any(|mark| model.contains(mark)));
        let reports_rotation = disk.number("queue/rotational") == Some(1);
        let page = fs::read(disk.folder().join("device/vpd_pgb1")).ok();
        let is_iscsi =
            chain.iter().any(|folder| folder.file_name().is_some_and(|name| is_session(&name.to_string_lossy())));
        let driver_or_iscsi = if is_iscsi { Some("iscsi_tcp") } else { driver.as_deref() };
        let transport = nvme_transport(disk);
        let intermediary = intermediary(
            &disk.name,
            place.is_some(),
            driver_or_iscsi,
            model.as_deref().unwrap_or_default(),
            transport.as_deref(),
        );
        let class = match &intermediary {
            Some(intermediary) => intermediary.class(),
            None => class(&disk.name, reports_rotation, page.as_deref()),
        };
        // Virtual disks report rotation by default; it means nothing there.
        let is_rotational = reports_rotation && !matches!(class, MediumClass::Virtual | MediumClass::Remote);
        let slaves = fs::read_dir(disk.folder().join("slaves")).into_iter().flatten().flatten();
        let mut below: Vec<String> = slaves.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        below.sort();
        below.extend(disk.attribute("loop/backing_file"));
        BenchedFacts {
            disk: Some(disk.name.clone()),
            class,
            intermediary,
            is_rotational,
            is_usb: chain
                .iter()
                .any(|folder| folder.file_name().is_some_and(|name| is_usb_bus(&name.to_string_lossy()))),
            controller: controller(&chain),
            driver,
            is_raid_controller,
            serial: disk.serial(),
            model,
            scheduler: disk.attribute("queue/scheduler").map(|text| chosen(&text)),
            write_cache: disk.attribute("queue/write_cache"),
            queue_depth: disk.number("device/queue_depth"),
            request_max: disk.number("queue/max_sectors_kb").map(|kib| kib << 10),
            blocks: (logical_block, disk.number("queue/physical_block_size")),
            zoned: disk.attribute("queue/zoned").filter(|zoned| zoned != "none"),
            is_thin: disk.number("queue/discard_max_bytes").is_some_and(|bytes| bytes > 0),
            below,
            kernel,
        }
    }

    fn unknown(kernel: String, logical_block: u64) -> BenchedFacts {
        BenchedFacts {
            disk: None,
            model: None,
            serial: None,
            class: MediumClass::Virtual,
            intermediary: Some(Intermediary::Unknown),
            is_rotational: false,
            driver: None,
            controller: None,
            is_raid_controller: false,
            is_usb: false,
            scheduler: None,
            write_cache: None,
            queue_depth: None,
            request_max: None,
            blocks: (logical_block, None),
            zoned: None,
            is_thin: false,
            below: Vec::new(),
            kernel,
        }
    }
}

/// What answers in place of a medium, by the names of disk, driver, model and NVMe's transport.
fn intermediary(
    name: &str,
    is_hardware: bool,
    driver: Option<&str>,
    model: &str,
    transport: Option<&str>,
) -> Option<Intermediary> {
    let by_name = NAMES.iter().find(|(begins, _)| name.starts_with(begins));
    let by_driver = || DRIVERS.iter().find(|(known, _)| driver == Some(known));
    if let Some((_, known)) = by_name.or_else(by_driver) {
        return Some(known.clone());
    }
    // Not `pcie`, nor the transports of Apple's and other machines to a chip on the board.
    if let Some(transport) = transport.filter(|way| ["tcp", "rdma", "fc", "loop"].contains(way)) {
        return Some(Intermediary::NvmeFabrics(transport.to_owned()));
    }
    if VIRTUAL_MODELS.iter().any(|known| model.contains(known)) {
        return Some(Intermediary::Emulated(model.to_owned()));
    }
    (!is_hardware && !name.starts_with("nvme")).then_some(Intermediary::Unknown)
}

/// The transport of an NVMe disk. With several paths the disk belongs to a subsystem, below which its controllers are.
fn nvme_transport(disk: &DiskNode) -> Option<String> {
    if !disk.name.starts_with("nvme") {
        return None;
    }
    let below = || {
        let entries = fs::read_dir(disk.folder().join("device")).ok()?.flatten();
        let paths = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("nvme"));
        paths.filter_map(|path| fs::read_to_string(path.path().join("transport")).ok()).next()
    };
    disk.attribute("device/transport").or_else(below).map(|transport| transport.trim().to_owned())
}

/// Whether a folder on the path to a disk is an iSCSI session, such as `session4`.
fn is_session(name: &str) -> bool {
    name.strip_prefix("session").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The class of a disk that answers for itself, by its name, and by the rotation in its page of block device characteristics.
fn class(name: &str, is_rotational: bool, page: Option<&[u8]>) -> MediumClass {
    if name.starts_with("nvme") {
        return MediumClass::Nvme;
    }
    if name.starts_with("mmcblk") {
        return MediumClass::Card;
    }
    // SBC-4, 6.6.2: 0 not reported, 1 does not rotate, 0401h to FFFEh revolutions a minute.
    let rate = page.and_then(|page| page.get(4..6)).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
    match rate {
        Some(rpm @ 0x0401..=0xfffe) => MediumClass::Rotating { rpm: Some(u32::from(rpm)) },
        Some(1) => MediumClass::SataSsd,
        _ if is_rotational => MediumClass::Rotating { rpm: None },
        _ => MediumClass::SataSsd,
    }
}

/// Whether a folder on the path to a disk is a USB bus, such as `usb3`.
fn is_usb_bus(name: &str) -> bool {
    name.strip_prefix("usb").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The driver of the controller: the first one on the path from the disk that is not the disk's own or a bus bridge's.
fn driver(chain: &[PathBuf]) -> Option<String> {
    let name = |folder: &PathBuf| {
        let link = fs::read_link(folder.join("driver")).ok()?;
        Some(link.file_name()?.to_string_lossy().into_owned())
    };
    // `sd` and the like are drivers of disks; the next one is the controller's.
    let drivers = chain.iter().filter_map(name);
    let mut drivers = drivers;
    drivers.find(|driver| !["sd", "sr", "pcieport", "virtio-pci"].contains(&driver.as_str()))
}

/// The PCI function nearest to the disk, with its vendor and device numbers.
fn controller(chain: &[PathBuf]) -> Option<String> {
    let is_function = |name: &str| name.len() == 12 && name.as_bytes()[4] == b':' && name.as_bytes()[10] == b'.';
    let folder =
        chain.iter().find(|folder| folder.file_name().is_some_and(|name| is_function(&name.to_string_lossy())))?;
    let number = |file: &str| {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        text.trim().strip_prefix("0x").map(str::to_owned)
    };
    let place = folder.file_name()?.to_string_lossy().into_owned();
    let ids = number("vendor").zip(number("device")).map(|(vendor, device)| format!(" ({vendor}:{device})"));
    Some(place + &ids.unwrap_or_default())
}

/// `none` of `[none] mq-deadline`.
fn chosen(text: &str) -> String {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen);
    inside.unwrap_or(text).to_owned()
}

/// The share of a file's bytes that was never written, 0 to 1; `None` where the file system does not report it, or the file has
/// more pieces than are counted.
pub(super) fn hole_share(file: &File, bytes: u64) -> Option<f64> {
    const PIECES_MAX: usize = 20_000;
    let seek = |from: u64, whence| {
        // SAFETY: the call takes plain numbers and touches no memory of this process; the descriptor is open.
        let found = unsafe { libc::lseek64(file.as_raw_fd(), from as i64, whence) };
        if found < 0 { Err(std::io::Error::last_os_error()) } else { Ok(found as u64) }
    };
    let (mut at, mut data) = (0, 0);
    for _ in 0..PIECES_MAX {
        let start = match seek(at, libc::SEEK_DATA) {
            Ok(start) if start < bytes => start,
            Ok(_) => return Some(1.0 - data as f64 / bytes as f64),
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Some(1.0 - data as f64 / bytes as f64),
            Err(_) => return None,
        };
        let end = seek(start, libc::SEEK_HOLE).ok()?.min(bytes);
        data += end - start;
        at = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_of_a_disk_is_found_by_its_name_and_its_page() {
        let page = |rate: u16| [0, 0xb1, 0, 0x3c, (rate >> 8) as u8, rate as u8, 0, 0];
        assert_eq!(class("sda", true, Some(&page(7200))), MediumClass::Rotating { rpm: Some(7200) });
        assert_eq!(class("sda", true, Some(&page(0))), MediumClass::Rotating { rpm: None });
        assert_eq!(class("sda", true, None), MediumClass::Rotating { rpm: None });
        assert_eq!(class("sda", false, Some(&page(1))), MediumClass::SataSsd);
        assert_eq!(class("nvme0n1", false, None), MediumClass::Nvme);
        assert_eq!(class("mmcblk0", false, None), MediumClass::Card);
    }

    #[test]
    fn intermediaries_are_recognised_by_name_driver_model_and_transport() {
        let code = |name: &str, driver: Option<&str>, model: &str, transport: Option<&str>| {
            intermediary(name, true, driver, model, transport)
                .map(|intermediary| (intermediary.code(), intermediary.class()))
        };
        let (layered, virtual_disk, remote) = (MediumClass::Layered, MediumClass::Virtual, MediumClass::Remote);
        for (name, word, class) in [
            ("loop0", "loop", layered),
            ("dm-3", "device-mapper", layered),
            ("md127", "md", layered),
            ("zram0", "zram", layered),
            ("ublkb0", "ublk", layered),
            ("nbd0", "nbd", layered),
            ("rbd0", "rbd", remote),
            ("xvda", "xen", virtual_disk),
            ("vda", "virtio", virtual_disk),
        ] {
            assert_eq!(code(name, None, "", None), Some((word, class)), "{name}");
        }
        assert_eq!(code("nvme0n1", Some("nvme"), "Samsung SSD 990", Some("pcie")), None);
        assert_eq!(code("nvme0n1", Some("nvme"), "Samsung SSD 990", None), None, "a kernel that does not say");
        assert_eq!(code("nvme1n1", None, "Linux", Some("tcp")), Some(("nvme-fabrics", remote)));
        assert_eq!(code("nvme1n1", None, "Amazon Elastic Block Store", Some("pcie")), Some(("emulated", virtual_disk)));
        assert_eq!(code("sda", Some("ahci"), "ST16000NM001G-2KK103", None), None);
        assert_eq!(code("sda", Some("ahci"), "QEMU HARDDISK", None), Some(("emulated", virtual_disk)));
        assert_eq!(code("sda", Some("virtio_scsi"), "", None), Some(("virtio", virtual_disk)));
        assert_eq!(code("sda", Some("hv_storvsc"), "Msft Virtual Disk", None), Some(("hyper-v", virtual_disk)));
        assert_eq!(code("sda", Some("iscsi_tcp"), "LIO-ORG", None), Some(("iscsi", remote)));
        assert_eq!(intermediary("sda", false, None, "", None), Some(Intermediary::Unknown));
        assert!(is_session("session4") && !is_session("session") && !is_session("sessions"));
    }

    #[test]
    fn words_of_sysfs_are_read() {
        assert_eq!(
            (chosen("[none] mq-deadline"), chosen("none [bfq]"), chosen("none")),
            ("none".into(), "bfq".into(), "none".into())
        );
        assert!(is_usb_bus("usb3") && !is_usb_bus("usb") && !is_usb_bus("usbhid"));
    }

    #[test]
    fn holes_are_measured() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.set_len(1 << 20).unwrap();
        assert!([Some(1.0), None].contains(&hole_share(&file, 1 << 20)));
        std::os::unix::fs::FileExt::write_all_at(&file, &[1; 256 << 10], 512 << 10).unwrap();
        assert!([Some(0.75), None].contains(&hole_share(&file, 1 << 20)), "{:?}", hole_share(&file, 1 << 20));
    }
}
