//! Decorators over verifiers: the timing of a disk with one head, and planted faults. For demonstrations, on files that
//! stand for disks.
//!
//! ## The model
//! A disk has **one head** ([`SharedHead`]), shared by all users of the disk: verifiers ([`HardDisk`]) and a foreground
//! ([`SharedHead::serve`]). It serves requests one at a time in the order of their arrival, whatever their priority,
//! as a disk behind the `none` scheduler does. A request takes a fixed time to position the head plus a time in
//! proportion to its length ([`DiskTiming`]). There is no read-ahead, no cache, and no gain from neighbouring requests;
//! an unreadable range takes no longer than a readable one. A request that has begun cannot be recalled. Under these
//! assumptions a scrub costs the most, so a budget that holds here is not flattered.
//!
//! A **planted fault** ([`FaultyVerifier`]) is a run of sectors that cannot be read. Every verification that touches one
//! ends as [`VerifyOutcome::Unreadable`] with EIO, as a whole and every time, as a read of a real disk does; no other
//! verification is affected. Nothing heals, and nothing is silently corrupt.
//!
//! A fault belongs *below* the head: `HardDisk::new(Box::new(FaultyVerifier::new(verifier, bad)), head)`.

use crate::clock::now;
use crate::verify::{Verifier, VerifyCompletion};
use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
use scrubjay_core::units::{Nanos, SectorRange};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Service time of a request: `positioning` plus `per_mib` for each MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskTiming {
    /// Time to move the head and wait for the sector.
    pub positioning: Nanos,
    /// Time to transfer 1 MiB.
    pub per_mib: Nanos,
}

impl DiskTiming {
    /// A Hitachi Ultrastar 15K450: 3.70 ms + 11.07 ms/MiB, fitted within 5 % from 64 KiB to 16 MiB to the SCSI VERIFY
    /// times measured by Amvrosiadis et al. (DSN 2012, section IV-A; their artefact's `hitscsi_nocache.m`).
    pub const ULTRASTAR_15K450: DiskTiming = DiskTiming { positioning: Nanos(3_700_000), per_mib: Nanos(11_070_000) };

    /// Service time of a request for `range`.
    pub fn service(self, range: SectorRange) -> Nanos {
        // 2048 sectors are 1 MiB. The product fits because ranges are requests, not disks.
        let transfer = u128::from(self.per_mib.0) * u128::from(range.count()) / 2048;
        self.positioning + Nanos(transfer as u64)
    }
}

/// The one head of a disk. Clones are handles on the same head.
#[derive(Clone, Debug)]
pub struct SharedHead {
    timing: DiskTiming,
    /// When the last accepted request will be done.
    free_at: Arc<Mutex<Nanos>>,
}

impl SharedHead {
    /// A head at rest.
    pub fn new(timing: DiskTiming) -> SharedHead {
        SharedHead { timing, free_at: Arc::new(Mutex::new(Nanos::ZERO)) }
    }

    /// Does one request for `range`: waits for its turn and for its end. Returns its arrival and its completion, whose
    /// difference is its response time.
    pub fn serve(&self, range: SectorRange) -> (Nanos, Nanos) {
        let arrived = now();
        sleep_until(self.accept(arrived, range));
        (arrived, now())
    }

    /// Queues a request that arrives at `at` behind all others; returns when it will be done.
    fn accept(&self, at: Nanos, range: SectorRange) -> Nanos {
        // A thread that panicked with the lock held left a valid number behind.
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        *free_at = at.max(*free_at) + self.timing.service(range);
        *free_at
    }
}

/// A verifier with the timing of a disk with one head. Completions come in the order of the requests.
pub struct HardDisk {
    inner: Box<dyn Verifier>,
    head: SharedHead,
    /// Requests under the head or waiting for it, in the order of their arrival.
    requests: VecDeque<DelayedRequest>,
}

