//! The fast prober: determines how an array is laid out, in a few thousand reads.
//!
//! ```text
//! device_class -> pattern (candidates, yardstick, division, copies) -> boundary (hammer) -> layout (library, free) -> members -> writes
//! ```
//!
//! It determines what Shear does (Denehy, Bent, Popovici, Arpaci-Dusseau & Arpaci-Dusseau, "Deconstructing Storage Arrays",
//! 2004), with tests that stop as soon as their answer is certain. Most numbers that decide are in `thresholds.rs`.

mod boundary;
mod copies;
mod degraded;
mod device_class;
mod evidence;
mod foretold;
mod hammer;
mod joined;
mod layout;
mod limit;
mod members;
mod pattern;
mod sampler;
mod statistic;
mod stride;
mod strides;
mod thresholds;
mod writes;
mod yardstick;

use super::io::{ProbeBudget, ProbeIo, ProbedDevice, Prober, Spent};
use super::known::{Claim, DeviceClass, KnownArray, ProbeFinding, ProbeStage, Unmeasurable};
use super::library::{self, LayoutFit};
use crate::layout::LayoutKind;
use evidence::probability;
use foretold::{CheckOutcome, CheckedLayout};
use hammer::Hammer;
use layout::Classes;
use layout::mirrors::MirrorDisks;
use layout::places::Places;
use members::{ClassTime, MemberClasses};
use pattern::PatternResult;
use sampler::{EarlyEnd, Sampler};
use yardstick::Burst;

/// The options of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeOptions {
    /// The largest pattern that is looked for, in bytes.
    pub pattern_bytes_max: u64,
    /// The seed of the places that are read.
    pub seed: u64,
    /// The limit of requests and time.
    pub budget: ProbeBudget,
    /// May blocks be rewritten with their own content? That shows the redundancy, which reads do not.
    pub allows_writes: bool,
}

/// Claims that the last check supports with a lower probability than this, three to one, are taken back.
const SUPPORT_MIN: f64 = 0.75;
/// The greatest confidence of claims that were not checked before the budget ended.
const UNCHECKED: f64 = 0.9;
/// The greatest confidence that an array has one class: then the only prediction is that all reads wait. Among arrays that
/// were made to surprise, one in fifteen that seemed so was something else (two disks left of four; a limit; a cache).
const ONE_CLASS: f64 = 0.98;
/// The greatest confidence of claims that contradict each other or are not tested.
const UNSUPPORTED: f64 = 0.5;
/// If no multiple of the pattern had room, the last check must distinguish a stripe from a pattern: it can from this
/// many classes on.
const STRIPE_CLASSES_MIN: usize = 4;
/// A mirror that is slower than the others by this factor may have lost its copies: one disk takes twice as long as a
/// pair, less what a better order saves.
const LOST_COPY_MIN: f64 = 1.4;
/// Parities and spares of a stripe, at most: by so many the disks outnumber the data chunks.
const PARITIES_MAX: u64 = 3;

impl Default for ProbeOptions {
    /// Patterns of up to 64 MiB: 16 disks with chunks of 256 KiB and one parity, in any layout. No budget.
    fn default() -> ProbeOptions {
        ProbeOptions { pattern_bytes_max: 64 << 20, seed: 0, budget: ProbeBudget::UNLIMITED, allows_writes: false }
    }
}

/// A prober for a device that no other program uses, or not much. It only reads, unless the options allow writes.
pub fn fast(device: ProbedDevice, options: ProbeOptions) -> Prober<KnownArray> {
    Prober::new(device, options.budget, KnownArray::default(), move |bench| steps(bench, options))
}

async fn steps(bench: ProbeIo<KnownArray>, options: ProbeOptions) -> Result<(), Spent> {
    let mut sampler = Sampler::new(bench, options.seed);
    match reading_steps(&mut sampler, options).await {
        Err(EarlyEnd::Spent) => {
            sampler.note(|known| cap(known, UNCHECKED));
            return Err(Spent);
        }
        Err(EarlyEnd::Unmeasurable(why)) => sampler.note(|known| known.unmeasurable = Some(why)),
        Ok(()) if options.allows_writes => match writes::find_level(&mut sampler).await {
            Err(EarlyEnd::Spent) => return Err(Spent),
            Err(EarlyEnd::Unmeasurable(why)) => sampler.note(|known| known.unmeasurable = Some(why)),
            Ok(()) => {}
        },
        Ok(()) => {}
    }
    sampler.begin(ProbeStage::Done);
    Ok(())
}

