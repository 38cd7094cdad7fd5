//! The best detector: a BPF program at each tracepoint writes one word per foreground request into a shared ring.
//!
//! The programs have some thirty instructions, assembled here: no compiler, no library, no kernel headers. The ring wakes no
//! thread; [`drain`] reads it from shared memory without a system call.
//!
//! A CPU that is running one BPF program of this type does not start another one in an interrupt, so a completion in
//! that moment is missed (measured: 2 of 40000 while other programs ran). The check of `inflight` makes up for it.
//!
//! [`drain`]: Detector::drain

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;
use std::{fs, io};

use scrubjay_core::scrub::machine::Event;
use scrubjay_core::units::Nanos;

use super::activity::{ForegroundActivity, Sighting, SightingKind};
use super::assembler::{Assembler, Constant, Helper, JumpCondition, JumpLabel, OperandSize, Reg};
use super::kernel::{self, InFlightCounts, Mapping, PerfEvent};
use super::tracepoint::{OwnBy, Probes, Tracepoint};
use super::{Detector, OwnTraffic, Refusal, RequestSources};
use crate::clock;
use crate::ioprio::IDLE_MIN;
use crate::sysfs::DiskNode;

/// Bytes in the ring of one disk: 32768 records, 100 ms of 160000 requests per second, each of which makes two. A power of two.
const RING_BYTES: usize = 512 << 10;
/// Bytes in the ring of all disks: some 200,000 records, as it may have to hold them for seconds.
const RING_BYTES_ALL: usize = 8 << 20;

/// Reports every foreground request of one disk with its time.
pub(super) struct Bpf {
    requests: RequestRing,
    dropped_before: u64,
    in_flight: InFlightCounts,
    activity: ForegroundActivity,
    records: Vec<SeenRequest>,
    sightings: Vec<Sighting>,
}

impl Bpf {
    /// Watches `disk` with the best available tracepoints, and returns a description of what is seen.
    ///
    /// # Errors
    /// Without CAP_BPF and CAP_PERFMON, without a readable tracefs, before Linux 5.8, on 32-bit kernels.
    pub(super) fn open(disk: &DiskNode, sources: RequestSources) -> Result<(Box<dyn Detector>, String), Refusal> {
        let probes = Probes::choose(disk, sources)?;
        let bpf = Bpf::with_probes(disk, &probes)?;
        Ok((Box::new(bpf), probes.describe(disk)))
    }

    /// Watches `disk` with these tracepoints.
    pub(super) fn with_probes(disk: &DiskNode, probes: &Probes) -> Result<Bpf, Refusal> {
        let in_flight = InFlightCounts::open(disk).map_err(Refusal::failed("finds no inflight file"))?;
        let requests = RequestRing::open(probes, Watched::OthersOf { disk: disk.major << 20 | disk.minor })?;
        let (activity, records, sightings) = (ForegroundActivity::default(), Vec::new(), Vec::new());
        Ok(Bpf { requests, dropped_before: 0, in_flight, activity, records, sightings })
    }
}

/// Which requests are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watched {
    /// The foreground's at one disk, `major << 20 | minor`.
    OthersOf {
        /// Its number.
        disk: u32,
    },
    /// All at all disks, with what tells whose they are.
    All(OwnBy),
}

/// Programs at the tracepoints of requests, and the ring into which they write.
pub(super) struct RequestRing(RecordRing);

impl RequestRing {
    /// Attaches them to these tracepoints.
    ///
    /// # Errors
    /// As for [`Bpf::open`].
    pub(super) fn open(probes: &Probes, watched: Watched) -> Result<RequestRing, Refusal> {
        if cfg!(not(target_pointer_width = "64")) {
            return Err(Refusal::failed("needs a 64-bit kernel")(io::ErrorKind::Unsupported.into()));
        }
        let process = Process::current().map_err(Refusal::failed("finds no /proc/self/ns/pid"))?;
        let mut records = RecordRing::new(watched.ring_bytes(), watched.record_bytes())?;
        let completion = probes.completion.iter().map(|point| (point, SightingKind::Completion));
        for (point, kind) in completion.chain([(&probes.arrival, SightingKind::Arrival)]) {
            let program = RequestFilter { point, kind, watched, process };
            records.attach(point.id, |ring, dropped| program.assemble(ring, dropped))?;
        }
        Ok(RequestRing(records))
    }

