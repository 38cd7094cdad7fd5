//! Requests of a benchmark through io_uring: a fixed number of slots, one registered piece of memory, few system calls.
//!
//! (`completion` joins adjacent reads and serves them from memory where it can; `verify::ring` reads ranges in pieces. A
//! benchmark sends exactly the requests that it is told to.)

use crate::buffer::PageBuffer;
use crate::clock::now;
use io_uring::types::{Fd, Timespec};
use io_uring::{IoUring, opcode};
use scrubjay_core::bench::machine::{BenchEnd, BenchRequest};
use scrubjay_core::units::Nanos;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::slice;

/// The longest wait. One timer for all waits costs nothing; a time-out for each wait would cost a microsecond, which is a
/// twentieth of a fast disk's response time.
pub(super) const TICK: Nanos = Nanos::from_millis(50);
/// User data of the timer.
const OF_TICK: u64 = u64::MAX;

/// Bytes of memory, at least, from which writes are taken in turn. Each is stamped before it is written: a device that stores
/// equal contents only once, or compresses, gains nothing, and only a few words a request are computed during the measurement.
const CONTENT: usize = 16 << 20;
/// Bytes for each of which there is a stamp: the smallest piece that a device may compare.
const STAMPED: usize = 512;

/// Fills memory with the contents of writes.
pub(super) type MemoryFiller<'f> = &'f mut dyn FnMut(&mut [u8]);

/// Sends requests, some at a time.
pub(super) struct BenchRing {
    uring: IoUring,
    file: File,
    memory: PageBuffer,
    /// Bytes of a slot.
    slot: usize,
    /// Places in the memory that a slot has: several, if it writes.
    places: usize,
    /// Writes that were sent, by all rings of this measurement.
    written: u64,
    is_registered: bool,
    is_write: bool,
    /// The requests in flight, by slot; their memory belongs to the kernel.
    requests: Vec<Option<(BenchRequest, Nanos)>>,
    free: Vec<usize>,
    in_flight: usize,
    /// Read by the kernel whenever the timer is submitted.
    tick: Box<Timespec>,
    is_ticking: bool,
}

impl BenchRing {
    /// For `depth` requests of at most `request` bytes at a time. Contents of writes are taken from `fill`, and stamped with numbers
    /// from `written` on.
    ///
    /// # Errors
    /// When io_uring is refused (seccomp, `kernel.io_uring_disabled`, RLIMIT_MEMLOCK) or too old (before Linux
    /// 5.5).
    pub fn new(
        file: File,
        depth: u32,
        request: u64,
        fill: Option<MemoryFiller>,
        written: u64,
    ) -> io::Result<BenchRing> {
        // Since Linux 6.1, completions are delivered on request, not by an interruption. Older kernels refuse.
        let gentle =
            IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().build(depth + 1);
        let uring = gentle.or_else(|_| IoUring::new(depth + 1))?;
        if !uring.params().is_feature_nodrop() {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        let slot = request.next_multiple_of(4096) as usize;
        let is_write = fill.is_some();
        let places = if is_write { CONTENT.div_ceil(slot * depth as usize) } else { 1 };
        let mut memory = PageBuffer::huge(slot * depth as usize * places);
        if let Some(fill) = fill {
            fill(memory.as_mut_slice());
        }
        let whole = libc::iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: memory.len() };
        // SAFETY: the memory is never moved or freed before the ring is: the ring holds its own pins on its pages, and is
        // dropped first, or the memory is leaked.
        let is_registered = unsafe { uring.submitter().register_buffers(&[whole]) }.is_ok();
        let (requests, free) = (vec![None; depth as usize], (0..depth as usize).rev().collect());
        let tick = Box::new(Timespec::new().sec(TICK.0 / 1_000_000_000).nsec((TICK.0 % 1_000_000_000) as u32));
        Ok(BenchRing {
            uring,
            file,
            memory,
            slot,
            places,
            written,
            is_registered,
            is_write,
            requests,
            free,
            in_flight: 0,
            tick,
            is_ticking: false,
        })
    }

    /// Number of requests in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Puts a request into the queue that the next [`BenchRing::wait`] submits. Returns the time from which its response time
    /// counts.
    ///
    /// # Panics
    /// When all slots are in use, or the request is longer than one.
    pub fn push(&mut self, request: BenchRequest) -> Nanos {
        let index = self.free.pop().expect("no more than `depth` at a time");
        assert!(request.len as usize <= self.slot, "a slot's worth");
        let place = (index * self.places + self.written as usize % self.places) * self.slot;
        // SAFETY: the place is one of the slot's, which lie inside the memory.
        let start = unsafe { self.memory.as_mut_ptr().add(place) };
        if self.is_write {
            self.written += 1;
            // SAFETY: no other code accesses the slot's memory, because none of its requests is in flight.
            stamp(unsafe { slice::from_raw_parts_mut(start, request.len as usize) }, self.written);
        }
        let now = now();
        let (file, len, offset) = (Fd(self.file.as_raw_fd()), request.len as u32, request.offset);
        let entry = match (self.is_write, self.is_registered) {
            (false, true) => opcode::ReadFixed::new(file, start, len, 0).offset(offset).build(),
            (false, false) => opcode::Read::new(file, start, len).offset(offset).build(),
            (true, true) => opcode::WriteFixed::new(file, start, len, 0).offset(offset).build(),
            (true, false) => opcode::Write::new(file, start, len).offset(offset).build(),
        };
        let entry = entry.user_data(index as u64);
        // SAFETY: the descriptor lives as long as `self`. The slot is as long as the request, and is neither freed, given to
        // another one nor read before its end; `Drop` leaks the memory if a request is still in flight then.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        pushed.expect("the queue has an entry for every slot");
        self.requests[index] = Some((request, now));
        self.in_flight += 1;
        now
    }

