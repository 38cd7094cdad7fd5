//! Verifies by `pread(2)`: the engine for kernels and containers that refuse io_uring. One request at a time.

use super::blocking::{RangeEnded, VerifyNow};
use super::progress::RangeProgress;
use crate::buffer::PageBuffer;
use scrubjay_core::units::{Bytes, SectorRange};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Reads ranges of a file and throws the data away.
pub(super) struct Pread {
    file: File,
    buffer: PageBuffer,
}

impl Pread {
    /// Reads `file` through one buffer of `request_max` bytes, aligned to `logical_block`. Larger ranges take
    /// several reads.
    pub fn new(file: File, logical_block: Bytes, request_max: Bytes) -> Pread {
        Pread { file, buffer: PageBuffer::new(request_max.0 as usize, logical_block.0 as usize) }
    }
}

impl VerifyNow for Pread {
    fn verify(&mut self, range: SectorRange) -> RangeEnded {
        let mut reading = RangeProgress::new(range);
        loop {
            let (offset, requested) = reading.next_read(self.buffer.len());
            let result = self.file.read_at(&mut self.buffer.as_mut_slice()[..requested], offset);
            // An error of `read_at` without an errno would be std's own; there is none today.
            let result = result.map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL));
            if let Some(ended) = reading.absorb(requested, result) {
                return ended;
            }
        }
    }
}
