//! Verifies by O_DIRECT reads through io_uring: up to eight at a time, from one thread, without helper threads.
//!
//! The I/O priority of the submission entries is left at zero, which stands for the class of the submitting task: the
//! thread that runs the scrub sets it once with `ioprio_set(2)`, and the foreground detector can rely on it.
//!
//! The buffers are registered with the ring where RLIMIT_MEMLOCK allows it: their pages are pinned once, and the kernel
//! starts even a large read without handing it to a worker thread.
//!
//! Every request has a buffer of its own, though the data are not used: file systems and dm-integrity compute
//! checksums over the very pages of a direct read, and two reads into the same pages would look like corruption.

use super::progress::RangeProgress;
use super::{Verifier, VerifyCompletion};
use crate::buffer::PageBuffer;
use crate::clock::now;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
use scrubjay_core::units::{Bytes, Nanos, SectorRange};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The longest single wait in the kernel: an hour. Longer ones are repeated, because the kernel adds the time-out to its
/// clock, and the sum with "for ever" would overflow into the past.
const WAIT_MAX: Nanos = Nanos::from_secs(3600);

/// Reads ranges of a file and throws the data away, several at a time.
pub(super) struct ReadRing {
    uring: IoUring,
    file: File,
    is_registered: bool,
    request_max: usize,
    slots: Vec<ReadSlot>,
    answers: VecDeque<VerifyCompletion>,
    /// The errno with which the ring as a whole stopped working.
    broken: Option<i32>,
}

/// Room for one read in flight. The buffer belongs to the kernel while `job` is `Some`.
struct ReadSlot {
    buffer: PageBuffer,
    job: Option<RingJob>,
}

/// The verification that a slot works on.
#[derive(Clone, Copy)]
struct RingJob {
    id: OpId,
    started: Nanos,
    reading: RangeProgress,
    requested: usize,
}

/// Asks the kernel for a ring for `depth` reads at a time.
///
/// # Errors
/// When io_uring is refused (seccomp, `kernel.io_uring_disabled`, RLIMIT_MEMLOCK) or too old to wait with a time-out
/// (before Linux 5.11).
pub(super) fn create(depth: u8) -> io::Result<IoUring> {
    let uring = IoUring::new(u32::from(depth))?;
    if !uring.params().is_feature_ext_arg() {
        return Err(io::Error::from_raw_os_error(libc::ENOSYS));
    }
    Ok(uring)
}

impl ReadRing {
    /// Reads `file` with `uring`, `depth` ranges at a time, in requests of at most `request_max` bytes.
    pub fn new(uring: IoUring, file: File, depth: u8, request_max: Bytes) -> ReadRing {
        let request_max = request_max.0 as usize;
        let mut slots: Vec<ReadSlot> =
            (0..depth).map(|_| ReadSlot { buffer: PageBuffer::huge(request_max), job: None }).collect();
        let memory: Vec<libc::iovec> = slots
            .iter_mut()
            .map(|slot| libc::iovec { iov_base: slot.buffer.as_mut_ptr().cast(), iov_len: slot.buffer.len() })
            .collect();
        // SAFETY: the buffers are never moved or freed before the ring is: the ring holds its own pins on their pages,
        // and is dropped first, or they are leaked.
        let is_registered = unsafe { uring.submitter().register_buffers(&memory) }.is_ok();
        ReadRing { uring, file, is_registered, request_max, slots, answers: VecDeque::new(), broken: None }
    }

    /// Puts the next read of a slot's job into the submission queue.
    fn enqueue(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let job = slot.job.as_mut().expect("only busy slots are read for");
        let (offset, requested) = job.reading.next_read(self.request_max);
        job.requested = requested;
        let (file, start, count) = (Fd(self.file.as_raw_fd()), slot.buffer.as_mut_ptr(), requested as u32);
        let entry = if self.is_registered {
            opcode::ReadFixed::new(file, start, count, index as u16).offset(offset).build()
        } else {
            opcode::Read::new(file, start, count).offset(offset).build()
        };
        let entry = entry.user_data(index as u64);
        // SAFETY: the descriptor lives as long as `self`. The buffer is at least `requested` bytes long and is neither
        // freed, replaced nor read while the slot has a job; `Drop` leaks it if the read is still in flight then.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        pushed.expect("the queue has an entry for every slot");
    }

