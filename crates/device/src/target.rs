//! Targets: a path that a user named, opened read-only, with all that must be known before it is read.

use crate::clock;
use crate::plausible::{is_plausible_wwid, plausible_serial, plausible_wwn};
use crate::sysfs::{self, DiskNode};
use crate::udev::UdevNotes;
use rustix::fs::StatxFlags;
use scrubjay_core::units::{Bytes, SECTOR_BYTES};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// An open target.
#[derive(Debug)]
pub struct Target {
    /// The path as the user named it.
    pub path: PathBuf,
    /// Its identity, which does not depend on its current name: serial number or WWN of a disk, the path of a file.
    pub id: TargetIdentity,
    /// Open read-only, bypassing the page cache where possible.
    pub file: File,
    /// Whether reads bypass the page cache. If not, they prove little.
    pub is_direct: bool,
    /// Whether it is a block device, not an image file.
    pub is_block_device: bool,
    /// Its size in 512-byte sectors, at least 1.
    pub sectors: u64,
    /// The smallest block that can be read.
    pub logical_block: Bytes,
    /// Whether it, or the disk below it, spins.
    pub is_rotational: bool,
    /// The whole disk on which it lies, if the kernel knows one.
    pub disk: Option<DiskNode>,
}

/// The identity of a target, which does not depend on its current name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetIdentity {
    /// For people and reports: `naa.5000c500a1b2c3d4`, `/home/disk.img`. No line breaks.
    pub name: String,
    /// Distinguishes it from another of the same name: the inode of a file. Part of the key of a saved state.
    pub instance: String,
    /// Whether another medium certainly has another identity. If not, a pass must not be resumed.
    pub is_certain: bool,
}

impl TargetIdentity {
    /// Made of these parts; control characters of the name become spaces.
    pub fn new(name: &str, instance: String, is_certain: bool) -> TargetIdentity {
        let name = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        TargetIdentity { name, instance, is_certain }
    }

    /// Certain if there is an instance to distinguish it by.
    fn known_by(name: &str, instance: Option<String>) -> TargetIdentity {
        let is_certain = instance.is_some();
        TargetIdentity::new(name, instance.unwrap_or_default(), is_certain)
    }

    /// The key under which its state is saved.
    pub fn key(&self) -> String {
        if self.instance.is_empty() { self.name.clone() } else { format!("{} {}", self.name, self.instance) }
    }
}

/// Why a target cannot be scrubbed.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// No file has this name.
    #[error("{path}: no such device or file{hint}", hint = device_hint(.path))]
    Absent {
        /// Path, as the user gave it.
        path: PathBuf,
    },
    /// The user may not read it.
    #[error("{path}: permission denied: {advice}")]
    Permission {
        /// Path, as the user gave it.
        path: PathBuf,
        /// What to do.
        advice: &'static str,
    },
    /// Neither a block device nor a file: a directory, a terminal, ...
    #[error("{path} is a {kind}: name a block device or an image file{hint}")]
    Kind {
        /// Path, as the user gave it.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
        /// What may have been meant.
        hint: String,
    },
    /// It has no sectors.
    #[error("{path} is empty: there is nothing to read{hint}")]
    Empty {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Why that may be.
        hint: &'static str,
    },
    /// An image file that is no whole number of sectors.
    #[error("{path}: {bytes} bytes are not a whole number of 512-byte sectors, so this is no image of a disk")]
    Ragged {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// Anything else.
    #[error("{path}: {source}")]
    Io {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The error of the system or library below.
        source: io::Error,
    },
}

/// `_IO(0x12, 104)` of `linux/fs.h`: the logical block size. (`libc` has no name for it.)
const BLKSSZGET: libc::c_ulong = 0x1268;
/// `_IO(0x12, 123)` of `linux/fs.h`: the physical block size.
const BLKPBSZGET: libc::c_ulong = 0x127b;
/// `_IOR(0x12, 114, size_t)` of `linux/fs.h`: the size in bytes.
const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;

