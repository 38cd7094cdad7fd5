//! The fast prober: how an array is laid out, in a few thousand reads.
//!
//! ```text
//! device_class -> pattern (candidates, yardstick, division, copies) -> boundary (hammer) -> layout (library, free) -> members
//! ```
//!
//! It looks for what Shear (Denehy, Bent, Popovici, Arpaci-Dusseau & Arpaci-Dusseau, "Deconstructing Storage Arrays", 2004)
//! looks for, with tests that stop as soon as they know. Every number that decides is in `thresholds.rs`.

mod boundary;
mod copies;
mod device_class;
mod evidence;
mod hammer;
mod layout;
mod members;
mod pattern;
mod sampler;
mod statistic;
mod stride;
mod strides;
mod thresholds;
mod yardstick;

use super::io::{ProbeBudget, ProbeIo, ProbedDevice, Prober, Spent};
use super::known::{Claim, DeviceClass, KnownArray, ProbeFinding, ProbeStage, Unmeasurable};
use super::library;
use super::paper::{self, Halt, TrialParameters, WriteGrowth};
use crate::layout::LayoutKind;
use crate::rng::Rng;
use evidence::probability;
use hammer::Hammer;
use layout::Classes;
use layout::places::Places;
use members::{ClassTime, MemberClasses};
use pattern::PatternResult;
use sampler::{EarlyEnd, Sampler};
use yardstick::Burst;

/// What a probe may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeOptions {
    /// The largest pattern that is looked for, in bytes.
    pub pattern_bytes_max: u64,
    /// Of the places that are read.
    pub seed: u64,
    /// What may be spent.
    pub budget: ProbeBudget,
    /// May blocks be written, with what they hold? That tells the redundancy, which reads do not.
    pub allows_writes: bool,
}

/// Requests of the step that writes: their cost is told within some 10 %, and levels are at least 1.5 times apart.
const WRITES: usize = 256;

impl Default for ProbeOptions {
    /// Patterns of up to 64 MiB: 16 disks with chunks of 256 KiB and one parity, in any layout. No budget.
    fn default() -> ProbeOptions {
        ProbeOptions { pattern_bytes_max: 64 << 20, seed: 0, budget: ProbeBudget::UNLIMITED, allows_writes: false }
    }
}

/// The prober, for a device that nobody else uses, or not much. It only reads, unless it may write.
pub fn fast(device: ProbedDevice, options: ProbeOptions) -> Prober<KnownArray> {
    Prober::new(device, options.budget, KnownArray::default(), move |bench| steps(bench, options))
}

async fn steps(bench: ProbeIo<KnownArray>, options: ProbeOptions) -> Result<(), Spent> {
    let mut sampler = Sampler::new(bench.clone(), options.seed);
    match all(&mut sampler, options).await {
        Err(EarlyEnd::Spent) => return Err(Spent),
        Err(EarlyEnd::Unmeasurable(why)) => sampler.note(|known| known.unmeasurable = Some(why)),
        Ok(()) if options.allows_writes => match writes(&bench, &mut sampler.rng).await {
            Err(Halt::Spent) => return Err(Spent),
            Err(Halt::Failed) => sampler.note(|known| known.unmeasurable = Some(Unmeasurable::Errors)),
            Ok(()) => {}
        },
        Ok(()) => {}
    }
    sampler.begin(ProbeStage::Done);
    Ok(())
}

/// The published step 4, which needs no improvement but fewer requests.
async fn writes(bench: &ProbeIo<KnownArray>, rng: &mut Rng) -> Result<(), Halt> {
    let block_bytes = TrialParameters::PUBLISHED.block_bytes.max(bench.device().block);
    let parameters = TrialParameters { requests: WRITES, block_bytes, ..TrialParameters::PUBLISHED };
    paper::tell_redundancy(bench, &parameters, WriteGrowth::Doubling, rng).await
}

async fn all(sampler: &mut Sampler, options: ProbeOptions) -> Result<(), EarlyEnd> {
    if sampler.device().depth == 1 {
        return Err(EarlyEnd::Unmeasurable(Unmeasurable::Serial));
    }
    let answer = device_class::find(sampler).await?;
    sampler.note(|known| known.device_class = Some(Claim::new(answer.device_class, probability(thresholds::DECIDED))));
    let count = match answer.device_class {
        DeviceClass::Disks => thresholds::BURST_MIN,
        DeviceClass::Flash { depth } => depth,
    };
    sampler.begin(ProbeStage::Pattern);
    let burst = Burst { device_class: answer.device_class, count };
    let pattern = pattern::find(sampler, burst, answer.response, options.pattern_bytes_max).await?;
    let Some(pattern) = pattern else { return Ok(()) };
    let bytes = Claim::new(pattern.bytes, pattern.confidence);
    sampler.note(|known| {
        known.pattern_bytes = Some(bytes);
        known.copies.clone_from(&pattern.copies);
    });
    let copies = pattern.copies.as_ref().map_or(1, |claim| claim.value);
    if pattern.bytes == sampler.device().block {
        note_classes(sampler, &[0], copies, pattern.confidence);
        return Ok(());
    }
    let hammer = Hammer::new(pattern.bytes, copies, answer.response, &pattern.yardstick);
    chunks(sampler, pattern, hammer, copies).await?;
    if answer.device_class != DeviceClass::Disks {
        // What repeats, but has no chunks, is how one drive lays out its own dies.
        sampler.note(|known| known.pattern_bytes = known.pattern_bytes.take().filter(|_| known.chunk_bytes.is_some()));
    }
    Ok(())
}

