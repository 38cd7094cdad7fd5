//! The I/O of a prober: batches of requests go out, and the times at which they were done come back.
//!
//! A prober is written step by step, as an `async` function that asks its [`ProbeIo`] to run a batch and waits for the
//! answers. [`Prober`] makes a pure machine of it: a pump takes each batch, runs it on a disk (a real one or a model),
//! and returns the times. Nothing here has access to a clock or a disk.

use crate::units::Nanos;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What a request does to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeAccess {
    /// Read past all caches of the host.
    Read,
    /// Write the data that lie there already: the pump reads them before the batch begins, which is not timed (Denehy
    /// et al. 2004, section 2.3.4: safe writes).
    Rewrite,
}

/// One request of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRequest {
    /// When it is issued, relative to the start of its batch.
    pub at: Nanos,
    /// Its first byte: a multiple of [`ProbedDevice::block`].
    pub offset: u64,
    /// Its length in bytes: a multiple of [`ProbedDevice::block`], not zero.
    pub len: u64,
    /// Read or rewrite.
    pub kind: ProbeAccess,
}

impl ProbeRequest {
    /// A read at the start of the batch.
    pub fn read(offset: u64, len: u64) -> ProbeRequest {
        ProbeRequest { at: Nanos::ZERO, offset, len, kind: ProbeAccess::Read }
    }
}

/// Requests that are measured together. A pump issues those with the same time together, and ends the batch when all are done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeBatch {
    /// The requests, in the order of the times at which they are issued.
    pub requests: Vec<ProbeRequest>,
}

/// The times of one request, relative to the start of its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTiming {
    /// When it was issued.
    pub issued: Nanos,
    /// When it was done.
    pub done: Nanos,
    /// It failed, so its times mean nothing.
    pub is_failed: bool,
}

impl RequestTiming {
    /// The response time.
    pub fn response(&self) -> Nanos {
        self.done.since(self.issued)
    }
}

/// The answers to the requests of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// The times, in the order of the batch's requests.
    pub timings: Vec<RequestTiming>,
    /// Another program used the disk meanwhile, as far as the pump can see.
    pub is_disturbed: bool,
}

impl Answers {
    /// The time from the start to the last completion.
    pub fn makespan(&self) -> Nanos {
        self.timings.iter().map(|timing| timing.done).max().unwrap_or_default()
    }
}

/// The properties of the disk that a prober must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbedDevice {
    /// Its size in bytes.
    pub bytes: u64,
    /// The smallest request, and the unit of all places, in bytes: a power of two, at least 512.
    pub block: u64,
    /// Requests that can be at the disk at the same time; [`usize::MAX`] where no limit is known.
    pub depth: usize,
}

/// The budget is spent, or a stop was asked for: the probe ends with what is known by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent;

/// The budget of a probe; with zero requests or time no batch is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeBudget {
    /// The number of requests.
    pub requests: u64,
    /// The time at the disk: the sum of the makespans.
    pub time: Nanos,
}

impl ProbeBudget {
    /// No limit.
    pub const UNLIMITED: ProbeBudget = ProbeBudget { requests: u64::MAX, time: Nanos::MAX };
}

/// The prober's side of the I/O. A clone refers to the same I/O.
#[derive(Clone, Debug)]
pub struct ProbeIo<K> {
    shared: Rc<RefCell<ProbeIoShared<K>>>,
    device: ProbedDevice,
}

#[derive(Debug)]
struct ProbeIoShared<K> {
    pending_batch: Option<ProbeBatch>,
    pending_answers: Option<Answers>,
    spent: ProbeBudget,
    budget: ProbeBudget,
    is_stopped: bool,
    known: K,
}

impl<K> ProbeIo<K> {
    /// The disk being probed.
    pub fn device(&self) -> ProbedDevice {
        self.device
    }

    /// Runs a batch. An empty one takes no time.
    ///
    /// # Errors
    /// [`Spent`], when the budget does not allow the batch or a stop was asked for; the batch is not run then.
    pub async fn run(&self, requests: Vec<ProbeRequest>) -> Result<Answers, Spent> {
        if requests.is_empty() {
            return Ok(Answers::default());
        }
        {
            let mut shared = self.shared.borrow_mut();
            let after = shared.spent.requests + requests.len() as u64;
            if shared.is_stopped || after > shared.budget.requests || shared.spent.time >= shared.budget.time {
                return Err(Spent);
            }
            assert!(shared.pending_batch.is_none() && shared.pending_answers.is_none(), "one batch at a time");
            shared.pending_batch = Some(ProbeBatch { requests });
        }
        let answers = std::future::poll_fn(|_| match self.shared.borrow_mut().pending_answers.take() {
            Some(answers) => Poll::Ready(answers),
            None => Poll::Pending,
        });
        Ok(answers.await)
    }

