//! Probing a real device: runs a prober's batches through the ring, and times each completion.
//!
//! Reads go past the page cache. A rewrite writes what was read just before. It is only done on a device that was opened
//! for it, and while no visible program may write there (`exclusive`). An invisible one still may: so few blocks are
//! rewritten at a time, each is read once more just before, and writers are checked for again afterwards.

pub(crate) mod exclusive;
mod requests;
mod run;

pub use exclusive::RewriteRefusal;

use crate::completion::MemberFile;
use crate::member::{Access, MemberError, MemberHolder, OpenMember};
use crate::sysfs::DiskNode;
use crate::target::{Target, TargetError};
use exclusive::{KernelPlace, Lease};
use requests::RingRequests;
use run::{Block, Runner, Trouble};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::probe::io::{Answers, ProbeAccess, ProbeBatch, ProbeRequest, ProbedDevice, Prober};
use scrubjay_core::units::Nanos;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests in flight, at most; those of a longer batch are issued as earlier ones end.
const DEPTH: u32 = 4096;
/// Blocks that are rewritten at a time, at most. A choice: a prober's batches of reads are no longer, so that its writes are done
/// as its reads are, and can be compared with them (docs/decisions.md); smaller pieces would be safer.
const PIECE_BLOCKS_MAX: usize = 512;
/// Bytes that are rewritten at a time, at most, but at least one block.
const PIECE_BYTES_MAX: u64 = 64 << 20;
/// The time after which a request counts as hanging; the probe then ends.
const REQUEST_TIMEOUT: Nanos = Nanos::from_secs(120);

/// Why a device cannot be probed.
#[derive(Debug, thiserror::Error)]
pub enum ProbingError {
    /// It cannot be opened for reading.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// It cannot be opened for writing, or should not be.
    #[error("{0}: nothing was written (a probe that only reads is possible)")]
    Member(#[from] MemberError),
    /// It should not be written to.
    #[error("{path} {shared}. Nothing was written (a probe that only reads is possible)")]
    Shared {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Why.
        shared: RewriteRefusal,
    },
    /// Another program came before blocks were rewritten.
    #[error("{path} {shared}. Nothing more was written, and nothing was changed")]
    Taken {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Which one.
        shared: RewriteRefusal,
    },
    /// Another program came while blocks were rewritten.
    #[error(
        "{path} {shared}. It came while blocks were rewritten: what it has written since then may be undone, so have it \
         checked. Nothing more is written"
    )]
    Came {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Which one.
        shared: RewriteRefusal,
    },
    /// A writer that cannot be seen changes it.
    #[error(
        "{path}: byte {offset} changed while it was read: somebody writes to it who cannot be seen from here (another host, a \
         target of the kernel, raw commands), and what he wrote elsewhere meanwhile may be undone. Nothing more is written"
    )]
    Changing {
        /// Path, as the user gave it.
        path: PathBuf,
        /// Offset in bytes.
        offset: u64,
    },
    /// Its data would come from memory.
    #[error("{path}: it cannot be read past the page cache here (no O_DIRECT), so its times would show nothing")]
    Cached {
        /// Path, as the user gave it.
        path: PathBuf,
    },
    /// io_uring is refused.
    #[error("io_uring is refused here ({0}): see kernel.io_uring_disabled, or RLIMIT_MEMLOCK")]
    NoRing(#[source] io::Error),
    /// The ring does not work any more, or a request did not end.
    #[error("{path}: {source}")]
    Io {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The error of the system or library below.
        source: io::Error,
    },
    /// The disk failed while blocks were being rewritten, and these may have lost their contents.
    #[error(
        "{path}: {reason}: {} blocks, the first at byte {}, were being rewritten, and may not hold what they held",
        .blocks.len(),
        .blocks[0].0
    )]
    Lost {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The reason, for people.
        reason: String,
        /// Their offsets and former contents: at least one.
        blocks: Vec<Block>,
    },
}

/// A device that is probed.
pub struct ProbedSubject {
    path: PathBuf,
    device: ProbedDevice,
    is_block_device: bool,
    /// The disk below, whose requests are counted.
    disk: Option<DiskNode>,
    file: MemberFile,
    runner: Runner<RingRequests>,
    /// The kernel's identification of it, if it may be written to.
    place: Option<KernelPlace>,
}

