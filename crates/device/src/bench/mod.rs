//! Measures a real disk: runs a [`DiskBench`] through a ring, and reads the kernel's counters between its steps.
//!
//! **Never:** policy. The machine decides which requests are sent, and which of them count.

mod counters;
mod facts;
mod read_cache;
mod ring;
pub mod verifying;

pub use facts::BenchedFacts;
pub use read_cache::{ReadCacheError, ReadCacheOff, put_back_all};

use crate::claim::{self, ClaimError, DiskClaim};
use crate::clock::now;
use crate::member::{Access, MemberError, OpenMember};
use crate::probing::RewriteRefusal;
use crate::probing::exclusive::{self, KernelPlace};
use crate::subject::Subject;
use crate::sysfs::DiskNode;
use crate::target::{self, Target, TargetError};
use counters::DiskCounts;
use facts::hole_share;
use ring::{BenchRing, MemoryFiller};
use scrubjay_core::bench::compare::BenchSpan;
use scrubjay_core::bench::machine::{BenchOp, DiskBench};
use scrubjay_core::bench::step_result::{ForeignTraffic, StepFigures};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest request, in bytes, that certainly reaches the disk as one: the kernel splits longer ones by length, and by the
/// layout of their memory.
const WHOLE_MAX: u64 = 16 << 10;
/// The longest interval between two checks for a stop, and two calls of `publish`.
const TURN: Nanos = Nanos::from_millis(100);
/// The longest wait for a request and, once a stop was requested, for all of them.
const REQUEST_TIMEOUT: Nanos = Nanos::from_secs(120);
const STOP_TIMEOUT: Nanos = Nanos::from_secs(3);
/// After a stop, the longest wait for reads that are still in flight.
const STOP_PATIENCE: Nanos = Nanos::from_millis(200);

/// Why a disk cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// It cannot be opened for reading.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// It cannot be opened for writing, or should not be.
    #[error("{0}: nothing was written (without --write it is only read)")]
    Member(#[from] MemberError),
    /// It should not be written to.
    #[error("{path} {shared}. Nothing was written (without --write it is only read)")]
    Shared {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Why.
        shared: RewriteRefusal,
    },
    /// Another program came while it was written to.
    #[error("{path} {reason}. So the measurement was ended; what it had written by then is written")]
    Taken {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Which program, and how it was noticed.
        reason: String,
    },
    /// A scrub reads it, and would judge blocks that are being overwritten.
    #[error("{path}: a scrub of it is under way. Nothing was written (without --write it is only read)")]
    Scrubbed {
        /// Path, as the user gave it.
        path: PathBuf,
    },
    /// Its data would come from memory.
    #[error(
        "{path}: it cannot be read past the page cache here (its file system is memory, or knows no O_DIRECT), so memory would be measured: \
         name a file on another file system, or the disk itself"
    )]
    Cached {
        /// Path, as the user gave it.
        path: PathBuf,
    },
    /// io_uring is refused.
    #[error("io_uring is refused here ({0}): see kernel.io_uring_disabled, or RLIMIT_MEMLOCK; or use --engine fio")]
    NoRing(#[source] io::Error),
    /// Requests did not end.
    #[error("{path}: {requests} requests did not come back within {seconds} s: the disk, or the way to it, hangs")]
    Hanging {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Number of such requests.
        requests: usize,
        /// Seconds of waiting.
        seconds: u64,
    },
    /// The ring does not work any more.
    #[error("{path}: {source}")]
    Io {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The error of the system or library below.
        source: io::Error,
    },
}

/// A disk or file that is measured.
pub struct BenchedDisk {
    path: PathBuf,
    target: Target,
    /// The file opened for writing, if it is to be written.
    writable: Option<(OpenMember, KernelPlace)>,
    facts: BenchedFacts,
    served_sectors: Option<u64>,
    requested_sectors: u64,
    /// Writes that were sent.
    written: u64,
    is_scrubbed: bool,
    /// Claims that keep scrubs from beginning meanwhile: on its identity and on the whole disk.
    _claims: Vec<DiskClaim>,
}

