//! Kernel calls that no safe crate has: `bpf(2)`, `perf_event_open(2)`, and memory shared with the kernel.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::{io, ptr};

use crate::sysfs::DiskNode;

/// Creates a file descriptor by `bpf(2)`; `attr` is the part of `union bpf_attr` that `command` reads.
///
/// # Errors
/// The kernel's error: EPERM without CAP_BPF, EINVAL for a command or flag that it does not know.
///
/// # Safety
/// `attr` must be the plain (`repr(C)`) structure of `command`, and pointers in it must be valid during the call.
pub(super) unsafe fn bpf<T>(command: libc::c_int, attr: &T) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of `attr`; the caller is responsible for their contents.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, command, ptr::from_ref(attr), size_of::<T>()) };
    owned(fd)
}

/// The part of `struct perf_event_attr` (linux/perf_event.h) that every kernel since 4.1 knows: 96 bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct PerfAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint_kind: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
}

/// `PERF_TYPE_TRACEPOINT`.
const PERF_TYPE_TRACEPOINT: u32 = 2;
/// `PERF_FLAG_FD_CLOEXEC`.
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
/// More bytes than any ring holds: the kernel never wakes the reader.
const WAKEUP_NEVER: u32 = 1 << 31;

/// Bit `n` of the C bit field in [`PerfAttr::flags`].
const fn flag(n: u32) -> u64 {
    if cfg!(target_endian = "big") { 1 << (63 - n) } else { 1 << n }
}

/// A perf event on one tracepoint and one CPU.
pub(crate) struct PerfEvent(OwnedFd);

impl PerfEvent {
    /// A sample for every hit of the tracepoint `id` on `cpu`, in any process, stamped with `CLOCK_MONOTONIC` and
    /// consisting of the parts in `sample_type`. The event is off until [`PerfEvent::enable`].
    ///
    /// # Errors
    /// EACCES without CAP_PERFMON, ENODEV when the CPU is off.
    pub(crate) fn open(id: u64, cpu: u32, sample_type: u64) -> io::Result<PerfEvent> {
        const DISABLED: u64 = flag(0);
        const WATERMARK: u64 = flag(14);
        const USE_CLOCKID: u64 = flag(25);
        let attr = PerfAttr {
            kind: PERF_TYPE_TRACEPOINT,
            size: size_of::<PerfAttr>() as u32,
            config: id,
            sample_period: 1,
            sample_type,
            flags: DISABLED | WATERMARK | USE_CLOCKID,
            wakeup: WAKEUP_NEVER,
            clock: libc::CLOCK_MONOTONIC,
            ..PerfAttr::default()
        };
        // SAFETY: `attr` is live and as long as its `size` says; the other arguments are plain numbers
        // (process -1: any; group -1: none).
        let fd = unsafe {
            libc::syscall(libc::SYS_perf_event_open, ptr::from_ref(&attr), -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)
        };
        owned(fd).map(PerfEvent)
    }

    /// Runs the loaded BPF program at every hit of the tracepoint, on any CPU.
    ///
    /// # Errors
    /// EINVAL when the program reads beyond the tracepoint's record; EACCES without CAP_PERFMON.
    pub(super) fn attach(&self, program: &OwnedFd) -> io::Result<()> {
        // SAFETY: SET_BPF takes the number of a file descriptor, and this one is open.
        unsafe { self.ioctl(libc::_IOW::<u32>(GROUP, 8), program.as_raw_fd() as libc::c_ulong) }
    }

    /// Samples only the hits that match `filter`, in the language of `Documentation/trace/events.rst`.
    ///
    /// # Errors
    /// EINVAL when it names a field that the tracepoint does not have.
    pub(crate) fn filter(&self, filter: &std::ffi::CStr) -> io::Result<()> {
        // SAFETY: SET_FILTER takes a NUL-terminated string, which outlives the call.
        unsafe { self.ioctl(libc::_IOW::<*const u8>(GROUP, 6), filter.as_ptr() as libc::c_ulong) }
    }

    /// Sends the samples to the ring of `other`, an event on the same CPU.
    ///
    /// # Errors
    /// EINVAL when `other` is on another CPU or has no ring.
    pub(crate) fn redirect(&self, other: &PerfEvent) -> io::Result<()> {
        // SAFETY: SET_OUTPUT takes the number of a file descriptor, and this one is open.
        unsafe { self.ioctl(libc::_IO(GROUP, 5), other.raw() as libc::c_ulong) }
    }

    /// The number in its samples (`PERF_SAMPLE_IDENTIFIER`).
    ///
    /// # Errors
    /// None are known.
    pub(crate) fn id(&self) -> io::Result<u64> {
        let mut id = 0_u64;
        // SAFETY: the ioctl ID writes one u64 through the pointer, which is to a live u64.
        unsafe { self.ioctl(libc::_IOR::<*const u64>(GROUP, 7), ptr::from_mut(&mut id) as libc::c_ulong)? };
        Ok(id)
    }