struct DelayedRequest {
    id: OpId,
    started: Nanos,
    due: Nanos,
    answer: Option<VerifyCompletion>,
}

impl HardDisk {
    /// Wraps `inner`, with a handle on the disk's head. `inner` should be faster than the head: if it takes longer,
    /// completions are late, but the head is not kept busy.
    pub fn new(inner: Box<dyn Verifier>, head: SharedHead) -> HardDisk {
        HardDisk { inner, head, requests: VecDeque::new() }
    }

    /// Takes one completion from the inner verifier and stores it with its request.
    fn fetch(&mut self, timeout: Nanos) {
        let Some(answer) = self.inner.wait(timeout) else { return };
        let request = self.requests.iter_mut().find(|request| request.id == answer.id && request.answer.is_none());
        request.expect("answers are to requests").answer = Some(answer);
    }
}

impl Verifier for HardDisk {
    fn submit(&mut self, id: OpId, range: SectorRange) {
        let started = now();
        let due = self.head.accept(started, range);
        self.requests.push_back(DelayedRequest { id, started, due, answer: None });
        self.inner.submit(id, range);
    }

    fn wait(&mut self, timeout: Nanos) -> Option<VerifyCompletion> {
        let deadline = now().saturating_add(timeout);
        while self.requests.front()?.answer.is_none() {
            let left = deadline.since(now());
            self.fetch(left);
            if left == Nanos::ZERO {
                break;
            }
        }
        let DelayedRequest { started, due, answer, .. } = *self.requests.front()?;
        sleep_until(due.min(deadline));
        let answer = answer.filter(|_| due <= now())?;
        self.requests.pop_front();
        Some(VerifyCompletion { started, finished: now(), ..answer })
    }
}

/// A verifier over a medium with unreadable sectors.
pub struct FaultyVerifier {
    inner: Box<dyn Verifier>,
    bad: Vec<SectorRange>,
    /// The verifications in flight that touch a bad sector.
    touched: Vec<OpId>,
}

impl FaultyVerifier {
    /// Wraps `inner`; every verification that touches a sector of `bad` finds it unreadable.
    pub fn new(inner: Box<dyn Verifier>, bad: Vec<SectorRange>) -> FaultyVerifier {
        FaultyVerifier { inner, bad, touched: Vec::new() }
    }
}

impl Verifier for FaultyVerifier {
    fn submit(&mut self, id: OpId, range: SectorRange) {
        if self.bad.iter().any(|bad| !bad.intersection(range).is_empty()) {
            self.touched.push(id);
        }
        self.inner.submit(id, range);
    }

    fn wait(&mut self, timeout: Nanos) -> Option<VerifyCompletion> {
        let mut answer = self.inner.wait(timeout)?;
        if let Some(index) = self.touched.iter().position(|id| *id == answer.id) {
            self.touched.swap_remove(index);
            answer.outcome = VerifyOutcome::Unreadable(Cause::Errno(libc::EIO));
        }
        Some(answer)
    }
}

