//! The verifier of a btrfs: a thread of its own, because btrfs's own scrub blocks for as long as a device extent takes.

use super::findings::PoolLog;
use super::ioctl::{FsHandle, block_signals};
use super::worker::{Worker, WorkerSetup, WorkerSignals};
use crate::clock;
use crate::ioprio;
use crate::verify::{Verifier, VerifyCompletion};
use scrubjay_core::finding::Finding;
use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::{Nanos, SectorRange};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Handle on the thread that verifies.
pub(super) struct PoolVerifier {
    fs: FsHandle,
    devices: Vec<u64>,
    signals: Arc<WorkerSignals>,
    orders: Option<Sender<(OpId, SectorRange)>>,
    answers: Receiver<VerifyCompletion>,
    at_work: Option<(OpId, Nanos)>,
    log: PoolLog,
    thread: Option<JoinHandle<()>>,
}

impl PoolVerifier {
    /// Starts the thread. `fs` is used to cancel a scrub that the thread has begun.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(fs: FsHandle, setup: WorkerSetup) -> io::Result<PoolVerifier> {
        let log = setup.log.clone();
        let signals = Arc::clone(&setup.signals);
        let devices = setup.space.devices().iter().map(|(device, _)| *device).collect();
        let (orders, ordered) = mpsc::channel::<(OpId, SectorRange)>();
        let (answer, answers) = mpsc::channel();
        let thread = thread::Builder::new().name("btrfs".to_owned()).spawn(move || {
            // The kernel gives all its I/O this class, a btrfs scrub's reads included. The session reports a refusal.
            let _ = ioprio::enter_idle_class();
            // Since Linux 6.19 a signal to the thread cancels the scrub that it is in. Other threads take signals.
            block_signals();
            let mut worker = Worker::new(setup);
            for (id, range) in ordered {
                let (started, before) = (clock::now(), worker.sectors_read());
                let outcome = worker.verify(range);
                let counted = worker.sectors_read() - before;
                let ended = VerifyCompletion { id, outcome, started, finished: clock::now(), counted };
                if answer.send(ended).is_err() {
                    break;
                }
            }
            worker.end();
        })?;
        Ok(PoolVerifier {
            fs,
            devices,
            signals,
            orders: Some(orders),
            answers,
            at_work: None,
            log,
            thread: Some(thread),
        })
    }

    /// Cancels a btrfs scrub of this thread. All scrubs of a file system are cancelled together, so if another one
    /// runs on another device, this one is left to end by itself.
    fn cancel(&self) {
        if self.signals.is_in_kernel.load(Ordering::SeqCst) {
            let running = self.devices.iter().filter(|device| self.fs.is_scrubbing(**device).unwrap_or(true)).count();
            if running <= 1 {
                let _ = self.fs.cancel_scrubs();
            }
        }
    }
}

impl Verifier for PoolVerifier {
    fn submit(&mut self, id: OpId, range: SectorRange) {
        self.at_work = Some((id, clock::now()));
        if let Some(orders) = &self.orders {
            let _ = orders.send((id, range)); // `wait` reports a thread that is gone
        }
    }

    fn wait(&mut self, timeout: Nanos) -> Option<VerifyCompletion> {
        let (id, started) = self.at_work?;
        if self.signals.is_stopped.load(Ordering::SeqCst) {
            self.cancel(); // it may have entered the kernel only now
        }
        match self.answers.recv_timeout(Duration::from_nanos(timeout.0)) {
            Ok(answer) => {
                self.at_work = None;
                Some(answer)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                self.at_work = None;
                let finished = clock::now();
                Some(VerifyCompletion { id, outcome: VerifyOutcome::Gone, started, finished, counted: 0 })
            }
        }
    }

    fn findings(&mut self, _is_last: bool) -> Vec<Finding> {
        self.log.take()
    }

    fn stop(&mut self) {
        self.signals.is_stopped.store(true, Ordering::SeqCst);
        self.cancel();
    }
}

impl Drop for PoolVerifier {
    fn drop(&mut self) {
        self.signals.is_stopped.store(true, Ordering::SeqCst);
        self.orders = None;
        if self.at_work.is_some() {
            self.cancel();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