impl BenchedDisk {
    /// Opens it read-only.
    ///
    /// # Errors
    /// [`BenchError`]. Nothing was read then.
    pub fn open(path: &Path) -> Result<BenchedDisk, BenchError> {
        let target = Target::open(path)?;
        if !target.is_direct || !target.is_block_device && is_in_memory(&target.file) {
            return Err(BenchError::Cached { path: path.to_owned() });
        }
        let facts = BenchedFacts::of(target.disk.as_ref(), target.logical_block.0);
        // For a partition the whole disk, too: its cache may be switched.
        let whole = target.disk.as_ref().filter(|_| target.is_block_device).map(|disk| target::disk_id(disk).key());
        let mut names = target.ways();
        names.extend([target.id.key()].into_iter().chain(whole).map(|key| claim::name_of(&key)));
        names.sort();
        names.dedup();
        let taken: Vec<Result<DiskClaim, ClaimError>> = names.iter().map(|name| DiskClaim::take(name)).collect();
        let is_held = |claim: &Result<DiskClaim, ClaimError>| {
            matches!(
                claim,
                Err(ClaimError::Held { .. }
                    | ClaimError::Ending { .. }
                    | ClaimError::HeldByThisProcess
                    | ClaimError::HeldUnseen)
            )
        };
        let is_scrubbed = taken.iter().any(is_held);
        let claims = taken.into_iter().flatten().collect();
        let path = path.to_owned();
        Ok(BenchedDisk {
            path,
            target,
            writable: None,
            facts,
            served_sectors: None,
            requested_sectors: 0,
            written: 0,
            is_scrubbed,
            _claims: claims,
        })
    }

    /// Opens it for writing, too: its contents will be lost. Refused where it is in use; and where it has partitions,
    /// unless `partitions_too`.
    ///
    /// # Errors
    /// [`BenchError`]. Nothing was written then.
    pub fn open_to_write(path: &Path, partitions_too: bool) -> Result<BenchedDisk, BenchError> {
        let metadata = fs::metadata(path).map_err(|source| BenchError::Io { path: path.to_owned(), source })?;
        let shared = |shared| BenchError::Shared { path: path.to_owned(), shared };
        let place = KernelPlace::of(&metadata, partitions_too).map_err(shared)?;
        let member = OpenMember::open(path, Access::ReadWrite)?;
        if !member.is_direct {
            return Err(BenchError::Cached { path: path.to_owned() });
        }
        // Before this process opens it a second time: a file must not be open elsewhere then.
        drop(place.hold(&member.file).map_err(shared)?);
        let mut disk = BenchedDisk::open(path)?;
        if disk.is_scrubbed {
            return Err(BenchError::Scrubbed { path: path.to_owned() });
        }
        // Both use one open file, so that a lease on it is possible to the end: a program that opens the file waits, and ends the run.
        disk.target.file = member.file.try_clone().map_err(|source| disk.io_error(source))?;
        std::mem::forget(place.hold(&member.file).map_err(shared)?); // the lease ends with the file
        disk.writable = Some((member, place));
        Ok(disk)
    }

    /// The facts about it.
    pub fn facts(&self) -> &BenchedFacts {
        &self.facts
    }

    /// The key under which its results are saved.
    pub fn key(&self) -> String {
        self.target.id.key()
    }

    /// Its size in bytes, and the block in bytes of which requests must be multiples.
    pub fn geometry(&self) -> (u64, u64) {
        let bytes = self.target.sectors * 512;
        match &self.writable {
            Some((member, _)) => (bytes.min(member.bytes), self.target.logical_block.0.max(member.block_bytes)),
            None => (bytes, self.target.logical_block.0),
        }
    }

    /// Whether it is a block device, not a file.
    pub fn is_block_device(&self) -> bool {
        self.target.is_block_device
    }

    /// Which part of a disk it is.
    pub fn span(&self) -> BenchSpan {
        let size = self.target.disk.as_ref().and_then(|disk| disk.number("size"));
        match self.is_block_device() {
            true if size.is_none_or(|size| size == self.target.sectors) => BenchSpan::Whole,
            true => BenchSpan::Part,
            false => BenchSpan::File,
        }
    }

    /// Its share of the disk, 0 to 1.
    pub fn span_share(&self) -> f64 {
        let disk = self.target.disk.as_ref().and_then(|disk| disk.number("size"));
        disk.map_or(1.0, |sectors| self.target.sectors as f64 / sectors.max(1) as f64).min(1.0)
    }

