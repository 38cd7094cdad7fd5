//! Opens a member, and reads and writes it outside of a running volume.

use super::busy::{self, MemberHolder};
use super::error::MemberError;
use crate::completion::MemberFile;
use crate::sysfs::DiskNode;
use crate::target::{device_block, device_bytes, device_physical_block, kind_and_hint};
use rustix::fs::OFlags;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::{MemberOffset, SECTOR_BYTES};
use scrubjay_core::volume::format::assemble::GivenMember;
use scrubjay_core::volume::format::geometry::SUPERBLOCK_BYTES;
use scrubjay_core::volume::format::superblock::{self, Superblock, SuperblockError};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// What a member is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To inspect it, even while it is in use.
    Inspect,
    /// To read it while no other program writes it.
    ReadOnly,
    /// To read and write it, with no other holder.
    ReadWrite,
}

/// An open member, or a file or device that is to become one. Dropping it releases it.
#[derive(Debug)]
pub struct OpenMember {
    /// The path as the user named it.
    pub path: PathBuf,
    /// The open file, with the requested access.
    pub file: File,
    /// Whether reads and writes bypass the page cache.
    pub is_direct: bool,
    /// Whether it is a block device, not a file.
    pub is_block_device: bool,
    /// Its size in bytes, a multiple of `block_bytes`.
    pub bytes: u64,
    /// Offsets and lengths of reads and writes must be multiples of this: 512 bytes, or the disk's block.
    pub block_bytes: u64,
    /// The locked file behind a loop device.
    backing: Option<File>,
}

impl OpenMember {
    /// Opens `path`, bypassing the page cache where possible. Writes nothing.
    ///
    /// # Errors
    /// [`MemberError`]; when it has another holder, the error names it.
    pub fn open(path: &Path, access: Access) -> Result<OpenMember, MemberError> {
        OpenMember::open_within(path, access, CLOSE_TIMEOUT)
    }

    /// Opens `path` without waiting for a holder that was killed.
    ///
    /// # Errors
    /// [`MemberError`]; when it has another holder, the error names it.
    pub fn open_now(path: &Path, access: Access) -> Result<OpenMember, MemberError> {
        OpenMember::open_within(path, access, Duration::ZERO)
    }

    fn open_within(path: &Path, access: Access, patience: Duration) -> Result<OpenMember, MemberError> {
        let metadata = fs::metadata(path).map_err(|source| MemberError::of(path, source))?;
        let kind = metadata.file_type();
        if !kind.is_block_device() && !kind.is_file() {
            let (kind, hint) = kind_and_hint(path, &metadata);
            return Err(MemberError::Kind { path: path.to_owned(), kind, hint });
        }
        let is_block_device = kind.is_block_device();
        if let Some(holder) = busy::find_holder(path, &metadata).filter(|_| access != Access::Inspect) {
            return Err(MemberError::Busy { path: path.to_owned(), holder });
        }
        let (file, is_direct, backing) = retry_while_holder_dies(patience, || {
            let (file, is_direct) = open(path, access, is_block_device)?;
            let backing = match access {
                Access::Inspect => None,
                _ if is_block_device => lock_backing(path, metadata.rdev(), access)?,
                _ => lock(path, path, &file, access).map(|()| None)?,
            };
            Ok((file, is_direct, backing))
        })?;
        // The file that was opened must be the one that was checked.
        let opened = file.metadata().map_err(|source| MemberError::of(path, source))?;
        if (opened.dev(), opened.ino(), opened.rdev()) != (metadata.dev(), metadata.ino(), metadata.rdev()) {
            return Err(MemberError::Busy { path: path.to_owned(), holder: MemberHolder::Replaced });
        }
        let mut member = OpenMember::measure(path, file, is_direct, is_block_device)
            .map_err(|source| MemberError::of(path, source))?;
        member.backing = backing;
        Ok(member)
    }