    /// Appends what was seen since the last call, in the order of writing.
    pub(super) fn take(&mut self, seen: &mut Vec<SeenRequest>) {
        self.0.take(|words| seen.push(decode(words)));
    }

    /// The number of sightings that did not fit into the ring.
    pub(super) fn lost(&self) -> u64 {
        self.0.lost()
    }
}

/// A ring into which programs write records of at most four words, and the programs.
pub(super) struct RecordRing {
    ring: BpfRing,
    /// The one word of the array map that counts records which did not fit into the ring.
    dropped: Mapping,
    /// The map of the ring, and that array.
    maps: [OwnedFd; 2],
    /// Keeps the programs attached.
    attached: Vec<(PerfEvent, OwnedFd)>,
}

impl RecordRing {
    /// A ring of so many bytes (a power of two) for records of this size.
    ///
    /// # Errors
    /// As for [`Bpf::open`].
    pub(super) fn new(ring_bytes: usize, record_bytes: i16) -> Result<RecordRing, Refusal> {
        let ring_map = create_map(MAP_RINGBUF, 0, 0, ring_bytes as u32, 0)?;
        let dropped_map = create_map(MAP_ARRAY, 4, 8, 1, MAP_MMAPABLE)?;
        let ring =
            BpfRing::new(&ring_map, ring_bytes, record_bytes as u64).map_err(Refusal::failed("cannot map its ring"))?;
        let dropped = Mapping::new(dropped_map.as_raw_fd(), kernel::page_bytes(), 0, false)
            .map_err(Refusal::failed("cannot map its counter"))?;
        Ok(RecordRing { ring, dropped, maps: [ring_map, dropped_map], attached: Vec::new() })
    }

    /// Attaches a program to the tracepoint of this number. `assemble` gets the descriptors of the two maps.
    ///
    /// # Errors
    /// As for [`Bpf::open`].
    pub(super) fn attach(&mut self, id: u64, assemble: impl FnOnce(i32, i32) -> Vec<u64>) -> Result<(), Refusal> {
        let cpu = *kernel::cpus_online().ok().and_then(|cpus| cpus.first().copied()).get_or_insert(0);
        let [ring, dropped] = self.maps.each_ref().map(AsRawFd::as_raw_fd);
        let program = load(&assemble(ring, dropped))?;
        self.attached.push((attach(id, cpu, &program)?, program));
        Ok(())
    }

    /// Passes on what was written since the last call, in the order of writing.
    pub(super) fn take(&mut self, record: impl FnMut([u64; 4])) {
        self.ring.take(record);
    }

    /// The number of records that did not fit into the ring.
    pub(super) fn lost(&self) -> u64 {
        self.dropped.word(0).load(Ordering::Relaxed)
    }
}

/// Ends a program that has put its record below the frame pointer: writes that into the ring, else counts it as dropped. Jumps to `done` end here.
pub(super) fn finish_record(asm: &mut Assembler, bytes: i16, [ring, dropped]: [i32; 2], done: JumpLabel) {
    asm.set_wide(Reg::R1, Constant::Map(ring));
    asm.copy(Reg::R2, Reg::Fp);
    asm.add(Reg::R2, (-bytes).into());
    asm.set(Reg::R3, bytes.into());
    asm.set(Reg::R4, RINGBUF_NO_WAKEUP);
    asm.call(Helper::RingbufOutput);
    asm.jump_if(Reg::R0, JumpCondition::Equal, 0, done);
    asm.set_wide(Reg::R1, Constant::MapValue(dropped));
    asm.set(Reg::R2, 1);
    asm.add_atomic(Reg::R1, 0, Reg::R2);
    asm.place(done);
    asm.set(Reg::R0, PASS_ON_TO_PERF);
    asm.exit();
}

