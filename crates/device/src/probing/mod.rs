//! Probing a real device: runs a prober's batches through the ring, and times each completion.
//!
//! Reads go past the page cache. A rewrite writes what was read just before, and is only done on a device that was opened
//! for it, and only while nobody else can have written there meanwhile (`alone`).

mod alone;

pub use alone::Shared;

use crate::clock;
use crate::completion::{Completion, End, MemberFile, Ring};
use crate::member::{Access, Busy, Member, MemberError};
use crate::sysfs::DiskNode;
use crate::target::{Target, TargetError};
use alone::{Lease, Place};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::member::Fault;
use scrubjay_core::probe::bench::{Answers, Batch, Device, Kind, Prober, Request, Timing};
use scrubjay_core::units::{Bytes, Nanos};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests at a time; of a longer batch, the others are issued as these end.
const DEPTH: u32 = 4096;
/// So many of the reads before a rewrite are under way together: a stop is not to wait for more.
const READS_AHEAD: usize = 64;
/// What a batch of rewrites may hold in memory. A choice: twice what the default parameters come to.
const HELD_BYTES_MAX: u64 = 1 << 30;
/// A write that failed is tried so often again: nobody else has what the block held.
const PUT_BACK_TRIES: usize = 3;
/// A request that takes longer is one that does not come back; the probe ends.
const PATIENCE: Nanos = Nanos::from_secs(120);

/// Why a device cannot be probed.
#[derive(Debug, thiserror::Error)]
pub enum ProbingError {
    /// It cannot be opened for reading.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// It cannot be opened for writing, or should not be.
    #[error("{0}: nothing was written (without --allow-writes it is only read)")]
    Member(#[from] MemberError),
    /// It should not be written to.
    #[error("{path} {shared}. Nothing was written (without --allow-writes it is only read)")]
    Shared {
        /// As named.
        path: PathBuf,
        /// Why.
        shared: Shared,
    },
    /// Somebody else came while it was probed.
    #[error("{path} {shared}. Nothing more was written, and nothing was changed")]
    Taken {
        /// As named.
        path: PathBuf,
        /// Who.
        shared: Shared,
    },
    /// What it gives comes from memory.
    #[error("{path}: it cannot be read past the page cache here (no O_DIRECT), so its times would tell nothing")]
    Cached {
        /// As named.
        path: PathBuf,
    },
    /// No io_uring.
    #[error("io_uring is refused here ({0}): see kernel.io_uring_disabled, or RLIMIT_MEMLOCK")]
    NoRing(#[source] io::Error),
    /// The ring broke, or a request did not come back.
    #[error("{path}: {source}")]
    Io {
        /// As named.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// A batch of rewrites would hold too much.
    #[error(
        "{path}: to rewrite so much at a time takes {bytes} of memory: give a smaller --block, or fewer --requests"
    )]
    TooMuch {
        /// As named.
        path: PathBuf,
        /// So much.
        bytes: Bytes,
    },
    /// Blocks were being rewritten, the disk failed, and these blocks do not hold what they held.
    #[error("{path}: writing at byte {} failed, and what was there could not be put back", .blocks[0].0)]
    Lost {
        /// As named.
        path: PathBuf,
        /// Where, and what was there: one at least.
        blocks: Vec<(u64, Vec<u8>)>,
    },
}

/// A device that is probed.
pub struct Subject {
    path: PathBuf,
    device: Device,
    is_block_device: bool,
    /// The disk below, whose requests are counted.
    disk: Option<DiskNode>,
    file: MemberFile,
    ring: Ring<usize>,
    /// Where it lies, if it may be written to.
    place: Option<Place>,
}

impl Subject {
    /// Opens it: for reading only, unless writes are allowed.
    ///
    /// # Errors
    /// [`ProbingError`]. Nothing was read or written then.
    pub fn open(path: &Path, allow_writes: bool) -> Result<Subject, ProbingError> {
        let target = Target::open(path)?;
        if !target.is_direct {
            return Err(ProbingError::Cached { path: path.to_owned() });
        }
        // SCSI says how many requests a disk takes; a bridge that takes one (USB without UAS) hides all disks but one.
        let depth =
            target.disk.as_ref().filter(|_| target.is_block_device).and_then(|d| d.number("device/queue_depth"));
        let depth = depth.map_or(usize::MAX, |depth| depth as usize);
        let mut device = Device { bytes: target.sectors * 512, block: target.logical_block.0, depth };
        let (disk, is_block_device, mut file) = (target.disk, target.is_block_device, target.file);
        let mut place = None;
        if allow_writes {
            let about = file.metadata().map_err(|source| ProbingError::Io { path: path.to_owned(), source })?;
            let shared = |shared| ProbingError::Shared { path: path.to_owned(), shared };
            let found = Place::new(&about).map_err(shared)?;
            let member = Member::open(path, Access::ReadWrite)?;
            file = writable(path, member, &about, &mut device)?;
            // Once now, so that nobody waits for an hour to be told.
            found.hold(&file).map_err(shared)?;
            place = Some(found);
        }
        let ring = Ring::new(DEPTH).map_err(ProbingError::NoRing)?;
        let file = MemberFile::new(file);
        Ok(Subject { path: path.to_owned(), device, is_block_device, disk, file, ring, place })
    }

