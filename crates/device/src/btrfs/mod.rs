//! A mounted btrfs as the subject of a scrub: its checksums are checked at the pace of the scrub, and btrfs repairs.
//!
//! Btrfs's own scrub (`BTRFS_IOC_SCRUB`) takes a range of a device, but does all of each device extent that the range touches:
//! mostly 1 GiB, without a pause. A budget needs smaller steps, so the scrub reads what lies on a device itself, and compares
//! it with btrfs's checksums (`inspect`). Only an extent with an error is given to btrfs's own scrub, which has the last word,
//! and repairs. Chunks with parities, and file systems with other checksums than CRC-32C or unknown features, are left to it
//! altogether, an extent at a time. docs/btrfs.md describes the consequences.
//!
//! **Never:** writing to a device. Only the kernel repairs.

mod findings;
mod inspect;
mod ioctl;
mod items;
mod judge;
pub(crate) mod label;
mod lookup;
mod members;
pub(crate) mod mounts;
mod names;
mod space;
mod verifier;
mod watch;
mod worker;

pub use findings::{PoolCounts, PoolLog};
pub use ioctl::ScrubCounts;
pub use lookup::{PoolLookup, PoolPiece, PoolUse};
pub use members::PoolMemberError;
pub use space::{AddressSpace, DeviceRange};

use crate::detector::{DetectorKind, OpenedDetector, blind};
use crate::subject::Subject;
use crate::target::TargetIdentity;
use crate::verify::{OpenedVerifier, VerifierError, VerifierKind};
use inspect::Inspector;
use ioctl::{FsHandle, FsInfo};
use judge::TreeRules;
use members::{OpenedMembers, PoolMember};
use mounts::MountEntry;
use names::FileNames;
use scrubjay_core::scrub::Tallies;
use scrubjay_core::scrub::idle::PolicyConfig;
use scrubjay_core::shown::shown_path;
use scrubjay_core::units::Bytes;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use verifier::PoolVerifier;
use worker::{WorkerSetup, WorkerSignals};

/// The number of CRC-32C among btrfs's checksums.
const CRC32C: u16 = 0;

/// Features that do not change how places are computed here. With any other one, btrfs itself must verify: zoned devices,
/// stripe trees, and future features.
const KNOWN_FEATURES: [&str; 18] = [
    "mixed_backref",
    "default_subvol",
    "mixed_groups",
    "compress_lzo",
    "compress_zstd",
    "compress_lzov2",
    "big_metadata",
    "extended_iref",
    "raid56",
    "skinny_metadata",
    "no_holes",
    "metadata_uuid",
    "raid1c34",
    "free_space_tree",
    "block_group_tree",
    "simple_quota",
    "verity",
    "mixed_group",
];

/// A mounted btrfs.
#[derive(Debug)]
pub struct BtrfsPool {
    path: PathBuf,
    fs: FsHandle,
    info: FsInfo,
    id: TargetIdentity,
    folder: PathBuf,
    mount: MountEntry,
    members: Arc<Vec<PoolMember>>,
    missing: Vec<u64>,
    allocated: u64,
    space: AddressSpace,
    log: PoolLog,
    signals: Arc<WorkerSignals>,
    is_read_only: bool,
    /// A feature with which all is left to btrfs's own scrub.
    foreign_feature: Option<String>,
}

/// What the kernel says of a mounted btrfs, without its devices.
struct MountedPool {
    canonical: PathBuf,
    mount: MountEntry,
    fs: FsHandle,
    info: FsInfo,
    folder: PathBuf,
    is_temporary: bool,
}

