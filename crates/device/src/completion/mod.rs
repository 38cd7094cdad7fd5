//! Asynchronous I/O by completion: one io_uring for the disks of a volume and the sockets of its clients.
//!
//! An operation is started with everything it needs: buffers are moved in and come back with the [`Completion`], files
//! and sockets are held open until then. So no other code can access memory that the kernel may write to. When a ring
//! is dropped, the memory of operations that cannot be cancelled is leaked.
//!
//! Requests are submitted together, when [`IoRing::wait`] is called, except those to a disk with few requests, which are
//! submitted at once ([`EAGER_BELOW`]). Reads are held back until [`IoRing::start_reads`], so that adjacent ones on a
//! file become one call (`run`). An operation that need not wait is done synchronously ([`FileIoPath`]).
//!
//! (Not to be confused with `verify::ring`, which reads a disk through and throws the data away, nor with
//! `detector::ring`, the ring of samples that perf writes.)

mod fault;
mod member_file;
mod operation;
mod outgoing;
mod run;
mod socket;
mod spare;
#[cfg(test)]
mod tests;

pub use fault::fault;
pub use member_file::{FileIoPath, MemberFile};
pub use operation::{IoEnd, Socket, shutdown};
pub use outgoing::Outgoing;
pub use socket::{connect_unix, keep_alive, listen_unix, own_uid, peer_uid};
pub use spare::release_memory;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue, types};
use operation::{IoDirection, Operation, Transfer};
use run::{ReadRun, WaitingRead};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::units::Nanos;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread;

/// With fewer requests at the disks than this, the next one is submitted at once: submitting and reaping in lock step would
/// leave the disk's queue empty meanwhile, which costs a fifth of its requests a second at 32 at a time. Above, fewer
/// system calls count for more.
pub const EAGER_BELOW: usize = 64;

/// The longest single wait in the kernel: an hour. Longer ones are repeated, because the kernel adds the time-out to its
/// clock, and the sum with "for ever" would overflow into the past.
const WAIT_MAX: Nanos = Nanos::from_secs(3600);

/// When a ring is dropped, the longest wait for cancelled operations: they end at once, except those at
/// a disk.
const SHUTDOWN_TIMEOUT: Nanos = Nanos::from_secs(1);

/// User data of the entry that cancels others.
const CANCEL_USER_DATA: u64 = u64::MAX;

/// Bit in the user data of a run: the rest is its index in `runs`, not in `slots`.
const OF_RUN: u64 = 1 << 63;

/// Reads that are held back, at most.
const HELD_MAX: usize = 256;

/// Bytes above which a run of a file in memory is left to the kernel's workers, if there is another processor for them: it is
/// then copied in parallel (docs/speed.md). A shorter one is copied before a worker wakes.
const PARALLEL_ABOVE: u64 = 8 << 10;

/// The end of an operation, with the name that it was given.
#[derive(Debug)]
pub struct Completion<T> {
    /// The name.
    pub name: T,
    /// How it ended.
    pub end: IoEnd,
}

/// The ring. `T` names operations, as their caller chooses. The ring stays on the thread that made it, because the
/// kernel keeps one side of it for that thread.
pub struct IoRing<T> {
    uring: IoUring,
    /// The operations, by the index that is their user data.
    slots: Vec<Option<(T, Operation)>>,
    free: Vec<usize>,
    /// Reads that are held back for their neighbours.
    held: Vec<WaitingRead>,
    /// The runs, by index, like `slots`.
    runs: Vec<Option<ReadRun>>,
    runs_free: Vec<usize>,
    /// Empty, kept for its capacity.
    spare_slices: Vec<libc::iovec>,
    /// Operations that ended without the kernel's queue.
    ended: VecDeque<Completion<T>>,
    depth: usize,
    /// Whether there is another processor, for the kernel's workers.
    is_multiprocessor: bool,
    /// Number of operations on files that the kernel has.
    at_disk: usize,
    /// Number of operations that are given up: they do not count against the depth, though the kernel still has them.
    given_up: usize,
    /// The errno with which the ring as a whole stopped working.
    broken: Option<i32>,
    not_send: PhantomData<*const ()>,
}