async fn reading_steps(sampler: &mut Sampler, options: ProbeOptions) -> Result<(), EarlyEnd> {
    if sampler.device().depth == 1 {
        return Err(EarlyEnd::Unmeasurable(Unmeasurable::Serial));
    }
    let result = device_class::find(sampler).await?;
    sampler.note(|known| known.device_class = Some(Claim::new(result.device_class, probability(thresholds::DECIDED))));
    let count = match result.device_class {
        DeviceClass::Disks => thresholds::BURST_MIN,
        DeviceClass::Flash { depth } => depth,
    };
    if result.device_class == DeviceClass::Disks
        && let Some(confidence) = copies::is_one_disk(sampler).await?
    {
        limit::refuse(sampler, result.device_class, result.response, result.response).await?;
        let confidence = confidence.min(ONE_CLASS);
        let block = sampler.device().block;
        sampler.note(|known| {
            known.pattern_bytes = Some(Claim::new(block, confidence));
            known.copies = Some(Claim::new(1, confidence));
        });
        note_classes(sampler, &[0], 1, confidence);
        return Ok(());
    }
    sampler.begin(ProbeStage::Pattern);
    let burst = Burst { device_class: result.device_class, count };
    let pattern = pattern::find(sampler, burst, result.response, options.pattern_bytes_max).await?;
    let Some(mut pattern) = pattern else {
        let bytes_max = pattern::stride_max(sampler, burst).min(options.pattern_bytes_max);
        return Err(EarlyEnd::Unmeasurable(Unmeasurable::NoPattern { bytes_max }));
    };
    if let Some(odds) = pattern.joined {
        return joined_disks(sampler, pattern.yardstick.log().exp(), odds).await;
    }
    if let Some(copies) = &mut pattern.copies {
        // Both claims depend on each other: without classes there are no copies, and chunks that share their reads look
        // like one class.
        copies.confidence = copies.confidence.min(pattern.confidence);
        pattern.confidence = copies.confidence;
    }
    if pattern.bytes == sampler.device().block {
        pattern.confidence = pattern.confidence.min(ONE_CLASS);
        if let Some(copies) = &mut pattern.copies {
            copies.confidence = copies.confidence.min(ONE_CLASS);
        }
    }
    let bytes = Claim::new(pattern.bytes, pattern.confidence);
    sampler.note(|known| {
        known.pattern_bytes = Some(bytes);
        known.copies.clone_from(&pattern.copies);
    });
    let copies = pattern.copies.as_ref().map_or(1, |claim| claim.value);
    if pattern.bytes == sampler.device().block {
        note_classes(sampler, &[0], copies, pattern.confidence);
        if pattern.confidence < UNCHECKED {
            return Err(EarlyEnd::Unmeasurable(Unmeasurable::TooNoisy));
        }
        return Ok(());
    }
    let hammer = Hammer::new(pattern.bytes, copies, result.response, &pattern.yardstick);
    let (pattern_bytes, stride_max) = (pattern.bytes, pattern.stride_max);
    chunks(sampler, pattern, hammer, copies).await?;
    let lacks_chunks =
        sampler.is_known(|known| known.chunk_bytes.is_none()) && result.device_class == DeviceClass::Disks;
    if lacks_chunks && limit::hides_disks(sampler).await? {
        return Err(take_back(sampler, Unmeasurable::Limited));
    }
    if lacks_chunks
        && copies == 1
        && let Some(percent) = degraded::rebuilt_percent(sampler, hammer).await?
    {
        return Err(take_back(sampler, Unmeasurable::Degraded { percent }));
    }
    let larger = strides::DISKS_LIKELY * pattern_bytes;
    let bytes_min = (larger > stride_max).then(|| larger * (sampler.device().bytes / stride_max));
    sampler.note(|known| {
        if known.chunk_bytes.is_some() {
            return;
        }
        match result.device_class {
            // An array with several classes has several chunks, so the pattern or the lack of chunks is wrong.
            DeviceClass::Disks => cap(known, UNSUPPORTED),
            // On flash, a pattern without chunks is how one drive lays out its own dies.
            DeviceClass::Flash { .. } => known.pattern_bytes = None,
        }
        known.unmeasurable = Some(Unmeasurable::NoChunks { bytes_min });
    });
    Ok(())
}

