//! Probing a real device: runs a prober's batches through the ring, and times each completion.
//!
//! Reads go past the page cache. A rewrite writes what was read just before, and is only done on a device that was opened
//! for it; nobody else may have it then.

use crate::clock;
use crate::completion::{Completion, End, MemberFile, Ring};
use crate::member::{Access, Member, MemberError};
use crate::sysfs::DiskNode;
use crate::target::{Target, TargetError};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::probe::bench::{Answers, Batch, Device, Kind, Prober, Timing};
use scrubjay_core::units::Nanos;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests at a time: no prober has more in a batch.
const DEPTH: u32 = 4096;
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
    is_writable: bool,
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
        let device = Device { bytes: target.sectors * 512, block: target.logical_block.0 };
        let (disk, is_block_device, mut file) = (target.disk, target.is_block_device, target.file);
        if allow_writes {
            file = Member::open(path, Access::ReadWrite)?.file;
        }
        let ring = Ring::new(DEPTH).map_err(ProbingError::NoRing)?;
        let file = MemberFile::new(file);
        Ok(Subject { path: path.to_owned(), device, is_block_device, disk, file, ring, is_writable: allow_writes })
    }

    /// As a prober must know it.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The whole disk that it is, or is a part of; nothing for a file.
    pub fn block_device(&self) -> Option<&DiskNode> {
        self.disk.as_ref().filter(|_| self.is_block_device)
    }

    /// Has a prober do all it wants, until it is done or `stop` is set. `publish` sees it after each batch.
    ///
    /// # Errors
    /// [`ProbingError::Io`]. What is known by then is the prober's to tell.
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
            let answers = self.run(&batch).map_err(|source| ProbingError::Io { path: self.path.clone(), source })?;
            prober.handle(answers);
            publish(prober);
        }
    }

    /// Runs a batch to its end.
    fn run(&mut self, batch: &Batch) -> io::Result<Answers> {
        let mut buffers = self.buffers(batch)?;
        let served_before = self.served();
        let start = clock::now();
        let mut timings =
            vec![Timing { issued: Nanos::ZERO, done: Nanos::ZERO, is_failed: false }; batch.requests.len()];
        let (mut next, mut left) = (0, batch.requests.len());
        while left > 0 {
            let elapsed = clock::now().since(start);
            while let Some(request) = batch.requests.get(next).filter(|request| request.at <= elapsed) {
                let buffer = buffers[next].take().expect("a buffer for each request");
                timings[next].issued = clock::now().since(start);
                match request.kind {
                    Kind::Read => self.ring.read(next, &self.file, request.offset, buffer),
                    Kind::Rewrite => self.ring.write(next, &self.file, request.offset, buffer, false),
                }
                next += 1;
            }
            let patience =
                batch.requests.get(next).map_or(PATIENCE, |request| request.at.since(clock::now().since(start)));
            self.ring.wait(Some(patience))?;
            let now = clock::now().since(start);
            let mut is_any = false;
            while let Some(Completion { name, end }) = self.ring.poll() {
                let End::Disk { result, .. } = end else { panic!("only disks are asked") };
                timings[name] = Timing { done: now, is_failed: result.is_err(), ..timings[name] };
                left -= 1;
                is_any = true;
            }
            if !is_any && next == batch.requests.len() && patience == PATIENCE && now.since(elapsed) >= PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "a request did not come back within two minutes"));
            }
        }
        let foreign = self.served().zip(served_before).map(|(after, before)| after.saturating_sub(before));
        let is_disturbed = foreign.is_some_and(|served| served > self.pieces(batch));
        Ok(Answers { timings, is_disturbed })
    }

    /// A buffer for each request; what is rewritten is in it.
    fn buffers(&mut self, batch: &Batch) -> io::Result<Vec<Option<Buffer>>> {
        let buffer = |len: u64| Some(Buffer::zeroed(len as usize));
        let mut buffers: Vec<Option<Buffer>> = batch.requests.iter().map(|request| buffer(request.len)).collect();
        let rewrites = batch.requests.iter().enumerate().filter(|(_, request)| request.kind == Kind::Rewrite);
        for (index, request) in rewrites {
            if !self.is_writable {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "writes were not allowed"));
            }
            let buffer = buffers[index].take().expect("it was just made");
            self.ring.read(index, &self.file, request.offset, buffer);
            loop {
                self.ring.wait(Some(PATIENCE))?;
                let Some(Completion { end: End::Disk { buffer, result }, .. }) = self.ring.poll() else { continue };
                // What cannot be read is not written.
                result.map_err(|fault| io::Error::other(format!("{fault:?} at byte {}", request.offset)))?;
                buffers[index] = buffer;
                break;
            }
        }
        Ok(buffers)
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

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::probe::bench::{Budget, Request};
    use std::fs;
    use std::os::unix::fs::FileExt;

    /// An image of 1 MiB of which every block says where it is; in the target folder, where direct reads work.
    fn image() -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let bytes: Vec<u8> = (0..1u32 << 20).map(|at| (at / 4096) as u8).collect();
        fs::write(file.path(), bytes).unwrap();
        file
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
        let mut subject = Subject::open(file.path(), false).unwrap();
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
        let before = fs::read(file.path()).unwrap();
        let rewrite = |offset| Request { kind: Kind::Rewrite, ..Request::read(offset, 4096) };
        let mut subject = Subject::open(file.path(), false).unwrap();
        let mut refused = prober(vec![rewrite(4096)], subject.device());
        let error = subject.serve(&mut refused, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("writes were not allowed"), "{error}");
        drop(subject);
        let mut subject = Subject::open(file.path(), true).unwrap();
        let mut allowed = prober(vec![rewrite(4096), rewrite(0), rewrite(65_536)], subject.device());
        subject.serve(&mut allowed, &AtomicBool::new(false), &mut |_| ()).unwrap();
        assert_eq!(allowed.known().len(), 3);
        assert!(file.as_file().metadata().unwrap().len() == 1 << 20 && fs::read(file.path()).unwrap() == before);
        let mut byte = [0];
        file.as_file().read_exact_at(&mut byte, 4096).unwrap();
        assert_eq!(byte, [1]);
    }

    #[test]
    fn a_stop_ends_it_before_the_next_batch() {
        let file = image();
        let mut subject = Subject::open(file.path(), false).unwrap();
        let mut prober = prober(vec![Request::read(0, 4096)], subject.device());
        // The first batch was asked for before; no other is.
        subject.serve(&mut prober, &AtomicBool::new(true), &mut |_| ()).unwrap();
        assert!(prober.is_done());
    }
}