impl Detector for Bpf {
    fn drain(&mut self, own: OwnTraffic, events: &mut Vec<Event>) {
        self.requests.take(&mut self.records);
        self.sightings.extend(self.records.drain(..).map(|record| record.sighting));
        let dropped = self.lost();
        self.activity.report(&mut self.sightings, dropped != self.dropped_before, events);
        self.dropped_before = dropped;
        if self.activity.is_open() {
            let now = clock::now();
            self.activity.reconcile(now, self.in_flight.current(), own.in_flight, events);
        }
    }

    fn lost(&self) -> u64 {
        self.requests.lost()
    }
}

/// This process as its own PID namespace numbers it, which in a container differs from the kernel's number.
#[derive(Clone, Copy, Debug)]
struct Process {
    tgid: u32,
    /// The device of the namespace's file, in the kernel's own encoding.
    namespace_dev: u64,
    namespace_inode: u64,
}

impl Process {
    fn current() -> io::Result<Process> {
        let namespace = fs::metadata("/proc/self/ns/pid")?;
        let dev = namespace.dev();
        let namespace_dev = u64::from(libc::major(dev)) << 20 | u64::from(libc::minor(dev));
        Ok(Process { tgid: std::process::id(), namespace_dev, namespace_inode: namespace.ino() })
    }
}

/// Selects the requests that one program reports.
struct RequestFilter<'a> {
    point: &'a Tracepoint,
    kind: SightingKind,
    watched: Watched,
    process: Process,
}

impl RequestFilter<'_> {
    /// Writes the program. It is called with the tracepoint's record in `R1`.
    ///
    /// Requests of other disks are not reported, those of the idle class only if they are wanted. Where the tracepoint does not report the class, and for
    /// pass-through commands, which have none, arrivals of this process are not reported instead. Completions of pass-through
    /// commands never are: they might be the scrub's.
    fn assemble(&self, ring: i32, dropped: i32) -> Vec<u64> {
        let mut asm = Assembler::default();
        let (seen, done, others) = (asm.label(), asm.label(), asm.label());
        asm.copy(Reg::R6, Reg::R1);
        asm.set(Reg::R7, 0);
        if let Watched::OthersOf { disk } = self.watched {
            asm.load(OperandSize::Word, Reg::R1, Reg::R6, self.point.dev);
            asm.jump_if(Reg::R1, JumpCondition::NotEqual, disk, done);
        }
        if let Some(ioprio) = self.point.ioprio.filter(|_| self.watched != Watched::All(OwnBy::Thread)) {
            asm.load(OperandSize::Half, Reg::R1, Reg::R6, ioprio);
            if matches!(self.watched, Watched::All(_)) {
                asm.jump_if(Reg::R1, JumpCondition::Below, u32::from(IDLE_MIN), others);
                asm.set(Reg::R7, OWN);
                asm.jump_if(Reg::R7, JumpCondition::Equal, OWN as u32, seen);
                asm.place(others);
            } else {
                asm.jump_if(Reg::R1, JumpCondition::AtLeast, u32::from(IDLE_MIN), done);
            }
            asm.load(OperandSize::Byte, Reg::R1, Reg::R6, self.point.rwbs);
            match self.kind {
                SightingKind::Arrival => asm.jump_if(Reg::R1, JumpCondition::NotEqual, u32::from(PASS_THROUGH), seen),
                SightingKind::Completion => asm.jump_if(Reg::R1, JumpCondition::Equal, u32::from(PASS_THROUGH), done),
            }
        }
        if self.kind == SightingKind::Arrival {
            // The helper fills `struct bpf_pidns_info { pid, tgid }`, or fails when the caller is in another namespace.
            asm.set_wide(Reg::R1, Constant::Number(self.process.namespace_dev));
            asm.set_wide(Reg::R2, Constant::Number(self.process.namespace_inode));
            asm.copy(Reg::R3, Reg::Fp);
            asm.add(Reg::R3, -8);
            asm.set(Reg::R4, 8);
            asm.call(Helper::NsCurrentPidTgid);
            asm.jump_if(Reg::R0, JumpCondition::NotEqual, 0, seen);
            asm.load(OperandSize::Word, Reg::R1, Reg::Fp, -4);
            asm.jump_if(Reg::R1, JumpCondition::Equal, self.process.tgid, done);
        }
        asm.place(seen);
        asm.call(Helper::KtimeNs);
        asm.shift_left(Reg::R0, FLAG_BITS);
        asm.or(Reg::R0, if self.kind == SightingKind::Completion { COMPLETION } else { 0 });
        asm.or_with(Reg::R0, Reg::R7);
        let bytes = self.watched.record_bytes();
        asm.store(OperandSize::Double, Reg::Fp, -bytes, Reg::R0);
        if let Watched::All(own) = self.watched {
            asm.load(OperandSize::Word, Reg::R1, Reg::R6, self.point.dev);
            asm.store(OperandSize::Double, Reg::Fp, 8 - bytes, Reg::R1);
            if own != OwnBy::Class {
                self.assemble_sender(&mut asm, own, bytes);
            }
        }
        finish_record(&mut asm, bytes, [ring, dropped], done);
        asm.finish()
    }

    /// Stores the first sector, and the sender: the number of its cgroup, or the beginning of its name; zeros for a completion. The kernel accepts
    /// only loads from a multiple of their size, and names begin at 42 (Linux 6.12) or 44 (6.18).
    fn assemble_sender(&self, asm: &mut Assembler, own: OwnBy, bytes: i16) {
        if let Some(sector) = self.point.sector {
            asm.load(OperandSize::Double, Reg::R1, Reg::R6, sector);
            asm.store(OperandSize::Double, Reg::Fp, 16 - bytes, Reg::R1);
        }
        if own == OwnBy::Cgroup {
            asm.set(Reg::R0, 0);
            if self.kind == SightingKind::Arrival {
                asm.call(Helper::CurrentCgroupId);
            }
            asm.store(OperandSize::Double, Reg::Fp, 24 - bytes, Reg::R0);
            return;
        }
        let comm = self.point.comm.filter(|_| self.kind == SightingKind::Arrival);
        for at in [0, 2, 4, 6] {
            match comm {
                Some(comm) => asm.load(OperandSize::Half, Reg::R1, Reg::R6, comm + at),
                None => asm.set(Reg::R1, 0),
            }
            asm.store(OperandSize::Half, Reg::Fp, 24 - bytes + at, Reg::R1);
        }
    }
}

