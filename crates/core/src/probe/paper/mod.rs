//! Shear as published: the four steps of Denehy, Bent, Popovici, Arpaci-Dusseau & Arpaci-Dusseau, "Deconstructing Storage
//! Arrays" (TR 1506, Wisconsin, 2004), section 2.3.
//!
//! | step | one trial | decided by |
//! |---|---|---|
//! | 1 [`pattern`] | the same place of N random segments of an assumed size | divisor of the slowest cluster's sizes |
//! | 2 [`boundary`] | a place of N random patterns, the block before it of N others | the faster of two clusters |
//! | 3 [`layout`] | a chunk of N random patterns, another chunk of N others | the slower of two clusters |
//! | 4 [`redundancy`], [`level`] | N random reads, N random writes | their ratio, among the known layouts |
//!
//! Each trial is done R times; what counts is the mean time until all its requests are done. That makes the method slow, with
//! hundreds of thousands of requests, but it assumes only that reads of one disk take longer than those of two.
//!
//! How the members serve requests ([`KnownArray::device_class`]) is not determined: the published method knows disks only. A
//! lost member shows in step 3, where its chunks are slow with every other one; the paper uses step 2 (its Figure 19).

pub mod boundary;
pub mod cluster;
pub mod cost;
pub mod layout;
pub mod level;
pub mod pattern;
pub mod redundancy;
pub mod trial;

pub use cost::StepCost;
pub use trial::{Halt, ScanPoint, TrialParameters, WriteGrowth};

use super::io::{ProbeBudget, ProbeIo, ProbedDevice, Prober, Spent};
use super::known::{Claim, KnownArray, ProbeFinding, ProbeStage, Unmeasurable};
use crate::rng::Rng;
use boundary::Boundaries;
use layout::Chunks;

/// The factor from which a class counts as slower or faster than the median: 10 %, three times the variation of ten trials.
const ODD_FACTOR: f64 = 1.1;

/// The prober that takes all four steps. Its confidence is the silhouette of the deciding cluster, or the share of
/// points that agree with the decision: see each step.
///
/// # Panics
/// When the parameters do not fit each other or the device: a block must be whole device blocks, a step whole blocks,
/// and there must be at least one request and one repeat.
pub fn paper(device: ProbedDevice, parameters: TrialParameters, budget: ProbeBudget) -> Prober<KnownArray> {
    let TrialParameters { block_bytes, step_bytes, requests, repeats, .. } = parameters;
    assert!(block_bytes > 0 && block_bytes.is_multiple_of(device.block), "a block of {block_bytes} bytes");
    assert!(step_bytes > 0 && step_bytes.is_multiple_of(block_bytes), "a step of {step_bytes} bytes");
    assert!(requests > 0 && repeats > 0, "{requests} requests, {repeats} times");
    Prober::new(device, budget, KnownArray::default(), move |bench| async move {
        match steps(&bench, &parameters).await {
            Err(Halt::Spent) => return Err(Spent),
            Err(Halt::Failed) => bench.note(|known| known.unmeasurable = Some(Unmeasurable::Errors)),
            Ok(()) => bench.note(|known| known.stage = ProbeStage::Done),
        }
        Ok(())
    })
}

async fn steps(bench: &ProbeIo<KnownArray>, parameters: &TrialParameters) -> Result<(), Halt> {
    let device = bench.device();
    if device.bytes < 2 * parameters.block_bytes {
        let bytes_min = 2 * parameters.block_bytes;
        bench.note(|known| known.unmeasurable = Some(Unmeasurable::TooSmall { bytes_min }));
        return Ok(());
    }
    if device.depth == 1 {
        bench.note(|known| known.unmeasurable = Some(Unmeasurable::Serial));
        return Ok(());
    }
    // Each step has its own stream of random numbers, so that a longer step does not shift the next.
    let rng = |step: u64| Rng::stream(parameters.seed, step);
    bench.note(|known| known.stage = ProbeStage::Pattern);
    let samples = pattern::scan(bench, parameters, &mut rng(1)).await?;
    bench.note(|known| known.scans.patterns = points(&samples));
    if let Some(pattern) = pattern::pattern(&samples) {
        let pattern_bytes = pattern.bytes;
        bench.note(|known| known.pattern_bytes = Some(Claim::new(pattern_bytes, pattern.confidence)));
        bench.note(|known| known.stage = ProbeStage::Boundary);
        let samples = boundary::scan(bench, parameters, pattern_bytes, &mut rng(2)).await?;
        bench.note(|known| known.scans.boundaries = points(&samples));
        let chunks = chunks(bench, boundary::boundaries(&samples, &pattern), pattern_bytes);
        bench.note(|known| known.stage = ProbeStage::Layout);
        if chunks.count <= layout::CHUNKS_MAX && chunks.phase_bytes + pattern_bytes <= device.bytes {
            let matrix = layout::scan(bench, parameters, chunks, &mut rng(3)).await?;
            bench.note(|known| known.scans.pairs.clone_from(&matrix.rows));
            note_layout(bench, &matrix);
        }
    }
    if let Some(growth) = parameters.writes {
        find_redundancy(bench, parameters, growth, &mut rng(4)).await?;
    }
    Ok(())
}