    /// Submits the queue. An entry that the kernel does not take now stays queued, and `enter` submits it again.
    fn send(&mut self) {
        let _ = self.uring.submit();
    }

    /// Takes all completions from the ring.
    fn reap(&mut self) {
        let mut unsent = false;
        // A block of its own: the queue is borrowed only while one entry is copied out of it.
        while let Some(completion) = { self.uring.completion().next() } {
            let (index, result) = (completion.user_data() as usize, completion.result());
            let Some(job) = self.slots[index].job.as_mut() else { continue };
            let result = if result < 0 { Err(-result) } else { Ok(result as usize) };
            match job.reading.absorb(job.requested, result) {
                None => {
                    self.enqueue(index);
                    unsent = true;
                }
                Some(ended) => {
                    let RingJob { id, started, .. } = *job;
                    let answer = VerifyCompletion {
                        id,
                        outcome: ended.outcome,
                        started,
                        finished: now(),
                        counted: ended.counted,
                    };
                    self.slots[index].job = None;
                    self.answers.push_back(answer);
                }
            }
        }
        if unsent {
            self.send();
        }
    }

    /// Submits the queue and waits for a completion, no longer than `timeout`.
    fn enter(&mut self, timeout: Nanos) {
        let timeout = timeout.min(WAIT_MAX).0;
        let timespec = Timespec::new().sec(timeout / 1_000_000_000).nsec((timeout % 1_000_000_000) as u32);
        let arguments = SubmitArgs::new().timespec(&timespec);
        match self.uring.submitter().submit_with_args(1, &arguments).map_err(|error| error.raw_os_error()) {
            Ok(_) | Err(Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {}
            Err(errno) => self.give_up(errno.unwrap_or(libc::EINVAL)),
        }
    }

    /// Called when the ring itself stopped working: fails every verification, and leaks the buffers in flight.
    fn give_up(&mut self, errno: i32) {
        self.broken = Some(errno);
        for slot in &mut self.slots {
            if let Some(RingJob { id, started, .. }) = slot.job.take() {
                slot.buffer.leak();
                self.answers.push_back(failed(id, errno, started));
            }
        }
    }
}

impl Verifier for ReadRing {
    /// # Panics
    /// When more than `depth` verifications are in flight.
    fn submit(&mut self, id: OpId, range: SectorRange) {
        let started = now();
        if let Some(errno) = self.broken {
            return self.answers.push_back(failed(id, errno, started));
        }
        let index = self.slots.iter().position(|slot| slot.job.is_none()).expect("no more than `depth` at a time");
        self.slots[index].job = Some(RingJob { id, started, reading: RangeProgress::new(range), requested: 0 });
        self.enqueue(index);
        self.send();
    }

    fn wait(&mut self, timeout: Nanos) -> Option<VerifyCompletion> {
        let deadline = now().saturating_add(timeout);
        let mut late = false;
        loop {
            self.reap();
            if let Some(answer) = self.answers.pop_front() {
                return Some(answer);
            }
            if late || self.slots.iter().all(|slot| slot.job.is_none()) {
                return None;
            }
            let left = deadline.since(now());
            late = left == Nanos::ZERO;
            self.enter(left);
        }
    }
}

impl Drop for ReadRing {
    /// Leaks the buffer of a read in flight: closing a ring does not wait for the disk.
    fn drop(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.job.is_some()) {
            slot.buffer.leak();
        }
    }
}

fn failed(id: OpId, errno: i32, started: Nanos) -> VerifyCompletion {
    VerifyCompletion {
        id,
        outcome: VerifyOutcome::Inconclusive(Cause::Errno(errno)),
        started,
        finished: now(),
        counted: 0,
    }
}