/// The first letter of `rwbs` for a request that carries a command of its own, such as SG_IO's.
const PASS_THROUGH: u8 = b'N';

/// The program's result. With 0, the kernel would withhold the hit from every program that samples the tracepoint by perf.
const PASS_ON_TO_PERF: i32 = 1;

/// `BPF_RB_NO_WAKEUP`: wake no reader.
const RINGBUF_NO_WAKEUP: i32 = 1;

/// The lowest bits of a record; above them is the time in nanoseconds.
const FLAG_BITS: i32 = 2;
/// It is a completion.
const COMPLETION: i32 = 1;
/// The request is in the idle class.
const OWN: i32 = 2;

/// A request that was seen at a tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeenRequest {
    pub(super) sighting: Sighting,
    /// Is it in the idle class?
    pub(super) is_own: bool,
    /// Its disk, `major << 20 | minor`; 0 where only one is watched.
    pub(super) disk: u32,
    /// Its first sector; 0 where requests are not told apart by who sends them, as the next.
    pub(super) sector: u64,
    /// The beginning of the name of the thread that sent it, or the number of its cgroup; zeros for a completion.
    pub(super) sender: [u8; 8],
}

/// Decodes a record.
fn decode([record, disk, sector, sender]: [u64; 4]) -> SeenRequest {
    let has = |flag: i32| record & flag as u64 != 0;
    let kind = if has(COMPLETION) { SightingKind::Completion } else { SightingKind::Arrival };
    let sighting = Sighting { at: Nanos(record >> FLAG_BITS), kind };
    SeenRequest { sighting, is_own: has(OWN), disk: disk as u32, sector, sender: sender.to_ne_bytes() }
}