/// Notes the disks of a linear array.
async fn joined_disks(sampler: &mut Sampler, pace: f64, odds: f64) -> Result<(), EarlyEnd> {
    sampler.begin(ProbeStage::Boundary);
    let Some(starts) = joined::starts(sampler, pace, odds).await? else {
        return Err(EarlyEnd::Unmeasurable(Unmeasurable::Uneven));
    };
    sampler.note(|known| {
        known.disks = Some(Claim::new(starts.value.len(), starts.confidence));
        known.joined = Some(starts);
    });
    Ok(())
}

/// The steps for a pattern of several chunks.
async fn chunks(sampler: &mut Sampler, pattern: PatternResult, hammer: Hammer, copies: usize) -> Result<(), EarlyEnd> {
    sampler.begin(ProbeStage::Boundary);
    let Some(chunk) = boundary::find(sampler, hammer).await? else { return Ok(()) };
    // Where a mirror reads by the nearest head, the other copy is free whatever was read before, and each block looks
    // like a chunk.
    if copies > 1 && chunk.bytes == sampler.device().block {
        return Ok(());
    }
    let note_chunk = |sampler: &mut Sampler, confidence: f64| {
        sampler.note(|known| {
            known.chunk_bytes = Some(Claim::new(chunk.bytes, confidence));
            known.phase_bytes = Some(Claim::new(chunk.phase, confidence));
        });
    };
    // The claim is tested only against itself, until a layout of these chunks is found.
    note_chunk(sampler, chunk.confidence.min(UNSUPPORTED));
    sampler.begin(ProbeStage::Layout);
    let mut places = Places { chunk, pattern: pattern.bytes };
    let Some(mut found) = layout::find(sampler, hammer, places, copies).await? else {
        // The supposed chunks do not behave like chunks.
        sampler.note(|known| (known.chunk_bytes, known.phase_bytes) = (None, None));
        return Ok(());
    };
    note_chunk(sampler, chunk.confidence);
    // Without the pattern there are no classes.
    found.confidence = found.confidence.min(pattern.confidence);
    let period = library::period(&found.classes);
    if period < found.classes.len() {
        found.classes.truncate(period);
        places.pattern = period as u64 * chunk.bytes;
        let bytes = Claim::new(places.pattern, found.confidence);
        sampler.note(|known| known.pattern_bytes = Some(bytes));
    }
    note_classes(sampler, &found.classes, copies, found.confidence);
    let is_shared = copies > 1 && mirrors(sampler, hammer, places, &found.classes, copies).await?;
    if let Some(class) = found.lost {
        let finding = Claim::new(ProbeFinding::Lost { class }, found.confidence);
        sampler.note(|known| {
            known.findings.push(finding);
            // Data that are rebuilt from others have some redundancy.
            if let Some(fits) = &mut known.fits {
                fits.value.retain(|fit| fit.layout.shape().parity > 0);
            }
        });
    }
    sampler.begin(ProbeStage::Check);
    let checked = CheckedLayout {
        burst: pattern.yardstick.burst,
        places,
        classes: &found.classes,
        lost: found.lost,
        copies,
        is_shared,
        is_settled: true,
    };
    check_layout(sampler, checked, pattern.stride_max).await?;
    sampler.begin(ProbeStage::Members);
    member_times(sampler, pattern.yardstick.burst, places, &found, copies).await
}