    fn measure(path: &Path, file: File, is_direct: bool, is_block_device: bool) -> io::Result<OpenMember> {
        let (bytes, block_bytes) = if is_block_device {
            (device_bytes(&file)?, u64::from(device_block(&file)?))
        } else {
            (file.metadata()?.len(), SECTOR_BYTES)
        };
        let mut member =
            OpenMember { path: path.to_owned(), file, is_direct, is_block_device, bytes, block_bytes, backing: None };
        if is_direct && !is_block_device {
            member.find_block()?;
        }
        member.bytes -= bytes % member.block_bytes;
        Ok(member)
    }

    /// The block size for a new volume: the disk's physical block, up to 4096 bytes. Where two rows share a physical sector, a
    /// power failure in the middle of a write of one may damage both. (For a file the physical block is unknown.)
    pub fn block_to_make(&self) -> u64 {
        let physical = if self.is_block_device { device_physical_block(&self.file).ok() } else { None };
        let is_known = |physical: &u64| [512, 4096].contains(physical);
        physical.map(|physical| u64::from(physical).min(4096)).filter(is_known).unwrap_or(0).max(self.block_bytes)
    }

    /// Finds the smallest block of a file that can be read directly, by trying.
    fn find_block(&mut self) -> io::Result<()> {
        for block_bytes in [SECTOR_BYTES, 4096] {
            let mut block = Buffer::zeroed(block_bytes as usize);
            match self.file.read_at(&mut block, 0) {
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
                _ => {
                    self.block_bytes = block_bytes;
                    return Ok(());
                }
            }
        }
        self.disable_direct_io()
    }

    /// Switches to blocks of this size, with which a volume was made. A file that was moved to a disk with larger blocks
    /// is then read and written through the page cache.
    ///
    /// # Errors
    /// When it is a block device with larger blocks.
    pub fn use_block(&mut self, block_bytes: u64) -> Result<(), MemberError> {
        if self.block_bytes <= block_bytes {
            return Ok(());
        }
        if self.is_block_device {
            let (path, disk_block) = (self.path.clone(), self.block_bytes);
            return Err(MemberError::Block { path, disk_block, volume_block: block_bytes });
        }
        self.disable_direct_io().map_err(|source| MemberError::of(&self.path, source))
    }

    fn disable_direct_io(&mut self) -> io::Result<()> {
        let flags = rustix::fs::fcntl_getfl(&self.file)?;
        rustix::fs::fcntl_setfl(&self.file, flags - OFlags::DIRECT)?;
        (self.is_direct, self.block_bytes) = (false, SECTOR_BYTES);
        Ok(())
    }

    /// The serial number of the disk that it is, or is a partition of; files have none.
    pub fn serial(&self) -> Option<String> {
        let number = self.file.metadata().ok().filter(|_| self.is_block_device)?.rdev();
        DiskNode::of_device(libc::major(number), libc::minor(number)).ok()?.serial()
    }

    /// The newest sound copy of its superblock. A copy that cannot be read counts as damaged.
    pub fn superblock(&self) -> Result<Superblock, SuperblockError> {
        let Some(offsets) = Superblock::offsets(self.bytes) else { return Err(SuperblockError::Foreign) };
        let copies: Vec<io::Result<Buffer>> = offsets.map(|offset| self.read(offset, SUPERBLOCK_BYTES)).into();
        match superblock::newest(copies.iter().flatten().map(|copy| &copy[..])) {
            Err(SuperblockError::Foreign) if copies.iter().any(Result::is_err) => Err(SuperblockError::Damaged),
            result => result,
        }
    }

    /// The facts from which an array is assembled.
    pub fn given(&self) -> GivenMember {
        GivenMember { label: self.path.display().to_string(), bytes: self.bytes, superblock: self.superblock() }
    }