/// Why it cannot be scrubbed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// The directory lies in another file system.
    #[error(
        "{path} is a directory: name a block device or an image file, or the mount point of a btrfs (this is {kind})"
    )]
    NotBtrfs {
        /// The path as the user named it.
        path: PathBuf,
        /// The type of the file system there.
        kind: String,
    },
    /// The directory lies inside a btrfs, and is not its mount point.
    #[error("{path} is a directory inside the btrfs that is mounted at {point}: name {point}, all of it is scrubbed")]
    Inside {
        /// The path as the user named it.
        path: PathBuf,
        /// The mount point of the file system.
        point: String,
    },
    /// Only root may scrub it.
    #[error("{path}: permission denied: checking a btrfs takes root (CAP_SYS_ADMIN)")]
    Permission {
        /// The path as the user named it.
        path: PathBuf,
    },
    /// Btrfs's own scrub is running.
    #[error(
        "{path}: another scrub of it is running (see `btrfs scrub status {path}`): let it finish, or cancel it there"
    )]
    Scrubbed {
        /// The path as the user named it.
        path: PathBuf,
    },
    /// Another operation of btrfs moves its data.
    #[error("{path}: btrfs is busy with a {operation}, which moves what is to be checked: scrub when that is over")]
    Busy {
        /// The path as the user named it.
        path: PathBuf,
        /// btrfs's name of the operation.
        operation: String,
    },
    /// A device cannot be used.
    #[error("{path}: {source}")]
    Member {
        /// The path as the user named it.
        path: PathBuf,
        /// The device, and why.
        source: PoolMemberError,
    },
    /// All devices are missing.
    #[error("{path}: none of its devices is there")]
    NoMember {
        /// The path as the user named it.
        path: PathBuf,
    },
    /// The kernel refuses.
    #[error("{path}: {failure}: {source}")]
    Io {
        /// The path as the user named it.
        path: PathBuf,
        /// What failed.
        failure: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

impl PoolError {
    fn of(path: &Path, failure: &'static str, source: io::Error) -> PoolError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied => PoolError::Permission { path },
            _ => PoolError::Io { path, failure, source },
        }
    }
}

impl MountedPool {
    /// Asks what is mounted at `path`.
    fn at(path: &Path) -> Result<MountedPool, PoolError> {
        let io = |failure| move |source| PoolError::of(path, failure, source);
        let canonical = fs::canonicalize(path).map_err(io("cannot find it"))?;
        let text = fs::read_to_string("/proc/self/mountinfo").map_err(io("cannot read /proc/self/mountinfo"))?;
        let mount = mount_at(path, &canonical.to_string_lossy(), &mounts::mounts(&text))?;
        let fs = FsHandle::new(File::open(&canonical).map_err(io("cannot open it"))?);
        let info = fs.info().map_err(io("it does not say what it is"))?;
        let folder = Path::new("/sys/fs/btrfs").join(uuid(&info.fsid));
        let is_temporary = fs::read_to_string(folder.join("temp_fsid")).is_ok_and(|text| text.trim() == "1");
        Ok(MountedPool { canonical, mount, fs, info, folder, is_temporary })
    }

    /// The identity of its scrub, and the addresses, of devices as (number, bytes).
    fn addresses(&self, devices: Vec<(u64, u64)>) -> (TargetIdentity, AddressSpace) {
        let space = AddressSpace::new(devices, self.info.sector_bytes.into());
        // A pass is resumed only where every address still means the same: the sizes are part of the identity.
        let sizes: Vec<String> = space.devices().iter().map(|(device, bytes)| format!("{device}:{bytes}")).collect();
        let name = format!("btrfs {}", uuid(&self.info.fsid));
        (TargetIdentity::new(&name, format!("devices {}", sizes.join(" ")), !self.is_temporary), space)
    }
}

impl BtrfsPool {
    /// Opens the btrfs that is mounted at `path`, a directory. `is_read_only`: nothing is to be repaired.
    ///
    /// # Errors
    /// [`PoolError`]; nothing was changed, and none of its data were read.
    pub fn open(path: &Path, is_read_only: bool) -> Result<BtrfsPool, PoolError> {
        let pool = BtrfsPool::look(path, is_read_only)?;
        check_busy(path, &pool.folder)?;
        for member in pool.members.iter() {
            let is_scrubbing = pool.fs.is_scrubbing(member.number);
            if is_scrubbing.map_err(|source| PoolError::of(path, "cannot be asked for scrubs", source))? {
                return Err(PoolError::Scrubbed { path: path.to_owned() });
            }
        }
        Ok(pool)
    }

