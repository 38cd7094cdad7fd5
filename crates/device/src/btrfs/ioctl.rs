//! The ioctls of the kernel's btrfs: `linux/btrfs.h`. All `unsafe` of this module tree is here.
//!
//! The layouts are those of every 64-bit Linux; a test compares their sizes with those in the numbers of the ioctls.

use super::items::{self, ItemKey};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The letter of btrfs in the numbers of its ioctls (`BTRFS_IOCTL_MAGIC`).
const MAGIC: u64 = 0x94;
const NONE: u64 = 0;
const READ: u64 = 2;
const BOTH: u64 = 3;

/// The number of an ioctl: `_IOC` of `asm-generic/ioctl.h`.
const fn number(direction: u64, call: u64, bytes: usize) -> u64 {
    direction << 30 | (bytes as u64) << 16 | MAGIC << 8 | call
}

const TREE_SEARCH_V2: u64 = number(BOTH, 17, size_of::<SearchHead>());
const INO_LOOKUP: u64 = number(BOTH, 18, size_of::<InodeLookup>());
const SCRUB: u64 = number(BOTH, 27, size_of::<ScrubCall>());
const SCRUB_CANCEL: u64 = number(NONE, 28, 0);
const SCRUB_PROGRESS: u64 = number(BOTH, 29, size_of::<ScrubCall>());
const DEV_INFO: u64 = number(BOTH, 30, size_of::<DeviceInfoCall>());
const FS_INFO: u64 = number(READ, 31, size_of::<FsInfoCall>());
const LOGICAL_INO_V2: u64 = number(BOTH, 59, size_of::<LogicalInodes>());

/// Bytes that a search may return at once: many times the largest item (which is smaller than a node of 64 KiB).
const SEARCH_BYTES: usize = 256 << 10;
/// Bytes for the files that use one block: 64 KiB, some 2700 files.
const INODES_BYTES: usize = 64 << 10;

/// Range of a search: all items of a tree whose key (object, type, offset) lies between two keys, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SearchRange {
    /// The tree's number.
    pub tree: u64,
    /// The first key.
    pub first: ItemKey,
    /// The last key.
    pub last: ItemKey,
}

/// `struct btrfs_ioctl_search_args_v2` up to its buffer.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SearchHead {
    tree: u64,
    min_object: u64,
    max_object: u64,
    min_offset: u64,
    max_offset: u64,
    min_generation: u64,
    max_generation: u64,
    min_type: u32,
    max_type: u32,
    items: u32,
    unused: [u32; 9],
    bytes: u64,
}

/// `struct btrfs_ioctl_search_args_v2`.
#[repr(C)]
struct SearchCall {
    head: SearchHead,
    items: [u8; SEARCH_BYTES],
}

/// `struct btrfs_ioctl_ino_lookup_args`.
#[repr(C)]
struct InodeLookup {
    tree: u64,
    object: u64,
    name: [u8; 4080],
}

/// `struct btrfs_scrub_progress`: what one call of the kernel's scrub did and found.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubCounts {
    /// Extents of data that were read.
    pub data_extents: u64,
    /// Tree blocks that were read.
    pub tree_extents: u64,
    /// Bytes of data that were read.
    pub data_bytes: u64,
    /// Bytes of tree blocks that were read.
    pub tree_bytes: u64,
    /// Reads that failed.
    pub read_errors: u64,
    /// Blocks that do not match their checksums.
    pub csum_errors: u64,
    /// Tree blocks that are not what should lie there.
    pub verify_errors: u64,
    /// Blocks without a checksum.
    pub no_csum: u64,
    /// Checksums without a block.
    pub csum_discards: u64,
    /// Superblocks that are wrong.
    pub super_errors: u64,
    /// Failures to allocate memory: the scrub is not complete.
    pub malloc_errors: u64,
    /// Errors for which there is no good copy, or whose repair could not be written.
    pub uncorrectable_errors: u64,
    /// Errors that were repaired.
    pub corrected_errors: u64,
    /// Where it ended on the device. Not reliable: it stays behind where a chunk ends in unused space.
    pub last_physical: u64,
    /// Reads that failed once, and succeeded when they were repeated.
    pub unverified_errors: u64,
}

