//! Measuring a real disk: runs a [`DiskBench`] through a ring, looks at the kernel's counters between its steps.
//!
//! **Never:** policy. What is asked for, and what of it counts, the machine decides.

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
use scrubjay_core::bench::step_result::{OthersTraffic, StepFigures};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Longer requests may reach the disk as several: the kernel cuts them by length, and by how their memory lies.
const WHOLE_MAX: u64 = 16 << 10;
/// Between two looks at whether to stop, and two calls of `publish`, at the most.
const TURN: Nanos = Nanos::from_millis(100);
/// So long is waited for a request, and, once somebody wished to stop, for all of them.
const REQUEST_TIMEOUT: Nanos = Nanos::from_secs(120);
const STOP_TIMEOUT: Nanos = Nanos::from_secs(3);
/// So long are reads waited for that still come back then.
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
    /// Somebody came while it was written to.
    #[error("{path} {why}. So the measurement was ended; what it had written by then is written")]
    Taken {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Who, and how it is known.
        why: String,
    },
    /// A scrub reads it: that would judge what is being written over.
    #[error("{path}: a scrub of it is under way. Nothing was written (without --write it is only read)")]
    Scrubbed {
        /// Path, as the user gave it.
        path: PathBuf,
    },
    /// What it gives comes from memory.
    #[error(
        "{path}: it cannot be read past the page cache here (its file system is memory, or knows no O_DIRECT), so memory would be measured: \
         name a file on another file system, or the disk itself"
    )]
    Cached {
        /// Path, as the user gave it.
        path: PathBuf,
    },
    /// No io_uring.
    #[error("io_uring is refused here ({0}): see kernel.io_uring_disabled, or RLIMIT_MEMLOCK; or use --engine fio")]
    NoRing(#[source] io::Error),
    /// Requests did not come back.
    #[error("{path}: {requests} requests did not come back within {seconds} s: the disk, or the way to it, hangs")]
    Hanging {
        /// Path, as the user gave it.
        path: PathBuf,
        /// How many.
        requests: usize,
        /// So long was waited.
        seconds: u64,
    },
    /// The ring broke.
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
    /// Open for writing, if it is to be written.
    writable: Option<(OpenMember, KernelPlace)>,
    facts: BenchedFacts,
    served_sectors: Option<u64>,
    asked_sectors: u64,
    /// Writes that were sent.
    written: u64,
    is_scrubbed: bool,
    /// No scrub of ours begins meanwhile, by its identity or by the whole disk.
    _claims: Vec<DiskClaim>,
}

