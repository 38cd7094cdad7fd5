//! A device's queue of requests: the character device, the memory in which the driver describes requests, their data.

use super::abi::{self, REQUEST_BYTES, UblkRequest};
use crate::completion::{IoRing, Outgoing};
use rustix::io::Errno;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::volume::block::BlockFailure;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;

/// Slices in one call, at most (`UIO_MAXIOV`).
const SLICES_MAX: usize = 1024;

/// The queue. Its requests have tags, from 0 up to its depth.
pub struct UblkQueue {
    file: Arc<File>,
    requests: SharedRequests,
    depth: u16,
}

/// The memory that the driver shares, mapped until this is dropped.
struct SharedRequests {
    start: NonNull<[u64; 3]>,
    bytes: usize,
}

impl UblkQueue {
    /// Opens a device's queue; only one process at a time can.
    pub(super) fn open(number: u32, depth: u16) -> io::Result<UblkQueue> {
        let file = OpenOptions::new().read(true).write(true).open(queue_path(number))?;
        let requests = SharedRequests::of(&file, depth)?;
        Ok(UblkQueue { file: Arc::new(file), requests, depth })
    }

    /// The number of tags.
    pub fn depth(&self) -> u16 {
        self.depth
    }

    /// Fetches the first request with this tag. Ends as [`crate::completion::IoEnd::Command`]: 0 once there is a request; on an error
    /// no more come.
    pub fn fetch<T>(&self, ring: &mut IoRing<T>, name: T, tag: u16) {
        ring.command(name, &self.file, abi::FETCH, abi::queue_command(tag, 0));
    }

    /// Reports the end of the request with this tag, with the bytes read or written, and fetches the next one, as
    /// [`UblkQueue::fetch`] does.
    pub fn commit<T>(&self, ring: &mut IoRing<T>, name: T, tag: u16, outcome: Result<u64, BlockFailure>) {
        let result = match outcome {
            Ok(bytes) => bytes as i32, // no more than a request can have
            Err(failure) => -errno(failure),
        };
        ring.command(name, &self.file, abi::COMMIT_AND_FETCH, abi::queue_command(tag, result));
    }

    /// The request with this tag, which was fetched and not committed yet.
    ///
    /// # Panics
    /// When there is no such tag.
    pub fn request(&self, tag: u16) -> UblkRequest {
        assert!(tag < self.depth, "tag {tag} of {}", self.depth);
        UblkRequest::of_bytes(&self.requests.get(tag))
    }

    /// Copies the data of a write request into `buffer`.
    ///
    /// # Errors
    /// The driver's error: the device is being removed.
    pub fn receive(&self, tag: u16, buffer: &mut Buffer) -> io::Result<()> {
        self.file.read_exact_at(buffer, abi::data_offset(tag))
    }

    /// Copies all of `outgoing` as the data of a read request.
    ///
    /// # Errors
    /// The driver's error: the device is being removed.
    pub fn send(&self, tag: u16, outgoing: &Outgoing) -> io::Result<()> {
        let slices: Vec<&[u8]> = outgoing.slices().collect();
        let mut offset = abi::data_offset(tag);
        for slices in slices.chunks(SLICES_MAX) {
            let mut slices: Vec<IoSlice<'_>> = slices.iter().map(|slice| IoSlice::new(slice)).collect();
            let mut slices = &mut slices[..];
            while !slices.is_empty() {
                match rustix::io::pwritev(&*self.file, slices, offset) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(count) => {
                        offset += count as u64;
                        IoSlice::advance_slices(&mut slices, count);
                    }
                    Err(Errno::INTR) => (),
                    Err(errno) => return Err(errno.into()),
                }
            }
        }
        Ok(())
    }
}

fn errno(failure: BlockFailure) -> i32 {
    match failure {
        BlockFailure::Io => libc::EIO,
        BlockFailure::OutOfRange => libc::EINVAL,
        BlockFailure::ReadOnly => libc::EPERM,
        BlockFailure::Stopping => libc::ESHUTDOWN,
    }
}

/// Path of the character device.
pub(super) fn queue_path(number: u32) -> String {
    format!("/dev/ublkc{number}")
}

impl SharedRequests {
    fn of(file: &File, depth: u16) -> io::Result<SharedRequests> {
        let bytes = (usize::from(depth) * REQUEST_BYTES).next_multiple_of(rustix::param::page_size());
        let (protection, flags) = (libc::PROT_READ, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping, at an address of the kernel's choice, touches no memory in use.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).expect("the kernel maps nothing at zero");
        Ok(SharedRequests { start, bytes })
    }

    fn get(&self, tag: u16) -> [u8; REQUEST_BYTES] {
        assert!((usize::from(tag) + 1) * REQUEST_BYTES <= self.bytes, "inside the mapping");
        // SAFETY: inside the mapping, which lives as long as `self`; aligned, since it begins at a page and each takes 24
        // bytes. The driver writes there only before it reports the request, and after it was committed.
        let words = unsafe { self.start.add(usize::from(tag)).read_volatile() };
        let mut bytes = [0; REQUEST_BYTES];
        bytes.chunks_exact_mut(8).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_ne_bytes()));
        bytes
    }
}

impl Drop for SharedRequests {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to `self` as a whole, and nothing points into it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