impl Target {
    /// Opens `path` read-only and determines what it is.
    ///
    /// # Errors
    /// [`TargetError`]; nothing is written in any case.
    pub fn open(path: &Path) -> Result<Target, TargetError> {
        let metadata = fs::metadata(path).map_err(|source| TargetError::of(path, source))?;
        let kind = metadata.file_type();
        let is_block_device = kind.is_block_device();
        if !is_block_device && !kind.is_file() {
            let (kind, hint) = kind_and_hint(path, &metadata);
            return Err(TargetError::Kind { path: path.to_owned(), kind, hint });
        }
        if is_block_device { Target::open_device(path, &metadata) } else { Target::open_file(path, &metadata) }
    }

    fn open_device(path: &Path, metadata: &fs::Metadata) -> Result<Target, TargetError> {
        let (file, is_direct) = open_read_only(path, true)?;
        let (major, minor) = numbers(metadata.rdev());
        let disk = DiskNode::of_device(major, minor).ok();
        let io_error = |source| TargetError::Io { path: path.to_owned(), source };
        let bytes = device_bytes(&file).map_err(io_error)?;
        let logical_block = Bytes(u64::from(device_block(&file).map_err(io_error)?));
        if bytes == 0 {
            return Err(TargetError::Empty { path: path.to_owned(), hint: " (no medium, or an unused loop device)" });
        }
        Ok(Target {
            path: path.to_owned(),
            id: match &disk {
                Some(disk) => device_id(disk, major, minor),
                None => TargetIdentity::new(&path.display().to_string(), String::new(), false),
            },
            file,
            is_direct,
            is_block_device: true,
            sectors: bytes / logical_block.0 * (logical_block.0 / SECTOR_BYTES),
            logical_block,
            is_rotational: is_rotational(disk.as_ref()),
            disk,
        })
    }

    fn open_file(path: &Path, metadata: &fs::Metadata) -> Result<Target, TargetError> {
        let bytes = metadata.len();
        if bytes == 0 {
            return Err(TargetError::Empty { path: path.to_owned(), hint: "" });
        }
        if !bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(TargetError::Ragged { path: path.to_owned(), bytes });
        }
        let (major, minor) = numbers(metadata.dev());
        let disk = DiskNode::of_device(major, minor).ok();
        let block = disk.as_ref().and_then(|disk| disk.number("queue/logical_block_size")).unwrap_or(SECTOR_BYTES);
        // A last piece shorter than the disk's block cannot be read past the page cache.
        let (file, is_direct) = open_read_only(path, bytes.is_multiple_of(block))?;
        let canonical = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(Target {
            path: path.to_owned(),
            id: TargetIdentity::known_by(&canonical.display().to_string(), birth(&canonical)),
            file,
            is_direct,
            is_block_device: false,
            sectors: bytes / SECTOR_BYTES,
            logical_block: Bytes(if is_direct { block } else { SECTOR_BYTES }),
            is_rotational: is_rotational(disk.as_ref()),
            disk,
        })
    }

    /// Major and minor number of a block device.
    pub fn numbers(&self) -> Option<(u32, u32)> {
        let metadata = self.file.metadata().ok().filter(|_| self.is_block_device)?;
        Some(numbers(metadata.rdev()))
    }

    /// Whether the device still exists. A vanished disk answers reads with the same EIO as a bad sector.
    pub fn is_present(&self) -> bool {
        let is_open = if self.is_block_device {
            device_bytes(&self.file).is_ok_and(|bytes| bytes > 0)
        } else {
            self.file.metadata().is_ok()
        };
        is_open && self.disk.as_ref().is_none_or(DiskNode::is_alive)
    }
}

impl TargetError {
    fn of(path: &Path, source: io::Error) -> TargetError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => TargetError::Absent { path },
            io::ErrorKind::PermissionDenied => {
                let advice = permission_advice(&path);
                TargetError::Permission { path, advice }
            }
            _ if source.raw_os_error() == Some(libc::ENOMEDIUM) => TargetError::Empty { path, hint: " (no medium)" },
            _ => TargetError::Io { path, source },
        }
    }
}

