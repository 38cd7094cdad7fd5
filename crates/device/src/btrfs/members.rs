//! The devices of a mounted btrfs, each opened read-only and checked to be the one that the file system names.

use super::ioctl::{DeviceInfo, FsHandle, FsInfo};
use crate::buffer::PageBuffer;
use crate::target::{Target, TargetError};
use scrubjay_core::shown::shown;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The place of a device's first superblock, in bytes.
pub(super) const SUPERBLOCK: Range<u64> = 64 << 10..68 << 10;

/// The largest number of a device that is looked for.
const DEVICES_MAX: u64 = 1 << 16;

/// One device.
#[derive(Debug)]
pub(super) struct PoolMember {
    /// Its number in the file system.
    pub number: u64,
    /// Its size in bytes, as far as the file system uses it.
    pub bytes: u64,
    /// The opened device.
    pub target: Target,
    /// The scrub's reads of it.
    pub traffic: Arc<MemberTraffic>,
}

/// The scrub's reads of one device.
#[derive(Debug, Default)]
pub(super) struct MemberTraffic {
    bytes: AtomicU64,
    requests: AtomicU64,
    in_flight: AtomicU32,
}

impl MemberTraffic {
    /// Bytes that were read, or tried to be read.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Reads that have ended.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Reads that are at the disk.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }
}

/// Reads one device.
pub(super) struct MemberReader<'a> {
    file: &'a File,
    traffic: &'a MemberTraffic,
}

impl MemberReader<'_> {
    /// Reads all of `bytes` from `offset` on.
    ///
    /// # Errors
    /// The kernel's error; ENODEV where the device ends before.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let length = bytes.len() as u64;
        self.traffic.in_flight.fetch_add(1, Ordering::Relaxed);
        let result = self.file.read_exact_at(bytes, offset);
        self.traffic.bytes.fetch_add(length, Ordering::Relaxed);
        self.traffic.requests.fetch_add(1, Ordering::Relaxed);
        self.traffic.in_flight.fetch_sub(1, Ordering::Relaxed);
        result.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::from_raw_os_error(libc::ENODEV),
            _ => error,
        })
    }
}

/// The devices of a file system, as the kernel names them.
#[derive(Debug)]
pub(super) struct NamedMembers {
    /// The devices that are present: their numbers, and what the kernel says of them.
    pub present: Vec<(u64, DeviceInfo)>,
    /// The numbers of the missing devices.
    pub missing: Vec<u64>,
}

/// The devices of a file system, and the numbers of those that are missing.
#[derive(Debug)]
pub(super) struct OpenedMembers {
    /// The devices that are present.
    pub present: Vec<PoolMember>,
    /// The numbers of the missing devices.
    pub missing: Vec<u64>,
    /// Bytes of the present devices that are allocated to chunks.
    pub allocated: u64,
}

/// Why a device of the file system cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PoolMemberError {
    /// It cannot be opened.
    #[error("its device {device}: {source}")]
    Target {
        /// Its number.
        device: u64,
        /// The error below.
        source: TargetError,
    },
    /// There is something else at its path.
    #[error("its device {device} should be {path}, but that is {found}: is a copy of the disk attached?")]
    Other {
        /// Its number.
        device: u64,
        /// The path at which it should be.
        path: String,
        /// What is there.
        found: &'static str,
    },
    /// The kernel refuses.
    #[error("its device {device}: {source}")]
    Io {
        /// Its number.
        device: u64,
        /// The error of the system below.
        source: io::Error,
    },
}

impl PoolMember {
    /// A reader that counts its reads.
    pub fn reader(&self) -> MemberReader<'_> {
        MemberReader { file: &self.target.file, traffic: &self.traffic }
    }
}

/// The member with this number.
///
/// # Errors
/// ENODEV when there is none.
pub(super) fn numbered(members: &[PoolMember], device: u64) -> io::Result<&PoolMember> {
    let member = members.iter().find(|member| member.number == device);
    member.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
}

