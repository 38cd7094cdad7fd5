//! The bench at which a prober works: batches of requests out, the times at which they were done in.
//!
//! A prober is written as it is thought, step after step: an `async` function that asks its [`ProbeIo`] to run a batch and
//! waits for the answers. [`Prober`] makes a pure machine of it: a pump takes each batch, runs it on a disk (a real one or
//! a model), and hands the times back. Nothing here knows a clock or a disk.

use crate::units::Nanos;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What is done to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeAccess {
    /// Read past all caches of the host.
    Read,
    /// Write what lies there: the pump reads it before the batch begins, which is not timed (Denehy et al. 2004,
    /// section 2.3.4: safe writes).
    Rewrite,
}

/// One request of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRequest {
    /// When it is issued, counted from the start of its batch.
    pub at: Nanos,
    /// Where on the disk, in bytes: a multiple of [`ProbedDevice::block`].
    pub offset: u64,
    /// How long, in bytes: a multiple of [`ProbedDevice::block`], not zero.
    pub len: u64,
    /// Read or rewritten.
    pub kind: ProbeAccess,
}

impl ProbeRequest {
    /// A read at the start of the batch.
    pub fn read(offset: u64, len: u64) -> ProbeRequest {
        ProbeRequest { at: Nanos::ZERO, offset, len, kind: ProbeAccess::Read }
    }
}

/// Requests that are measured together. A pump issues those of one time together, and ends the batch when all are done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeBatch {
    /// By the time at which they are issued.
    pub requests: Vec<ProbeRequest>,
}

/// How one request went; both times count from the start of its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTiming {
    /// When it was issued.
    pub issued: Nanos,
    /// When it was done.
    pub done: Nanos,
    /// It came back with an error: its time says nothing.
    pub is_failed: bool,
}

impl RequestTiming {
    /// How long it took.
    pub fn response(&self) -> Nanos {
        self.done.since(self.issued)
    }
}

/// How a batch went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// In the order of its requests.
    pub timings: Vec<RequestTiming>,
    /// Somebody else used the disk meanwhile, as far as the pump can see.
    pub is_disturbed: bool,
}

impl Answers {
    /// From the start to the last completion.
    pub fn makespan(&self) -> Nanos {
        self.timings.iter().map(|timing| timing.done).max().unwrap_or_default()
    }
}

/// The disk, as far as a prober must know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbedDevice {
    /// Its size.
    pub bytes: u64,
    /// The smallest request, and the unit of all places: a power of two, 512 at least.
    pub block: u64,
    /// Requests that it gets at a time; [`usize::MAX`] where no limit is known.
    pub depth: usize,
}

/// There is nothing left to spend, or somebody said stop: what is known by now is what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent;

/// What may be spent on a probe; zero of anything is a probe without any batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeBudget {
    /// Requests.
    pub requests: u64,
    /// Time at the disk: the sum of the makespans.
    pub time: Nanos,
}

impl ProbeBudget {
    /// As much as it takes.
    pub const UNLIMITED: ProbeBudget = ProbeBudget { requests: u64::MAX, time: Nanos::MAX };
}

/// The prober's side: what it asks. A clone is the same bench.
#[derive(Clone, Debug)]
pub struct ProbeIo<K> {
    shared: Rc<RefCell<ProbeIoShared<K>>>,
    device: ProbedDevice,
}

#[derive(Debug)]
struct ProbeIoShared<K> {
    asked: Option<ProbeBatch>,
    answered: Option<Answers>,
    spent: ProbeBudget,
    budget: ProbeBudget,
    is_stopped: bool,
    known: K,
}

impl<K> ProbeIo<K> {
    /// The disk.
    pub fn device(&self) -> ProbedDevice {
        self.device
    }

    /// Has a batch run. An empty one takes no time.
    ///
    /// # Errors
    /// [`Spent`], when the budget does not allow it or a stop was asked for. It is not run then.
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
            assert!(shared.asked.is_none() && shared.answered.is_none(), "one batch at a time");
            shared.asked = Some(ProbeBatch { requests });
        }
        let answers = std::future::poll_fn(|_| match self.shared.borrow_mut().answered.take() {
            Some(answers) => Poll::Ready(answers),
            None => Poll::Pending,
        });
        Ok(answers.await)
    }

    /// Writes down what is known by now.
    pub fn note(&self, note: impl FnOnce(&mut K)) {
        note(&mut self.shared.borrow_mut().known);
    }

    /// Requests that were made by now.
    pub fn requests(&self) -> u64 {
        self.shared.borrow().spent.requests
    }
}

/// A prober as a pure machine. `K` is what it knows, which grows while it runs and is what it ends with.
pub struct Prober<K> {
    bench: ProbeIo<K>,
    task: Pin<Box<dyn Future<Output = ()>>>,
    is_done: bool,
}

impl<K: Clone> Prober<K> {
    /// Runs `steps` on a bench of this device, beginning with what is known already (nothing, as a rule).
    pub fn new<F>(device: ProbedDevice, budget: ProbeBudget, known: K, steps: impl FnOnce(ProbeIo<K>) -> F) -> Prober<K>
    where
        F: Future<Output = Result<(), Spent>> + 'static,
    {
        let spent = ProbeBudget { requests: 0, time: Nanos::ZERO };
        let shared = ProbeIoShared { asked: None, answered: None, spent, budget, is_stopped: false, known };
        let bench = ProbeIo { shared: Rc::new(RefCell::new(shared)), device };
        let steps = steps(bench.clone());
        let task = Box::pin(async move {
            // Spent or not: what is known is in the notes.
            let _ = steps.await;
        });
        let mut prober = Prober { bench, task, is_done: false };
        prober.run();
        prober
    }

    /// The next batch to run, if there is one that was not taken yet.
    pub fn poll_batch(&mut self) -> Option<ProbeBatch> {
        self.bench.shared.borrow_mut().asked.take()
    }

    /// How the batch that was taken last went.
    ///
    /// # Panics
    /// When there is no answer for each request.
    pub fn handle(&mut self, answers: Answers) {
        {
            let mut shared = self.bench.shared.borrow_mut();
            shared.spent.requests += answers.timings.len() as u64;
            shared.spent.time = shared.spent.time.saturating_add(answers.makespan());
            shared.answered = Some(answers);
        }
        self.run();
    }

    /// No batch is asked for any more.
    pub fn stop(&mut self) {
        self.bench.shared.borrow_mut().is_stopped = true;
    }

    /// Is there nothing more to be found out, or nothing left to spend?
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// What is known by now.
    pub fn known(&self) -> K {
        self.bench.shared.borrow().known.clone()
    }

    /// What was spent by now.
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
    fn a_stop_leaves_what_is_known() {
        let mut prober = counting(ProbeBudget::UNLIMITED);
        let batch = prober.poll_batch().expect("the first");
        assert_eq!(prober.poll_batch(), None, "one at a time");
        prober.stop();
        let timing = RequestTiming { issued: Nanos::ZERO, done: Nanos(1), is_failed: false };
        prober.handle(Answers { timings: vec![timing; batch.requests.len()], is_disturbed: false });
        assert_eq!((prober.poll_batch(), prober.is_done(), prober.known()), (None, true, 1));
    }
}