impl BenchedDisk {
    /// Opens it for reading only.
    ///
    /// # Errors
    /// [`BenchError`]. Nothing was read then.
    pub fn open(path: &Path) -> Result<BenchedDisk, BenchError> {
        let target = Target::open(path)?;
        if !target.is_direct || !target.is_block_device && is_in_memory(&target.file) {
            return Err(BenchError::Cached { path: path.to_owned() });
        }
        let facts = BenchedFacts::of(target.disk.as_ref(), target.logical_block.0);
        // Of a partition the whole disk, too: its cache may be switched.
        let whole = target.disk.as_ref().filter(|_| target.is_block_device).map(|disk| target::disk_id(disk).key());
        let mut names = target.ways();
        names.extend([target.id.key()].into_iter().chain(whole).map(|key| claim::name_of(&key)));
        names.sort();
        names.dedup();
        let taken: Vec<Result<DiskClaim, ClaimError>> = names.iter().map(|name| DiskClaim::take(name)).collect();
        let is_held = |one: &Result<DiskClaim, ClaimError>| {
            matches!(
                one,
                Err(ClaimError::Held { .. }
                    | ClaimError::Ending { .. }
                    | ClaimError::HeldByUs
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
            asked_sectors: 0,
            written: 0,
            is_scrubbed,
            _claims: claims,
        })
    }

    /// Opens it for writing, too: what lies there is lost. Refused where anybody uses it; and where it has partitions,
    /// unless those are to be lost, too.
    ///
    /// # Errors
    /// [`BenchError`]. Nothing was written then.
    pub fn open_to_write(path: &Path, partitions_too: bool) -> Result<BenchedDisk, BenchError> {
        let about = fs::metadata(path).map_err(|source| BenchError::Io { path: path.to_owned(), source })?;
        let shared = |shared| BenchError::Shared { path: path.to_owned(), shared };
        let place = KernelPlace::of(&about, partitions_too).map_err(shared)?;
        let member = OpenMember::open(path, Access::ReadWrite)?;
        if !member.is_direct {
            return Err(BenchError::Cached { path: path.to_owned() });
        }
        // Before we open it once more ourselves: of a file, nobody may have it open then.
        drop(place.hold(&member.file).map_err(shared)?);
        let mut disk = BenchedDisk::open(path)?;
        if disk.is_scrubbed {
            return Err(BenchError::Scrubbed { path: path.to_owned() });
        }
        // One way to it, so that a file's lease can be had, and held to the end: whoever opens it waits, and ends the run.
        disk.target.file = member.file.try_clone().map_err(|source| disk.io_error(source))?;
        std::mem::forget(place.hold(&member.file).map_err(shared)?); // it ends with the file
        disk.writable = Some((member, place));
        Ok(disk)
    }

    /// What is known of it.
    pub fn facts(&self) -> &BenchedFacts {
        &self.facts
    }

    /// What its results are filed under.
    pub fn key(&self) -> String {
        self.target.id.key()
    }

    /// Its size in bytes, and the block of which requests must be multiples.
    pub fn geometry(&self) -> (u64, u64) {
        let bytes = self.target.sectors * 512;
        match &self.writable {
            Some((member, _)) => (bytes.min(member.bytes), self.target.logical_block.0.max(member.block_bytes)),
            None => (bytes, self.target.logical_block.0),
        }
    }

    /// Is it a block device? Else it is a file.
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

    /// The share of its disk that it is.
    pub fn span_share(&self) -> f64 {
        let disk = self.target.disk.as_ref().and_then(|disk| disk.number("size"));
        disk.map_or(1.0, |sectors| self.target.sectors as f64 / sectors.max(1) as f64).min(1.0)
    }

    /// Of a file, the share that was never written.
    pub fn hole_share(&self) -> Option<f64> {
        (!self.is_block_device()).then(|| hole_share(&self.target.file, self.target.sectors * 512)).flatten()
    }

    /// Of what was asked for, the share that the disk below served; none: it is not counted.
    pub fn served_share(&self) -> Option<f64> {
        let served = self.served_sectors.filter(|_| self.asked_sectors > 0)?;
        Some((served as f64 / self.asked_sectors as f64).min(1.0))
    }

    /// Was a scrub of ours at it when it was opened?
    pub fn is_scrubbed(&self) -> bool {
        self.is_scrubbed
    }

    /// The disk below.
    pub fn disk(&self) -> Option<&DiskNode> {
        self.target.disk.as_ref()
    }

    /// Measures, until all is done or `stop` is set. `publish` is called some ten times a second.
    ///
    /// # Errors
    /// [`BenchError`]. What is known by then is the machine's to tell.
    pub fn run(
        &mut self,
        bench: &mut DiskBench,
        stop: &AtomicBool,
        publish: &mut dyn FnMut(&DiskBench),
    ) -> Result<(), BenchError> {
        let mut ring: Option<BenchRing> = None;
        let mut counts = self.target.disk.as_ref().and_then(DiskCounts::of);
        // The clock is read twice a request: when it is given to the kernel, and when its end is seen.
        let mut at = now();
        let (mut published, mut heard) = (at, at);
        let (mut stopped, mut taken) = (None, None);
        loop {
            match bench.poll_op(at) {
                BenchOp::Request(request) => {
                    if ring.is_none() {
                        ring = Some(self.ring(bench)?);
                        heard = now();
                    }
                    at = ring.as_mut().expect("it was made").push(request);
                    continue;
                }
                BenchOp::Wait(_) => {
                    // However long the machine would wait: the ring comes back soon, to hear of a stop and to show progress.
                    let ring = ring.as_mut().expect("requests are at the disk");
                    ring.wait().map_err(|source| self.io_error(source))?;
                    let before = heard;
                    while let Some(end) = ring.poll() {
                        heard = end.done;
                        if end.result.is_err() && !self.target.is_present() {
                            bench.note_gone();
                        }
                        bench.handle(end);
                    }
                    at = if heard > before { heard } else { now() };
                    let is_stopped = stopped.is_some();
                    let silence = at.since(heard);
                    let is_hanging = silence > if is_stopped { STOP_TIMEOUT } else { REQUEST_TIMEOUT };
                    // Whoever ended it does not wait for a deep queue of reads. (Writes are waited for: they would come down
                    // on whatever is done with the disk next.)
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
                    taken = taken.or_else(|| self.taken());
                    publish(bench);
                    at = now();
                }
                BenchOp::Done => return taken.map_or(Ok(()), Err),
            }
            if at.since(published) >= TURN {
                published = at;
                publish(bench);
                taken = taken.or_else(|| self.wanted());
            }
            if stop.load(Ordering::Relaxed) || taken.is_some() {
                stopped.get_or_insert(at);
                bench.stop();
            }
        }
    }

    /// Looks at what the kernel has counted in the step that is under way, and says what of it was that of others.
    fn counted_of_step(
        &mut self,
        bench: &DiskBench,
        counts: Option<(DiskCounts, DiskCounts)>,
    ) -> Option<OthersTraffic> {
        let (result, _) = bench.under_way(now())?;
        let is_cut = result.step.request > WHOLE_MAX;
        let counted = counts
            .map(|(before, after)| after.since(before, result.sent, result.bytes_moved, bench.plan().is_write, is_cut));
        // The disk of a file counts its other users as well; that of a device, the device alone.
        if let Some(counted) = counted {
            *self.served_sectors.get_or_insert(0) += counted.served_sectors;
            self.asked_sectors += result.bytes_moved / 512;
        }
        counted.map(|counted| counted.others)
    }

    /// Of what is written to: does somebody else use it by now?
    fn taken(&self) -> Option<BenchError> {
        let (_, place) = self.writable.as_ref()?;
        let shared = place.check().err()?;
        Some(BenchError::Taken { path: self.path.clone(), why: shared.to_string() })
    }

    /// Has somebody else measure a step, and looks at what the kernel has counted meanwhile.
    ///
    /// # Errors
    /// What `measure` says.
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
            self.asked_sectors += result.bytes_moved / 512;
            result.others = Some(counted.others);
        }
        Ok(Some(result))
    }

    /// A ring for the step that is under way.
    fn ring(&self, bench: &DiskBench) -> Result<BenchRing, BenchError> {
        let (result, _) = bench.under_way(now()).expect("a step is under way");
        let file: &File = self.writable.as_ref().map_or(&self.target.file, |(member, _)| &member.file);
        let file = file.try_clone().map_err(|source| self.io_error(source))?;
        // What cannot be compressed; the ring sees to it that it is not found twice.
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

    /// Does somebody want the file that is written to? (He waits until it is let go, but not for ever.)
    fn wanted(&self) -> Option<BenchError> {
        let file = self.writable.as_ref().filter(|_| !self.target.is_block_device).map(|(member, _)| &member.file);
        let why = "was opened by another program, which waits for it".to_owned();
        file.is_some_and(exclusive::is_wanted).then(|| BenchError::Taken { path: self.path.clone(), why })
    }

    fn io_error(&self, source: io::Error) -> BenchError {
        BenchError::Io { path: self.path.clone(), source }
    }
}

/// Does a file lie in memory? Since Linux 6.6 tmpfs takes O_DIRECT, too.
fn is_in_memory(file: &File) -> bool {
    /// `TMPFS_MAGIC`, `RAMFS_MAGIC` and `HUGETLBFS_MAGIC` of `linux/magic.h`.
    const IN_MEMORY: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];
    rustix::fs::fstatfs(file).is_ok_and(|about| IN_MEMORY.contains(&(about.f_type as u64 & 0xffff_ffff)))
}

/// The steps of the clock that latencies are measured with.
pub fn clock_step() -> Nanos {
    let step = rustix::time::clock_getres(rustix::time::ClockId::Monotonic);
    Nanos(step.tv_sec as u64 * 1_000_000_000 + step.tv_nsec as u64)
}
