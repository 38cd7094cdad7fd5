//! What a job and its caller share: how far the job is, and whether it is to end early.

use crate::ResearchError;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// Shared between a job and its caller. A job checks whether it is to end at each batch of records and between the
/// pieces of a search.
#[derive(Debug, Default)]
pub struct JobControl {
    is_stopped: AtomicBool,
    /// Threads of the job; zero: as many as there are cores.
    threads: AtomicUsize,
    records: AtomicU64,
    pieces: AtomicU64,
    pieces_expected: AtomicU64,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobProgress {
    /// Records read so far.
    pub records: u64,
    /// Pieces of its search that are done.
    pub pieces: u64,
    /// All pieces of its search, as far as they are known; zero while it reads.
    pub pieces_expected: u64,
}

impl JobControl {
    /// The control of a job on this many threads; zero: on all cores.
    pub fn on_threads(threads: usize) -> JobControl {
        JobControl { threads: AtomicUsize::new(threads), ..JobControl::default() }
    }

    /// On how many threads the job runs its pieces.
    pub fn threads(&self) -> usize {
        match self.threads.load(Ordering::Relaxed) {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Asks the job to end as soon as it can.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Is the job to end?
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Continues, unless the job is to end.
    ///
    /// # Errors
    /// [`ResearchError::Stopped`] if it is to end.
    pub fn check(&self) -> Result<(), ResearchError> {
        if self.is_stopped() { Err(ResearchError::Stopped) } else { Ok(()) }
    }

    /// How far the job is.
    pub fn progress(&self) -> JobProgress {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        JobProgress {
            records: value(&self.records),
            pieces: value(&self.pieces),
            pieces_expected: value(&self.pieces_expected),
        }
    }

    /// Adds records that were read.
    pub fn add_records(&self, records: u64) {
        self.records.fetch_add(records, Ordering::Relaxed);
    }

    /// Adds pieces that are to be done.
    pub(crate) fn expect_pieces(&self, pieces: u64) {
        self.pieces_expected.fetch_add(pieces, Ordering::Relaxed);
    }

    /// Counts a piece that is done.
    pub(crate) fn piece_done(&self) {
        self.pieces.fetch_add(1, Ordering::Relaxed);
    }
}