    /// The share of a file that was never written, 0 to 1.
    pub fn hole_share(&self) -> Option<f64> {
        (!self.is_block_device()).then(|| hole_share(&self.target.file, self.target.sectors * 512)).flatten()
    }

    /// The share of the requested bytes that the disk below served, 0 to 1; `None`: not counted.
    pub fn served_share(&self) -> Option<f64> {
        let served = self.served_sectors.filter(|_| self.requested_sectors > 0)?;
        Some((served as f64 / self.requested_sectors as f64).min(1.0))
    }

    /// Whether a scrub was at it when it was opened.
    pub fn is_scrubbed(&self) -> bool {
        self.is_scrubbed
    }

    /// The disk below, if there is one.
    pub fn disk(&self) -> Option<&DiskNode> {
        self.target.disk.as_ref()
    }

    /// Measures until all is done or `stop` is set. `publish` is called some ten times a second.
    ///
    /// # Errors
    /// [`BenchError`]. The machine holds the results so far.
    pub fn run(
        &mut self,
        bench: &mut DiskBench,
        stop: &AtomicBool,
        publish: &mut dyn FnMut(&DiskBench),
    ) -> Result<(), BenchError> {
        let mut ring: Option<BenchRing> = None;
        let mut counts = self.target.disk.as_ref().and_then(DiskCounts::of);
        // The clock is read twice a request: when it is submitted, and when its completion is seen.
        let mut at = now();
        let (mut published, mut last_end) = (at, at);
        let (mut stopped, mut taken) = (None, None);
        loop {
            match bench.poll_op(at) {
                BenchOp::Request(request) => {
                    if ring.is_none() {
                        ring = Some(self.ring(bench)?);
                        last_end = now();
                    }
                    at = ring.as_mut().expect("it was made").push(request);
                    continue;
                }
                BenchOp::Wait(_) => {
                    // However long the machine would wait: the ring returns soon, to check for a stop and to show progress.
                    let ring = ring.as_mut().expect("requests are at the disk");
                    ring.wait().map_err(|source| self.io_error(source))?;
                    let before = last_end;
                    while let Some(end) = ring.poll() {
                        last_end = end.done;
                        if end.result.is_err() && !self.target.is_present() {
                            bench.note_gone();
                        }
                        bench.handle(end);
                    }
                    at = if last_end > before { last_end } else { now() };
                    let is_stopped = stopped.is_some();
                    let silence = at.since(last_end);
                    let is_hanging = silence > if is_stopped { STOP_TIMEOUT } else { REQUEST_TIMEOUT };
                    // A stop does not wait for a deep queue of reads. (It waits for writes, which would otherwise overwrite what is
                    // written to the disk next.)
                    let is_over = self.writable.is_none() && stopped.is_some_and(|then| at.since(then) > STOP_PATIENCE);
                    if ring.in_flight() > 0 && (is_hanging || is_over) {
                        let (requests, seconds) = (ring.in_flight(), silence.0 / 1_000_000_000);
                        let after = self.target.disk.as_ref().and_then(DiskCounts::of);
                        let others = self.counted_of_step(bench, counts.zip(after));
                        bench.abandon(others);
                        return match is_hanging || silence > STOP_TIMEOUT {
                            true => Err(BenchError::Hanging { path: self.path.clone(), requests, seconds }),
                            false => taken.map_or(Ok(()), Err),
                        };
                    }
                }
                BenchOp::EndStep => {
                    self.written = ring.take().map_or(self.written, |ring| ring.written());
                    let after = self.target.disk.as_ref().and_then(DiskCounts::of);
                    let others = self.counted_of_step(bench, counts.zip(after));
                    bench.end_step(others);
                    counts = after;
                    taken = taken.or_else(|| self.taken_by_writer());
                    publish(bench);
                    at = now();
                }
                BenchOp::Done => return taken.map_or(Ok(()), Err),
            }
            if at.since(published) >= TURN {
                published = at;
                publish(bench);
                taken = taken.or_else(|| self.taken_by_waiter());
            }
            if stop.load(Ordering::Relaxed) || taken.is_some() {
                stopped.get_or_insert(at);
                bench.stop();
            }
        }
    }

