//! Page-aligned memory for O_DIRECT reads, which can outlive its owner while the kernel writes into it.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::slice;

/// The least alignment: the page size of x86-64, and no less than any disk requires for O_DIRECT.
pub const ALIGN_MIN: usize = 4096;

/// The huge page of x86-64 and arm64: 2 MiB.
const HUGE_PAGE: usize = 2 << 20;

/// An owned run of bytes at an aligned address, freed on drop.
///
/// Memory given to the kernel for an asynchronous read belongs to the kernel until that read is over. A buffer that must be
/// dropped earlier is leaked instead ([`PageBuffer::leak`]): a few lost pages are better than a write into freed memory.
pub struct PageBuffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the buffer is the only owner of its memory, and nothing in it is tied to a thread.
unsafe impl Send for PageBuffer {}

impl PageBuffer {
    /// `len` zero bytes at a multiple of `align` or of [`ALIGN_MIN`], whichever is greater. Zero bytes take no memory.
    ///
    /// # Panics
    /// When `align` is no power of two, or `len` is near the size of the address space.
    pub fn new(len: usize, align: usize) -> PageBuffer {
        let layout =
            Layout::from_size_align(len, align.max(ALIGN_MIN)).expect("a power of two, and a length that fits");
        if len == 0 {
            return PageBuffer { start: NonNull::dangling(), layout };
        }
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        PageBuffer { start, layout }
    }

    /// At least `len` bytes, in huge pages where the kernel has any free: a direct read then pins few large pages instead
    /// of many small ones.
    ///
    /// # Panics
    /// When `len` is near the size of the address space.
    pub fn huge(len: usize) -> PageBuffer {
        let mut buffer = PageBuffer::new(len.next_multiple_of(HUGE_PAGE), HUGE_PAGE);
        // SAFETY: the range is the buffer's own; the advice does not change its contents. A refusal does no harm.
        unsafe { libc::madvise(buffer.as_mut_ptr().cast(), buffer.len(), libc::MADV_HUGEPAGE) };
        buffer.as_mut_slice().fill(0); // the first write makes the kernel allocate the pages
        buffer
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.layout.size()
    }

    /// Whether it has no bytes: because it was made with length zero, or leaked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first byte, for the kernel to write to. Valid for [`PageBuffer::len`] bytes; dangling when empty.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The contents.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `start` is valid for `len` initialised bytes (or dangling for none), which `self` alone owns.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }

    /// Gives up the memory for good, because the kernel may still write into it. The buffer is empty afterwards.
    pub fn leak(&mut self) {
        let empty = PageBuffer::new(0, self.layout.align());
        std::mem::forget(std::mem::replace(self, empty));
    }
}

impl Drop for PageBuffer {
    fn drop(&mut self) {
        if !self.is_empty() {
            // SAFETY: a buffer that is not empty came from `alloc_zeroed` with this very layout.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_starts_on_a_page_and_has_its_whole_length() {
        for align in [1, 512, 4096, 65536] {
            let mut buffer = PageBuffer::new(5 * 4096, align);
            assert!((buffer.as_mut_ptr() as usize).is_multiple_of(align.max(ALIGN_MIN)));
            assert_eq!(buffer.len(), 5 * 4096);
            assert!(buffer.as_mut_slice().iter().all(|byte| *byte == 0));
            buffer.as_mut_slice().fill(7);
        }
    }

    #[test]
    fn an_empty_buffer_takes_no_memory_and_a_leaked_one_is_empty() {
        assert!(PageBuffer::new(0, 512).as_mut_slice().is_empty());
        let mut buffer = PageBuffer::new(4096, 512);
        buffer.leak();
        assert!(buffer.is_empty() && buffer.as_mut_slice().is_empty());
    }
}