impl ScrubCounts {
    /// Adds the counts of another call.
    pub fn add(&mut self, other: &ScrubCounts) {
        self.data_extents += other.data_extents;
        self.tree_extents += other.tree_extents;
        self.data_bytes += other.data_bytes;
        self.tree_bytes += other.tree_bytes;
        self.read_errors += other.read_errors;
        self.csum_errors += other.csum_errors;
        self.verify_errors += other.verify_errors;
        self.no_csum += other.no_csum;
        self.csum_discards += other.csum_discards;
        self.super_errors += other.super_errors;
        self.malloc_errors += other.malloc_errors;
        self.uncorrectable_errors += other.uncorrectable_errors;
        self.corrected_errors += other.corrected_errors;
        self.last_physical = self.last_physical.max(other.last_physical);
        self.unverified_errors += other.unverified_errors;
    }
}

/// `struct btrfs_ioctl_scrub_args`.
#[repr(C)]
struct ScrubCall {
    device: u64,
    start: u64,
    end: u64,
    flags: u64,
    counts: ScrubCounts,
    unused: [u64; 109],
}

/// `BTRFS_SCRUB_READONLY`.
const SCRUB_READONLY: u64 = 1;

/// `struct btrfs_ioctl_dev_info_args`.
#[repr(C)]
struct DeviceInfoCall {
    device: u64,
    uuid: [u8; 16],
    bytes_used: u64,
    total_bytes: u64,
    unused: [u64; 379],
    path: [u8; 1024],
}

/// `struct btrfs_ioctl_fs_info_args`.
#[repr(C)]
struct FsInfoCall {
    max_id: u64,
    devices: u64,
    fsid: [u8; 16],
    node_bytes: u32,
    sector_bytes: u32,
    clone_alignment: u32,
    csum_type: u16,
    csum_size: u16,
    flags: u64,
    generation: u64,
    metadata_uuid: [u8; 16],
    reserved: [u8; 944],
}

/// `struct btrfs_ioctl_logical_ino_args`.
#[repr(C)]
struct LogicalInodes {
    logical: u64,
    bytes: u64,
    reserved: [u64; 3],
    flags: u64,
    found: u64,
}

/// Facts about a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FsInfo {
    /// The largest number of a device.
    pub max_id: u64,
    /// Number of devices, missing ones included.
    pub devices: u64,
    /// Its UUID.
    pub fsid: [u8; 16],
    /// The UUID in its tree blocks.
    pub metadata_uuid: [u8; 16],
    /// Bytes of a tree block.
    pub node_bytes: u32,
    /// Bytes of the smallest block that has a checksum.
    pub sector_bytes: u32,
    /// The kind of checksum: 0 is CRC-32C; 65535 if the kernel does not report it.
    pub csum_type: u16,
}

/// Facts about one device of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceInfo {
    /// Bytes that are allocated to chunks.
    pub bytes_used: u64,
    /// Its size in bytes, as far as the file system uses it.
    pub total_bytes: u64,
    /// Its path; empty, or not that of a device, when it is missing.
    pub path: Vec<u8>,
}

/// A use of a block by a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockUser {
    /// The inode.
    pub inode: u64,
    /// The byte offset in the file.
    pub offset: u64,
    /// The number of the subvolume's tree.
    pub tree: u64,
}

/// An open file system.
#[derive(Debug)]
pub(super) struct FsHandle {
    file: File,
}

impl FsHandle {
    /// Made of an open directory of the file system.
    pub fn new(file: File) -> FsHandle {
        FsHandle { file }
    }

    /// A second handle.
    ///
    /// # Errors
    /// When there are no more descriptors.
    pub fn try_clone(&self) -> io::Result<FsHandle> {
        Ok(FsHandle { file: self.file.try_clone()? })
    }

    /// Reads the facts about the file system.
    ///
    /// # Errors
    /// When it is no btrfs.
    pub fn info(&self) -> io::Result<FsInfo> {
        const CSUM_INFO: u64 = 1;
        const METADATA_UUID: u64 = 4;
        let mut call: Box<FsInfoCall> = zeroed();
        call.flags = CSUM_INFO | METADATA_UUID;
        self.call(FS_INFO, &mut *call)?;
        let metadata_uuid = if call.flags & METADATA_UUID != 0 { call.metadata_uuid } else { call.fsid };
        // Kernels before Linux 5.9 do not report it. Most file systems have CRC-32C, but others cannot be excluded here.
        let csum_type = if call.flags & CSUM_INFO != 0 { call.csum_type } else { u16::MAX };
        Ok(FsInfo {
            max_id: call.max_id,
            devices: call.devices,
            fsid: call.fsid,
            metadata_uuid,
            node_bytes: call.node_bytes,
            sector_bytes: call.sector_bytes,
            csum_type,
        })
    }