impl<T> IoRing<T> {
    /// A ring for `depth` operations at a time.
    ///
    /// # Errors
    /// When io_uring is refused (seccomp, `kernel.io_uring_disabled`, RLIMIT_MEMLOCK) or too old to wait with a time-out
    /// (before Linux 5.11).
    pub fn new(depth: u32) -> io::Result<IoRing<T>> {
        // Since Linux 6.1, completions are delivered on request, not by an interruption. Older kernels refuse.
        let gentle = IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().build(depth);
        let uring = gentle.or_else(|_| IoUring::new(depth))?;
        if !uring.params().is_feature_ext_arg() || !uring.params().is_feature_nodrop() {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        // A disk that hangs may hold a worker with each operation (on a remote file system; or once its queue is full), and the
        // others need some, to flush. Before Linux 5.15 there are four a processor.
        let _ = uring.submitter().register_iowq_max_workers(&mut [depth, 0]);
        Ok(IoRing {
            uring,
            slots: Vec::new(),
            free: Vec::new(),
            held: Vec::new(),
            runs: Vec::new(),
            runs_free: Vec::new(),
            spare_slices: Vec::new(),
            ended: VecDeque::new(),
            depth: depth as usize,
            is_multiprocessor: thread::available_parallelism().is_ok_and(|processors| processors.get() > 1),
            at_disk: 0,
            given_up: 0,
            broken: None,
            not_send: PhantomData,
        })
    }

    /// The number of further operations that may be started.
    pub fn room(&self) -> usize {
        (self.depth + self.given_up).saturating_sub(self.in_flight())
    }

    /// Gives up operations on files that were in flight at two of these calls, so that a disk that hangs takes no room from
    /// others. If they end later, that is reported as usual.
    pub fn age(&mut self) {
        self.given_up +=
            self.slots.iter_mut().flatten().filter_map(|(_, operation)| operation.age_once().then_some(())).count();
    }

    /// The number of operations that are with the kernel, or held back.
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The number of operations on files that are with the kernel, or held back.
    pub fn at_disk(&self) -> usize {
        self.at_disk + self.held.len()
    }

    /// Fills `buffer` from `offset` on, once [`IoRing::start_reads`] or [`IoRing::wait`] is called. Ends as
    /// [`IoEnd::Disk`], like all operations on files.
    ///
    /// # Panics
    /// When there is no [`IoRing::room`], like all that start an operation.
    pub fn read(&mut self, name: T, file: &MemberFile, offset: u64, buffer: Buffer) {
        let (fd, range) = (file.fd().0, offset..offset + buffer.len() as u64);
        let transfer = Transfer { file: file.clone(), direction: IoDirection::Read, offset, buffer, done: 0 };
        let slot = self.hold(name, Operation::transfer(transfer));
        self.held.push(WaitingRead { slot, fd, range });
        if self.held.len() == HELD_MAX {
            self.start_reads();
        }
    }

    /// Writes all of `buffer` from `offset` on. If `is_durable`, it ends only once the data are durable.
    ///
    /// # Panics
    /// When there is no [`IoRing::room`].
    pub fn write(&mut self, name: T, file: &MemberFile, offset: u64, buffer: Buffer, is_durable: bool) {
        if file.io_path() == FileIoPath::Memory && file.file().write_all_at(&buffer, offset).is_ok() {
            return self.end_disk(name, Some(buffer));
        }
        let transfer =
            Transfer { file: file.clone(), direction: IoDirection::Write { is_durable }, offset, buffer, done: 0 };
        self.start_at_disk(name, Operation::transfer(transfer));
    }

    /// Ends once all writes that have ended are durable.
    ///
    /// # Panics
    /// When there is no [`IoRing::room`].
    pub fn flush(&mut self, name: T, file: &MemberFile) {
        if file.io_path() == FileIoPath::Memory {
            return self.end_disk(name, None); // a flush would not make it more durable
        }
        self.start_at_disk(name, Operation::flush(file.clone()));
    }

    /// Punches a hole: these bytes are not needed any more. Works on a file and, where supported, on a block device.
    /// (`fallocate(2)`; the ring's own worker threads wait for it.) Where it is not supported, it ends well,
    /// too.
    ///
    /// # Panics
    /// When there is no [`IoRing::room`].
    pub fn discard(&mut self, name: T, file: &MemberFile, range: Range<u64>) {
        self.start_at_disk(name, Operation::discard(file.clone(), range));
    }

    /// Waits for a client. Ends as [`IoEnd::Accepted`].
    ///
    /// # Panics
    /// When there is no [`IoRing::room`].
    pub fn accept(&mut self, name: T, socket: &Socket) {
        self.start(name, Operation::accept(socket.clone()));
    }

    /// Waits for bytes, and puts those available into `range` of the buffer, as far as they fit. Ends as [`IoEnd::Received`].
    ///
    /// # Panics
    /// When there is no [`IoRing::room`]; or when the range is empty or not inside the buffer.
    pub fn receive(&mut self, name: T, socket: &Socket, buffer: Buffer, range: Range<usize>) {
        self.start(name, Operation::receive(socket.clone(), buffer, range));
    }

    /// Sends `outgoing` from `start` on: all of it, or as much as is sent at a time. One at a time on each socket, or their
    /// bytes mix. Ends as [`IoEnd::Sent`].
    ///
    /// # Panics
    /// When there is no [`IoRing::room`]; or when there is nothing to send.
    pub fn send(&mut self, name: T, socket: &Socket, outgoing: Outgoing, start: usize) {
        self.start(name, Operation::send(socket.clone(), outgoing, start));
    }

    /// Passes a command of 16 bytes to a file's driver. Ends as [`IoEnd::Command`] when the driver decides; it cannot be cancelled.
    ///
    /// # Panics
    /// When there is no [`IoRing::room`].
    pub fn command(&mut self, name: T, file: &Arc<File>, command: u32, bytes: [u8; 16]) {
        self.start(name, Operation::command(Arc::clone(file), command, bytes));
    }

    /// The next operation that has ended, if any. Never waits.
    pub fn poll(&mut self) -> Option<Completion<T>> {
        loop {
            if let Some(completion) = self.ended.pop_front() {
                return Some(completion);
            }
            // A block of its own: the queue is borrowed only while one entry is copied out of it.
            let entry = { self.uring.completion().next() }?;
            if entry.user_data() == CANCEL_USER_DATA {
                continue;
            }
            if entry.user_data() & OF_RUN != 0 {
                self.end_run((entry.user_data() & !OF_RUN) as usize, entry.result());
                continue;
            }
            let index = entry.user_data() as usize;
            let (name, operation) = self.take(index);
            match operation.absorb(entry.result()) {
                Ok(end) => {
                    self.free.push(index);
                    self.at_disk -= usize::from(matches!(end, IoEnd::Disk { .. }));
                    return Some(Completion { name, end });
                }
                Err(operation) => {
                    self.given_up += usize::from(operation.is_given_up()); // `take` has subtracted it
                    self.slots[index] = Some((name, operation));
                    self.enqueue(index);
                }
            }
        }
    }

    /// Submits all started operations, and waits until one has ended, no longer than `timeout`.
    ///
    /// # Errors
    /// When the ring as a whole does not work any more. No further operation will end.
    pub fn wait(&mut self, timeout: Option<Nanos>) -> io::Result<()> {
        self.start_reads();
        if !self.ended.is_empty() || { !self.uring.completion().is_empty() } {
            self.submit();
        } else {
            let timeout = timeout.unwrap_or(WAIT_MAX).min(WAIT_MAX).0;
            let timespec = Timespec::new().sec(timeout / 1_000_000_000).nsec((timeout % 1_000_000_000) as u32);
            let result = self.uring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timespec));
            self.note(result);
        }
        self.broken.map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)))
    }

    /// Starts the reads that were held back, adjacent ones on one file together.
    pub fn start_reads(&mut self) {
        let before = self.at_disk;
        let mut held = std::mem::take(&mut self.held);
        run::cut(&mut held).for_each(|run| self.start_run(run));
        held.clear();
        self.held = held;
        if before < EAGER_BELOW && self.at_disk > before {
            self.submit();
        }
    }

    /// Whether any operation other than a command is in flight.
    fn has_cancellable(&self) -> bool {
        self.slots.iter().flatten().any(|(_, operation)| !operation.is_command())
    }

    fn end_disk(&mut self, name: T, buffer: Option<Buffer>) {
        self.ended.push_back(Completion { name, end: IoEnd::Disk { buffer, result: Ok(()) } });
    }

    fn start_at_disk(&mut self, name: T, operation: Operation) {
        self.start(name, operation);
        self.at_disk += 1;
        if self.at_disk < EAGER_BELOW {
            self.submit();
        }
    }

    fn start(&mut self, name: T, operation: Operation) {
        let index = self.hold(name, operation);
        self.enqueue(index);
    }

    /// Puts an operation into a slot.
    fn hold(&mut self, name: T, operation: Operation) -> usize {
        assert!(self.room() > 0, "room for one more operation");
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[index] = Some((name, operation));
        index
    }

    /// Starts a run: reads that need not wait end at once, the rest goes to the kernel.
    fn start_run(&mut self, run: &[WaitingRead]) {
        let file = self.transfer(run[0].slot).file.clone();
        let mut slices = std::mem::take(&mut self.spare_slices);
        self.gather(run, &mut slices);
        let bytes = run[run.len() - 1].range.end - run[0].range.start;
        if file.io_path() == FileIoPath::Memory && self.is_multiprocessor && bytes > PARALLEL_ABOVE {
            self.at_disk += run.len();
            return self.enqueue_run(&file, run, slices);
        }
        // SAFETY: the slices are parts of the buffers of these reads, which are in their slots and stay there meanwhile.
        let count = unsafe { file.read_at_once(run[0].range.start, &slices) };
        let slots = || run.iter().map(|held| held.slot);
        let rest = &run[self.end_complete_reads(slots(), count)..];
        self.at_disk += rest.len();
        if rest.len() > 1 && file.io_path() != FileIoPath::Memory {
            self.gather(rest, &mut slices);
            self.enqueue_run(&file, rest, slices);
        } else {
            rest.iter().for_each(|held| self.enqueue(held.slot));
            self.spare_slices = slices;
        }
    }

    /// Collects the memory that the reads of a run fill.
    fn gather(&mut self, run: &[WaitingRead], slices: &mut Vec<libc::iovec>) {
        slices.clear();
        for held in run {
            let buffer = &mut self.transfer(held.slot).buffer;
            slices.push(libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() });
        }
    }

    /// Ends the reads that lie in the first `count` bytes of a run as a whole; returns how many.
    fn end_complete_reads(&mut self, slots: impl Iterator<Item = usize>, mut count: usize) -> usize {
        let mut ended = 0;
        for slot in slots {
            let len = self.transfer(slot).buffer.len();
            if count < len {
                break; // all of it is read again
            }
            count -= len;
            let (name, operation) = self.take(slot);
            self.free.push(slot);
            self.end_disk(name, Some(operation.into_transfer().buffer));
            ended += 1;
        }
        ended
    }

    /// Handles the end of a run, of which the kernel has read a part, or all, or nothing. The remaining reads are submitted
    /// one by one, which shows the error that was in the way.
    fn end_run(&mut self, index: usize, result: i32) {
        let run = self.runs[index].take().expect("the kernel ends what was started");
        self.runs_free.push(index);
        let ended = self.end_complete_reads(run.slots.iter().copied(), usize::try_from(result).unwrap_or(0));
        self.at_disk -= ended;
        run.slots[ended..].iter().for_each(|&slot| self.enqueue(slot));
    }

    /// Puts a run, whose reads fill these slices, into the submission queue.
    fn enqueue_run(&mut self, file: &MemberFile, run: &[WaitingRead], slices: Vec<libc::iovec>) {
        let run = ReadRun { slots: run.iter().map(|held| held.slot).collect(), slices };
        let offset = self.transfer(run.slots[0]).offset;
        let index = self.runs_free.pop().unwrap_or_else(|| {
            self.runs.push(None);
            self.runs.len() - 1
        });
        let entry = opcode::Readv::new(file.fd(), run.slices.as_ptr(), run.slices.len() as u32).offset(offset);
        // Otherwise a read of memory would be copied by this thread, and one of a remote file would wait.
        let is_for_workers = matches!(file.io_path(), FileIoPath::Memory | FileIoPath::Remote);
        let entry = entry.build().flags(flags(is_for_workers)).user_data(OF_RUN | index as u64);
        self.runs[index] = Some(run);
        self.make_room();
        // SAFETY: the slices stay in `runs`, the files and buffers of the reads in their slots, all untouched, until the
        // kernel has ended the run (`end_run`), or are leaked (`drop`). Moving them moves none of that memory.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        pushed.expect("the queue has an entry for every slot");
    }

    /// Takes an operation that has ended out of its slot.
    fn take(&mut self, slot: usize) -> (T, Operation) {
        let ended = self.slots[slot].take().expect("the kernel ends what was started");
        self.given_up -= usize::from(ended.1.is_given_up());
        ended
    }

    /// Makes room in the submission queue, whose size does not include operations that are given up.
    fn make_room(&mut self) {
        if self.uring.submission().is_full() {
            self.submit();
        }
    }

    fn transfer(&mut self, slot: usize) -> &mut Transfer {
        let (_, operation) = self.slots[slot].as_mut().expect("a busy slot");
        operation.as_transfer()
    }

    /// Puts the rest of an operation into the submission queue.
    fn enqueue(&mut self, index: usize) {
        self.make_room();
        let (_, operation) = self.slots[index].as_mut().expect("a busy slot");
        let entry = operation.entry().flags(flags(operation.is_remote())).user_data(index as u64);
        // SAFETY: the entry's descriptors and memory belong to the operation, which stays in its slot, untouched, until
        // the kernel has ended it (`poll`), or is leaked (`drop`). Moving it, when the slots grow, moves none of that.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        pushed.expect("the queue has an entry for every slot");
    }

    /// Submits the queue. Entries that the kernel does not take now stay queued, and are submitted later.
    fn submit(&mut self) {
        if self.uring.submission().is_empty() {
            return;
        }
        let result = self.uring.submit();
        self.note(result);
    }

    fn note(&mut self, result: io::Result<usize>) {
        let errno = result.err().map(|error| error.raw_os_error().unwrap_or(libc::EINVAL));
        if let Some(errno) = errno
            && !matches!(errno, libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY)
        {
            self.broken = Some(errno);
        }
    }
}