    /// Opens the btrfs that is mounted at `path`, whether or not it can be scrubbed just now.
    ///
    /// # Errors
    /// [`PoolError`]; nothing was changed, and none of its data were read.
    pub fn look(path: &Path, is_read_only: bool) -> Result<BtrfsPool, PoolError> {
        let mounted = MountedPool::at(path)?;
        let opened = members::open(&mounted.fs, &mounted.info, &mounted.folder, mounted.is_temporary);
        let OpenedMembers { present, missing, allocated } = opened.map_err(|source| match source {
            PoolMemberError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                PoolError::Permission { path: path.to_owned() }
            }
            source => PoolError::Member { path: path.to_owned(), source },
        })?;
        if present.is_empty() {
            return Err(PoolError::NoMember { path: path.to_owned() });
        }
        let (id, space) = mounted.addresses(present.iter().map(|member| (member.number, member.bytes)).collect());
        let MountedPool { canonical, mount, fs, info, folder, .. } = mounted;
        let foreign_feature = foreign_feature(&folder.join("features"));
        Ok(BtrfsPool {
            path: path.to_owned(),
            id,
            is_read_only: is_read_only || mount.is_read_only || is_read_only_here(&canonical),
            fs,
            info,
            folder,
            mount,
            members: Arc::new(present),
            missing,
            allocated,
            space,
            log: PoolLog::default(),
            signals: Arc::default(),
            foreign_feature,
        })
    }

    /// UUID (as in `/sys/fs/btrfs`), identity, and size in sectors of the btrfs that is mounted at `path`, as the kernel says
    /// them, whether or not it can be scrubbed just now. No device is opened or read, so no disk is woken. `None`: it is no
    /// btrfs, or none of its devices is there. Where one of them hangs, this may never return.
    pub fn outline(path: &Path) -> Option<(String, TargetIdentity, u64)> {
        let mounted = MountedPool::at(path).ok()?;
        let named = members::named(&mounted.fs, &mounted.info, &mounted.folder).ok()?;
        let devices: Vec<(u64, u64)> =
            named.present.iter().map(|(number, device)| (*number, device.total_bytes)).collect();
        if devices.is_empty() {
            return None;
        }
        let (id, space) = mounted.addresses(devices);
        Some((uuid(&mounted.info.fsid), id, space.sectors()))
    }

    /// The mount points of all btrfs on this machine; a file system that is mounted several times has several.
    pub fn mount_points() -> Vec<PathBuf> {
        let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let all = mounts::mounts(&text).into_iter().filter(|mount| mount.kind == "btrfs");
        all.map(|mount| PathBuf::from(mount.point)).collect()
    }

    /// What its scrub tells beside its verdicts; a clone is a handle on the same.
    pub fn log(&self) -> PoolLog {
        self.log.clone()
    }

    /// Facts about it that are reported besides the findings.
    pub fn facts(&self) -> PoolFacts {
        PoolFacts {
            devices: self.members.len() + self.missing.len(),
            missing: self.missing.clone(),
            allocated: Bytes(self.allocated),
            space: self.space.clone(),
            is_read_only: self.is_read_only,
            paths: self.members.iter().map(|member| (member.number, shown_path(&member.target.path))).collect(),
        }
    }

    /// Why all of it is left to btrfs's own scrub; `None`: it is not.
    fn kernel_only_reason(&self) -> Option<String> {
        match &self.foreign_feature {
            Some(feature) => Some(format!("the file system uses `{feature}`")),
            None if self.info.csum_type != CRC32C => Some("its checksums are not CRC-32C".to_owned()),
            None => None,
        }
    }

    /// A [`PoolLookup`] for this file system.
    ///
    /// # Errors
    /// When there are no more descriptors.
    pub fn lookup(&self) -> io::Result<PoolLookup> {
        let setup = self.setup()?;
        let (inspector, names, sector) = (setup.inspector, setup.names, setup.sector);
        Ok(PoolLookup { inspector, names, sector, foreign: self.foreign_feature.clone() })
    }

    /// Whether it was mounted without its log, or with damaged parts left out.
    pub fn is_for_rescue(&self) -> bool {
        self.mount.is_for_rescue
    }

    /// The number of the device with these major and minor numbers, if it is one of the file system's.
    pub fn device_at(&self, numbers: (u32, u32)) -> Option<u64> {
        let has_numbers = |member: &&PoolMember| member.target.numbers() == Some(numbers);
        self.members.iter().find(has_numbers).map(|member| member.number)
    }

    /// The mount point, as the user named it.
    pub fn mount_point(&self) -> &Path {
        &self.path
    }

    fn setup(&self) -> io::Result<WorkerSetup> {
        let rules = TreeRules { node_bytes: self.info.node_bytes.into(), uuid: self.info.metadata_uuid };
        let sector = self.info.sector_bytes.into();
        Ok(WorkerSetup {
            fs: self.fs.try_clone()?,
            inspector: Inspector::new(self.fs.try_clone()?, Arc::clone(&self.members), rules, sector),
            space: self.space.clone(),
            names: FileNames::new(self.fs.try_clone()?, &self.mount.point, &self.mount.root),
            log: self.log.clone(),
            signals: Arc::clone(&self.signals),
            is_read_only: self.is_read_only,
            is_kernel_only: self.kernel_only_reason().is_some(),
            sector,
        })
    }
}

