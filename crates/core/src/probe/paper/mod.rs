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
//! Each trial is done R times; what counts is the mean time until all its requests are done. That makes it slow and fair:
//! hundreds of thousands of requests, and no assumption but that reads of one disk take longer than those of two.

pub mod boundary;
pub mod cluster;
pub mod cost;
pub mod layout;
pub mod level;
pub mod pattern;
pub mod redundancy;
pub mod trial;

pub use cost::Cost;
pub use trial::{Growth, Halt, Parameters, Sample};

use super::bench::{Bench, Budget, Device, Prober, Spent};
use super::known::{Claim, Finding, Known, Stage, Unmeasurable};
use super::library;
use crate::rng::Rng;
use boundary::Boundaries;
use layout::Chunks;

/// A class this much slower or faster than the median is said to be: 10 %, three times what ten trials vary by.
const ODD_FACTOR: f64 = 1.1;

/// The prober that goes through all four steps. What it is sure of is the silhouette of the cluster that decided, and the
/// share of points that agree with the decision: see each step.
///
/// # Panics
/// When the parameters do not fit each other or the device: a block of whole device blocks, a step of whole blocks, and at
/// least one request and one repeat.
pub fn paper(device: Device, parameters: Parameters, budget: Budget) -> Prober<Known> {
    let Parameters { block_bytes, step_bytes, requests, repeats, .. } = parameters;
    assert!(block_bytes > 0 && block_bytes.is_multiple_of(device.block), "a block of {block_bytes} bytes");
    assert!(step_bytes > 0 && step_bytes.is_multiple_of(block_bytes), "a step of {step_bytes} bytes");
    assert!(requests > 0 && repeats > 0, "{requests} requests, {repeats} times");
    Prober::new(device, budget, Known::default(), move |bench| async move {
        match steps(&bench, &parameters).await {
            Err(Halt::Spent) => return Err(Spent),
            Err(Halt::Failed) => bench.note(|known| known.unmeasurable = Some(Unmeasurable::Errors)),
            Ok(()) => bench.note(|known| known.stage = Stage::Done),
        }
        Ok(())
    })
}

async fn steps(bench: &Bench<Known>, parameters: &Parameters) -> Result<(), Halt> {
    let device = bench.device();
    if device.bytes < 2 * parameters.block_bytes {
        let bytes_min = 2 * parameters.block_bytes;
        bench.note(|known| known.unmeasurable = Some(Unmeasurable::TooSmall { bytes_min }));
        return Ok(());
    }
    // One stream of chance a step, so that a longer one does not shift the next.
    let rng = |step: u64| Rng::stream(parameters.seed, step);
    bench.note(|known| known.stage = Stage::Pattern);
    let samples = pattern::scan(bench, parameters, &mut rng(1)).await?;
    if let Some(pattern) = pattern::pattern(&samples) {
        let pattern_bytes = pattern.bytes;
        bench.note(|known| known.pattern_bytes = Some(Claim::new(pattern_bytes, pattern.confidence)));
        bench.note(|known| known.stage = Stage::Boundary);
        let samples = boundary::scan(bench, parameters, pattern_bytes, &mut rng(2)).await?;
        let chunks = chunks(bench, boundary::boundaries(&samples, &pattern), pattern_bytes);
        bench.note(|known| known.stage = Stage::Layout);
        if chunks.count <= layout::CHUNKS_MAX && chunks.phase_bytes + pattern_bytes <= device.bytes {
            let matrix = layout::scan(bench, parameters, chunks, &mut rng(3)).await?;
            note_layout(bench, &matrix);
        }
    }
    bench.note(|known| known.stage = Stage::Redundancy);
    if let Some(growth) = parameters.writes {
        let found = redundancy::measure(bench, parameters, growth, &mut rng(4)).await?;
        note_redundancy(bench, found.ratio());
    }
    Ok(())
}

/// Notes where chunks begin, and gives them: the whole pattern is one where there is no boundary.
fn chunks(bench: &Bench<Known>, found: Option<Boundaries>, pattern_bytes: u64) -> Chunks {
    let Some(Boundaries { chunk_bytes, phase_bytes, confidence, .. }) = found else {
        return Chunks { count: 1, bytes: pattern_bytes, phase_bytes: 0 };
    };
    bench.note(|known| {
        known.chunk_bytes = Some(Claim::new(chunk_bytes, confidence));
        known.phase_bytes = Some(Claim::new(phase_bytes, confidence));
    });
    Chunks { count: (pattern_bytes / chunk_bytes) as usize, bytes: chunk_bytes, phase_bytes }
}

fn note_layout(bench: &Bench<Known>, matrix: &layout::Matrix) {
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
        known.findings = findings(&classes, &known.class_times, fits.is_empty());
        known.fits = Some(Claim::new(fits, classes.confidence));
        known.classes = Some(classes);
    });
}

/// What a user should know of these classes.
fn findings(classes: &Claim<Vec<usize>>, times: &[f64], is_unknown: bool) -> Vec<Claim<Finding>> {
    let size = |class: usize| classes.value.iter().filter(|&&other| other == class).count();
    let sizes: Vec<usize> = (0..times.len()).map(size).collect();
    let mut found = Vec::new();
    for (class, &factor) in times.iter().enumerate() {
        match factor {
            _ if factor > ODD_FACTOR => found.push(Finding::Slow { class, factor }),
            _ if factor < 1.0 / ODD_FACTOR => found.push(Finding::Fast { class, factor }),
            _ => {}
        }
    }
    if sizes.windows(2).any(|pair| pair[0] != pair[1]) {
        found.push(Finding::Unequal { sizes });
    }
    if is_unknown {
        found.push(Finding::Unknown);
    }
    found.into_iter().map(|finding| Claim::new(finding, classes.confidence)).collect()
}

fn note_redundancy(bench: &Bench<Known>, ratio: f64) {
    bench.note(|known| {
        known.write_ratio = Some(Claim::new(ratio, 1.0));
        let Some(fits) = &known.fits else { return };
        let Some((level, left)) = level::level(&fits.value, ratio) else { return };
        let confidence = fits.confidence * level.confidence;
        if let Some(first) = left.first() {
            known.copies = Some(Claim::new(library::copies_of(&first.layout), confidence));
            known.disks = Some(Claim::new(first.layout.disks(), confidence));
        }
        known.fits = Some(Claim::new(left, confidence));
        known.level = Some(Claim::new(level.value, confidence));
    });
}
