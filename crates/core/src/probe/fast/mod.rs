//! The fast prober: determines how an array is laid out, in a few thousand reads.
//!
//! ```text
//! device_class -> pattern (candidates, yardstick, division, copies) -> boundary (hammer) -> layout (library, free) -> members -> writes
//! ```
//!
//! It determines what Shear does (Denehy, Bent, Popovici, Arpaci-Dusseau & Arpaci-Dusseau, "Deconstructing Storage Arrays",
//! 2004), with tests that stop as soon as their answer is certain. Most numbers that decide are in `thresholds.rs`. Each step
//! adds its evidence to a list, from which all confidences follow (`confidence.rs`).

mod boundary;
mod confidence;
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
use confidence::{ProbeEvidence, ProbeStatement, UNCHECKED, stated};
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
            sampler.observe(ProbeEvidence::BudgetEnded);
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
    sampler.observe(ProbeEvidence::QueueDepths);
    sampler.note(|known| known.device_class = stated(result.device_class));
    let count = match result.device_class {
        DeviceClass::Disks => thresholds::BURST_MIN,
        DeviceClass::Flash { depth } => depth,
    };
    if result.device_class == DeviceClass::Disks
        && let Some(confidence) = copies::is_one_disk(sampler).await?
    {
        limit::refuse(sampler, result.device_class, result.response, result.response).await?;
        sampler.observe(ProbeEvidence::AllWait(confidence));
        sampler.observe(ProbeEvidence::OneClass);
        let block = sampler.device().block;
        sampler.note(|known| (known.pattern_bytes, known.copies) = (stated(block), stated(1)));
        note_classes(sampler, &[0], 1);
        return Ok(());
    }
    sampler.begin(ProbeStage::Pattern);
    let burst = Burst { device_class: result.device_class, count };
    let pattern = pattern::find(sampler, burst, result.response, options.pattern_bytes_max).await?;
    let Some(pattern) = pattern else {
        let bytes_max = pattern::stride_max(sampler, burst).min(options.pattern_bytes_max);
        return Err(EarlyEnd::Unmeasurable(Unmeasurable::NoPattern { bytes_max }));
    };
    if let Some(odds) = pattern.joined {
        return joined_disks(sampler, pattern.yardstick.log().exp(), odds).await;
    }
    pattern.evidence.iter().for_each(|evidence| sampler.observe(*evidence));
    sampler.note(|known| {
        (known.pattern_bytes, known.copies) = (stated(pattern.bytes), pattern.copies.and_then(stated));
    });
    let copies = pattern.copies.unwrap_or(1);
    if pattern.bytes == sampler.device().block {
        sampler.observe(ProbeEvidence::OneClass);
        note_classes(sampler, &[0], copies);
        if sampler.confidence(ProbeStatement::Pattern) < UNCHECKED {
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
        return Err(sampler.take_back(Unmeasurable::Limited));
    }
    if lacks_chunks
        && copies == 1
        && let Some(percent) = degraded::rebuilt_percent(sampler, hammer).await?
    {
        return Err(sampler.take_back(Unmeasurable::Degraded { percent }));
    }
    let larger = strides::DISKS_LIKELY * pattern_bytes;
    let bytes_min = (larger > stride_max).then(|| larger * (sampler.device().bytes / stride_max));
    if sampler.is_known(|known| known.chunk_bytes.is_some()) {
        return Ok(());
    }
    match result.device_class {
        DeviceClass::Disks => sampler.observe(ProbeEvidence::NoChunkEnds),
        // On flash, a pattern without chunks is how one drive lays out its own dies.
        DeviceClass::Flash { .. } => sampler.note(|known| known.pattern_bytes = None),
    }
    sampler.note(|known| known.unmeasurable = Some(Unmeasurable::NoChunks { bytes_min }));
    Ok(())
}