    /// Reads synchronously.
    ///
    /// # Errors
    /// The kernel's error; the end of the member is an error, too.
    pub fn read(&self, offset: MemberOffset, len: usize) -> io::Result<Buffer> {
        let mut buffer = Buffer::zeroed(len);
        self.file.read_exact_at(&mut buffer, offset.get())?;
        Ok(buffer)
    }

    /// Writes synchronously.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn write(&self, offset: MemberOffset, buffer: &Buffer) -> io::Result<()> {
        // Otherwise a file would grow.
        if offset.get() + buffer.len() as u64 > self.bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.file.write_all_at(buffer, offset.get())
    }

    /// Its file, for a ring. The claim or lock is held until the last clone is gone.
    pub fn into_file(self) -> MemberFile {
        MemberFile::holding(self.file, self.backing)
    }

    /// Waits until all earlier writes would survive a loss of power.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// The longest wait for a file that no living process holds: a killed process releases its files only when the kernel has
/// ended its requests at the disks, some time after the process itself is gone.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The longest wait for a lock of this program's own: a child that it has forked holds all its locks until it executes
/// another program.
const FORK_TIMEOUT: Duration = Duration::from_millis(500);

/// Repeats `attempt`, for at most `patience`, while the holder is dead or unknown; and for a moment while it is this program.
fn retry_while_holder_dies<T>(
    patience: Duration,
    mut attempt: impl FnMut() -> Result<T, MemberError>,
) -> Result<T, MemberError> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Err(MemberError::Busy { holder: MemberHolder::Twice, .. }) if begun.elapsed() < FORK_TIMEOUT => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(MemberError::Busy { holder, .. }) if !holder.is_alive() && begun.elapsed() < patience => {
                thread::sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

/// Opens with the requested access, bypassing the page cache if the file system supports it. Claims a device in the same step.
fn open(path: &Path, access: Access, is_block_device: bool) -> Result<(File, bool), MemberError> {
    let claim = if is_block_device && access != Access::Inspect { libc::O_EXCL } else { 0 };
    let open = |flags| {
        let mut options = OpenOptions::new();
        options.read(true).write(access == Access::ReadWrite).custom_flags(claim | flags).open(path)
    };
    let opened = match open(libc::O_DIRECT) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => open(0).map(|file| (file, false)),
        opened => opened.map(|file| (file, true)),
    };
    opened.map_err(|source| match source.raw_os_error() {
        Some(libc::EBUSY) => MemberError::Busy { path: path.to_owned(), holder: MemberHolder::Unknown },
        _ => MemberError::of(path, source),
    })
}

/// Locks the file behind a loop device, since its user would have the device's data, too. Partitions of one loop device
/// share the lock. (A file that cannot be opened any more cannot be opened by other programs either.)
fn lock_backing(path: &Path, number: u64, access: Access) -> Result<Option<File>, MemberError> {
    let (major, minor) = (libc::major(number), libc::minor(number));
    let node = DiskNode::of_device(major, minor).ok();
    let is_partition = node.as_ref().is_some_and(|node| (node.major, node.minor) != (major, minor));
    let named = node.and_then(|node| node.attribute("loop/backing_file")).map(PathBuf::from);
    let Some((backing, file)) = named.and_then(|backing| File::open(&backing).ok().map(|file| (backing, file))) else {
        return Ok(None);
    };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None); // a device, which the loop device has claimed
    }
    let access = if is_partition { Access::ReadOnly } else { access };
    lock(path, &backing, &file, access).map(|()| Some(file))
}

/// Locks a file that is, or is behind, `path`. The lock lasts as long as the open file.
fn lock(path: &Path, locked: &Path, file: &File, access: Access) -> Result<(), MemberError> {
    let holder = || busy::holder(locked);
    let locked = if access == Access::ReadOnly { file.try_lock_shared() } else { file.try_lock() };
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => MemberError::Busy { path: path.to_owned(), holder: holder() },
        TryLockError::Error(source) => MemberError::of(path, source),
    })
}