    /// Reads the kernel's counts for the step that is under way, and returns the traffic of others in it.
    fn counted_of_step(
        &mut self,
        bench: &DiskBench,
        counts: Option<(DiskCounts, DiskCounts)>,
    ) -> Option<ForeignTraffic> {
        let (result, _) = bench.under_way(now())?;
        let is_cut = result.step.request > WHOLE_MAX;
        let counted = counts
            .map(|(before, after)| after.since(before, result.sent, result.bytes_moved, bench.plan().is_write, is_cut));
        // For a file, its disk includes other traffic; for a device, only the device is counted.
        if let Some(counted) = counted {
            *self.served_sectors.get_or_insert(0) += counted.served_sectors;
            self.requested_sectors += result.bytes_moved / 512;
        }
        counted.map(|counted| counted.others)
    }

    /// The error when another program uses a device that is written to.
    fn taken_by_writer(&self) -> Option<BenchError> {
        let (_, place) = self.writable.as_ref()?;
        let shared = place.check().err()?;
        Some(BenchError::Taken { path: self.path.clone(), reason: shared.to_string() })
    }

    /// Runs a step that another program measures, and adds the kernel's counts for it.
    ///
    /// # Errors
    /// That of `measure`.
    pub fn counted<E>(
        &mut self,
        measure: impl FnOnce() -> Result<Option<StepFigures>, E>,
    ) -> Result<Option<StepFigures>, E> {
        let before = self.target.disk.as_ref().and_then(DiskCounts::of);
        let Some(mut result) = measure()? else { return Ok(None) };
        let after = self.target.disk.as_ref().and_then(DiskCounts::of);
        let is_cut = result.step.request > WHOLE_MAX;
        if let Some((before, after)) = before.zip(after) {
            let counted = after.since(before, result.sent, result.bytes_moved, false, is_cut);
            *self.served_sectors.get_or_insert(0) += counted.served_sectors;
            self.requested_sectors += result.bytes_moved / 512;
            result.others = Some(counted.others);
        }
        Ok(Some(result))
    }

    /// A ring for the step that is under way.
    fn ring(&self, bench: &DiskBench) -> Result<BenchRing, BenchError> {
        let (result, _) = bench.under_way(now()).expect("a step is under way");
        let file: &File = self.writable.as_ref().map_or(&self.target.file, |(member, _)| &member.file);
        let file = file.try_clone().map_err(|source| self.io_error(source))?;
        // Random contents, which cannot be compressed; the ring makes each write different.
        let mut rng = Rng::new(now().0);
        let mut fill = |memory: &mut [u8]| {
            for word in memory.chunks_mut(8) {
                let bits = rng.bits().to_le_bytes();
                word.copy_from_slice(&bits[..word.len()]);
            }
        };
        let fill: Option<MemoryFiller> = if bench.plan().is_write { Some(&mut fill) } else { None };
        BenchRing::new(file, result.step.depth, result.step.request, fill, self.written).map_err(BenchError::NoRing)
    }

    /// The error when another program waits for the file that is written to. (It waits until the lease is released, but not for ever.)
    fn taken_by_waiter(&self) -> Option<BenchError> {
        let file = self.writable.as_ref().filter(|_| !self.target.is_block_device).map(|(member, _)| &member.file);
        let reason = "was opened by another program, which waits for it".to_owned();
        file.is_some_and(exclusive::has_waiter).then(|| BenchError::Taken { path: self.path.clone(), reason })
    }

    fn io_error(&self, source: io::Error) -> BenchError {
        BenchError::Io { path: self.path.clone(), source }
    }
}

/// Whether a file lies in memory: since Linux 6.6 tmpfs supports O_DIRECT, too.
fn is_in_memory(file: &File) -> bool {
    /// `TMPFS_MAGIC`, `RAMFS_MAGIC` and `HUGETLBFS_MAGIC` of `linux/magic.h`.
    const IN_MEMORY: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];
    rustix::fs::fstatfs(file).is_ok_and(|file_system| IN_MEMORY.contains(&(file_system.f_type as u64 & 0xffff_ffff)))
}

/// Resolution of the clock that measures latencies.
pub fn clock_step() -> Nanos {
    let step = rustix::time::clock_getres(rustix::time::ClockId::Monotonic);
    Nanos(step.tv_sec as u64 * 1_000_000_000 + step.tv_nsec as u64)
}