fn points(samples: &[ScanPoint]) -> Vec<(u64, f64)> {
    samples.iter().map(|sample| (sample.bytes, sample.seconds)).collect()
}

/// Step 4: measures the cost of writes, and selects the fitting layouts with this cost. The fast prober uses it, too.
///
/// # Errors
/// When the budget is spent, or requests fail repeatedly.
pub async fn find_redundancy(
    bench: &ProbeIo<KnownArray>,
    parameters: &TrialParameters,
    growth: WriteGrowth,
    rng: &mut Rng,
) -> Result<(), Halt> {
    bench.note(|known| known.stage = ProbeStage::Redundancy);
    let found = redundancy::measure(bench, parameters, growth, rng).await?;
    note_redundancy(bench, found.ratio());
    Ok(())
}

/// Notes where chunks begin, and returns the chunks: without boundaries the whole pattern is one chunk.
fn chunks(bench: &ProbeIo<KnownArray>, found: Option<Boundaries>, pattern_bytes: u64) -> Chunks {
    let Some(Boundaries { chunk_bytes, phase_bytes, confidence, .. }) = found else {
        return Chunks { count: 1, bytes: pattern_bytes, phase_bytes: 0 };
    };
    bench.note(|known| {
        known.chunk_bytes = Some(Claim::new(chunk_bytes, confidence));
        known.phase_bytes = Some(Claim::new(phase_bytes, confidence));
    });
    Chunks { count: (pattern_bytes / chunk_bytes) as usize, bytes: chunk_bytes, phase_bytes }
}