impl Watched {
    const fn ring_bytes(self) -> usize {
        match self {
            Watched::OthersOf { .. } => RING_BYTES,
            Watched::All(_) => RING_BYTES_ALL,
        }
    }

    /// The size of a record: the time and flags; the disk where there are several; the sector and the sender where that is wanted.
    const fn record_bytes(self) -> i16 {
        match self {
            Watched::OthersOf { .. } => 8,
            Watched::All(OwnBy::Class) => 16,
            Watched::All(OwnBy::Thread | OwnBy::Cgroup) => 32,
        }
    }
}

/// The reader's end of a `BPF_MAP_TYPE_RINGBUF`: a page with the reader's position, a page with the kernel's, then the data,
/// mapped twice in a row, so that no record is ever cut.
struct BpfRing {
    reader_page: Mapping,
    kernel_pages: Mapping,
    page: usize,
    ring_bytes: usize,
    record_bytes: u64,
}

/// Set in a record's header while the kernel still writes it (`BPF_RINGBUF_BUSY_BIT`).
const RECORD_BUSY: u32 = 1 << 31;

impl BpfRing {
    fn new(map: &OwnedFd, ring_bytes: usize, record_bytes: u64) -> io::Result<BpfRing> {
        let page = kernel::page_bytes();
        let reader_page = Mapping::new(map.as_raw_fd(), page, 0, true)?;
        let kernel_pages = Mapping::new(map.as_raw_fd(), page + 2 * ring_bytes, page, false)?;
        Ok(BpfRing { reader_page, kernel_pages, page, ring_bytes, record_bytes })
    }

    /// Passes on the records in the ring, in the order of writing, and frees their room. Every record is a header of 8 bytes,
    /// which starts with the length, and a body.
    fn take(&mut self, mut record: impl FnMut([u64; 4])) {
        let bytes = self.record_bytes;
        let end = self.kernel_pages.acquire(0);
        let mut at = self.reader_page.word(0).load(Ordering::Relaxed);
        while at < end {
            let header = self.page + (at as usize & (self.ring_bytes - 1));
            let length = first_half(self.kernel_pages.acquire(header));
            if length & RECORD_BUSY != 0 {
                break;
            }
            let word = |at: usize| self.kernel_pages.word(header + 8 + at).load(Ordering::Relaxed);
            let words = std::array::from_fn(|index| if 8 * (index as u64) < bytes { word(8 * index) } else { 0 });
            record(words);
            at += 8 + bytes;
        }
        self.reader_page.word(0).store(at, Ordering::Release);
    }
}

/// The `u32` that comes first in a word of memory.
fn first_half(word: u64) -> u32 {
    if cfg!(target_endian = "big") { (word >> 32) as u32 } else { word as u32 }
}

/// `BPF_MAP_CREATE`.
const COMMAND_MAP: i32 = 0;
/// `BPF_PROG_LOAD`.
const COMMAND_PROGRAM: i32 = 5;
/// `BPF_MAP_TYPE_ARRAY`.
const MAP_ARRAY: u32 = 2;
/// `BPF_MAP_TYPE_RINGBUF`.
const MAP_RINGBUF: u32 = 27;
/// `BPF_F_MMAPABLE`.
const MAP_MMAPABLE: u32 = 1 << 10;
/// `BPF_PROG_TYPE_TRACEPOINT`.
const PROGRAM_TRACEPOINT: u32 = 5;
/// The name of these maps and programs in `bpftool`.
const NAME: [u8; 16] = *b"scrubjay\0\0\0\0\0\0\0\0";

/// The part of `union bpf_attr` that creates a map.
#[repr(C)]
struct MapAttr {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
    inner_map: u32,
    numa_node: u32,
    name: [u8; 16],
}

fn create_map(kind: u32, key_bytes: u32, value_bytes: u32, entries: u32, flags: u32) -> Result<OwnedFd, Refusal> {
    let attr = MapAttr { kind, key_bytes, value_bytes, entries, flags, inner_map: 0, numa_node: 0, name: NAME };
    // SAFETY: the structure is the one of the command, without pointers.
    unsafe { kernel::bpf(COMMAND_MAP, &attr) }.map_err(|error| Refusal::of_call(CAPABILITY, "cannot make a map", error))
}