/// The steps for a pattern of several chunks.
async fn chunks(sampler: &mut Sampler, pattern: PatternResult, hammer: Hammer, copies: usize) -> Result<(), EarlyEnd> {
    sampler.begin(ProbeStage::Boundary);
    let Some(chunk) = boundary::find(sampler, hammer).await? else { return Ok(()) };
    sampler.note(|known| {
        known.chunk_bytes = Some(Claim::new(chunk.bytes, chunk.confidence));
        known.phase_bytes = Some(Claim::new(chunk.phase, chunk.confidence));
    });
    sampler.begin(ProbeStage::Layout);
    let mut places = Places { chunk, pattern: pattern.bytes };
    let Some(mut found) = layout::find(sampler, hammer, places, copies).await? else {
        // What was taken for chunks does not behave like any.
        sampler.note(|known| (known.chunk_bytes, known.phase_bytes) = (None, None));
        return Ok(());
    };
    // The classes of what is no pattern are none.
    found.confidence = found.confidence.min(pattern.confidence);
    let period = library::period(&found.classes);
    if period < found.classes.len() {
        found.classes.truncate(period);
        places.pattern = period as u64 * chunk.bytes;
        let bytes = Claim::new(places.pattern, found.confidence);
        sampler.note(|known| known.pattern_bytes = Some(bytes));
    }
    note_classes(sampler, &found.classes, copies, found.confidence);
    if copies == 2 && found.lost.is_none() && places.chunks() >= 3 {
        let odds = layout::is_chained(sampler, hammer, places).await?;
        sampler.note(|known| note_chain(known, odds));
    }
    if let Some(class) = found.lost {
        let finding = Claim::new(ProbeFinding::Lost { class }, found.confidence);
        sampler.note(|known| {
            known.findings.push(finding);
            // What is reckoned from others is held by some redundancy.
            if let Some(fits) = &mut known.fits {
                fits.value.retain(|fit| fit.layout.shape().parity > 0);
            }
        });
    }
    sampler.begin(ProbeStage::Members);
    let Classes { classes, lost, confidence } = &found;
    let members = MemberClasses { burst: pattern.yardstick.burst, places, classes, lost: *lost };
    let times = members::find(sampler, members).await?;
    sampler.note(|known| {
        known.class_times = times.iter().map(|time| time.factor).collect();
        for (class, ClassTime { factor, odds }) in times.into_iter().enumerate() {
            let finding =
                if factor > 1.0 { ProbeFinding::Slow { class, factor } } else { ProbeFinding::Fast { class, factor } };
            // No class is surer than that there are classes.
            let sure = odds.map(|odds| probability(odds).min(*confidence));
            known.findings.extend(sure.map(|sure| Claim::new(finding, sure)));
        }
    });
    Ok(())
}

/// Notes classes, and what follows from them.
fn note_classes(sampler: &Sampler, classes: &[usize], copies: usize, confidence: f64) {
    let is_flash =
        |known: &KnownArray| matches!(known.device_class, Some(Claim { value: DeviceClass::Flash { .. }, .. }));
    sampler.note(|known| {
        let fits = library::fits(classes, (!is_flash(known)).then_some(copies));
        let count = classes.iter().max().map_or(0, |most| most + 1);
        let sizes: Vec<usize> =
            (0..count).map(|class| classes.iter().filter(|other| **other == class).count()).collect();
        if sizes.iter().any(|size| *size != sizes[0]) {
            known.findings.push(Claim::new(ProbeFinding::Unequal { sizes }, confidence));
        }
        if fits.is_empty() {
            known.findings.push(Claim::new(ProbeFinding::Unknown, confidence));
        }
        known.disks = Some(Claim::new(count * copies, confidence));
        known.classes = Some(Claim::new(classes.to_vec(), confidence));
        known.fits = Some(Claim::new(fits, confidence));
    });
}

/// Notes whether mirrors are chained, which leaves one of the two layouts with those classes, and half of the disks.
fn note_chain(known: &mut KnownArray, odds: f64) {
    let (Some(fits), Some(disks)) = (&mut known.fits, &mut known.disks) else { return };
    let sure = fits.confidence.min(probability(odds.abs()));
    fits.value.retain(|fit| (fit.layout.kind() == LayoutKind::Chained) == (odds > 0.0));
    fits.confidence = sure;
    if let Some(fit) = fits.value.first() {
        *disks = Claim::new(fit.layout.disks(), sure);
    }
}

#[cfg(test)]
mod tests;