    /// Switches the event on.
    ///
    /// # Errors
    /// None are known.
    pub(crate) fn enable(&self) -> io::Result<()> {
        // SAFETY: ENABLE takes no argument.
        unsafe { self.ioctl(libc::_IO(GROUP, 0), 0) }
    }

    /// The file descriptor's number, for [`Mapping::new`].
    pub(crate) fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// # Safety
    /// `argument` must be what `request` requires, and alive during the call if it is an address.
    unsafe fn ioctl(&self, request: libc::Ioctl, argument: libc::c_ulong) -> io::Result<()> {
        // SAFETY: the descriptor is an open perf event; the caller is responsible for the argument.
        let result = unsafe { libc::ioctl(self.raw(), request, argument) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// The letter of perf's ioctls (linux/perf_event.h).
const GROUP: u32 = b'$' as u32;

/// Memory shared with the kernel, read and written in whole words, so that neither side sees half of one.
pub(crate) struct Mapping {
    base: NonNull<AtomicU64>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is not tied to the thread that made it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `bytes` of the descriptor `fd` from `offset` on.
    ///
    /// # Errors
    /// EPERM when it is more than may be locked in memory, ENOMEM.
    pub(crate) fn new(fd: RawFd, bytes: usize, offset: usize, writable: bool) -> io::Result<Mapping> {
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: no address is asked for, so no memory in use is replaced; a bad `fd` is an error, not a fault.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd, offset as libc::off_t) };
        match NonNull::new(base.cast::<AtomicU64>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => Ok(Mapping { base, bytes }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The word at `offset` bytes. In a mapping that is not writable it may only be loaded, with `Relaxed`: only such loads
    /// are certain to write nothing (see [`Mapping::acquire`]).
    ///
    /// # Panics
    /// When `offset` is no multiple of 8 or lies outside.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset < self.bytes, "word {offset} of {} bytes", self.bytes);
        // SAFETY: the word is aligned (the base is a page) and inside the mapping, which lives as long as `self`.
        unsafe { self.base.byte_add(offset).as_ref() }
    }

    /// Loads the word at `offset` bytes: all loads that follow see what the kernel wrote before it.
    ///
    /// # Panics
    /// When `offset` is no multiple of 8 or lies outside.
    pub(crate) fn acquire(&self, offset: usize) -> u64 {
        let word = self.word(offset).load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        word
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mmap, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// The size of a page, in bytes.
pub(crate) fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// The numbers of the CPUs that are online.
///
/// # Errors
/// When `/sys` is not mounted.
pub(crate) fn cpus_online() -> io::Result<Vec<u32>> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online")?;
    parse_cpus(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Parses a list such as `0-3,6`.
fn parse_cpus(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for run in text.trim().split(',') {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

/// `/sys/block/X/inflight`: the number of requests that the kernel counts at the disk, the scrub's included.
pub(super) struct InFlightCounts(File);

impl InFlightCounts {
    /// Opens the file once: each check is then one `pread`, about a microsecond.
    ///
    /// # Errors
    /// When the disk is gone.
    pub(super) fn open(disk: &DiskNode) -> io::Result<InFlightCounts> {
        File::open(disk.folder().join("inflight")).map(InFlightCounts)
    }

    /// The current number; `None` when the disk is gone.
    pub(super) fn current(&self) -> Option<u64> {
        let mut text = [0; 64];
        let bytes = self.0.read_at(&mut text, 0).ok()?;
        parse_in_flight(std::str::from_utf8(&text[..bytes]).ok()?)
    }
}

/// The sum of reads and writes.
fn parse_in_flight(text: &str) -> Option<u64> {
    let mut counts = text.split_ascii_whitespace().map(str::parse::<u64>);
    Some(counts.next()?.ok()? + counts.next()?.ok()?)
}

/// The descriptor that a system call returned, or its error.
fn owned(fd: libc::c_long) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for this call; no other code knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(parse_cpus("0\n"), Some(vec![0]));
        assert_eq!(parse_cpus("0-3,6,8-9\n"), Some(vec![0, 1, 2, 3, 6, 8, 9]));
        assert_eq!(parse_cpus("\n"), None);
        assert_eq!(parse_cpus("0-x"), None);
    }

    #[test]
    fn requests_in_flight_are_reads_and_writes() {
        assert_eq!(parse_in_flight("       2        5\n"), Some(7));
        assert_eq!(parse_in_flight("       2\n"), None);
    }

    #[test]
    fn the_structure_of_perf_is_as_long_as_the_kernel_thinks() {
        assert_eq!(size_of::<PerfAttr>(), 96);
    }
}