/// Notes the disks of a linear array.
async fn joined_disks(sampler: &mut Sampler, pace: f64, odds: f64) -> Result<(), EarlyEnd> {
    sampler.begin(ProbeStage::Boundary);
    let Some(starts) = joined::starts(sampler, pace, odds).await? else {
        return Err(EarlyEnd::Unmeasurable(Unmeasurable::Uneven));
    };
    sampler.observe(ProbeEvidence::DiskEnds(starts.confidence));
    sampler.note(|known| (known.disks, known.joined) = (stated(starts.value.len()), stated(starts.value)));
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
    sampler.observe(ProbeEvidence::ChunkEnds(chunk.confidence));
    sampler.note(|known| (known.chunk_bytes, known.phase_bytes) = (stated(chunk.bytes), stated(chunk.phase)));
    sampler.begin(ProbeStage::Layout);
    let mut places = Places { chunk, pattern: pattern.bytes };
    let Some(mut found) = layout::find(sampler, hammer, places, copies).await? else {
        // The supposed chunks do not behave like chunks.
        sampler.note(|known| (known.chunk_bytes, known.phase_bytes) = (None, None));
        return Ok(());
    };
    sampler.observe(found.evidence);
    let period = library::period(&found.classes);
    if period < found.classes.len() {
        found.classes.truncate(period);
        places.pattern = period as u64 * chunk.bytes;
        sampler.observe(ProbeEvidence::RepeatedClasses);
        sampler.note(|known| known.pattern_bytes = stated(places.pattern));
    }
    note_classes(sampler, &found.classes, copies);
    let is_shared = copies > 1 && mirrors(sampler, hammer, places, &found.classes, copies).await?;
    if let Some(class) = found.lost {
        sampler.report(ProbeFinding::Lost { class }, Some(ProbeStatement::Classes), 1.0);
        // Data that are rebuilt from others have some redundancy.
        keep_fits(sampler, |fit| fit.layout.shape().parity > 0);
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
    let Classes { classes, lost, .. } = found;
    let times = members::find(sampler, MemberClasses { burst, places, classes, lost: *lost }).await?;
    let chunks_of = |class: usize| (0..classes.len()).filter(|&chunk| classes[chunk] == class).collect::<Vec<usize>>();
    let sizes: Vec<usize> = (0..times.len()).map(|class| chunks_of(class).len()).collect();
    // Seeks on a disk that holds more chunks are longer, so it differs for no fault of its own.
    let is_even = sizes.iter().all(|size| *size == sizes[0]);
    let mut findings = Vec::new();
    for (class, &ClassTime { factor, odds }) in times.iter().enumerate() {
        let Some(mut own) = odds.map(probability) else { continue };
        let is_lost_copy = copies > 1 && factor >= LOST_COPY_MIN;
        let lost_copy = match is_lost_copy {
            true => Some(copies::are_lost(sampler, places, &chunks_of(class)).await?),
            false => None,
        };
        let finding = match lost_copy {
            Some((true, waiting_confidence)) => {
                // It is wrong if either test is.
                own = own.min(waiting_confidence);
                ProbeFinding::LostCopy { class }
            }
            _ if !is_even => continue,
            _ if factor > 1.0 => ProbeFinding::Slow { class, factor },
            _ => ProbeFinding::Fast { class, factor },
        };
        findings.push((finding, own));
    }
    sampler.note(|known| known.class_times = times.iter().map(|time| time.factor).collect());
    for (finding, own) in findings {
        sampler.report(finding, Some(ProbeStatement::Classes), own);
    }
    Ok(())
}

/// The last check. Claims that it contradicts are taken back; it is evidence for all others.
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
        return Err(sampler.take_back(Unmeasurable::TooSmall { bytes_min: times * places.pattern * segments }));
    }
    let checked = CheckedLayout { is_settled, ..checked };
    let mut found = foretold::check(sampler, checked).await?;
    let is_again = found == CheckOutcome::Contradicted;
    if is_again {
        // With many disturbances one check in a hundred is contradicted by chance.
        found = foretold::check(sampler, checked).await?;
    }
    match found {
        CheckOutcome::Contradicted => {
            let is_limited = checked.burst.device_class == DeviceClass::Disks && limit::hides_disks(sampler).await?;
            Err(sampler.take_back(if is_limited { Unmeasurable::Limited } else { Unmeasurable::Uneven }))
        }
        CheckOutcome::Limited => Err(sampler.take_back(Unmeasurable::Limited)),
        // (With one class nothing can be predicted.)
        CheckOutcome::Confirmed { confidence }
            if count - usize::from(checked.lost.is_some()) > 1 && confidence < SUPPORT_MIN =>
        {
            Err(sampler.take_back(Unmeasurable::Uneven))
        }
        CheckOutcome::Confirmed { confidence } => {
            sampler.observe(ProbeEvidence::Foretold(confidence));
            if is_again {
                sampler.observe(ProbeEvidence::ForetoldAgain);
            }
            let is_likely_enough =
                |claim: &Claim<ProbeFinding>| claim.value != ProbeFinding::Unknown || claim.confidence >= SUPPORT_MIN;
            // Classes of no known layout, which themselves are little more likely than not, are no result.
            if !sampler.is_known(|known| known.findings.iter().all(is_likely_enough)) {
                return Err(sampler.take_back(Unmeasurable::Uneven));
            }
            Ok(())
        }
    }
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
            sampler.observe(ProbeEvidence::MirrorWaits(probability(odds)));
            keep_fits(sampler, |fit| fit.layout.kind() == LayoutKind::Raid1);
            return Ok(false);
        }
        MirrorDisks::Unclear => {
            sampler.observe(ProbeEvidence::UnclearMirrorWaits);
            sampler.note(|known| known.disks = None);
            return Ok(true);
        }
        MirrorDisks::Shared(odds) => odds,
    };
    // Behind a limit the last of many requests is late, whatever disk it reads.
    if limit::hides_disks(sampler).await? {
        return Err(sampler.take_back(Unmeasurable::Limited));
    }
    let count = classes.iter().max().map_or(0, |most| most + 1);
    let kind = match (copies, count == classes.len()) {
        (2, true) => layout::mirrors::kind(sampler, hammer, places).await?,
        _ => None,
    };
    sampler.observe(ProbeEvidence::MirrorWaits(probability(odds)));
    let (kinds, odds) = kind.unwrap_or((Vec::new(), f64::MAX));
    sampler.observe(ProbeEvidence::MirrorNeighbours(probability(odds)));
    keep_fits(sampler, |fit| kinds.contains(&fit.layout.kind()));
    sampler.note(|known| {
        let fit = known.fits.as_ref().and_then(|fits| fits.value.first());
        known.disks = fit.and_then(|fit| stated(fit.layout.disks()));
    });
    if sampler.is_known(|known| known.disks.is_none()) {
        sampler.report(ProbeFinding::Unknown, Some(ProbeStatement::SharedDisks), 1.0);
    }
    Ok(true)
}