/// Asks whether a name that is no file here was meant as that of a device, if there is one: `loop2`.
pub(crate) fn device_hint(path: &Path) -> String {
    let device = Path::new("/dev").join(path);
    let is_name = path.components().count() == 1 && path.is_relative();
    match is_name && device.exists() {
        true => format!("; did you mean {}?", device.display()),
        false => String::new(),
    }
}

/// Advice on a refused permission, depending on the user and on the kind of file.
pub(crate) fn permission_advice(path: &Path) -> &'static str {
    let is_device = fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
    let is_immutable = || {
        let flags = fs::File::open(path).map(rustix::fs::ioctl_getflags);
        flags.is_ok_and(|flags| flags.is_ok_and(|flags| flags.contains(rustix::fs::IFlags::IMMUTABLE)))
    };
    match rustix::process::geteuid().as_raw() {
        _ if !is_device && is_immutable() => "it is immutable: chattr -i takes that off",
        0 => "even to root: a container, a sandbox or a mount that is read-only withholds it",
        _ if !is_device => "run as its owner, or as root",
        _ => "run as root, or join the group that may read it (usually `disk`)",
    }
}

/// An identity that stays with the disk: WWN and serial number, else the file below a loop device. A disk that reports neither,
/// or only what whole series of bridges report, has its name of today, which another disk may have tomorrow, and the number of
/// its appearance.
pub fn disk_id(disk: &DiskNode) -> TargetIdentity {
    identity_below(Path::new("/"), disk, &clock::name())
}

/// The identity of a disk of the machine whose `/` is this folder, in the boot of this ID.
fn identity_below(root: &Path, disk: &DiskNode, boot: &str) -> TargetIdentity {
    let folder = root.join("sys/block").join(&disk.name);
    let attribute = |path: &str| sysfs::attribute(&folder, path);
    if let Some(reported) = name_by_kernel(&folder).or_else(|| name_by_udev(root, disk)) {
        let name = reported.split_whitespace().collect::<Vec<_>>().join(" ");
        // A card reader reports the same values for every card in it.
        let is_fixed = attribute("removable").as_deref() != Some("1");
        return if is_fixed {
            TargetIdentity::new(&name, String::new(), true)
        } else {
            TargetIdentity::known_by(&name, appearance(&folder, boot))
        };
    }
    match attribute("loop/backing_file") {
        Some(file) => {
            let part = [attribute("loop/offset"), attribute("loop/sizelimit")].into_iter().flatten();
            let part = part.collect::<Vec<_>>().join("+");
            let born = birth(Path::new(&file));
            let instance = born.map(|born| format!("{born} at {part}")).or_else(|| appearance(&folder, boot));
            TargetIdentity::known_by(&format!("loop on {file}"), instance)
        }
        None => TargetIdentity::known_by(&format!("named {}", disk.name), appearance(&folder, boot)),
    }
}

/// Distinguishes this appearance of a disk from any other: the kernel numbers them within a boot (Linux 5.15 and later).
fn appearance(folder: &Path, boot: &str) -> Option<String> {
    let number: u64 = sysfs::attribute(folder, "diskseq")?.parse().ok()?;
    (!boot.is_empty()).then(|| format!("boot {boot} number {number}"))
}

/// WWN and serial number as the kernel shows them, if at least one of them may be the disk's own. Both belong to the name, even
/// where one is a placeholder: states are saved under it.
fn name_by_kernel(folder: &Path) -> Option<String> {
    let first = |paths: [&str; 2]| paths.iter().find_map(|path| sysfs::attribute(folder, path));
    let wwid = first(["wwid", "device/wwid"]);
    let uuid = if wwid.is_none() { first(["dm/uuid", "md/uuid"]) } else { None };
    let serial = sysfs::serial(folder);
    let is_own = uuid.is_some()
        || wwid.as_deref().is_some_and(is_plausible_wwid)
        || serial.as_deref().and_then(plausible_serial).is_some();
    // Some bridges report the same WWN or serial for every disk behind them; both together distinguish more of them.
    let words: Vec<String> = [wwid, uuid, serial].into_iter().flatten().collect();
    is_own.then(|| words.join(" "))
}