    /// As a prober must know it.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The whole disk that it is, or is a part of; nothing for a file.
    pub fn block_device(&self) -> Option<&DiskNode> {
        self.disk.as_ref().filter(|_| self.is_block_device)
    }

    /// Is it a part of a disk?
    pub fn is_partition(&self) -> bool {
        self.attribute("partition").is_some()
    }

    /// What the kernel says of the first byte that is aligned: -1 where it says that none is. Nothing for a file.
    pub fn alignment_offset(&self) -> Option<i64> {
        self.attribute("alignment_offset")?.trim().parse().ok()
    }

    /// An attribute of the very device, not of the disk that it is a part of.
    fn attribute(&self, name: &str) -> Option<String> {
        let number = self.file.file().metadata().ok().filter(|_| self.is_block_device)?.rdev();
        fs::read_to_string(format!("/sys/dev/block/{}:{}/{name}", libc::major(number), libc::minor(number))).ok()
    }

    /// Has a prober do all it wants, until it is done or `stop` is set. `publish` sees it after each batch.
    ///
    /// # Errors
    /// [`ProbingError`]. What is known by then is the prober's to tell.
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
            // A batch that a stop has cut short tells nothing.
            let Some(answers) = self.serve_batch(&batch, stop)? else { return Ok(()) };
            prober.handle(answers);
            publish(prober);
        }
    }

    /// Runs a batch; what it rewrites is kept from others from before it is read until after it is written.
    fn serve_batch(&mut self, batch: &Batch, stop: &AtomicBool) -> Result<Option<Answers>, ProbingError> {
        let is_inside =
            |request: &Request| request.offset.checked_add(request.len).is_some_and(|end| end <= self.device.bytes);
        assert!(batch.requests.iter().all(is_inside), "a file would grow");
        let rewrites = || batch.requests.iter().filter(|request| request.kind == Kind::Rewrite);
        let is_stopped = || stop.load(Ordering::Relaxed);
        if rewrites().next().is_none() {
            return self.run(batch, Vec::new(), &is_stopped);
        }
        let path = || self.path.clone();
        let Some(place) = &self.place else {
            let source = io::Error::new(io::ErrorKind::PermissionDenied, "writes were not allowed");
            return Err(ProbingError::Io { path: path(), source });
        };
        let bytes = Bytes(rewrites().map(|request| request.len).sum());
        if bytes.0 > HELD_BYTES_MAX {
            return Err(ProbingError::TooMuch { path: path(), bytes });
        }
        let file = self.file.clone();
        let lease = place.hold(file.file()).map_err(|shared| ProbingError::Taken { path: path(), shared })?;
        // Who waits for the file is let in soon, whatever we do: nothing is written any more then.
        let is_wanted = || lease.as_ref().is_some_and(Lease::is_wanted);
        let is_cut = || is_stopped() || is_wanted();
        let held = self.read_before(batch, &is_cut)?;
        let answers = held.map_or(Ok(None), |held| self.run(batch, held, &is_cut))?;
        if answers.is_none() && is_wanted() {
            return Err(ProbingError::Taken { path: self.path.clone(), shared: Shared::Open });
        }
        Ok(answers)
    }

    /// Runs a batch to its end, or, once it is to stop, until what was issued has ended: nothing then. `held` is what
    /// rewrites write, by the number of the request.
    fn run(
        &mut self,
        batch: &Batch,
        mut held: Vec<Option<Buffer>>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Answers>, ProbingError> {
        let served_before = self.served();
        let start = clock::now();
        let mut timings =
            vec![Timing { issued: Nanos::ZERO, done: Nanos::ZERO, is_failed: false }; batch.requests.len()];
        let mut failed: Vec<(u64, Buffer)> = Vec::new();
        let (mut next, mut ended) = (0, 0);
        while ended < batch.requests.len() {
            let elapsed = clock::now().since(start);
            let is_cut = is_stopped() || !failed.is_empty();
            if is_cut && ended == next {
                break;
            }
            let is_due = |request: &&Request| request.at <= elapsed && !is_cut;
            while let Some(request) = batch.requests.get(next).filter(is_due).filter(|_| self.ring.room() > 0) {
                timings[next].issued = clock::now().since(start);
                match request.kind {
                    Kind::Read => {
                        self.ring.read(next, &self.file, request.offset, Buffer::zeroed(request.len as usize));
                        self.ring.start_reads(); // in the order of the batch, and each by itself
                    }
                    Kind::Rewrite => {
                        let buffer = held[next].take().expect("it was read before");
                        self.ring.write(next, &self.file, request.offset, buffer, false);
                    }
                }
                next += 1;
            }
            let coming = batch.requests.get(next).filter(|request| !is_cut && request.at > elapsed);
            let patience = coming.map_or(PATIENCE, |request| request.at.since(clock::now().since(start)));
            self.ring.wait(Some(patience)).map_err(|source| self.io_error(source))?;
            let now = clock::now().since(start);
            let before = ended;
            while let Some(Completion { name, end }) = self.ring.poll() {
                let End::Disk { buffer, result } = end else { panic!("only disks are asked") };
                timings[name] = Timing { done: now, is_failed: result.is_err(), ..timings[name] };
                ended += 1;
                let request = batch.requests[name];
                if request.kind == Kind::Rewrite && result.is_err() {
                    failed.push((request.offset, buffer.expect("what was to be written")));
                }
            }
            if ended == before && coming.is_none() && now.since(elapsed) >= PATIENCE {
                let what = "a request did not come back within two minutes";
                return Err(self.io_error(io::Error::new(io::ErrorKind::TimedOut, what)));
            }
        }
        self.put_back(failed)?;
        if ended < batch.requests.len() {
            return Ok(None);
        }
        let foreign = self.served().zip(served_before).map(|(after, before)| after.saturating_sub(before));
        let is_disturbed = foreign.is_some_and(|served| served > self.pieces(batch));
        Ok(Some(Answers { timings, is_disturbed }))
    }

    /// Reads what is to be rewritten, by the number of the request; nothing when it is to stop.
    fn read_before(
        &mut self,
        batch: &Batch,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<Option<Buffer>>>, ProbingError> {
        let mut held: Vec<Option<Buffer>> = batch.requests.iter().map(|_| None).collect();
        let rewrites = batch.requests.iter().enumerate().filter(|(_, request)| request.kind == Kind::Rewrite);
        let mut rewrites = rewrites.peekable();
        let mut fault: Option<(u64, Fault)> = None;
        let mut flying = 0;
        loop {
            let is_cut = fault.is_some() || is_stopped();
            while let Some((index, request)) = rewrites.next_if(|_| !is_cut && flying < READS_AHEAD) {
                self.ring.read(index, &self.file, request.offset, Buffer::zeroed(request.len as usize));
                flying += 1;
            }
            if flying == 0 {
                break;
            }
            let begun = clock::now();
            self.ring.wait(Some(PATIENCE)).map_err(|source| self.io_error(source))?;
            let before = flying;
            while let Some(Completion { name, end }) = self.ring.poll() {
                let End::Disk { buffer, result } = end else { panic!("only disks are asked") };
                flying -= 1;
                match result {
                    Ok(()) => held[name] = buffer,
                    Err(why) => fault = Some((batch.requests[name].offset, why)),
                }
            }
            if flying == before && clock::now().since(begun) >= PATIENCE {
                let what = "a read did not come back within two minutes";
                return Err(self.io_error(io::Error::new(io::ErrorKind::TimedOut, what)));
            }
        }
        if let Some((offset, fault)) = fault {
            // What cannot be read is not written, nor is anything else of this batch.
            let what = format!("byte {offset} cannot be read ({fault:?}), so nothing more is rewritten");
            return Err(self.io_error(io::Error::other(what)));
        }
        Ok(rewrites.peek().is_none().then_some(held))
    }

    /// Writes again what could not be written: what lies there now may be neither the old nor the new.
    fn put_back(&mut self, failed: Vec<(u64, Buffer)>) -> Result<(), ProbingError> {
        let Some(&(first, _)) = failed.first() else { return Ok(()) };
        let mut blocks = Vec::new();
        for (offset, buffer) in failed {
            let held = buffer.to_vec();
            if !(0..PUT_BACK_TRIES).any(|_| self.is_put_back(offset, &held)) {
                blocks.push((offset, held));
            }
        }
        if !blocks.is_empty() {
            return Err(ProbingError::Lost { path: self.path.clone(), blocks });
        }
        let what =
            format!("a write at byte {first} failed; all blocks hold what they held, and nothing more is written");
        Err(self.io_error(io::Error::other(what)))
    }

    /// Writes this, and reads whether it is there. A request that does not come back is a failure.
    fn is_put_back(&mut self, offset: u64, held: &[u8]) -> bool {
        let mut buffer = Buffer::zeroed(held.len());
        buffer.copy_from_slice(held);
        self.ring.write(0, &self.file, offset, buffer, false);
        if self.one().is_err() {
            return false;
        }
        self.ring.read(0, &self.file, offset, Buffer::zeroed(held.len()));
        self.one().is_ok_and(|(read, result)| result.is_ok() && read[..] == *held)
    }

    /// Waits for the only request that is under way.
    fn one(&mut self) -> Result<(Buffer, Result<(), Fault>), ProbingError> {
        let begun = clock::now();
        while clock::now().since(begun) < PATIENCE {
            self.ring.wait(Some(PATIENCE)).map_err(|source| self.io_error(source))?;
            if let Some(Completion { end: End::Disk { buffer: Some(buffer), result }, .. }) = self.ring.poll() {
                return Ok((buffer, result));
            }
        }
        Err(self.io_error(io::Error::new(io::ErrorKind::TimedOut, "a request did not come back within two minutes")))
    }

    fn io_error(&self, source: io::Error) -> ProbingError {
        ProbingError::Io { path: self.path.clone(), source }
    }

    /// Requests that the disk has served so far, ours and others', as the kernel counts them.
    fn served(&self) -> Option<u64> {
        let stat = self.disk.as_ref()?.attribute("stat")?;
        let numbers: Vec<u64> = stat.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        Some(numbers.first()? + numbers.get(4)?)
    }

    /// What the kernel will count of ours, at the most: it cuts long requests into pieces.
    fn pieces(&self, batch: &Batch) -> u64 {
        let most = self.disk.as_ref().and_then(|disk| disk.number("queue/max_sectors_kb")).unwrap_or(128).max(4) << 10;
        batch.requests.iter().map(|request| request.len.div_ceil(most)).sum()
    }
}

/// The open file, if it is what was looked at and can be written past the page cache; its blocks may be greater.
fn writable(path: &Path, member: Member, about: &fs::Metadata, device: &mut Device) -> Result<fs::File, ProbingError> {
    let identity = |about: &fs::Metadata| (about.dev(), about.ino(), about.rdev());
    let opened = member.file.metadata().map_err(|source| ProbingError::Io { path: path.to_owned(), source })?;
    if identity(&opened) != identity(about) {
        return Err(MemberError::Busy { path: path.to_owned(), busy: Busy::Replaced }.into());
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
    use scrubjay_core::probe::bench::Budget;

    /// An image of 1 MiB of which every block says where it is; in the target folder, where direct reads work.
    fn image() -> tempfile::TempPath {
        let path = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap().into_temp_path();
        let bytes: Vec<u8> = (0..1u32 << 20).map(|at| (at / 4096) as u8).collect();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn prober(requests: Vec<Request>, device: Device) -> Prober<Vec<Timing>> {
        Prober::new(device, Budget::UNLIMITED, Vec::new(), |bench| async move {
            let answers = bench.run(requests).await?;
            bench.note(|known| *known = answers.timings);
            Ok(())
        })
    }

    #[test]
    fn requests_are_issued_when_they_are_due_and_end_after_that() {
        let file = image();
        let mut subject = Subject::open(&file, false).unwrap();
        assert_eq!(subject.device().bytes, 1 << 20);
        let delay = Nanos::from_millis(5);
        let requests = vec![Request::read(0, 4096), Request { at: delay, ..Request::read(8192, 4096) }];
        let mut prober = prober(requests, subject.device());
        let mut published = 0;
        subject.serve(&mut prober, &AtomicBool::new(false), &mut |_| published += 1).unwrap();
        let timings = prober.known();
        assert!(prober.is_done() && published == 1 && timings.len() == 2);
        assert!(timings[0].issued < delay && timings[1].issued >= delay, "{timings:?}");
        assert!(timings.iter().all(|timing| timing.done >= timing.issued && !timing.is_failed));
    }

    #[test]
    fn a_rewrite_changes_nothing_and_must_be_allowed() {
        let file = image();
        let before = fs::read(&file).unwrap();
        let rewrite = |offset| rewrite(offset, 4096);
        let mut subject = Subject::open(&file, false).unwrap();
        let mut refused = prober(vec![rewrite(4096)], subject.device());
        let error = subject.serve(&mut refused, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("writes were not allowed"), "{error}");
        drop(subject);
        let mut subject = Subject::open(&file, true).unwrap();
        let mut allowed = prober(vec![rewrite(4096), rewrite(0), rewrite(65_536)], subject.device());
        subject.serve(&mut allowed, &AtomicBool::new(false), &mut |_| ()).unwrap();
        assert_eq!(allowed.known().len(), 3);
        assert!(fs::metadata(&file).unwrap().len() == 1 << 20 && fs::read(&file).unwrap() == before);
        assert_eq!(before[4096], 1);
    }

    fn rewrite(offset: u64, len: u64) -> Request {
        Request { kind: Kind::Rewrite, ..Request::read(offset, len) }
    }

    fn served(subject: &mut Subject, requests: Vec<Request>) -> Result<Vec<Timing>, ProbingError> {
        let mut prober = prober(requests, subject.device());
        subject.serve(&mut prober, &AtomicBool::new(false), &mut |_| ())?;
        Ok(prober.known())
    }

    #[test]
    fn the_same_block_again_and_blocks_that_overlap_stay_as_they_are() {
        let file = image();
        let before = fs::read(&file).unwrap();
        let mut subject = Subject::open(&file, true).unwrap();
        // More than the ring takes at a time, most of them more than once, and reads among them.
        let mut requests: Vec<Request> = (0..2500)
            .flat_map(|n| {
                let at = n * 7919 % 240 * 4096;
                [rewrite(at, 4096), rewrite(at, 16_384), Request::read(at + 4096, 4096)]
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
        // One that was there before ...
        let error = Subject::open(&file, true).err().expect("refused");
        assert!(error.to_string().contains("is open in another program"), "{error}");
        drop(reopened);
        // ... and one that comes between two batches.
        let mut subject = Subject::open(&file, true).unwrap();
        served(&mut subject, vec![rewrite(4096, 4096)]).unwrap();
        let reader = fs::File::open(&file).unwrap();
        let error = served(&mut subject, vec![rewrite(4096, 4096)]).unwrap_err();
        assert!(matches!(error, ProbingError::Taken { shared: Shared::Open, .. }), "{error}");
        drop(reader);
        served(&mut subject, vec![rewrite(4096, 4096)]).unwrap();
    }

    #[test]
    fn what_cannot_be_read_is_not_written() {
        let file = image();
        let mut subject = Subject::open(&file, true).unwrap();
        fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(8192).unwrap();
        let error = served(&mut subject, vec![rewrite(0, 4096), rewrite(65_536, 4096)]).unwrap_err();
        assert!(error.to_string().contains("byte 65536 cannot be read"), "{error}");
        assert_eq!(fs::metadata(&file).unwrap().len(), 8192, "it does not grow");
    }

    #[test]
    fn a_write_that_fails_ends_it_and_what_was_there_is_looked_at() {
        let file = image();
        let before = fs::read(&file).unwrap();
        let mut subject = Subject::open(&file, true).unwrap();
        // A descriptor that only reads: every write fails.
        subject.file = MemberFile::new(Target::open(&file).unwrap().file);
        let requests = vec![rewrite(0, 4096), rewrite(8192, 4096)];
        let batch = Batch { requests };
        let held = subject.read_before(&batch, &|| false).unwrap().unwrap();
        let error = subject.run(&batch, held, &|| false).unwrap_err();
        assert!(error.to_string().contains("failed; all blocks hold what they held"), "{error}");
        // Had it not held that:
        let other = |offset| (offset, Buffer::zeroed(4096));
        let error = subject.put_back(vec![other(4096), other(8192)]).unwrap_err();
        let ProbingError::Lost { blocks, .. } = &error else { panic!("{error}") };
        let lost: Vec<(u64, usize)> = blocks.iter().map(|(offset, held)| (*offset, held.len())).collect();
        assert_eq!(lost, [(4096, 4096), (8192, 4096)]);
        assert!(fs::read(&file).unwrap() == before);
    }

    #[test]
    fn too_many_rewrites_at_a_time_are_refused() {
        let file = image();
        let mut subject = Subject::open(&file, true).unwrap();
        let error = served(&mut subject, vec![rewrite(0, 1 << 20); 1025]).unwrap_err();
        assert!(error.to_string().contains("takes 1.0 GiB of memory"), "{error}");
    }

    #[test]
    fn a_stop_cuts_a_batch_short_and_tells_nothing_of_it() {
        let file = image();
        let mut subject = Subject::open(&file, true).unwrap();
        for requests in [vec![rewrite(0, 4096)], vec![Request::read(0, 4096)]] {
            let mut prober = prober(requests, subject.device());
            subject.serve(&mut prober, &AtomicBool::new(true), &mut |_| ()).unwrap();
            assert_eq!((prober.known().len(), prober.spent().requests), (0, 0));
        }
    }
}