/// Keeps only some of the layouts that fit.
fn keep_fits(sampler: &Sampler, is_kept: impl Fn(&LayoutFit) -> bool) {
    sampler.note(|known| known.fits.iter_mut().for_each(|fits| fits.value.retain(&is_kept)));
}

/// Notes the classes, and what follows from them.
fn note_classes(sampler: &mut Sampler, classes: &[usize], copies: usize) {
    let is_flash =
        |known: &KnownArray| matches!(known.device_class, Some(Claim { value: DeviceClass::Flash { .. }, .. }));
    let fits = library::fits(classes, (!sampler.is_known(is_flash)).then_some(copies));
    let count = classes.iter().max().map_or(0, |most| most + 1);
    let sizes: Vec<usize> = (0..count).map(|class| classes.iter().filter(|other| **other == class).count()).collect();
    if sizes.iter().any(|size| *size != sizes[0]) {
        sampler.report(ProbeFinding::Unequal { sizes }, Some(ProbeStatement::Classes), 1.0);
    }
    if fits.is_empty() {
        sampler.report(ProbeFinding::Unknown, Some(ProbeStatement::Classes), 1.0);
    }
    sampler.note(|known| {
        known.disks = stated(count * copies);
        (known.classes, known.fits) = (stated(classes.to_vec()), stated(fits));
    });
}

#[cfg(test)]
mod tests;