impl ProbedSubject {
    /// Opens it: read-only, unless writes are allowed.
    ///
    /// # Errors
    /// [`ProbingError`]. Nothing was read or written then.
    pub fn open(path: &Path, allow_writes: bool) -> Result<ProbedSubject, ProbingError> {
        let target = Target::open(path)?;
        if !target.is_direct {
            return Err(ProbingError::Cached { path: path.to_owned() });
        }
        // SCSI reports how many requests a disk takes; a bridge that takes one (USB without UAS) hides all disks but one.
        let depth =
            target.disk.as_ref().filter(|_| target.is_block_device).and_then(|d| d.number("device/queue_depth"));
        let depth = depth.map_or(usize::MAX, |depth| depth as usize);
        let mut device = ProbedDevice { bytes: target.sectors * 512, block: target.logical_block.0, depth };
        let (disk, is_block_device, mut file) = (target.disk, target.is_block_device, target.file);
        let mut place = None;
        if allow_writes {
            let metadata = file.metadata().map_err(|source| ProbingError::Io { path: path.to_owned(), source })?;
            let shared = |shared| ProbingError::Shared { path: path.to_owned(), shared };
            let found = KernelPlace::new(&metadata).map_err(shared)?;
            let member = OpenMember::open(path, Access::ReadWrite)?;
            file = writable(path, member, &metadata, &mut device)?;
            // Checked now already, so that a refusal does not come after an hour.
            found.hold(&file).map_err(shared)?;
            place = Some(found);
        }
        let file = MemberFile::new(file);
        let requests = RingRequests::new(DEPTH, file.clone()).map_err(ProbingError::NoRing)?;
        let runner = Runner::new(requests, REQUEST_TIMEOUT);
        Ok(ProbedSubject { path: path.to_owned(), device, is_block_device, disk, file, runner, place })
    }

    /// The facts about it that a prober needs.
    pub fn device(&self) -> ProbedDevice {
        self.device
    }

    /// The whole disk that it is, or is a part of; `None` for a file.
    pub fn block_device(&self) -> Option<&DiskNode> {
        self.disk.as_ref().filter(|_| self.is_block_device)
    }

    /// Whether it is a part of a disk.
    pub fn is_partition(&self) -> bool {
        self.attribute("partition").is_some()
    }

    /// The first aligned byte according to the kernel; -1: there is none. `None` for a file.
    pub fn alignment_offset(&self) -> Option<i64> {
        self.attribute("alignment_offset")?.trim().parse().ok()
    }

    /// An attribute of the device itself, not of the disk that it is a part of.
    fn attribute(&self, name: &str) -> Option<String> {
        let number = self.file.file().metadata().ok().filter(|_| self.is_block_device)?.rdev();
        fs::read_to_string(format!("/sys/dev/block/{}:{}/{name}", libc::major(number), libc::minor(number))).ok()
    }

    /// Runs all batches of a prober, until it is done or `stop` is set. Calls `publish` after each batch.
    ///
    /// # Errors
    /// [`ProbingError`]. The prober holds the results so far.
    pub fn serve<K: Clone>(
        &mut self,
        prober: &mut Prober<K>,
        stop: &AtomicBool,
        publish: &mut dyn FnMut(&Prober<K>),
    ) -> Result<(), ProbingError> {
        loop {
            if stop.load(Ordering::Relaxed) {
                prober.stop();
            }
            let Some(batch) = prober.poll_batch() else { return Ok(()) };
            // A batch that a stop has cut short proves nothing.
            let Some(answers) = self.serve_batch(&batch, stop)? else { return Ok(()) };
            prober.handle(answers);
            publish(prober);
        }
    }

    /// Runs a batch, in pieces where it rewrites. Keeps other programs from what it rewrites as well as possible.
    fn serve_batch(&mut self, batch: &ProbeBatch, stop: &AtomicBool) -> Result<Option<Answers>, ProbingError> {
        let is_inside = |request: &ProbeRequest| {
            request.offset.checked_add(request.len).is_some_and(|end| end <= self.device.bytes)
        };
        assert!(batch.requests.iter().all(is_inside), "a file would grow");
        let is_stopped = || stop.load(Ordering::Relaxed);
        if batch.requests.iter().all(|request| request.kind == ProbeAccess::Read) {
            let no_contents: Vec<Option<Buffer>> = batch.requests.iter().map(|_| None).collect();
            return self.run(&batch.requests, &no_contents, Nanos::ZERO, &is_stopped);
        }
        let Some(place) = self.place.clone() else {
            let source = io::Error::new(io::ErrorKind::PermissionDenied, "writes were not allowed");
            return Err(ProbingError::Io { path: self.path.clone(), source });
        };
        let path = self.path.clone();
        let file = self.file.clone();
        let lease = place.hold(file.file()).map_err(|shared| ProbingError::Taken { path: path.clone(), shared })?;
        // The kernel soon lets in a program that waits for the file, so nothing is written from then on.
        let has_waiter = || lease.as_ref().is_some_and(Lease::has_waiter);
        let answers = self.rewrite(batch, &|| is_stopped() || has_waiter());
        let has_waiter = has_waiter();
        if self.runner.is_busy() {
            // Writes in flight may still reach the file: no program is let in before they have ended.
            std::mem::forget(lease);
        }
        // Whether it succeeded or not, another program may have come meanwhile.
        let late_refusal = place.check().err();
        let answers = answers?;
        if let Some(refusal) = late_refusal {
            return Err(ProbingError::Came { path, shared: refusal });
        }
        if answers.is_none() && has_waiter {
            return Err(ProbingError::Taken { path, shared: RewriteRefusal::Open });
        }
        Ok(answers)
    }