/// The name that udev made of what it asked the disk for, if there is a serial number in it that may be the disk's own. Older
/// SATA disks, and disks behind some bridges, show theirs nowhere else.
fn name_by_udev(root: &Path, disk: &DiskNode) -> Option<String> {
    let text = fs::read_to_string(root.join(format!("run/udev/data/b{}:{}", disk.major, disk.minor))).ok()?;
    let notes = UdevNotes::new(text);
    let name = notes.get("ID_SERIAL")?;
    let is_own = match (notes.get("ID_SERIAL_SHORT"), notes.get("ID_BUS").as_deref()) {
        (Some(short), _) => match name.strip_suffix(short.as_str()) {
            // `scsi_id` puts the type of a designator before it: 1 is T10, 2 EUI-64, 3 NAA.
            Some("1") => short.rsplit('_').next().and_then(plausible_serial).is_some(),
            Some("2" | "3") => plausible_wwn(&short).is_some(),
            _ => plausible_serial(&short).is_some(),
        },
        // Without a serial number these two make the name of maker and model alone.
        (None, Some("usb" | "ata")) => false,
        (None, _) => plausible_serial(&name).is_some(),
    };
    is_own.then_some(name)
}

fn device_id(disk: &DiskNode, major: u32, minor: u32) -> TargetIdentity {
    let id = disk_id(disk);
    match fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/partition")) {
        Ok(number) => TargetIdentity { name: format!("{} part {}", id.name, number.trim()), ..id },
        Err(_) => id,
    }
}

/// Distinguishes a file from any other that has or had its name: inode numbers are reused, times of birth are not. `None` where
/// the file system keeps no time of birth.
///
/// By `statx` itself: the standard library does not ask for it in programs linked to musl, whose states would then have other names.
fn birth(path: &Path) -> Option<String> {
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    let found = rustix::fs::statx(rustix::fs::CWD, path, rustix::fs::AtFlags::empty(), wanted).ok()?;
    let seconds = i128::from(found.stx_btime.tv_sec);
    let nanos = seconds * 1_000_000_000 + i128::from(found.stx_btime.tv_nsec);
    (found.stx_mask & wanted.bits() == wanted.bits()).then(|| format!("inode {} born {nanos}", found.stx_ino))
}

fn is_rotational(disk: Option<&DiskNode>) -> bool {
    disk.and_then(|disk| disk.number("queue/rotational")) == Some(1)
}

pub(crate) fn kind_and_hint(path: &Path, metadata: &fs::Metadata) -> (&'static str, String) {
    let kind = metadata.file_type();
    if kind.is_dir() {
        let disk = DiskNode::of_device(numbers(metadata.dev()).0, numbers(metadata.dev()).1).ok();
        let hint = disk.map_or(String::new(), |disk| format!(" ({} lies on /dev/{})", path.display(), disk.name));
        return ("directory", hint);
    }
    let name = if kind.is_char_device() {
        "character device"
    } else if kind.is_fifo() {
        "pipe"
    } else {
        "socket"
    };
    (name, String::new())
}

/// Opens for reading, past the page cache if `wish_direct` is set and the file system supports it. Also returns whether it does.
pub(crate) fn open_read_only(path: &Path, wish_direct: bool) -> Result<(File, bool), TargetError> {
    let open = |flags| OpenOptions::new().read(true).custom_flags(flags).open(path);
    if wish_direct {
        match open(libc::O_DIRECT) {
            Ok(file) => return Ok((file, true)),
            Err(error) if error.raw_os_error() != Some(libc::EINVAL) => return Err(TargetError::of(path, error)),
            Err(_) => {} // tmpfs and the like: there is no medium below to be read
        }
    }
    open(0).map(|file| (file, false)).map_err(|error| TargetError::of(path, error))
}

