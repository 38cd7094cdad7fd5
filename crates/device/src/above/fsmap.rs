//! The kernel's maps of file systems: `FS_IOC_GETFSMAP` of a mounted XFS, `FS_IOC_FIEMAP` of a file. All `unsafe` of this module
//! tree is here. (`linux/fsmap.h`, `linux/fiemap.h`, `xfs/libxfs/xfs_fs.h`.)

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// `_IOWR('X', 59, struct fsmap_head)`
const GETFSMAP: u64 = 0xc0c0_583b;
/// `_IOWR('f', 11, struct fiemap)`
const FIEMAP: u64 = 0xc020_660b;

/// Records in one answer, at most.
const RECORDS: usize = 64;
/// Answers to one question, at most: a MiB or two has no more records.
const ANSWERS_MAX: usize = 64;
/// Extents in one answer, at most.
const EXTENTS: usize = 128;

/// `FMR_OF_SPECIAL_OWNER`: the owner is not an inode.
const SPECIAL_OWNER: u32 = 0x10;
/// `FIEMAP_EXTENT_UNKNOWN`: it has no place yet.
const EXTENT_UNKNOWN: u32 = 2;
/// `FIEMAP_EXTENT_LAST`
const EXTENT_LAST: u32 = 1;

/// A run of bytes of a device with the same owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRun {
    /// Bytes of the device.
    pub bytes: Range<u64>,
    /// The owner.
    pub owner: RunOwner,
}

/// The owner of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOwner {
    /// An inode.
    Inode(u64),
    /// None: the run is free.
    Free,
    /// In use, but the file system keeps no record of the owner.
    Unrecorded,
    /// The file system itself: the name of the structure.
    Own(&'static str),
}

/// `struct fsmap`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct MapRecord {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    length: u64,
    reserved: [u64; 3],
}

