//! What a job and whoever started it tell one another: how far it is, and that it is to end early.

use crate::JobError;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// Shared between a job and who watches it. A job looks whether it is to end at each batch of records and between the pieces of
/// a search.
#[derive(Debug, Default)]
pub struct JobControl {
    is_stopped: AtomicBool,
    /// Zero: as many as there are cores.
    threads: AtomicUsize,
    records: AtomicU64,
    pieces: AtomicU64,
    pieces_expected: AtomicU64,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobProgress {
    /// Records read.
    pub records: u64,
    /// Pieces of its search that are done.
    pub pieces: u64,
    /// Pieces that it has in all, as far as it is known; zero while it reads.
    pub pieces_expected: u64,
}

impl JobControl {
    /// Of a job on so many threads; zero: on all cores.
    pub fn on_threads(threads: usize) -> JobControl {
        JobControl { threads: AtomicUsize::new(threads), ..JobControl::default() }
    }

    /// On how many threads its pieces are done.
    pub fn threads(&self) -> usize {
        match self.threads.load(Ordering::Relaxed) {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// It is to end as soon as it can.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Is it to end?
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Goes on, unless it is to end.
    ///
    /// # Errors
    /// [`JobError::Stopped`] if it is.
    pub fn check(&self) -> Result<(), JobError> {
        if self.is_stopped() { Err(JobError::Stopped) } else { Ok(()) }
    }

    /// How far it is.
    pub fn progress(&self) -> JobProgress {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        JobProgress { records: of(&self.records), pieces: of(&self.pieces), pieces_expected: of(&self.pieces_expected) }
    }

    /// So many more records were read.
    pub fn add_records(&self, records: u64) {
        self.records.fetch_add(records, Ordering::Relaxed);
    }

    /// So many more pieces are to be done.
    pub(crate) fn expect_pieces(&self, pieces: u64) {
        self.pieces_expected.fetch_add(pieces, Ordering::Relaxed);
    }

    /// A piece is done.
    pub(crate) fn piece_done(&self) {
        self.pieces.fetch_add(1, Ordering::Relaxed);
    }
}
