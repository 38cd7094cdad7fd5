//! Buffers at an aligned address, without `unsafe`, for the I/O of disks; and a bounded pool of them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The alignment of every buffer, in bytes: the page of x86-64, and no less than any disk requires for direct I/O.
pub const ALIGN: usize = 4096;

/// The bytes that a pool keeps, at most: 64 MiB. Further buffers are freed.
const POOL_BYTES_MAX: usize = 64 << 20;

/// `len` bytes at a multiple of [`ALIGN`]. They never grow or move, so a disk may keep their address; the buffer can be
/// shortened ([`Buffer::truncate`]).
pub struct Buffer {
    /// Almost a page more than asked for, so that an aligned address lies in the first page.
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Buffer {
        let bytes = vec![0; len + ALIGN - 1];
        let start = bytes.as_ptr().align_offset(ALIGN);
        Buffer { bytes, start, len }
    }

    /// A copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Buffer {
        let mut buffer = Buffer::zeroed(bytes.len());
        buffer.copy_from_slice(bytes);
        buffer
    }

    /// Shortens the buffer to `len` bytes; the memory of the rest is freed only with the buffer.
    ///
    /// # Panics
    /// When the buffer is shorter already.
    pub fn truncate(&mut self, len: usize) {
        assert!(len <= self.len, "a buffer does not grow");
        self.len = len;
    }

    /// The length with which the buffer was made.
    fn capacity(&self) -> usize {
        self.bytes.len() + 1 - ALIGN
    }
}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Buffer {
        Buffer::copy_of(self)
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Buffer) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Buffer {}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

/// Used buffers, by their original length, to be used again. A buffer that is taken holds whatever it held last.
#[derive(Debug, Default)]
pub struct Pool {
    free: BTreeMap<usize, Vec<Buffer>>,
    bytes: usize,
}

impl Pool {
    /// A buffer of `len` bytes with unspecified content.
    pub fn take(&mut self, len: usize) -> Buffer {
        let Some(mut buffer) = self.free.get_mut(&len).and_then(Vec::pop) else { return Buffer::zeroed(len) };
        self.bytes -= len;
        buffer.len = len;
        buffer
    }

    /// A buffer of `len` zero bytes.
    pub fn take_zeroed(&mut self, len: usize) -> Buffer {
        let mut buffer = self.take(len);
        buffer.fill(0);
        buffer
    }

    /// Returns a buffer to the pool; frees it when the pool is full.
    pub fn give(&mut self, buffer: Buffer) {
        let len = buffer.capacity();
        if self.bytes + len <= POOL_BYTES_MAX {
            self.bytes += len;
            self.free.entry(len).or_default().push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_buffer_is_aligned_and_as_long_as_asked() {
        for len in [0, 1, 512, 4096, 4608, 65_537] {
            let mut buffer = Buffer::zeroed(len);
            assert!(buffer.len() == len && buffer.as_ptr().addr().is_multiple_of(ALIGN));
            buffer.fill(7);
            assert!(buffer.iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    fn a_pool_reuses_returned_buffers_and_keeps_no_more_than_its_limit() {
        let mut pool = Pool::default();
        let mut buffer = pool.take(4608);
        buffer.fill(1);
        let address = buffer.as_ptr();
        buffer.truncate(512);
        pool.give(buffer);
        let again = pool.take_zeroed(4608);
        assert_eq!((again.as_ptr(), again.len()), (address, 4608));
        assert!(again.iter().all(|&byte| byte == 0));
        for _ in 0..20 {
            pool.give(Buffer::zeroed(8 << 20));
        }
        assert_eq!(pool.bytes, POOL_BYTES_MAX);
    }
}