fn note_layout(bench: &ProbeIo<KnownArray>, matrix: &layout::Matrix) {
    let classes = matrix.classes();
    let count = classes.value.iter().max().map_or(0, |most| most + 1);
    let fits = level::fits(matrix, &classes.value);
    let diagonal = matrix.diagonal();
    let time = |class: usize| {
        let of: Vec<f64> = (0..diagonal.len()).filter(|&i| classes.value[i] == class).map(|i| diagonal[i]).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    let times: Vec<f64> = (0..count).map(time).collect();
    let mut sorted = times.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = sorted[count / 2];
    bench.note(|known| {
        known.class_times = times.iter().map(|time| time / median).collect();
        known.disks = Some(Claim::new(count, classes.confidence));
        known.findings = findings(&classes, &known.class_times, matrix.lost());
        if fits.is_empty() {
            known.findings.push(Claim::new(ProbeFinding::Unknown, classes.confidence));
        }
        known.fits = Some(Claim::new(fits, classes.confidence));
        known.classes = Some(classes);
    });
}

/// The findings about these classes, one of which may be lost.
fn findings(classes: &Claim<Vec<usize>>, times: &[f64], lost: Option<usize>) -> Vec<Claim<ProbeFinding>> {
    let size = |class: usize| classes.value.iter().filter(|&&other| other == class).count();
    let sizes: Vec<usize> = (0..times.len()).map(size).collect();
    let mut found = Vec::new();
    for (class, &factor) in times.iter().enumerate() {
        match factor {
            _ if lost == Some(class) => found.push(ProbeFinding::Lost { class }),
            _ if factor > ODD_FACTOR => found.push(ProbeFinding::Slow { class, factor }),
            _ if factor < 1.0 / ODD_FACTOR => found.push(ProbeFinding::Fast { class, factor }),
            _ => {}
        }
    }
    if sizes.windows(2).any(|pair| pair[0] != pair[1]) {
        found.push(ProbeFinding::Unequal { sizes });
    }
    found.into_iter().map(|finding| Claim::new(finding, classes.confidence)).collect()
}

fn note_redundancy(bench: &ProbeIo<KnownArray>, ratio: f64) {
    bench.note(|known| {
        known.write_ratio = Some(Claim::new(ratio, 1.0));
        let Some(fits) = &known.fits else { return };
        let Some(evidence) = level::level(&fits.value, ratio) else { return };
        // The claim holds if a fitting layout exists and is this one. Values that were known before keep their confidence.
        let (known_fits, level_confidence) = (fits.confidence, evidence.level.confidence);
        learn(&mut known.copies, evidence.copies.value, known_fits * evidence.copies.confidence);
        learn(&mut known.disks, evidence.disks.value, known_fits * evidence.disks.confidence);
        learn(&mut known.fits, evidence.fits, known_fits * level_confidence);
        known.level = Some(Claim::new(evidence.level.value, known_fits * level_confidence));
    });
}

fn learn<T: PartialEq>(claim: &mut Option<Claim<T>>, value: T, confidence: f64) {
    if claim.as_ref().is_none_or(|known| known.value != value) {
        *claim = Some(Claim::new(value, confidence));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::io::{Answers, ProbeAccess, ProbeRequest, RequestTiming};
    use crate::probe::known::{RedundancyLevel, Scans};
    use crate::units::Nanos;

    const DEVICE: ProbedDevice = ProbedDevice { bytes: 1 << 30, block: 512, depth: usize::MAX };
    /// Chunks of two blocks on three disks; the device begins in the second block of a chunk.
    const CHUNK: u64 = 8192;
    const PHASE: u64 = 4096;

    /// Three disks with 10 ms per request, except the second, which takes `second_ms`.
    fn answers(requests: &[ProbeRequest], second_ms: u64) -> Answers {
        let mut busy = [0; 3];
        let serve = |request: &ProbeRequest| {
            let disk = ((request.offset + PHASE) / CHUNK % 3) as usize;
            busy[disk] += if disk == 1 { second_ms } else { 10 };
            RequestTiming { issued: Nanos::ZERO, done: Nanos::from_millis(busy[disk]), is_failed: false }
        };
        Answers { timings: requests.iter().map(serve).collect(), is_disturbed: false }
    }

    fn parameters() -> TrialParameters {
        let writes = Some(WriteGrowth::Doubling);
        TrialParameters { requests: 60, repeats: 12, pattern_bytes_max: 65_536, writes, ..TrialParameters::PUBLISHED }
    }

    fn known(budget: ProbeBudget, second_ms: u64) -> (KnownArray, ProbeBudget) {
        let mut prober = paper(DEVICE, parameters(), budget);
        while let Some(batch) = prober.poll_batch() {
            prober.handle(answers(&batch.requests, second_ms));
        }
        (prober.known(), prober.spent())
    }

    #[test]
    fn four_steps_identify_an_array_in_the_requests_that_the_formula_predicts() {
        let (known, spent) = known(ProbeBudget::UNLIMITED, 10);
        let value = |claim: Option<Claim<u64>>| claim.map(|claim| claim.value);
        assert_eq!(value(known.pattern_bytes), Some(3 * CHUNK));
        assert_eq!((value(known.chunk_bytes), value(known.phase_bytes)), (Some(CHUNK), Some(CHUNK - PHASE)));
        assert_eq!(known.classes.map(|claim| claim.value), Some(vec![0, 1, 2]));
        assert_eq!(known.level.map(|claim| claim.value), Some(RedundancyLevel::Raid0));
        assert_eq!((known.stage, known.disks.map(|claim| claim.value)), (ProbeStage::Done, Some(3)));
        assert_eq!(known.findings, []);
        assert_eq!(spent.requests, StepCost::of(&parameters(), 3 * CHUNK, CHUNK).total());
        let Scans { patterns, boundaries, pairs } = known.scans;
        assert_eq!((patterns.len(), boundaries.len(), pairs.len()), (16, 6, 3), "all three can be drawn");
    }

    #[test]
    fn a_slow_disk_is_found_by_its_class() {
        let (known, _) = known(ProbeBudget::UNLIMITED, 12);
        // From the phase on, the first whole chunk lies on the second disk.
        let slow = known.findings.iter().find(|claim| matches!(claim.value, ProbeFinding::Slow { class: 0, .. }));
        assert!(slow.is_some(), "{known:?}");
    }

    #[test]
    fn results_known_before_the_budget_is_spent_are_kept() {
        let pattern = StepCost::of(&parameters(), 3 * CHUNK, CHUNK).pattern;
        let (known, spent) = known(ProbeBudget { requests: pattern + 1000, ..ProbeBudget::UNLIMITED }, 10);
        assert_eq!(known.pattern_bytes.map(|claim| claim.value), Some(3 * CHUNK));
        assert_eq!((known.stage, known.chunk_bytes), (ProbeStage::Boundary, None));
        assert!(spent.requests <= pattern + 1000);
    }

    #[test]
    fn failing_too_small_and_serial_devices_are_reported_as_unmeasurable() {
        let mut prober = paper(DEVICE, parameters(), ProbeBudget::UNLIMITED);
        let mut batches = 0;
        while let Some(batch) = prober.poll_batch() {
            let mut answers = answers(&batch.requests, 10);
            answers.timings[7].is_failed = true;
            prober.handle(answers);
            batches += 1;
        }
        assert_eq!((batches, prober.known().unmeasurable), (3, Some(Unmeasurable::Errors)));
        let tiny =
            paper(ProbedDevice { bytes: 4096, block: 512, depth: usize::MAX }, parameters(), ProbeBudget::UNLIMITED);
        assert_eq!(tiny.known().unmeasurable, Some(Unmeasurable::TooSmall { bytes_min: 8192 }));
        let serial = paper(ProbedDevice { depth: 1, ..DEVICE }, parameters(), ProbeBudget::UNLIMITED);
        assert_eq!(serial.known().unmeasurable, Some(Unmeasurable::Serial));
    }

    #[test]
    fn no_writes_are_made_unless_asked_for() {
        let mut prober = paper(DEVICE, TrialParameters { writes: None, ..parameters() }, ProbeBudget::UNLIMITED);
        while let Some(batch) = prober.poll_batch() {
            assert!(batch.requests.iter().all(|request| request.kind == ProbeAccess::Read));
            prober.handle(answers(&batch.requests, 10));
        }
        assert_eq!((prober.known().write_ratio, prober.known().level), (None, None));
    }
}