/// Measures the members, and notes which are unlike the others.
async fn member_times(
    sampler: &mut Sampler,
    burst: Burst,
    places: Places,
    found: &Classes,
    copies: usize,
) -> Result<(), EarlyEnd> {
    let Classes { classes, lost, confidence } = found;
    let times = members::find(sampler, MemberClasses { burst, places, classes, lost: *lost }).await?;
    let chunks_of = |class: usize| (0..classes.len()).filter(|&chunk| classes[chunk] == class).collect::<Vec<usize>>();
    let sizes: Vec<usize> = (0..times.len()).map(|class| chunks_of(class).len()).collect();
    // Seeks on a disk that holds more chunks are longer, so it differs for no fault of its own.
    let is_even = sizes.iter().all(|size| *size == sizes[0]);
    let mut findings = Vec::new();
    for (class, &ClassTime { factor, odds }) in times.iter().enumerate() {
        let Some(mut finding_confidence) = odds.map(probability) else { continue };
        let is_lost_copy = copies > 1 && factor >= LOST_COPY_MIN;
        let lost_copy = match is_lost_copy {
            true => Some(copies::are_lost(sampler, places, &chunks_of(class)).await?),
            false => None,
        };
        let finding = match lost_copy {
            Some((true, waiting_confidence)) => {
                finding_confidence = finding_confidence.min(waiting_confidence);
                ProbeFinding::LostCopy { class }
            }
            _ if !is_even => continue,
            _ if factor > 1.0 => ProbeFinding::Slow { class, factor },
            _ => ProbeFinding::Fast { class, factor },
        };
        findings.push(Claim::new(finding, finding_confidence));
    }
    sampler.note(|known| {
        // The classes themselves bound the confidence in each of them.
        let confidence_max = known.classes.as_ref().map_or(0.0, |classes| classes.confidence).min(*confidence);
        known.class_times = times.iter().map(|time| time.factor).collect();
        known
            .findings
            .extend(findings.into_iter().map(|claim| Claim::new(claim.value, claim.confidence.min(confidence_max))));
    });
    Ok(())
}

/// The last check. Claims that it contradicts are taken back; it limits the confidence of all others.
async fn check_layout(sampler: &mut Sampler, checked: CheckedLayout<'_>, stride_max: u64) -> Result<(), EarlyEnd> {
    let places = checked.places;
    // The supposed pattern may be a stripe; then the pattern is this many times as large, and was tried if it had room.
    let times = (places.chunks() as u64 + PARITIES_MAX).min(strides::DISKS_LIKELY);
    let is_settled = times * places.pattern <= stride_max;
    let count = checked.classes.iter().max().map_or(0, |most| most + 1);
    // Data that alternate between two disks look like a mirror that chooses its copy by chance.
    let is_distinguishable =
        count >= STRIPE_CLASSES_MIN && checked.copies == 1 && checked.burst.device_class == DeviceClass::Disks;
    if !is_settled && !is_distinguishable {
        let segments = sampler.device().bytes / stride_max;
        return Err(take_back(sampler, Unmeasurable::TooSmall { bytes_min: times * places.pattern * segments }));
    }
    let checked = CheckedLayout { is_settled, ..checked };
    let mut found = foretold::check(sampler, checked).await?;
    if found == CheckOutcome::Contradicted {
        // With many disturbances one check in a hundred is contradicted by chance.
        found = match foretold::check(sampler, checked).await? {
            CheckOutcome::Confirmed { confidence } => CheckOutcome::Confirmed { confidence: confidence.min(UNCHECKED) },
            again => again,
        };
    }
    match found {
        CheckOutcome::Contradicted => {
            let is_limited = checked.burst.device_class == DeviceClass::Disks && limit::hides_disks(sampler).await?;
            Err(take_back(sampler, if is_limited { Unmeasurable::Limited } else { Unmeasurable::Uneven }))
        }
        CheckOutcome::Limited => Err(take_back(sampler, Unmeasurable::Limited)),
        // (With one class nothing can be predicted.)
        CheckOutcome::Confirmed { confidence }
            if count - usize::from(checked.lost.is_some()) > 1 && confidence < SUPPORT_MIN =>
        {
            Err(take_back(sampler, Unmeasurable::Uneven))
        }
        CheckOutcome::Confirmed { confidence } => {
            let is_likely_enough = |claim: &Claim<ProbeFinding>| {
                claim.value != ProbeFinding::Unknown || claim.confidence.min(confidence) >= SUPPORT_MIN
            };
            // Classes of no known layout, which themselves are little more likely than not, are no result.
            if !sampler.is_known(|known| known.findings.iter().all(is_likely_enough)) {
                return Err(take_back(sampler, Unmeasurable::Uneven));
            }
            sampler.note(|known| cap(known, confidence));
            Ok(())
        }
    }
}