    /// Updates what is known.
    pub fn note(&self, note: impl FnOnce(&mut K)) {
        note(&mut self.shared.borrow_mut().known);
    }

    /// The number of requests made so far.
    pub fn requests(&self) -> u64 {
        self.shared.borrow().spent.requests
    }
}

/// A prober as a pure machine. `K` is its knowledge, which grows while it runs, and is its result.
pub struct Prober<K> {
    bench: ProbeIo<K>,
    task: Pin<Box<dyn Future<Output = ()>>>,
    is_done: bool,
}

impl<K: Clone> Prober<K> {
    /// Runs `steps` on this device, beginning with what is `known` already (usually nothing).
    pub fn new<F>(device: ProbedDevice, budget: ProbeBudget, known: K, steps: impl FnOnce(ProbeIo<K>) -> F) -> Prober<K>
    where
        F: Future<Output = Result<(), Spent>> + 'static,
    {
        let spent = ProbeBudget { requests: 0, time: Nanos::ZERO };
        let shared =
            ProbeIoShared { pending_batch: None, pending_answers: None, spent, budget, is_stopped: false, known };
        let bench = ProbeIo { shared: Rc::new(RefCell::new(shared)), device };
        let steps = steps(bench.clone());
        let task = Box::pin(async move {
            // Whether the budget is spent or not, the result is in `known`.
            let _ = steps.await;
        });
        let mut prober = Prober { bench, task, is_done: false };
        prober.run();
        prober
    }

    /// The next batch to run, unless it has been taken already.
    pub fn poll_batch(&mut self) -> Option<ProbeBatch> {
        self.bench.shared.borrow_mut().pending_batch.take()
    }

    /// Takes the answers to the last batch.
    ///
    /// # Panics
    /// When there is not one answer per request.
    pub fn handle(&mut self, answers: Answers) {
        {
            let mut shared = self.bench.shared.borrow_mut();
            shared.spent.requests += answers.timings.len() as u64;
            shared.spent.time = shared.spent.time.saturating_add(answers.makespan());
            shared.pending_answers = Some(answers);
        }
        self.run();
    }

    /// Stops the prober: it will not ask for another batch.
    pub fn stop(&mut self) {
        self.bench.shared.borrow_mut().is_stopped = true;
    }

    /// Whether the prober has ended, because all is known or nothing is left to spend.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// What is known so far.
    pub fn known(&self) -> K {
        self.bench.shared.borrow().known.clone()
    }

    /// What was spent so far.
    pub fn spent(&self) -> ProbeBudget {
        self.bench.shared.borrow().spent
    }

    fn run(&mut self) {
        if !self.is_done {
            let ended = self.task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            self.is_done = ended.is_ready();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: ProbedDevice = ProbedDevice { bytes: 1 << 20, block: 512, depth: usize::MAX };

    fn counting(budget: ProbeBudget) -> Prober<u32> {
        Prober::new(DEVICE, budget, 0, |bench| async move {
            for count in 1..=10 {
                let answers = bench.run(vec![ProbeRequest::read(0, 512); 4]).await?;
                assert_eq!(answers.timings.len(), 4);
                bench.note(|known| *known = count);
            }
            Ok(())
        })
    }

    fn drive(prober: &mut Prober<u32>) -> usize {
        let mut batches = 0;
        while let Some(batch) = prober.poll_batch() {
            let timing = RequestTiming { issued: Nanos::ZERO, done: Nanos(100), is_failed: false };
            prober.handle(Answers { timings: vec![timing; batch.requests.len()], is_disturbed: false });
            batches += 1;
        }
        batches
    }

    #[test]
    fn steps_run_to_their_end_or_as_far_as_the_budget_goes() {
        let mut whole = counting(ProbeBudget::UNLIMITED);
        assert_eq!((drive(&mut whole), whole.is_done(), whole.known(), whole.spent().requests), (10, true, 10, 40));
        assert_eq!(whole.spent().time, Nanos(1000));
        let mut short = counting(ProbeBudget { requests: 14, ..ProbeBudget::UNLIMITED });
        assert_eq!((drive(&mut short), short.is_done(), short.known()), (3, true, 3), "never more than allowed");
        let mut late = counting(ProbeBudget { time: Nanos(150), ..ProbeBudget::UNLIMITED });
        assert_eq!((drive(&mut late), late.known()), (2, 2));
    }

    #[test]
    fn a_stop_keeps_what_is_known_so_far() {
        let mut prober = counting(ProbeBudget::UNLIMITED);
        let batch = prober.poll_batch().expect("the first");
        assert_eq!(prober.poll_batch(), None, "one at a time");
        prober.stop();
        let timing = RequestTiming { issued: Nanos::ZERO, done: Nanos(1), is_failed: false };
        prober.handle(Answers { timings: vec![timing; batch.requests.len()], is_disturbed: false });
        assert_eq!((prober.poll_batch(), prober.is_done(), prober.known()), (None, true, 1));
    }
}