/// `struct fsmap_head`, and room for records.
#[repr(C)]
struct MapCall {
    input: u32,
    output: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    keys: [MapRecord; 2],
    records: [MapRecord; RECORDS],
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ExtentRecord {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    more: [u32; 3],
}

/// `struct fiemap`, and room for extents.
#[repr(C)]
struct ExtentCall {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    extents: [ExtentRecord; EXTENTS],
}

/// The owners of these bytes of the XFS's data device, which has these numbers; `file` is any open file of the file system. Bytes
/// on which the kernel reports nothing are in no run.
///
/// # Errors
/// The kernel's error.
pub fn owners(file: &File, (major, minor): (u32, u32), bytes: &Range<u64>) -> io::Result<Vec<OwnedRun>> {
    // `new_encode_dev`
    let device = minor & 0xff | major << 8 | (minor & !0xff) << 12;
    let mut runs = Vec::new();
    let low = MapRecord { device, physical: bytes.start, ..MapRecord::default() };
    let high = MapRecord {
        device,
        flags: u32::MAX,
        physical: bytes.end - 1,
        owner: u64::MAX,
        offset: u64::MAX,
        ..MapRecord::default()
    };
    let mut call = Box::new(MapCall {
        input: 0,
        output: 0,
        count: RECORDS as u32,
        entries: 0,
        reserved: [0; 6],
        keys: [low, high],
        records: [MapRecord::default(); RECORDS],
    });
    for _ in 0..ANSWERS_MAX {
        // SAFETY: the argument is a head with two keys and room for as many records as it states, alive and only borrowed here.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), GETFSMAP as _, &raw mut *call) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let count = (call.entries as usize).min(RECORDS);
        runs.extend(call.records[..count].iter().filter(|record| record.device == device).filter_map(|record| {
            let end = record.physical.checked_add(record.length)?;
            let run = record.physical.max(bytes.start)..end.min(bytes.end);
            (run.start < run.end).then(|| OwnedRun { bytes: run, owner: owner(record.flags, record.owner) })
        }));
        // The last record becomes the first key of the next call (ioctl_getfsmap(2)).
        let Some(last) = call.records[..count].last().filter(|_| count == RECORDS) else { break };
        call.keys[0] = *last;
        call.entries = 0;
    }
    Ok(runs)
}

fn owner(flags: u32, owner: u64) -> RunOwner {
    if flags & SPECIAL_OWNER == 0 {
        return RunOwner::Inode(owner);
    }
    const XFS: u64 = b'X' as u64;
    match (owner >> 32, owner & 0xffff_ffff) {
        (0, 1) => RunOwner::Free,
        (0, 3) => RunOwner::Own("metadata"),
        (XFS, 1) => RunOwner::Own("a superblock, or what stands beside it in its group"),
        (XFS, 2) => RunOwner::Own("its journal, which is replayed only after a crash"),
        (XFS, 3) => RunOwner::Own("a list or tree of what is free in a group"),
        (XFS, 4) => RunOwner::Own("a tree of inodes"),
        (XFS, 5) => RunOwner::Own("inodes (which files there are, and where they lie)"),
        (XFS, 6) => RunOwner::Own("a tree of what is shared between files"),
        (XFS, 7) => RunOwner::Own("room that is kept for writes to shared files"),
        (XFS, 8) => RunOwner::Own("known to be bad already"),
        _ => RunOwner::Unrecorded,
    }
}

/// Whether any of the file's data lie in one of these runs of bytes of its device. `None`: the file system does not report it.
pub fn lies_in(file: &File, wanted: &[Range<u64>]) -> Option<bool> {
    let mut call = Box::new(ExtentCall {
        start: 0,
        length: u64::MAX,
        flags: 0,
        mapped: 0,
        room: EXTENTS as u32,
        reserved: 0,
        extents: [ExtentRecord::default(); EXTENTS],
    });
    loop {
        // SAFETY: the argument is a head with room for as many extents as it states, alive and only borrowed here.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), FIEMAP as _, &raw mut *call) };
        if result < 0 {
            return None;
        }
        let extents = &call.extents[..(call.mapped as usize).min(EXTENTS)];
        let is_in = |extent: &ExtentRecord| {
            let end = extent.physical.saturating_add(extent.length);
            extent.flags & EXTENT_UNKNOWN == 0 && wanted.iter().any(|run| run.start < end && extent.physical < run.end)
        };
        if extents.iter().any(is_in) {
            return Some(true);
        }
        let next = extents.last().filter(|last| last.flags & EXTENT_LAST == 0);
        let next = next.and_then(|last| last.logical.checked_add(last.length)).filter(|next| *next > call.start);
        let Some(next) = next else { return Some(false) };
        (call.start, call.length, call.mapped) = (next, u64::MAX - next, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::mem::{offset_of, size_of};

    #[test]
    fn the_layouts_are_those_of_the_kernel() {
        assert_eq!((size_of::<MapRecord>(), offset_of!(MapCall, records)), (64, 192));
        assert_eq!((offset_of!(MapCall, keys), offset_of!(MapRecord, length)), (64, 32));
        assert_eq!((size_of::<ExtentRecord>(), offset_of!(ExtentCall, extents)), (56, 32));
        assert_eq!(offset_of!(ExtentRecord, flags), 40);
    }

    #[test]
    fn owners_are_inodes_or_named_structures_of_the_file_system() {
        assert_eq!(owner(0, 131), RunOwner::Inode(131));
        assert_eq!((owner(0x10, 1), owner(0x10, 2)), (RunOwner::Free, RunOwner::Unrecorded));
        assert_eq!(owner(0x10, (0x58 << 32) | 2), RunOwner::Own("its journal, which is replayed only after a crash"));
        assert_eq!(owner(0x10, u64::MAX), RunOwner::Unrecorded, "a kind that is not known is not guessed");
    }

    #[test]
    fn a_file_of_proc_has_neither_owners_nor_extents() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 8192]).unwrap();
        let proc = File::open("/proc/self/status").unwrap();
        assert!(owners(&proc, (7, 0), &(0..4096)).is_err());
        assert_eq!(lies_in(&proc, std::slice::from_ref(&(0..u64::MAX))), None);
    }
}
