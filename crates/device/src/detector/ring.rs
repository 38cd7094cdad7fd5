//! The ring of samples that a perf event writes and the detector reads.

use std::io;
use std::sync::atomic::Ordering;

use super::kernel::{self, Mapping, PerfEvent};

/// A ring of perf: a page of control words, then the data.
pub(crate) struct PerfRing {
    memory: Mapping,
    page: usize,
    bytes: usize,
}

/// Offset of `data_head` in `struct perf_event_mmap_page`: the position up to which the kernel has written.
const HEAD: usize = 1024;
/// Offset of `data_tail`: the position up to which the samples were read.
const TAIL: usize = 1032;

impl PerfRing {
    /// A ring for this event, with `bytes` of data: a power of two, at least a page.
    ///
    /// # Errors
    /// EPERM when that is more than may be locked in memory, ENOMEM.
    ///
    /// # Panics
    /// When `bytes` is no power of two.
    pub(crate) fn new(event: &PerfEvent, bytes: usize) -> io::Result<PerfRing> {
        assert!(bytes.is_power_of_two(), "a ring of {bytes} bytes");
        let page = kernel::page_bytes();
        let memory = Mapping::new(event.raw(), page + bytes, 0, true)?;
        Ok(PerfRing { memory, page, bytes })
    }

    /// Hands out all records in the ring, in the order of writing, and frees their room. `decode` decodes one record, whose
    /// words it reads by index, and returns its length in bytes, too; `None` when the length is impossible.
    pub(crate) fn take<R>(
        &self,
        decode: impl Fn(&dyn Fn(usize) -> u64) -> Option<(R, u64)>,
        mut hand_out: impl FnMut(R),
    ) {
        let head = self.memory.acquire(HEAD);
        let mut tail = self.memory.word(TAIL).load(Ordering::Relaxed);
        while tail < head {
            let word = |index: usize| {
                let offset = (tail as usize + 8 * index) & (self.bytes - 1);
                self.memory.word(self.page + offset).load(Ordering::Relaxed)
            };
            let Some((record, bytes)) = decode(&word) else {
                tail = head;
                break;
            };
            hand_out(record);
            tail += bytes;
        }
        self.memory.word(TAIL).store(tail, Ordering::Release);
    }
}