/// How the kernel is to begin with an entry.
fn flags(is_for_workers: bool) -> squeue::Flags {
    if is_for_workers { squeue::Flags::ASYNC } else { squeue::Flags::empty() }
}

impl<T> Drop for IoRing<T> {
    /// Cancels everything. Closing a ring does not wait for the disk, so the memory of operations that have not ended by then is
    /// leaked; nor does it wait for commands, whose drivers are notified when it is closed.
    fn drop(&mut self) {
        for held in self.held.drain(..) {
            self.slots[held.slot] = None; // the kernel does not have it
            self.free.push(held.slot);
        }
        if self.has_cancellable() {
            let cancel_all = opcode::AsyncCancel2::new(types::CancelBuilder::any()).build().user_data(CANCEL_USER_DATA);
            self.submit(); // makes room for one more entry
            // SAFETY: the entry points to no memory.
            let _ = unsafe { self.uring.submission().push(&cancel_all) };
            let deadline = crate::clock::now().saturating_add(SHUTDOWN_TIMEOUT);
            while self.has_cancellable() && self.broken.is_none() {
                let left = deadline.since(crate::clock::now());
                if left == Nanos::ZERO || self.wait(Some(left)).is_err() {
                    break;
                }
                while self.poll().is_some() {}
            }
        }
        for slot in self.slots.drain(..).flatten().filter(|(_, operation)| !operation.is_command()) {
            std::mem::forget(slot);
        }
        for run in self.runs.drain(..).flatten() {
            std::mem::forget(run);
        }
    }
}
