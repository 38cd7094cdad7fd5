//! The file of one member's disk as the ring sees it: open, and known to block or not to block its caller.

use rustix::fs::OFlags;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// How requests to a file are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileIoPath {
    /// Every request waits for a disk: opened with O_DIRECT, or a block device.
    Waits,
    /// The page cache may serve a read at once, which is tried first.
    Cached,
    /// All of it is memory (tmpfs, ramfs): no request waits. The ring would hand each request to a worker thread of
    /// the kernel, which costs more than doing it at once (docs/speed.md).
    Memory,
    /// The file system depends on another party, which may not answer (FUSE, NFS, SMB, 9P, Ceph): the kernel waits even when it
    /// is told not to. So its worker threads serve all requests.
    Remote,
}

/// An open file or block device. A clone is the same open file; it is closed when the last clone is gone, so a request
/// under way keeps its file open.
#[derive(Clone, Debug)]
pub struct MemberFile {
    file: Arc<HeldFiles>,
    io_path: FileIoPath,
}

/// The open file, and another one that is kept open with it for its lock.
#[derive(Debug)]
struct HeldFiles {
    /// `None` once it is being closed.
    file: Option<File>,
    lock_file: Option<File>,
    io_path: FileIoPath,
}

/// The longest wait for the closing of a remote file, which then continues in the background. (There is a wait at all because
/// closing releases the claim on the file: a program that opens it again at once should find it free.)
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

impl Drop for HeldFiles {
    /// Closes a remote file on another thread, because closing asks the other party, and waits.
    fn drop(&mut self) {
        if self.io_path != FileIoPath::Remote {
            return;
        }
        let files = (self.file.take(), self.lock_file.take());
        let (sender, closed) = mpsc::channel();
        let closing = thread::Builder::new().name("close".to_owned()).spawn(move || {
            drop(files);
            let _ = sender.send(());
        });
        if closing.is_ok() {
            let _ = closed.recv_timeout(CLOSE_TIMEOUT);
        }
    }
}

impl MemberFile {
    /// Takes an open file and determines its I/O path.
    pub fn new(file: File) -> MemberFile {
        MemberFile::holding(file, None)
    }

    /// Takes an open file, and keeps `lock_file` open as long as it is.
    pub fn holding(file: File, lock_file: Option<File>) -> MemberFile {
        let io_path = if is_on(&file, MEMORY) {
            FileIoPath::Memory
        } else if is_on(&file, REMOTE) {
            FileIoPath::Remote
        } else if is_direct(&file) {
            FileIoPath::Waits
        } else {
            FileIoPath::Cached
        };
        MemberFile { file: Arc::new(HeldFiles { file: Some(file), lock_file, io_path }), io_path }
    }

    /// The file itself.
    pub fn file(&self) -> &File {
        self.file.file.as_ref().expect("it is open")
    }

    /// How requests to it are served.
    pub fn io_path(&self) -> FileIoPath {
        self.io_path
    }

    /// Number of clones.
    #[cfg(test)]
    pub(super) fn holders(&self) -> usize {
        Arc::strong_count(&self.file)
    }

    /// Its descriptor, for the ring. It stays open while `self` or a clone lives.
    pub(super) fn fd(&self) -> io_uring::types::Fd {
        io_uring::types::Fd(self.file().as_raw_fd())
    }

    /// Reads synchronously, without waiting, into these slices, one after the other: all of them, the first few bytes, or
    /// none. An error or a block that would wait ends the read; it shows when the rest is read in the ordinary way.
    /// (`preadv2(2)`; with RWF_NOWAIT for the contents of the page cache.)
    ///
    /// # Safety
    /// Each slice is memory that may be written to, and that no other code accesses during the call.
    pub(super) unsafe fn read_at_once(&self, offset: u64, slices: &[libc::iovec]) -> usize {
        let flags = match self.io_path {
            FileIoPath::Waits | FileIoPath::Remote => return 0,
            FileIoPath::Cached => libc::RWF_NOWAIT,
            FileIoPath::Memory => 0,
        };
        let (fd, offset) = (self.file().as_raw_fd(), offset as i64);
        // SAFETY: the kernel writes only into the slices, which the caller guarantees.
        let read = unsafe {
            match slices {
                // cheaper in the kernel
                [slice] if flags == 0 => libc::pread(fd, slice.iov_base, slice.iov_len, offset),
                _ => libc::preadv2(fd, slices.as_ptr(), slices.len() as i32, offset, flags),
            }
        };
        usize::try_from(read).unwrap_or(0)
    }
}

/// File systems that are only memory: tmpfs and ramfs, by their numbers in `linux/magic.h`.
const MEMORY: &[u32] = &[0x0102_1994, 0x8584_58f6];
/// File systems that depend on another party: FUSE, NFS, SMB (before its second version, and since), 9P, Ceph.
const REMOTE: &[u32] = &[0x6573_5546, 0x6969, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x00c3_6400];

/// Whether the file lives on one of these file systems.
fn is_on(file: &File, numbers: &[u32]) -> bool {
    let Ok(file_system) = rustix::fs::fstatfs(file) else { return false };
    // /dev is a tmpfs, its devices are not in it.
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file && numbers.contains(&(file_system.f_type as u32))
}

/// Whether it was opened with O_DIRECT.
fn is_direct(file: &File) -> bool {
    rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
}