/// Asks the kernel for the devices of `fs`, whose folder in `/sys` is `folder`. None is opened or read, so no disk is woken.
///
/// # Errors
/// [`PoolMemberError::Io`].
pub(super) fn named(fs: &FsHandle, info: &FsInfo, folder: &Path) -> Result<NamedMembers, PoolMemberError> {
    let mut named = NamedMembers { present: Vec::new(), missing: Vec::new() };
    for device in 1..=info.max_id.min(DEVICES_MAX) {
        let device_info = fs.device(device).map_err(|source| PoolMemberError::Io { device, source })?;
        let Some(device_info) = device_info else { continue };
        let is_missing = fs::read_to_string(folder.join(format!("devinfo/{device}/missing")))
            .map_or(device_info.path.is_empty(), |text| text.trim() == "1");
        match is_missing {
            true => named.missing.push(device),
            false => named.present.push((device, device_info)),
        }
    }
    Ok(named)
}

/// Opens all devices of `fs`, whose folder in `/sys` is `folder`. `is_temporary`: its UUID differs from that on its devices.
///
/// # Errors
/// [`PoolMemberError`].
pub(super) fn open(
    fs: &FsHandle,
    info: &FsInfo,
    folder: &Path,
    is_temporary: bool,
) -> Result<OpenedMembers, PoolMemberError> {
    let known = known_numbers(folder);
    let NamedMembers { present, missing } = named(fs, info, folder)?;
    let mut opened = OpenedMembers { present: Vec::new(), missing, allocated: 0 };
    for (device, device_info) in present {
        let path = PathBuf::from(OsStr::from_bytes(&device_info.path));
        let target = Target::open(&path).map_err(|source| PoolMemberError::Target { device, source })?;
        let other = |found| PoolMemberError::Other { device, path: shown(&path.to_string_lossy()).into_owned(), found };
        let io = |source| PoolMemberError::Io { device, source };
        if !target.is_block_device || !target.is_direct {
            return Err(other("no disk"));
        }
        let number = fs::metadata(&path).map_err(io)?.rdev();
        if known.as_ref().is_some_and(|known| !known.contains(&number)) {
            return Err(other("a disk that the file system does not use"));
        }
        check_superblock(&target, device, (!is_temporary).then_some(&info.fsid))
            .map_err(io)?
            .map_or(Ok(()), |found| Err(other(found)))?;
        opened.allocated += device_info.bytes_used;
        let traffic = Arc::default();
        opened.present.push(PoolMember { number: device, bytes: device_info.total_bytes, target, traffic });
    }
    Ok(opened)
}

/// The numbers of the block devices that the file system uses, according to `/sys`.
fn known_numbers(folder: &Path) -> Option<Vec<u64>> {
    let entries = fs::read_dir(folder.join("devices")).ok()?;
    let number = |entry: io::Result<fs::DirEntry>| {
        let text = fs::read_to_string(entry.ok()?.path().join("dev")).ok()?;
        let (major, minor) = text.trim().split_once(':')?;
        Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
    };
    Some(entries.filter_map(number).collect())
}

/// How the first superblock is wrong for a device of this number (`struct btrfs_super_block`); `None`: it is right.
fn check_superblock(target: &Target, device: u64, fsid: Option<&[u8; 16]>) -> io::Result<Option<&'static str>> {
    let mut buffer = PageBuffer::new((SUPERBLOCK.end - SUPERBLOCK.start) as usize, 4096);
    let bytes = buffer.as_mut_slice();
    target.file.read_exact_at(bytes, SUPERBLOCK.start)?;
    Ok(judge_superblock(bytes, device, fsid))
}

fn judge_superblock(bytes: &[u8], device: u64, fsid: Option<&[u8; 16]>) -> Option<&'static str> {
    let number = u64::from_le_bytes(bytes[201..209].try_into().expect("eight bytes"));
    if &bytes[64..72] != b"_BHRfS_M" {
        return Some("no btrfs, or its superblock is destroyed");
    }
    if fsid.is_some_and(|fsid| bytes[32..48] != fsid[..]) {
        return Some("another btrfs");
    }
    (number != device).then_some("another device of it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_superblock_is_checked_for_its_file_system_and_device() {
        let mut bytes = vec![0; 4096];
        assert!(judge_superblock(&bytes, 2, None).unwrap().starts_with("no btrfs"));
        bytes[64..72].copy_from_slice(b"_BHRfS_M");
        bytes[32..48].fill(9);
        bytes[201] = 2;
        assert_eq!(judge_superblock(&bytes, 2, Some(&[9; 16])), None);
        assert_eq!(judge_superblock(&bytes, 2, Some(&[8; 16])), Some("another btrfs"));
        assert_eq!(judge_superblock(&bytes, 1, None), Some("another device of it"));
    }
}