/// The part of `union bpf_attr` that loads a program.
#[repr(C)]
struct ProgramAttr {
    kind: u32,
    words: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
}

fn load(code: &[u64]) -> Result<OwnedFd, Refusal> {
    const LICENSE: &std::ffi::CStr = c"MIT OR Apache-2.0";
    let attr = ProgramAttr {
        kind: PROGRAM_TRACEPOINT,
        words: code.len() as u32,
        code: code.as_ptr().addr() as u64,
        license: LICENSE.as_ptr().addr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        name: NAME,
    };
    // SAFETY: the structure is the one of the command; both pointers are to memory that outlives the call.
    unsafe { kernel::bpf(COMMAND_PROGRAM, &attr) }
        .map_err(|error| Refusal::of_call(CAPABILITY, "cannot load its program", error))
}

/// Attaches `program` to the tracepoint. It runs on every CPU, whichever one the event is opened on, and from now on: the
/// event itself stays off, because it would only make samples that are not read.
fn attach(id: u64, cpu: u32, program: &OwnedFd) -> Result<PerfEvent, Refusal> {
    let attach = || {
        let event = PerfEvent::open(id, cpu, 0)?;
        event.attach(program)?;
        Ok(event)
    };
    attach().map_err(|error| Refusal::of_call(CAPABILITY, "cannot attach its program", error))
}

/// The capabilities that all of these calls need.
const CAPABILITY: &str = "CAP_BPF and CAP_PERFMON";

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESS: Process = Process { tgid: 4711, namespace_dev: 4, namespace_inode: 0xf000_0001 };

    fn assemble(kind: SightingKind, ioprio: Option<i16>) -> Vec<u64> {
        let point = Tracepoint { id: 1, dev: 8, ioprio, rwbs: 34, sector: None, comm: None };
        let watched = Watched::OthersOf { disk: 7 << 20 | 3 };
        RequestFilter { point: &point, kind, watched, process: PROCESS }.assemble(5, 6)
    }

    #[test]
    fn a_record_is_a_time_and_two_bits() {
        let seen = |at: u64, kind, is_own| SeenRequest {
            sighting: Sighting { at: Nanos(at), kind },
            is_own,
            disk: 9,
            sector: 2048,
            sender: *b"dsl_scan",
        };
        let decode = |record: u64| decode([record, 9, 2048, u64::from_ne_bytes(*b"dsl_scan")]);
        assert_eq!(decode(123 << 2), seen(123, SightingKind::Arrival, false));
        assert_eq!(decode(123 << 2 | 1), seen(123, SightingKind::Completion, false));
        assert_eq!(decode(123 << 2 | 3), seen(123, SightingKind::Completion, true));
        assert_eq!(decode(u64::MAX - 1).sighting.at, Nanos(u64::MAX / 4));
    }

    #[test]
    fn the_length_of_a_record_is_the_first_half_of_its_header() {
        let [l0, l1, l2, l3] = (8 | RECORD_BUSY).to_ne_bytes();
        assert_eq!(first_half(u64::from_ne_bytes([l0, l1, l2, l3, 1, 2, 3, 4])), 8 | RECORD_BUSY);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn programs_are_short_and_only_arrivals_ask_for_the_process() {
        let call = |helper: Helper| (helper as u64) << 32 | 0x85;
        let asks = |program: &[u64]| program.contains(&call(Helper::NsCurrentPidTgid));
        for (kind, ioprio, asks_for_process) in [
            (SightingKind::Arrival, Some(32), true),
            (SightingKind::Arrival, None, true),
            (SightingKind::Completion, Some(32), false),
        ] {
            let program = assemble(kind, ioprio);
            assert!(program.len() <= 40, "{} instructions", program.len());
            assert_eq!(asks(&program), asks_for_process, "{kind:?}");
        }
    }
}