    /// Writes that were sent, by all rings of this measurement.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Submits the queue, and waits until a request has ended, not much longer than [`TICK`].
    ///
    /// # Errors
    /// When the ring as a whole does not work any more.
    pub fn wait(&mut self) -> io::Result<()> {
        if !self.is_ticking {
            let entry = opcode::Timeout::new(&raw const *self.tick).build().user_data(OF_TICK);
            // SAFETY: the time lies in a box of its own, which lives as long as `self`.
            let pushed = unsafe { self.uring.submission().push(&entry) };
            pushed.expect("the queue has an entry for the timer, too");
            self.is_ticking = true;
        }
        // Two calls, like fio's engine, not one that submits and waits. With one, this thread leaves the processor before the kernel's
        // workers that continue a request (below a loop device, or encryption) have begun, and these then queue for a processor: on
        // a busy machine 1.5 ms a request in place of 0.1 ms, which would be charged to the disk (docs/speed.md).
        let has_queued = !self.uring.submission().is_empty();
        if has_queued {
            ignore_interruption(self.uring.submit())?;
        }
        if !self.uring.completion().is_empty() {
            return Ok(());
        }
        ignore_interruption(self.uring.submit_and_wait(1))
    }

    /// The next request that has ended, if any.
    pub fn poll(&mut self) -> Option<BenchEnd> {
        // A block of its own: the queue is borrowed only while one entry is copied out of it.
        let mut entry = { self.uring.completion().next() }?;
        if entry.user_data() == OF_TICK {
            self.is_ticking = false;
            entry = { self.uring.completion().next() }?;
        }
        let done = now();
        let index = entry.user_data() as usize;
        let (request, issued) = self.requests[index].take().expect("a slot that was out");
        self.free.push(index);
        self.in_flight -= 1;
        let result = match entry.result() {
            failed if failed < 0 => Err(-failed),
            // A short transfer ends at the end of the device, which has shrunk, or at a bad place.
            short if (short as u64) < request.len => Err(libc::EIO),
            _ => Ok(()),
        };
        let is_zero = request.is_checked_for_zeroes && result.is_ok() && {
            let start = index * self.places * self.slot; // of a read: only these are checked
            let bytes = &self.memory.as_mut_slice()[start..start + request.len as usize];
            bytes[..64.min(bytes.len())].iter().all(|&byte| byte == 0) && bytes.iter().all(|&byte| byte == 0)
        };
        Some(BenchEnd { request, issued, done, result, is_zero })
    }
}

impl Drop for BenchRing {
    /// Leaks the memory if a request is in flight: closing a ring does not wait for the disk.
    fn drop(&mut self) {
        if self.in_flight > 0 {
            self.memory.leak();
        }
    }
}

/// Ignores errors that end a call early but not the ring.
fn ignore_interruption(called: io::Result<usize>) -> io::Result<()> {
    match called.map_err(|error| (error.raw_os_error(), error)) {
        Ok(_) | Err((Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY), _)) => Ok(()),
        Err((_, error)) => Err(error),
    }
}

/// Makes each piece of the contents differ from everything that was written before.
fn stamp(content: &mut [u8], number: u64) {
    for (index, piece) in content.chunks_exact_mut(STAMPED).enumerate() {
        // The last steps of splitmix64 (Steele et al. 2014): no two numbers give the same.
        let mut mixed = (number << 20) + index as u64;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        piece[..8].copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::rng::Rng;
    use std::collections::BTreeSet;
    use std::os::unix::fs::FileExt;

    #[test]
    fn no_two_pieces_that_are_written_are_alike() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut rng = Rng::new(1);
        let mut fill = |memory: &mut [u8]| {
            memory.chunks_mut(8).for_each(|word| word.copy_from_slice(&rng.bits().to_le_bytes()[..word.len()]));
        };
        // One at a time, twice around all contents; then a few large ones in a ring of their own.
        let (mut offset, mut written) = (0, 0);
        for (depth, request, count) in [(1, 4096, 9000u64), (2, 1 << 20, 20)] {
            let Ok(mut ring) = BenchRing::new(file.try_clone().unwrap(), depth, request, Some(&mut fill), written)
            else {
                return eprintln!("SKIPPED: no io_uring here");
            };
            for _ in 0..count {
                ring.push(BenchRequest { offset, len: request, is_checked_for_zeroes: false });
                offset += request;
                while ring.in_flight() == depth as usize {
                    ring.wait().unwrap();
                    while let Some(end) = ring.poll() {
                        assert_eq!(end.result, Ok(()));
                    }
                }
            }
            while ring.in_flight() > 0 {
                ring.wait().unwrap();
                while let Some(end) = ring.poll() {
                    assert_eq!(end.result, Ok(()));
                }
            }
            written = ring.written();
        }
        let mut all = vec![0; offset as usize];
        file.read_exact_at(&mut all, 0).unwrap();
        let pieces: BTreeSet<&[u8]> = all.chunks(STAMPED).collect();
        assert_eq!(pieces.len(), all.len() / STAMPED);
        // Nor can they be compressed: each byte value is equally frequent.
        let mut counts = [0u32; 256];
        all.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        let mean = all.len() as f64 / 256.0;
        assert!(counts.iter().all(|&count| (f64::from(count) / mean - 1.0).abs() < 0.03), "{counts:?}");
    }
}
