//! The world of a pool on this machine: the clock, the requests at its disks, the parameters.

use super::{PoolWorld, ScanTuning};
use crate::zfs::pool::{Vdev, Zpool};
use scrubjay_core::scrub::work::{WorkEvent, WorkReport};
use scrubjay_core::units::Nanos;
use scrubjay_device::clock;
use scrubjay_device::detector::work::{WorkDetector, WorkDetectorError, WorkSenders};
use scrubjay_device::pace::{DisksError, named_disks};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The threads that send a scrub's reads while it runs: the one that walks it, and those that send what had to wait for others to end.
/// (Seen with OpenZFS 2.3.2; they also send others' reads that had to wait, which then count as the scrub's.)
const SENDERS: [[u8; 8]; 2] = [*b"dsl_scan", *b"z_rd_int"];
/// Those that send them while it is held: nothing waits then but others' reads.
const SENDERS_HELD: [[u8; 8]; 1] = [*b"dsl_scan"];
/// Others are there if one of their requests came within this time.
const PRESENT: Nanos = Nanos::from_secs(30);

/// Why a pool's disks cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum PoolDisksError {
    /// What a member is, is not known.
    #[error("{0}")]
    Member(#[from] DisksError),
    /// Requests cannot be seen.
    #[error(transparent)]
    Detector(#[from] WorkDetectorError),
}

/// The disks of a pool, watched, and what is told of its scrub.
pub struct PoolDisks<'a> {
    detector: WorkDetector,
    tuning: Option<ScanTuning>,
    stop: Arc<AtomicBool>,
    publish: &'a mut dyn FnMut(&Zpool, &WorkReport),
    /// Foreground requests, when the last had come.
    came: (u64, Nanos),
    /// Why the parameters are changed no longer.
    trouble: Option<String>,
}

impl<'a> PoolDisks<'a> {
    /// Watches the disks of this pool.
    ///
    /// # Errors
    /// [`PoolDisksError`].
    pub fn open(
        pool: &Zpool,
        tuning: Option<ScanTuning>,
        stop: Arc<AtomicBool>,
        publish: &'a mut dyn FnMut(&Zpool, &WorkReport),
    ) -> Result<PoolDisks<'a>, PoolDisksError> {
        let leaves = pool.vdevs.iter().flat_map(Vdev::leaves).filter(|leaf| leaf.works());
        let paths: Vec<PathBuf> = leaves.filter_map(|leaf| leaf.path.as_deref().map(PathBuf::from)).collect();
        let disks = named_disks(&paths)?;
        let detector = WorkDetector::open(WorkSenders::Threads(&SENDERS), Some(&disks))?;
        Ok(PoolDisks { detector, tuning, stop, publish, came: (0, Nanos::ZERO), trouble: None })
    }

    /// What went wrong meanwhile.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }
}

impl PoolWorld for PoolDisks<'_> {
    fn now(&self) -> Nanos {
        clock::now()
    }

    fn wait(&mut self, time: Nanos) {
        std::thread::sleep(Duration::from_nanos(time.0));
    }

    fn drain(&mut self, is_going: bool, events: &mut Vec<WorkEvent>) {
        self.detector.set_threads(if is_going { &SENDERS } else { &SENDERS_HELD });
        self.detector.drain(events);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn adapt(&mut self, report: &WorkReport) {
        let now = clock::now();
        if report.foreground_requests > self.came.0 {
            self.came = (report.foreground_requests, now);
        }
        let are_others_there = self.came.0 > 0 && now.since(self.came.1) < PRESENT;
        if let Some(Err(error)) = self.tuning.as_mut().map(|tuning| tuning.set_small(are_others_there)) {
            self.trouble = Some(error.to_string());
            self.tuning = None;
        }
    }

    fn publish(&mut self, pool: &Zpool, report: &WorkReport) {
        (self.publish)(pool, report);
    }
}