/// Takes back all claims about the array.
fn take_back(sampler: &Sampler, why: Unmeasurable) -> EarlyEnd {
    sampler.note(|known| {
        let device_class = known.device_class.take();
        *known = KnownArray { stage: known.stage, device_class, ..KnownArray::default() };
    });
    EarlyEnd::Unmeasurable(why)
}

/// Limits the confidence of all claims.
fn cap(known: &mut KnownArray, confidence: f64) {
    fn lower<T>(claim: &mut Option<Claim<T>>, confidence: f64) {
        if let Some(claim) = claim {
            claim.confidence = claim.confidence.min(confidence);
        }
    }
    lower(&mut known.pattern_bytes, confidence);
    lower(&mut known.chunk_bytes, confidence);
    lower(&mut known.phase_bytes, confidence);
    lower(&mut known.copies, confidence);
    lower(&mut known.classes, confidence);
    lower(&mut known.disks, confidence);
    lower(&mut known.fits, confidence);
    known.findings.iter_mut().for_each(|finding| finding.confidence = finding.confidence.min(confidence));
}

/// Determines whether mirrors have disks of their own, or share them with other mirrors (chained, or Linux' near copies of an odd
/// count). That narrows the layouts with these classes, and gives the number of disks. Returns whether disks may be shared.
async fn mirrors(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    classes: &[usize],
    copies: usize,
) -> Result<bool, EarlyEnd> {
    let odds = match layout::mirrors::disks(sampler, hammer, places, classes, copies).await? {
        MirrorDisks::Own(odds) => {
            sampler.note(|known| {
                retain(known, probability(odds), |fit| fit.layout.kind() == LayoutKind::Raid1);
                if let Some(disks) = &mut known.disks {
                    disks.confidence = disks.confidence.min(probability(odds));
                }
            });
            return Ok(false);
        }
        MirrorDisks::Unclear => {
            sampler.note(|known| {
                retain(known, UNSUPPORTED, |_| true);
                known.disks = None;
            });
            return Ok(true);
        }
        MirrorDisks::Shared(odds) => odds,
    };
    // Behind a limit the last of many requests is late, whatever disk it reads.
    if limit::hides_disks(sampler).await? {
        return Err(take_back(sampler, Unmeasurable::Limited));
    }
    let confidence = probability(odds);
    let count = classes.iter().max().map_or(0, |most| most + 1);
    let kind = match (copies, count == classes.len()) {
        (2, true) => layout::mirrors::kind(sampler, hammer, places).await?,
        _ => None,
    };
    sampler.note(|known| {
        let (kinds, kind_confidence) =
            kind.map_or((Vec::new(), confidence), |(kinds, odds)| (kinds, confidence.min(probability(odds))));
        retain(known, kind_confidence, |fit| kinds.contains(&fit.layout.kind()));
        let disks =
            known.fits.as_ref().and_then(|fits| Some(Claim::new(fits.value.first()?.layout.disks(), fits.confidence)));
        known.disks = disks;
        if known.disks.is_none() {
            known.findings.push(Claim::new(ProbeFinding::Unknown, kind_confidence));
        }
    });
    Ok(true)
}

/// Keeps only some of the layouts that fit.
fn retain(known: &mut KnownArray, confidence: f64, is_kept: impl Fn(&LayoutFit) -> bool) {
    if let Some(fits) = &mut known.fits {
        fits.value.retain(is_kept);
        fits.confidence = fits.confidence.min(confidence);
    }
}

/// Notes the classes, and what follows from them.
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

#[cfg(test)]
mod tests;
