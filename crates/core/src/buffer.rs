//! Owned bytes at an aligned address, without `unsafe`: what disks read into and write from, and a bounded pool of them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The alignment of every buffer: the page of x86-64, and no less than what any disk asks of direct I/O.
pub const ALIGN: usize = 4096;

/// What a pool keeps at most: 64 MiB. More than that goes back to the allocator.
const POOL_BYTES_MAX: usize = 64 << 20;

/// `len` bytes at a multiple of [`ALIGN`]. It never grows or moves, so a disk may hold on to its address; it may be
/// made to end earlier ([`Buffer::truncate`]).
pub struct Buffer {
    /// A page more than asked for: somewhere in the first page lies an aligned address.
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

    /// Ends the buffer after `len` bytes; what lay behind is not given back before the buffer is.
    ///
    /// # Panics
    /// When the buffer is shorter already.
    pub fn truncate(&mut self, len: usize) {
        assert!(len <= self.len, "a buffer does not grow");
        self.len = len;
    }

    /// How long it was when it was made.
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

/// Buffers that were used and will be again, by their length. What comes out holds whatever it held last.
#[derive(Debug, Default)]
pub struct Pool {
    free: BTreeMap<usize, Vec<Buffer>>,
    bytes: usize,
}

impl Pool {
    /// A buffer of `len` bytes, their values unspecified.
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

    /// Takes a buffer back, unless the pool is full.
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
    fn a_pool_gives_back_what_it_was_given_and_no_more_than_it_may_keep() {
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
