//! The sampler: runs bursts on the bench, again where somebody disturbed them, and draws places by its seed.

use crate::probe::io::{ProbeIo, ProbeRequest, ProbedDevice, Spent};
use crate::probe::known::{KnownArray, ProbeStage, Unmeasurable};
use crate::rng::Rng;

/// A disturbed batch is run again so many times; after that it is taken as it is: somebody is always there, and every
/// statistic here bears some strangers.
const REPEATS_MAX: usize = 3;
/// After so many batches that strangers disturbed however often they were run again, they are always there: none is run again
/// until one is undisturbed by itself.
const ALWAYS_MIN: usize = 4;
/// So many batches one after the other, most of which failed, are a device that does not answer.
const FAILURES_MAX: usize = 8;

/// Why a probe ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    /// Nothing left to spend.
    Spent,
    /// It cannot be told.
    Unmeasurable(Unmeasurable),
}

impl From<Spent> for EarlyEnd {
    fn from(_: Spent) -> EarlyEnd {
        EarlyEnd::Spent
    }
}

/// Runs bursts.
#[derive(Debug)]
pub struct Sampler {
    bench: ProbeIo<KnownArray>,
    failures: usize,
    /// Batches in a row that were taken although somebody disturbed them.
    disturbed: usize,
    /// Of all places.
    pub rng: Rng,
}

impl Sampler {
    /// On a bench, with chance from a seed.
    pub fn new(bench: ProbeIo<KnownArray>, seed: u64) -> Sampler {
        Sampler { bench, failures: 0, disturbed: 0, rng: Rng::new(seed) }
    }

    /// The device.
    pub fn device(&self) -> ProbedDevice {
        self.bench.device()
    }

    /// Writes down what is known by now.
    pub fn note(&self, note: impl FnOnce(&mut KnownArray)) {
        self.bench.note(note);
    }

    /// Is it so, by what is known?
    pub fn is_known(&self, is_so: impl FnOnce(&KnownArray) -> bool) -> bool {
        let mut so = false;
        self.note(|known| so = is_so(known));
        so
    }

    /// What is being found out from now on.
    pub fn begin(&self, stage: ProbeStage) {
        self.note(|known| known.stage = stage);
    }

    /// Runs a burst that is drawn: the time at which each request was done, in nanoseconds from its start. One that failed
    /// has none. Where somebody disturbed it, another one is drawn: the places of this one lie in caches now, and heads are there.
    ///
    /// # Errors
    /// When nothing is left to spend, or the device answers with errors only.
    pub async fn run(
        &mut self,
        mut draw: impl FnMut(&mut Sampler) -> Vec<ProbeRequest>,
    ) -> Result<Vec<Option<f64>>, EarlyEnd> {
        for attempt in 0.. {
            let requests = draw(self);
            let answers = self.bench.run(requests.clone()).await?;
            let failed = answers.timings.iter().filter(|timing| timing.is_failed).count();
            if failed * 2 > requests.len() {
                self.failures += 1;
                if self.failures >= FAILURES_MAX {
                    return Err(EarlyEnd::Unmeasurable(Unmeasurable::Errors));
                }
            } else {
                self.failures = 0;
            }
            let is_good = !answers.is_disturbed && failed == 0;
            let repeats_max = if self.disturbed >= ALWAYS_MIN { 0 } else { REPEATS_MAX };
            if is_good || attempt >= repeats_max {
                self.disturbed = if answers.is_disturbed { self.disturbed + 1 } else { 0 };
                let done =
                    |timing: &crate::probe::io::RequestTiming| (!timing.is_failed).then_some(timing.done.0 as f64);
                return Ok(answers.timings.iter().map(done).collect());
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Places at this offset from multiples of `stride`, one in each of `count` equal parts of the device, in random
    /// order. Even parts make bursts alike; random places within them keep rotations apart.
    pub fn places(&mut self, stride: u64, offset: u64, count: usize) -> Vec<u64> {
        let ProbedDevice { bytes, block, .. } = self.device();
        let segments = (bytes - block - offset) / stride + 1;
        let mut places: Vec<u64> = (0..count as u64)
            .map(|part| {
                let (from, to) = (part * segments / count as u64, (part + 1) * segments / count as u64);
                (from + self.rng.below((to - from).max(1))) * stride + offset
            })
            .collect();
        for i in (1..places.len()).rev() {
            places.swap(i, self.rng.below(i as u64 + 1) as usize);
        }
        places
    }

    /// Random places in one of `parts` equal parts of the device, drawn at random.
    pub fn anywhere(&mut self, parts: u64, count: usize) -> Vec<u64> {
        let part = self.rng.below(parts);
        self.within(part, parts, count)
    }

    /// Random places in this one of `parts` equal parts of the device.
    pub fn within(&mut self, part: u64, parts: u64, count: usize) -> Vec<u64> {
        let blocks = self.device().bytes / self.device().block;
        let (from, to) = (part * blocks / parts, (part + 1) * blocks / parts);
        (0..count).map(|_| (from + self.rng.below((to - from).max(1))) * self.device().block).collect()
    }

    /// A read of one block: no burst ever crosses from one chunk into the next by itself.
    pub fn read(&self, offset: u64) -> ProbeRequest {
        ProbeRequest::read(offset, self.device().block)
    }
}