    /// Runs a batch in pieces: each is read, read again and compared, and then written at once, so that little time
    /// passes between the reading of a block and its writing. The reading is not timed.
    fn rewrite(&mut self, batch: &ProbeBatch, is_cut: &dyn Fn() -> bool) -> Result<Option<Answers>, ProbingError> {
        let mut all = Answers::default();
        let mut rest = &batch.requests[..];
        while !rest.is_empty() {
            let (piece, remainder) = rest.split_at(piece_len(rest));
            rest = remainder;
            let held = self.runner.read_twice(piece, is_cut).map_err(|trouble| self.error_of(trouble))?;
            let Some(held) = held else { return Ok(None) };
            let Some(answers) = self.run(piece, &held, all.makespan(), is_cut)? else { return Ok(None) };
            all.is_disturbed |= answers.is_disturbed;
            all.timings.extend(answers.timings);
        }
        Ok(Some(all))
    }

    /// Runs requests whose times continue from `begun`; `None` after a stop.
    fn run(
        &mut self,
        piece: &[ProbeRequest],
        held: &[Option<Buffer>],
        begun: Nanos,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Answers>, ProbingError> {
        let served_before = self.served();
        let result = self.runner.run(piece, held, begun, is_stopped);
        let Some(timings) = result.map_err(|trouble| self.error_of(trouble))? else { return Ok(None) };
        let served_meanwhile = self.served().zip(served_before).map(|(after, before)| after.saturating_sub(before));
        let is_disturbed = served_meanwhile.is_some_and(|served| served > self.pieces(piece));
        Ok(Some(Answers { timings, is_disturbed }))
    }

    fn error_of(&self, trouble: Trouble) -> ProbingError {
        match trouble {
            Trouble::Io(source) => self.io_error(source),
            Trouble::Changing(offset) => ProbingError::Changing { path: self.path.clone(), offset },
            Trouble::Lost { reason, blocks } => ProbingError::Lost { path: self.path.clone(), reason, blocks },
        }
    }

    fn io_error(&self, source: io::Error) -> ProbingError {
        ProbingError::Io { path: self.path.clone(), source }
    }

    /// Requests that the disk has served so far, according to the kernel, the prober's and others'.
    fn served(&self) -> Option<u64> {
        let stat = self.disk.as_ref()?.attribute("stat")?;
        let numbers: Vec<u64> = stat.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        Some(numbers.first()? + numbers.get(4)?)
    }

    /// The most that the kernel will count for these requests: it splits long ones.
    fn pieces(&self, requests: &[ProbeRequest]) -> u64 {
        let most = self.disk.as_ref().and_then(|disk| disk.number("queue/max_sectors_kb")).unwrap_or(128).max(4) << 10;
        requests.iter().map(|request| request.len.div_ceil(most)).sum()
    }
}

/// Number of requests in the next piece: at least one.
fn piece_len(requests: &[ProbeRequest]) -> usize {
    let (mut blocks, mut bytes) = (0, 0);
    let is_full = |request: &ProbeRequest| {
        if request.kind == ProbeAccess::Rewrite {
            (blocks, bytes) = (blocks + 1, bytes + request.len);
        }
        blocks > PIECE_BLOCKS_MAX || blocks > 1 && bytes > PIECE_BYTES_MAX
    };
    requests.iter().position(is_full).unwrap_or(requests.len())
}

/// The open file, if it is the one that was checked and bypasses the page cache. Its blocks may be larger.
fn writable(
    path: &Path,
    member: OpenMember,
    metadata: &fs::Metadata,
    device: &mut ProbedDevice,
) -> Result<fs::File, ProbingError> {
    let identity = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino(), metadata.rdev());
    let opened = member.file.metadata().map_err(|source| ProbingError::Io { path: path.to_owned(), source })?;
    if identity(&opened) != identity(metadata) {
        return Err(MemberError::Busy { path: path.to_owned(), holder: MemberHolder::Replaced }.into());
    }
    if !member.is_direct {
        return Err(ProbingError::Cached { path: path.to_owned() });
    }
    device.block = device.block.max(member.block_bytes);
    device.bytes = device.bytes.min(member.bytes) / device.block * device.block;
    Ok(member.file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::probe::io::{ProbeBudget, RequestTiming};

    /// An image of 1 MiB in which every block holds its number; in the target folder, where direct reads work.
    fn image() -> tempfile::TempPath {
        let path = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap().into_temp_path();
        let bytes: Vec<u8> = (0..1u32 << 20).map(|at| (at / 4096) as u8).collect();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn prober(requests: Vec<ProbeRequest>, device: ProbedDevice) -> Prober<Vec<RequestTiming>> {
        Prober::new(device, ProbeBudget::UNLIMITED, Vec::new(), |bench| async move {
            let answers = bench.run(requests).await?;
            bench.note(|known| *known = answers.timings);
            Ok(())
        })
    }

    #[test]
    fn requests_are_issued_when_they_are_due_and_end_after_that() {
        let file = image();
        let mut subject = ProbedSubject::open(&file, false).unwrap();
        assert_eq!(subject.device().bytes, 1 << 20);
        let delay = Nanos::from_millis(5);
        let requests = vec![ProbeRequest::read(0, 4096), ProbeRequest { at: delay, ..ProbeRequest::read(8192, 4096) }];
        let mut prober = prober(requests, subject.device());
        let mut published = 0;
        subject.serve(&mut prober, &AtomicBool::new(false), &mut |_| published += 1).unwrap();
        let timings = prober.known();
        assert!(prober.is_done() && published == 1 && timings.len() == 2);
        assert!(timings[0].issued <= timings[1].issued && timings[1].issued >= delay, "{timings:?}");
        assert!(timings.iter().all(|timing| timing.done >= timing.issued && !timing.is_failed));
    }

    #[test]
    fn a_rewrite_changes_nothing_and_must_be_allowed() {
        let file = image();
        let before = fs::read(&file).unwrap();
        let rewrite = |offset| rewrite(offset, 4096);
        let mut subject = ProbedSubject::open(&file, false).unwrap();
        let mut refused = prober(vec![rewrite(4096)], subject.device());
        let error = subject.serve(&mut refused, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("writes were not allowed"), "{error}");
        drop(subject);
        let mut subject = ProbedSubject::open(&file, true).unwrap();
        let mut allowed = prober(vec![rewrite(4096), rewrite(0), rewrite(65_536)], subject.device());
        subject.serve(&mut allowed, &AtomicBool::new(false), &mut |_| ()).unwrap();
        assert_eq!(allowed.known().len(), 3);
        assert!(fs::metadata(&file).unwrap().len() == 1 << 20 && fs::read(&file).unwrap() == before);
        assert_eq!(before[4096], 1);
    }

    fn rewrite(offset: u64, len: u64) -> ProbeRequest {
        ProbeRequest { kind: ProbeAccess::Rewrite, ..ProbeRequest::read(offset, len) }
    }

    fn served(subject: &mut ProbedSubject, requests: Vec<ProbeRequest>) -> Result<Vec<RequestTiming>, ProbingError> {
        let mut prober = prober(requests, subject.device());
        subject.serve(&mut prober, &AtomicBool::new(false), &mut |_| ())?;
        Ok(prober.known())
    }

    #[test]
    fn the_same_block_again_and_blocks_that_overlap_stay_as_they_are() {
        let file = image();
        let before = fs::read(&file).unwrap();
        let mut subject = ProbedSubject::open(&file, true).unwrap();
        // More than the ring takes at a time, most of them more than once, and reads among them.
        let mut requests: Vec<ProbeRequest> = (0..2500)
            .flat_map(|n| {
                let at = n * 7919 % 240 * 4096;
                [rewrite(at, 4096), rewrite(at, 16_384), ProbeRequest::read(at + 4096, 4096)]
            })
            .collect();
        requests.extend([rewrite(0, 1 << 20), rewrite(0, 1 << 20)]);
        let timings = served(&mut subject, requests).unwrap();
        assert!(timings.len() == 7502 && timings.iter().all(|timing| !timing.is_failed));
        assert!(fs::read(&file).unwrap() == before);
    }

    #[test]
    fn a_file_that_is_used_is_not_rewritten_even_if_its_user_came_later() {
        let file = image();
        let reopened = fs::OpenOptions::new().write(true).open(&file).unwrap();
        // A program that was there before ...
        let error = ProbedSubject::open(&file, true).err().expect("refused");
        assert!(error.to_string().contains("is open in another program"), "{error}");
        drop(reopened);
        // ... and one that comes between two batches.
        let mut subject = ProbedSubject::open(&file, true).unwrap();
        served(&mut subject, vec![rewrite(4096, 4096)]).unwrap();
        let reader = fs::File::open(&file).unwrap();
        let error = served(&mut subject, vec![rewrite(4096, 4096)]).unwrap_err();
        assert!(matches!(error, ProbingError::Taken { shared: RewriteRefusal::Open, .. }), "{error}");
        drop(reader);
        served(&mut subject, vec![rewrite(4096, 4096)]).unwrap();
    }

    #[test]
    fn a_block_that_cannot_be_read_is_not_written() {
        let file = image();
        let mut subject = ProbedSubject::open(&file, true).unwrap();
        fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(8192).unwrap();
        let error = served(&mut subject, vec![rewrite(0, 4096), rewrite(65_536, 4096)]).unwrap_err();
        assert!(error.to_string().contains("byte 65536 cannot be read"), "{error}");
        assert_eq!(fs::metadata(&file).unwrap().len(), 8192, "it does not grow");
    }

    #[test]
    fn a_failed_write_ends_the_batch_and_the_old_contents_are_checked() {
        let file = image();
        let before = fs::read(&file).unwrap();
        let mut subject = ProbedSubject::open(&file, true).unwrap();
        // A read-only descriptor: every write fails.
        let only_reads = MemberFile::new(Target::open(&file).unwrap().file);
        subject.runner = Runner::new(RingRequests::new(DEPTH, only_reads).unwrap(), REQUEST_TIMEOUT);
        let requests = vec![rewrite(0, 4096), rewrite(8192, 4096)];
        let error = subject.rewrite(&ProbeBatch { requests }, &|| false).unwrap_err();
        assert!(error.to_string().contains("failed; all blocks hold what they held"), "{error}");
        // If the block had not kept its contents:
        let old_blocks = vec![(4096, vec![0; 4096]), (8192, vec![0; 4096])];
        assert_eq!(subject.runner.put_back(old_blocks.clone()), old_blocks);
        assert!(fs::read(&file).unwrap() == before);
    }

    #[test]
    fn few_blocks_are_rewritten_at_a_time() {
        let pieces = |requests: &[ProbeRequest]| {
            let (mut rest, mut pieces) = (requests, Vec::new());
            while !rest.is_empty() {
                pieces.push(piece_len(rest));
                rest = &rest[piece_len(rest)..];
            }
            pieces
        };
        let most = PIECE_BLOCKS_MAX;
        assert_eq!(pieces(&vec![rewrite(0, 4096); 2 * most + 2]), [most, most, 2]);
        assert_eq!(pieces(&[rewrite(0, 40 << 20); 3]), [1, 1, 1]);
        assert_eq!(pieces(&[rewrite(0, 80 << 20); 2]), [1, 1], "one at least");
        let mixed = [vec![ProbeRequest::read(0, 4096); 100], vec![rewrite(0, 4096); most + 1]].concat();
        assert_eq!(pieces(&mixed), [100 + most, 1]);
    }

    #[test]
    fn times_count_on_from_piece_to_piece() {
        let file = image();
        let mut subject = ProbedSubject::open(&file, true).unwrap();
        let timings = served(&mut subject, vec![rewrite(4096, 4096); 2 * PIECE_BLOCKS_MAX + 10]).unwrap();
        for pair in timings.chunks(PIECE_BLOCKS_MAX).collect::<Vec<_>>().windows(2) {
            let end = pair[0].iter().map(|timing| timing.done).max().unwrap();
            assert!(pair[1].iter().all(|timing| timing.issued >= end && timing.done >= timing.issued));
        }
    }

    #[test]
    fn a_stop_cuts_a_batch_short_and_yields_no_results() {
        let file = image();
        let mut subject = ProbedSubject::open(&file, true).unwrap();
        for requests in [vec![rewrite(0, 4096)], vec![ProbeRequest::read(0, 4096)]] {
            let mut prober = prober(requests, subject.device());
            subject.serve(&mut prober, &AtomicBool::new(true), &mut |_| ()).unwrap();
            assert_eq!((prober.known().len(), prober.spent().requests), (0, 0));
        }
    }
}