/// Facts about a btrfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolFacts {
    /// Number of devices, missing ones included.
    pub devices: usize,
    /// The numbers of the missing devices.
    pub missing: Vec<u64>,
    /// Bytes allocated to chunks when it was opened.
    pub allocated: Bytes,
    /// Whether nothing is repaired.
    pub is_read_only: bool,
    /// The scrub's addresses.
    pub space: AddressSpace,
    /// Number and path, escaped for display, of each device that is present.
    pub paths: Vec<(u64, String)>,
}

/// Whether it is mounted read-only for this process, as in the sandbox of a service.
fn is_read_only_here(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|status| status.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// The mount at `canonical`, if it is a btrfs.
fn mount_at(path: &Path, canonical: &str, mounts: &[MountEntry]) -> Result<MountEntry, PoolError> {
    let path = path.to_owned();
    match mounts::mount_of(mounts, canonical) {
        Some(mount) if mount.kind == "btrfs" && mount.point == canonical => Ok(mount.clone()),
        Some(mount) if mount.kind == "btrfs" => Err(PoolError::Inside { path, point: mount.point.clone() }),
        Some(mount) => Err(PoolError::NotBtrfs { path, kind: mount.kind.clone() }),
        None => Err(PoolError::NotBtrfs { path, kind: "an unknown file system".to_owned() }),
    }
}

/// Checks that no exclusive operation of btrfs is running.
fn check_busy(path: &Path, folder: &Path) -> Result<(), PoolError> {
    let operation = fs::read_to_string(folder.join("exclusive_operation")).unwrap_or_default();
    match operation.trim() {
        "" | "none" => Ok(()),
        operation => Err(PoolError::Busy { path: path.to_owned(), operation: operation.to_owned() }),
    }
}

/// A feature in use with which places may be elsewhere.
fn foreign_feature(folder: &Path) -> Option<String> {
    let names = fs::read_dir(folder).ok()?;
    let mut names: Vec<String> =
        names.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect();
    names.sort();
    names.into_iter().find(|name| !KNOWN_FEATURES.contains(&name.as_str()))
}

/// A UUID in its usual notation.
fn uuid(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

impl Subject for BtrfsPool {
    fn path(&self) -> &Path {
        &self.path
    }

    fn id(&self) -> &TargetIdentity {
        &self.id
    }

    fn sectors(&self) -> u64 {
        self.space.sectors()
    }

    /// The smallest block that has a checksum.
    fn block(&self) -> Bytes {
        Bytes(self.info.sector_bytes.into())
    }

    fn block_name(&self) -> &'static str {
        "sector"
    }

    /// Its UUID, whatever its devices' sizes, and the disks below it: a scrub of one of those would be in its way.
    fn ways(&self) -> Vec<String> {
        let number = |member: &PoolMember| {
            let disk = member.target.disk.as_ref()?;
            Some(format!("number/{}:{}", disk.major, disk.minor))
        };
        let mut ways: Vec<String> = self.members.iter().filter_map(number).collect();
        ways.sort();
        ways.dedup(); // several devices on one disk
        ways.push(format!("btrfs/{}", uuid(&self.info.fsid)));
        ways
    }

    fn open_verifier(&self, kind: VerifierKind, _policy: &PolicyConfig) -> Result<OpenedVerifier, VerifierError> {
        if !matches!(kind, VerifierKind::Auto | VerifierKind::Read) {
            return Err(VerifierError::OwnMeans(kind, "a btrfs"));
        }
        let start = || PoolVerifier::start(self.fs.try_clone()?, self.setup()?);
        let verifier = Box::new(start().map_err(VerifierError::Handle)?);
        let note = match self.kernel_only_reason() {
            Some(reason) => format!(
                "{reason}, so btrfs's own scrub does all of it, a device extent at a time: mostly 1 GiB without a pause, \
                 which no budget can hold back"
            ),
            None => "what btrfs has allocated is read and held against its checksums; an extent in which something does not fit \
                     is given to btrfs's own scrub, as are chunks of RAID-5 and RAID-6: mostly 1 GiB without a pause"
                .to_owned(),
        };
        Ok(OpenedVerifier {
            verifier,
            name: "btrfs",
            engine: "direct reads and BTRFS_IOC_SCRUB",
            depth: 1,
            note: Some(note),
        })
    }

    fn open_detector(&self, wish: Option<DetectorKind>) -> OpenedDetector {
        if wish == Some(DetectorKind::Blind) {
            return blind("other users of the disks below the file system are not watched, as you wished");
        }
        watch::open(&self.members, Arc::clone(&self.signals), wish)
    }

    fn is_present(&self) -> bool {
        self.fs.info().is_ok() && self.members.iter().all(|member| member.target.is_present())
    }

    fn may_repair(&self) -> bool {
        !self.is_read_only
    }

    fn tallies(&self) -> Tallies {
        self.log.tallies()
    }

    fn resume(&self, tallies: &Tallies) {
        self.log.resume(tallies);
    }

    fn notes(&self) -> Vec<String> {
        let PoolFacts { devices, missing, allocated, is_read_only, .. } = self.facts();
        let all = Bytes(self.space.sectors() * scrubjay_core::units::SECTOR_BYTES);
        let mut notes = vec![format!(
            "btrfs checks what it has allocated: {allocated} of the {all} of its {}; the rest holds nothing",
            if devices == 1 { "device".to_owned() } else { format!("{devices} devices") }
        )];
        notes.push(match (is_read_only, self.mount.is_read_only) {
            (false, _) => "btrfs repairs what is wrong where another copy is right".to_owned(),
            (true, true) => "mounted read-only, so nothing is repaired".to_owned(),
            (true, false) => "nothing is repaired, as you wished".to_owned(),
        });
        if !missing.is_empty() {
            let numbers: Vec<String> = missing.iter().map(u64::to_string).collect();
            notes
                .push(format!("DEGRADED: of its {devices} devices {} is missing, and not checked", numbers.join(", ")));
        }
        let errors: Vec<String> = self.members.iter().filter_map(|member| self.counted_errors(member.number)).collect();
        if !errors.is_empty() {
            notes.push(format!("btrfs has counted errors before: {}", errors.join("; ")));
        }
        notes
    }
}

impl BtrfsPool {
    /// The errors that btrfs has counted for a device since the counts were last reset.
    fn counted_errors(&self, device: u64) -> Option<String> {
        let text = fs::read_to_string(self.folder.join(format!("devinfo/{device}/error_stats"))).ok()?;
        let counts: Vec<&str> = text.lines().filter(|line| !line.ends_with(" 0")).collect();
        (!counts.is_empty()).then(|| {
            let path = self.members.iter().find(|member| member.number == device);
            let path = path.map(|member| shown_path(&member.target.path)).unwrap_or_default();
            format!("{path}: {}", counts.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_no_mounted_btrfs_is_refused_with_its_kind() {
        let text = "1 0 0:1 / / rw - ext4 /dev/a rw\n2 1 0:2 / /mnt rw - btrfs /dev/b rw\n";
        let mounts = mounts::mounts(text);
        let refused = |path: &str| mount_at(Path::new(path), path, &mounts).unwrap_err().to_string();
        assert!(refused("/home").ends_with("or the mount point of a btrfs (this is ext4)"), "{}", refused("/home"));
        assert!(refused("/mnt/photos").contains("mounted at /mnt: name /mnt"));
        assert_eq!(mount_at(Path::new("/mnt"), "/mnt", &mounts).unwrap().point, "/mnt");
    }

    #[test]
    fn a_running_exclusive_operation_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = Path::new("/mnt");
        assert!(check_busy(path, folder.path()).is_ok(), "older kernels do not say");
        fs::write(folder.path().join("exclusive_operation"), "none\n").unwrap();
        assert!(check_busy(path, folder.path()).is_ok());
        fs::write(folder.path().join("exclusive_operation"), "device replace\n").unwrap();
        assert!(check_busy(path, folder.path()).unwrap_err().to_string().contains("busy with a device replace"));
    }

    #[test]
    fn features_that_move_places_are_found() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["no_holes", "skinny_metadata"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(foreign_feature(folder.path()), None);
        fs::write(folder.path().join("raid_stripe_tree"), "").unwrap();
        assert_eq!(foreign_feature(folder.path()).as_deref(), Some("raid_stripe_tree"));
    }

    #[test]
    fn a_uuid_is_written_in_its_usual_notation() {
        let mut bytes = [0; 16];
        (bytes[0], bytes[15]) = (0xf5, 0x86);
        assert_eq!(uuid(&bytes), "f5000000-0000-0000-0000-000000000086");
    }
}