/// Sleeps until `CLOCK_MONOTONIC` shows at least `time`.
fn sleep_until(time: Nanos) {
    loop {
        let left = time.since(now());
        if left == Nanos::ZERO {
            return;
        }
        thread::sleep(Duration::from_nanos(left.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completes every request at once as clean, the last one first.
    #[derive(Default)]
    struct Instant(Vec<VerifyCompletion>);

    impl Verifier for Instant {
        fn submit(&mut self, id: OpId, range: SectorRange) {
            let at = now();
            self.0.push(VerifyCompletion {
                id,
                outcome: VerifyOutcome::Clean,
                started: at,
                finished: at,
                counted: range.count(),
            });
        }

        fn wait(&mut self, _timeout: Nanos) -> Option<VerifyCompletion> {
            self.0.pop()
        }
    }

    /// 100 us + 1 ms/MiB: fast enough for tests, slow compared with the clock.
    const QUICK: DiskTiming = DiskTiming { positioning: Nanos(100_000), per_mib: Nanos(1_000_000) };
    const SOON: Nanos = Nanos::from_secs(60);

    #[test]
    fn the_published_disk_takes_its_published_times() {
        let millis = |bytes: u64| DiskTiming::ULTRASTAR_15K450.service(SectorRange::at(0, bytes / 512)).as_millis_f64();
        for (kib, measured) in [(64, 4.61), (256, 6.72), (1024, 14.75), (4096, 47.54), (16384, 181.2)] {
            let error = (millis(kib << 10) - measured).abs() / measured;
            assert!(error < 0.06, "{kib} KiB: {error}");
        }
    }

    #[test]
    fn the_head_serves_in_turn() {
        let head = SharedHead::new(QUICK);
        let range = SectorRange::at(0, 2048);
        assert_eq!(head.accept(Nanos(1000), range), Nanos(1_101_000));
        assert_eq!(head.clone().accept(Nanos(2000), range), Nanos(2_201_000), "behind the first, on another handle");
        assert_eq!(head.accept(Nanos(9_000_000), range), Nanos(10_100_000), "after a rest");
    }

    #[test]
    fn answers_come_in_turn_and_not_before_their_time() {
        let head = SharedHead::new(QUICK);
        let mut disk = HardDisk::new(Box::new(Instant::default()), head.clone());
        for id in 0..3 {
            disk.submit(OpId(id), SectorRange::at(0, 2048));
        }
        let (arrived, done) = head.serve(SectorRange::at(0, 8));
        assert!(done - arrived >= QUICK.service(SectorRange::at(0, 8)));
        for id in 0..3 {
            let answer = disk.wait(SOON).unwrap();
            assert_eq!((answer.id, answer.counted), (OpId(id), 2048));
            assert!(answer.finished - answer.started >= Nanos(1_100_000 * (id + 1)));
            assert!(answer.finished >= Nanos(1_100_000));
        }
        assert_eq!(disk.wait(SOON), None);
    }

    #[test]
    fn a_wait_gives_up_before_the_head_is_done() {
        let slow = DiskTiming { positioning: Nanos::from_secs(3600), per_mib: Nanos::ZERO };
        let mut disk = HardDisk::new(Box::new(Instant::default()), SharedHead::new(slow));
        disk.submit(OpId(1), SectorRange::at(0, 8));
        assert_eq!(disk.wait(Nanos::ZERO), None);
        assert_eq!(disk.wait(Nanos::from_millis(1)), None);
    }

    #[test]
    fn only_ranges_that_touch_a_fault_are_unreadable() {
        let bad = vec![SectorRange::at(100, 2), SectorRange::at(300, 1)];
        let mut disk = FaultyVerifier::new(Box::new(Instant::default()), bad);
        let mut outcome = |start, count| {
            disk.submit(OpId(start), SectorRange::at(start, count));
            disk.wait(Nanos::ZERO).unwrap().outcome
        };
        let eio = VerifyOutcome::Unreadable(Cause::Errno(5));
        assert_eq!(outcome(92, 8), VerifyOutcome::Clean);
        assert_eq!(outcome(93, 8), eio);
        assert_eq!(outcome(101, 1), eio);
        assert_eq!(outcome(102, 100), VerifyOutcome::Clean);
        assert_eq!(outcome(0, 1000), eio);
        assert_eq!(outcome(301, 8), VerifyOutcome::Clean);
    }

    #[test]
    fn a_fault_affects_only_its_own_verification_of_several_in_flight() {
        let mut disk = FaultyVerifier::new(Box::new(Instant::default()), vec![SectorRange::at(8, 1)]);
        for id in 0..3 {
            disk.submit(OpId(id), SectorRange::at(id * 8, 8));
        }
        while let Some(answer) = disk.wait(Nanos::ZERO) {
            assert_eq!(answer.outcome == VerifyOutcome::Clean, answer.id != OpId(1));
        }
    }
}
