//! The sampler: runs bursts, repeats those that other programs disturbed, and draws places by its seed.

use super::confidence::{ProbeEvidence, ProbeStatement, confidence, weigh};
use crate::probe::io::{ProbeIo, ProbeRequest, ProbedDevice, Spent};
use crate::probe::known::{Claim, KnownArray, ProbeFinding, ProbeStage, Unmeasurable};
use crate::rng::Rng;

/// Repetitions of a disturbed batch, at most. Then its times are taken as they are: the disturbance is permanent, and
/// all statistics here tolerate some outliers.
const REPEATS_MAX: usize = 3;
/// Batches in a row that are disturbed after all repetitions, from which on the disturbance counts as permanent: none
/// is repeated until one is undisturbed.
const ALWAYS_MIN: usize = 4;
/// Batches in a row with mostly failed requests, after which the device counts as broken.
const FAILURES_MAX: usize = 8;

/// Why a probe ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    /// The budget is spent, or a stop was asked for.
    Spent,
    /// The array cannot be measured.
    Unmeasurable(Unmeasurable),
}

impl From<Spent> for EarlyEnd {
    fn from(_: Spent) -> EarlyEnd {
        EarlyEnd::Spent
    }
}

/// Runs bursts on the device.
#[derive(Debug)]
pub struct Sampler {
    bench: ProbeIo<KnownArray>,
    failures: usize,
    /// Batches in a row that were taken although they were disturbed.
    disturbed: usize,
    /// The evidence for what is known.
    evidence: Vec<ProbeEvidence>,
    /// The generator of all random places.
    pub rng: Rng,
}

impl Sampler {
    /// A sampler with its I/O and its seed.
    pub fn new(bench: ProbeIo<KnownArray>, seed: u64) -> Sampler {
        Sampler { bench, failures: 0, disturbed: 0, evidence: Vec::new(), rng: Rng::new(seed) }
    }

    /// The device.
    pub fn device(&self) -> ProbedDevice {
        self.bench.device()
    }

    /// Updates what is known. The confidences follow from the evidence, at any time: a pump may show what is known so far.
    pub fn note(&self, note: impl FnOnce(&mut KnownArray)) {
        self.bench.note(|known| {
            note(known);
            weigh(known, &self.evidence);
        });
    }

    /// Adds evidence.
    pub fn observe(&mut self, evidence: ProbeEvidence) {
        self.evidence.push(evidence);
        self.note(|_| ());
    }

    /// Adds a finding that is no surer than the statement that it follows from, nor than `own`.
    pub fn report(&mut self, finding: ProbeFinding, follows_from: Option<ProbeStatement>, own: f64) {
        self.evidence.push(ProbeEvidence::Finding(follows_from, own));
        self.note(|known| known.findings.push(Claim::new(finding, own)));
    }

    /// Takes back all statements about the array, and the evidence for them. Returns the end of the probe, for this reason.
    pub fn take_back(&mut self, why: Unmeasurable) -> EarlyEnd {
        self.evidence.retain(|evidence| *evidence == ProbeEvidence::QueueDepths);
        self.note(|known| {
            let device_class = known.device_class.take();
            *known = KnownArray { stage: known.stage, device_class, ..KnownArray::default() };
        });
        EarlyEnd::Unmeasurable(why)
    }

    /// The confidence of a statement, by the evidence so far.
    pub fn confidence(&self, of: ProbeStatement) -> f64 {
        confidence(of, &self.evidence)
    }

    /// Whether `condition` holds for what is known.
    pub fn is_known(&self, condition: impl FnOnce(&KnownArray) -> bool) -> bool {
        let mut holds = false;
        self.bench.note(|known| holds = condition(known));
        holds
    }

    /// Begins a step.
    pub fn begin(&self, stage: ProbeStage) {
        self.note(|known| known.stage = stage);
    }

    /// Runs a burst that `draw` draws: the time of each request from the burst's start, in nanoseconds; `None` if it failed.
    /// A disturbed burst is drawn again, at other places: those of the first attempt are in caches, and heads are there.
    ///
    /// # Errors
    /// When the budget is spent, or the device answers with errors only.
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
    /// order. Even parts make bursts alike; random places within them avoid synchronous rotation.
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

    /// Random places in one random part of `parts` equal parts of the device.
    pub fn random_places(&mut self, parts: u64, count: usize) -> Vec<u64> {
        let part = self.rng.below(parts);
        self.random_places_in(part, parts, count)
    }

    /// Random places in part `part` of `parts` equal parts of the device.
    pub fn random_places_in(&mut self, part: u64, parts: u64, count: usize) -> Vec<u64> {
        let blocks = self.device().bytes / self.device().block;
        let (from, to) = (part * blocks / parts, (part + 1) * blocks / parts);
        (0..count).map(|_| (from + self.rng.below((to - from).max(1))) * self.device().block).collect()
    }

    /// A read of one block, which never crosses from one chunk into the next.
    pub fn read(&self, offset: u64) -> ProbeRequest {
        ProbeRequest::read(offset, self.device().block)
    }
}