    /// Reads the facts about a device; `None` when there is none with this number.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn device(&self, device: u64) -> io::Result<Option<DeviceInfo>> {
        let mut call: Box<DeviceInfoCall> = zeroed();
        call.device = device;
        match self.call(DEV_INFO, &mut *call) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(error),
            Ok(()) => {
                let path = call.path.split(|&byte| byte == 0).next().unwrap_or_default().to_vec();
                Ok(Some(DeviceInfo { bytes_used: call.bytes_used, total_bytes: call.total_bytes, path }))
            }
        }
    }

    /// Has the kernel scrub every device extent of `device` that has a byte between `start` and `end`: all of each, and the device's
    /// superblocks. Blocks until that is done.
    ///
    /// # Errors
    /// The kernel's error; the counts until then are lost.
    pub fn scrub(&self, device: u64, start: u64, end: u64, is_read_only: bool) -> io::Result<ScrubCounts> {
        let mut call: Box<ScrubCall> = zeroed();
        (call.device, call.start, call.end) = (device, start, end);
        call.flags = if is_read_only { SCRUB_READONLY } else { 0 };
        self.call(SCRUB, &mut *call)?;
        Ok(call.counts)
    }

    /// Whether any scrub of `device` is running.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub fn is_scrubbing(&self, device: u64) -> io::Result<bool> {
        let mut call: Box<ScrubCall> = zeroed();
        call.device = device;
        match self.call(SCRUB_PROGRESS, &mut *call) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTCONN | libc::ENODEV)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Cancels all scrubs of the file system.
    ///
    /// # Errors
    /// When none is running.
    pub fn cancel_scrubs(&self) -> io::Result<()> {
        // SAFETY: the call takes no argument; the descriptor is open.
        let result = unsafe { libc::ioctl(self.file.as_raw_fd(), SCRUB_CANCEL as _, 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Passes every item of `range` to `each`, in order, until it returns `false`.
    ///
    /// # Errors
    /// The kernel's error, among them EIO and EUCLEAN for a tree that cannot be read; or an inconsistent result.
    pub fn search(&self, range: SearchRange, each: &mut dyn FnMut(ItemKey, &[u8]) -> bool) -> io::Result<()> {
        let mut call: Box<SearchCall> = zeroed();
        let mut first = range.first;
        loop {
            // The kernel compares keys lexically, too, so only their order counts.
            call.head = SearchHead {
                tree: range.tree,
                min_object: first.object,
                max_object: range.last.object,
                min_offset: first.offset,
                max_offset: range.last.offset,
                max_generation: u64::MAX,
                min_type: first.kind.into(),
                max_type: range.last.kind.into(),
                items: u32::MAX,
                bytes: SEARCH_BYTES as u64,
                ..SearchHead::default()
            };
            self.call(TREE_SEARCH_V2, &mut *call)?;
            let count = call.head.items;
            if count == 0 {
                return Ok(());
            }
            let mut last = None;
            for (key, item) in items::found_items(&call.items, count)? {
                if key > range.last {
                    return Ok(());
                }
                last = Some(key);
                if !each(key, item) {
                    return Ok(());
                }
            }
            match last.and_then(ItemKey::next).filter(|next| *next <= range.last && *next > first) {
                Some(next) => first = next,
                None => return Ok(()),
            }
        }
    }

    /// The files that use the block at the logical address; and the number of further ones.
    ///
    /// # Errors
    /// The kernel's error: ENOENT when no extent lies there.
    pub fn users_of(&self, logical: u64) -> io::Result<(Vec<BlockUser>, u64)> {
        let mut found = vec![0_u64; INODES_BYTES / 8];
        let mut call = LogicalInodes {
            logical,
            bytes: INODES_BYTES as u64,
            reserved: [0; 3],
            flags: 0,
            found: found.as_mut_ptr() as u64,
        };
        // The kernel writes at most `bytes` bytes to where `found` points, and it has as many.
        self.call(LOGICAL_INO_V2, &mut call)?;
        // Two words of head, of which the second holds two counts of 32 bits: values returned, and values missed.
        let (count, missed) = (found[1] as u32 as usize, found[1] >> 32);
        let (numbers, _) = found[2..].as_chunks::<3>();
        let users = numbers.iter().take(count / 3).map(|&[inode, offset, tree]| BlockUser { inode, offset, tree });
        Ok((users.collect(), missed / 3))
    }

    /// The path of an inode inside its subvolume, without a slash at either end; empty for the subvolume's root.
    ///
    /// # Errors
    /// The kernel's error: ENOENT when there is none.
    pub fn path_of(&self, tree: u64, inode: u64) -> io::Result<Vec<u8>> {
        let mut call: Box<InodeLookup> = zeroed();
        (call.tree, call.object) = (tree, inode);
        self.call(INO_LOOKUP, &mut *call)?;
        let path = call.name.split(|&byte| byte == 0).next().unwrap_or_default();
        Ok(path.strip_suffix(b"/").unwrap_or(path).to_vec())
    }

    fn call<T: CallArgument>(&self, number: u64, argument: &mut T) -> io::Result<()> {
        // SAFETY: the number belongs to this very type, which is as large as the kernel takes it to be; the argument is
        // alive, and borrowed by this call alone; memory that it points to is as long as it states, and kept by the caller.
        let result = unsafe { libc::ioctl(self.file.as_raw_fd(), number as _, std::ptr::from_mut(argument)) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Makes all signals to the process go to its other threads.
pub(super) fn block_signals() {
    let mut all = std::mem::MaybeUninit::uninit();
    // SAFETY: the first call fills the set that the second one reads; neither keeps a pointer to it.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// An argument of an ioctl: plain numbers, for which all zeros are a value.
///
/// # Safety
/// Every pattern of bits is a value of the type.
unsafe trait CallArgument {}

// SAFETY: integers and arrays of them.
unsafe impl CallArgument for SearchCall {}
// SAFETY: integers and arrays of them.
unsafe impl CallArgument for InodeLookup {}
// SAFETY: integers and arrays of them.
unsafe impl CallArgument for ScrubCall {}
// SAFETY: integers and arrays of them.
unsafe impl CallArgument for DeviceInfoCall {}
// SAFETY: integers and arrays of them.
unsafe impl CallArgument for FsInfoCall {}
// SAFETY: integers and arrays of them.
unsafe impl CallArgument for LogicalInodes {}

fn zeroed<T: CallArgument>() -> Box<T> {
    let mut value = Box::<T>::new_uninit();
    // SAFETY: the memory is the box's own, as large as one value; every pattern of bits is one, zeros included.
    unsafe {
        value.as_mut_ptr().write_bytes(0, 1);
        value.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_layouts_are_those_of_the_kernel() {
        assert_eq!((SCRUB, SCRUB_PROGRESS, SCRUB_CANCEL), (0xc400_941b, 0xc400_941d, 0x941c));
        assert_eq!((TREE_SEARCH_V2, INO_LOOKUP), (0xc070_9411, 0xd000_9412));
        assert_eq!((DEV_INFO, FS_INFO, LOGICAL_INO_V2), (0xd000_941e, 0x8400_941f, 0xc038_943b));
        assert_eq!(offset_of!(SearchHead, items), 64);
        assert_eq!((offset_of!(SearchHead, bytes), offset_of!(SearchCall, items)), (104, 112));
        assert_eq!((size_of::<ScrubCounts>(), offset_of!(ScrubCall, counts)), (120, 32));
        assert_eq!(offset_of!(ScrubCounts, uncorrectable_errors), 88);
        assert_eq!((offset_of!(FsInfoCall, csum_type), offset_of!(FsInfoCall, metadata_uuid)), (44, 64));
        assert_eq!((offset_of!(DeviceInfoCall, total_bytes), offset_of!(DeviceInfoCall, path)), (32, 3072));
        assert_eq!(offset_of!(LogicalInodes, found), 48);
    }

    #[test]
    fn a_folder_of_another_file_system_is_no_btrfs() {
        let handle = FsHandle::new(File::open("/proc").unwrap());
        assert_eq!(handle.info().unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