pub(crate) fn device_bytes(file: &File) -> io::Result<u64> {
    let mut bytes: u64 = 0;
    // SAFETY: BLKGETSIZE64 writes one u64 to the pointer, which is to a live one; the descriptor is open.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64 as _, &mut bytes) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(bytes) }
}

pub(crate) fn device_block(file: &File) -> io::Result<u32> {
    let mut block: libc::c_int = 0;
    // SAFETY: BLKSSZGET writes one int to the pointer, which is to a live one; the descriptor is open.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKSSZGET as _, &mut block) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(block as u32) }
}

/// The device's physical block in bytes, as far as it reports one: a power failure may damage all of it.
pub(crate) fn device_physical_block(file: &File) -> io::Result<u32> {
    let mut block: libc::c_uint = 0;
    // SAFETY: BLKPBSZGET writes one unsigned int to the pointer, which is to a live one; the descriptor is open.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKPBSZGET as _, &mut block) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(block) }
}

/// Major and minor number of a `dev_t`.
pub fn numbers(dev: u64) -> (u32, u32) {
    (libc::major(dev), libc::minor(dev))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        Target::open(path).expect_err("refused").to_string()
    }

    #[test]
    fn a_path_that_cannot_be_scrubbed_is_refused_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        assert!(refused(&path).ends_with("no such device or file"));
        assert!(refused(Path::new("null")).ends_with("no such device or file; did you mean /dev/null?"));
        assert!(refused(folder.path()).contains("is a directory: name a block device or an image file"));
        assert!(refused(Path::new("/dev/null")).contains("is a character device"));
        fs::write(&path, []).unwrap();
        assert!(refused(&path).contains("is empty"));
        fs::write(&path, [0; 513]).unwrap();
        assert!(refused(&path).contains("513 bytes are not a whole number of 512-byte sectors"));
    }

    #[test]
    fn an_image_file_is_its_canonical_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::write(&path, [0; 4096]).unwrap();
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        let target = Target::open(&folder.path().join("link")).unwrap();
        assert_eq!(target.id.name, fs::canonicalize(&path).unwrap().display().to_string());
        assert!(target.id.is_certain && target.id.key() != target.id.name);
        assert_eq!((target.sectors, target.is_block_device), (8, false));
        assert!(target.is_present());
    }

    /// The identity of the disk `sda` with these attributes and these records of udev, in a boot called `b`.
    fn identity(attributes: &[(&str, &str)], udev: &str) -> TargetIdentity {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let place = root.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, format!("{text}\n")).unwrap();
        };
        attributes.iter().for_each(|(path, text)| write(&format!("sys/block/sda/{path}"), text));
        write("run/udev/data/b8:0", udev);
        identity_below(root.path(), &DiskNode { name: "sda".into(), major: 8, minor: 0 }, "b")
    }

    #[test]
    fn another_disk_with_the_placeholder_of_the_same_dock_has_another_key() {
        let cases: [(&[(&str, &str)], &str); 8] = [
            (&[("device/serial", "0123456789ABCDEF")], ""),
            (&[("device/vpd_pg80", "\0\u{1}\0\u{c}000000000000")], ""),
            (&[("device/wwid", "naa.5000000000000000"), ("serial", "0000")], ""),
            (&[("device/wwid", "t10.ASMT    2115            0123456789ABCDEF")], ""),
            (&[], "E:ID_BUS=usb\nE:ID_SERIAL=ASMT_2115_0123456789ABCDEF-0:0\nE:ID_SERIAL_SHORT=0123456789ABCDEF"),
            (&[], "E:ID_BUS=usb\nE:ID_SERIAL=ASMT_2115-0:0"),
            (&[], "E:ID_BUS=scsi\nE:ID_SERIAL=35000000000000000\nE:ID_SERIAL_SHORT=5000000000000000"),
            (&[], "E:ID_SERIAL="),
        ];
        for (attributes, udev) in cases {
            let id = |number| identity(&[attributes, &[("diskseq", number)][..]].concat(), udev);
            assert_eq!((id("1").key().as_str(), id("1").is_certain), ("named sda boot b number 1", true));
            assert_ne!(id("1").key(), id("2").key(), "{attributes:?} {udev}");
            assert!(!identity(attributes, udev).is_certain, "before Linux 5.15 nothing distinguishes them");
        }
    }

    #[test]
    fn a_disk_with_a_name_of_its_own_keeps_its_key_wherever_it_appears() {
        let placeholder = "E:ID_SERIAL=X_0123456789ABCDEF\nE:ID_SERIAL_SHORT=0123456789ABCDEF";
        type Case = (&'static [(&'static str, &'static str)], &'static str, &'static str);
        let cases: [Case; 13] = [
            (&[("wwid", "eui.002538b511b0d0c7"), ("device/serial", "S4EW  X0N ")], "", "eui.002538b511b0d0c7 S4EW X0N"),
            (&[("device/wwid", "naa.5000c500a1b2c3d4"), ("serial", "K1X1")], placeholder, "naa.5000c500a1b2c3d4 K1X1"),
            (&[("device/wwid", "naa.0000000000000000"), ("serial", "K1X1")], "", "naa.0000000000000000 K1X1"),
            (&[("device/wwid", "naa.5000c500a1b2c3d4"), ("serial", "0000")], "", "naa.5000c500a1b2c3d4 0000"),
            (&[("device/wwid", "t10.ATA     QEMU HARDDISK   QM03")], "", "t10.ATA QEMU HARDDISK QM03"),
            (&[("device/vpd_pg80", "\0\u{1}\0\u{8}ZL2ABCDE")], "", "ZL2ABCDE"),
            (&[("dm/uuid", "CRYPT-LUKS2-0a1b-sda")], placeholder, "CRYPT-LUKS2-0a1b-sda"),
            (&[], "E:ID_BUS=usb\nE:ID_SERIAL=WD_Book_575836-0:0\nE:ID_SERIAL_SHORT=575836", "WD_Book_575836-0:0"),
            (&[], "E:ID_BUS=ata\nE:ID_SERIAL=ST16_ZL2\nE:ID_SERIAL_SHORT=ZL2", "ST16_ZL2"),
            (
                &[],
                "E:ID_BUS=scsi\nE:ID_SERIAL=35000c500a1b2c3d4\nE:ID_SERIAL_SHORT=5000c500a1b2c3d4",
                "35000c500a1b2c3d4",
            ),
            (&[], "E:ID_BUS=scsi\nE:ID_SERIAL=1ATA_ST16_ZL2\nE:ID_SERIAL_SHORT=ATA_ST16_ZL2", "1ATA_ST16_ZL2"),
            (&[], "E:ID_BUS=ccw\nE:ID_SERIAL=0X0200", "0X0200"),
            // The drive in the dock answers udev with its own serial number.
            (&[("serial", "0123456789ABCDEF")], "E:ID_SERIAL=ST16_ZL2\nE:ID_SERIAL_SHORT=ZL2", "ST16_ZL2"),
        ];
        for (attributes, udev, key) in cases {
            for number in ["1", "2"] {
                let id = identity(&[attributes, &[("diskseq", number)][..]].concat(), udev);
                assert_eq!((id.key().as_str(), id.is_certain), (key, true));
            }
        }
        let card = identity(&[("serial", "K1X1"), ("removable", "1"), ("diskseq", "3")], "");
        assert_eq!(
            (card.key().as_str(), card.is_certain),
            ("K1X1 boot b number 3", true),
            "a reader's, not the card's"
        );
    }
}
