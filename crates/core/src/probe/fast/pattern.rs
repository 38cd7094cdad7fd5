//! The second step: the size of the pattern, by division of a large multiple of it.
//!
//! ```text
//! candidates -> the slowest (one disk does it all) -> yardstick -> divide by primes, as long as it stays slow
//!      ^                                                  -> confirm: against its own slowest multiple -> copies: is it one class?
//!      +-------- once more, of more disks, if one of these fails <---------------------------------+
//! ```
//!
//! If that ends at one class of several copies, other strides are scanned: an array whose pattern is no candidate looks
//! like that.

use super::confidence::ProbeEvidence;
use super::copies;
use super::evidence::{Doubt, of_stride, probability};
use super::joined;
use super::limit;
use super::sampler::{EarlyEnd, Sampler};
use super::statistic::median;
use super::stride::{is_multiple, is_multiple_for_sure};
use super::strides::{DISKS_LIKELY, DISKS_MAX, candidates, factors, multiples};
use super::thresholds::{BELIEVED, COPIES_MAX, DECIDED, DISMISSED, SEGMENTS_MIN, TENTATIVE};
use super::yardstick::{Burst, Offsets, Yardstick};
use crate::probe::known::{DeviceClass, Unmeasurable};

/// Rounds in which the slowest candidate is determined.
const ROUNDS: usize = 5;
/// By how much the logarithm of a candidate's mean pace may lie below that of the slowest, by round: at first, candidates are
/// dropped 3 spreads below, and in the end also a stride that looks like one disk at half of its offsets.
const LAG_MAX: [f64; ROUNDS] = [0.35, 0.3, 0.25, 0.2, 0.15];
/// Requests of a candidate's burst on disks, at least.
const CANDIDATE_BURST: usize = 14;
/// The assumed spread of such bursts, as long as it is not measured; that of the slowest of several is above average.
const CANDIDATE_SPREAD: f64 = 0.15;
/// The factor by which a better order makes a burst on one disk faster than single reads, at most.
const FASTER_MAX: f64 = 1.7;
/// Attempts to find a pattern that passes the last test.
const ATTEMPTS_MAX: usize = 4;
/// Strides that are scanned, [`SCAN_STEP`] or less apart: all patterns of so many chunks of that size.
const SCANNED: u64 = 160;
/// The distance between scanned strides, at most, in bytes: chunks of up to 128 KiB, and larger ones of fewer disks.
const SCAN_STEP: u64 = 128 << 10;
/// The slowest scanned strides, which are measured again.
const SCAN_AGAIN: usize = 6;
/// Bursts by which each of these is measured again.
const SCAN_BURSTS: usize = 7;
/// The least excess of a scanned stride's pace, in logarithms, if it is a multiple: one disk takes the time of two or more
/// (0.69), two take that of three (0.41). Whole cylinders, on a disk of one zone, take somewhat longer than other strides, too.
const OVERLOOKED_LOG: f64 = 0.3;
/// The smallest stride that must have room, in bytes: chunks of 4 KiB on four disks.
const STRIDE_MIN: u64 = 16 << 10;

/// The pattern that was found.
#[derive(Clone, Debug)]
pub struct PatternResult {
    /// The pattern: the least distance at which all blocks lie on the same disk again, in bytes.
    pub bytes: u64,
    /// The evidence for that, and for the copies.
    pub evidence: Vec<ProbeEvidence>,
    /// The pace of one disk.
    pub yardstick: Yardstick,
    /// The number of disks that hold each chunk; not determined on flash.
    pub copies: Option<usize>,
    /// The log-odds that there is no pattern, but concatenated disks; `None` if there is a pattern.
    pub joined: Option<f64>,
    /// The largest stride that has room, in bytes; multiples of the pattern were tried up to it.
    pub stride_max: u64,
}

/// Why an attempt failed.
enum Failure {
    /// No stride makes a burst as slow as one disk.
    NoneIsSlow,
    /// Another reason.
    Other(EarlyEnd),
}

impl From<EarlyEnd> for Failure {
    fn from(end: EarlyEnd) -> Failure {
        Failure::Other(end)
    }
}

/// Determines the pattern, where a single read takes `response` nanoseconds. `None` when no stride passes the tests:
/// the pattern is none of those considered.
///
/// # Errors
/// [`Unmeasurable::TooSmall`], [`Unmeasurable::Limited`], and those of [`Yardstick::new`].
pub async fn find(
    sampler: &mut Sampler,
    burst: Burst,
    response: f64,
    pattern_max: u64,
) -> Result<Option<PatternResult>, EarlyEnd> {
    let stride_max = stride_max(sampler, burst);
    if stride_max < STRIDE_MIN {
        return Err(EarlyEnd::Unmeasurable(Unmeasurable::TooSmall { bytes_min: STRIDE_MIN * segments(burst) }));
    }
    let mut failure = None;
    for attempt in 1..=ATTEMPTS_MAX {
        let is_larger = matches!(failure, Some(Failure::NoneIsSlow)) || attempt * 2 > ATTEMPTS_MAX;
        let disks_max = if is_larger { DISKS_MAX } else { DISKS_LIKELY };
        let strides = candidates(stride_max, pattern_max, disks_max, sampler.device().block);
        failure = match attempted(sampler, burst, response, strides, attempt).await {
            Ok(Some(pattern)) => return Ok(Some(pattern)),
            Ok(None) => None,
            Err(failure @ (Failure::NoneIsSlow | Failure::Other(EarlyEnd::Unmeasurable(Unmeasurable::TooNoisy)))) => {
                Some(failure)
            }
            Err(Failure::Other(end)) => return Err(end),
        };
    }
    match failure {
        Some(Failure::Other(end)) => Err(end),
        Some(Failure::NoneIsSlow)
            if burst.device_class == DeviceClass::Disks && limit::hides_disks(sampler).await? =>
        {
            Err(EarlyEnd::Unmeasurable(Unmeasurable::Limited))
        }
        _ => Ok(None),
    }
}

/// The largest stride, in bytes, that leaves room for bursts.
pub fn stride_max(sampler: &Sampler, burst: Burst) -> u64 {
    sampler.device().bytes / segments(burst)
}

fn segments(burst: Burst) -> u64 {
    SEGMENTS_MIN.max(8 * burst.count as u64)
}

/// One attempt, among the divisors of these strides. An array looks like copies of one class, too, if no stride is a
/// multiple of its pattern: others are scanned before that is claimed.
async fn attempted(
    sampler: &mut Sampler,
    burst: Burst,
    response: f64,
    strides: Vec<u64>,
    attempt: usize,
) -> Result<Option<PatternResult>, Failure> {
    let burst = Burst { count: burst.count.max(CANDIDATE_BURST * attempt.min(2)), ..burst };
    let stride_max = strides.iter().copied().max().unwrap_or_default();
    // Strides larger than the likely ones may refute one of them.
    let room = self::stride_max(sampler, burst);
    let found = divisor(sampler, burst, response, strides, room, attempt).await?;
    let Some(pattern) = found.as_ref().filter(|pattern| pattern.bytes == sampler.device().block) else {
        return Ok(found);
    };
    if pattern.copies.is_none_or(|copies| copies == 1) || pattern.joined.is_some() {
        return Ok(found);
    }
    match overlooked(sampler, &pattern.yardstick, stride_max).await? {
        Some(stride) => divisor(sampler, burst, response, vec![stride], room, attempt).await,
        None => Ok(found),
    }
}

/// A stride that is slower than the references, by a scan of strides one after the other; `None` if there is none.
async fn overlooked(sampler: &mut Sampler, yardstick: &Yardstick, stride_max: u64) -> Result<Option<u64>, EarlyEnd> {
    let block = sampler.device().block;
    let step = (SCAN_STEP.min(stride_max / SCANNED) / block).max(1) * block;
    let mut offsets = Offsets::new(sampler);
    let mut paces = Vec::new();
    for stride in (1..=SCANNED).map(|times| times * step) {
        paces.push((stride, yardstick.burst.pace(sampler, stride, offsets.next_of(stride, block)).await?));
    }
    paces.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    for (stride, _) in &paces[..SCAN_AGAIN] {
        let mut logs = Vec::new();
        for _ in 0..SCAN_BURSTS {
            logs.push(yardstick.burst.pace(sampler, *stride, offsets.next_of(*stride, block)).await?);
        }
        if median(&logs) > yardstick.log() + OVERLOOKED_LOG {
            return Ok(Some(*stride));
        }
    }
    Ok(None)
}

/// The divisor of one of these strides that is the pattern.
async fn divisor(
    sampler: &mut Sampler,
    burst: Burst,
    response: f64,
    strides: Vec<u64>,
    stride_max: u64,
    attempt: usize,
) -> Result<Option<PatternResult>, Failure> {
    let multiple = slowest(sampler, burst, strides, attempt).await?;
    // An array with one disk at some offsets and several at others is too noisy: that ends an attempt, too.
    let mut yardstick = Yardstick::new(sampler, burst, multiple).await?;
    if burst.device_class == DeviceClass::Disks && response / yardstick.log().exp() > FASTER_MAX * COPIES_MAX as f64 {
        return Err(Failure::NoneIsSlow);
    }
    let bytes = divided(sampler, &mut yardstick, multiple, attempt).await?;
    let Some(mut pattern) = confirmed(sampler, yardstick, bytes, stride_max).await? else { return Ok(None) };
    if pattern.bytes == sampler.device().block {
        limit::refuse(sampler, burst.device_class, response, pattern.yardstick.log().exp()).await?;
    }
    if burst.device_class == DeviceClass::Disks {
        let found = copies::find(sampler, pattern.bytes).await?;
        pattern.evidence.extend(found.as_ref().map(|copies| ProbeEvidence::Collisions(copies.confidence)));
        pattern.copies = found.map(|copies| copies.value);
        let copies = pattern.copies.unwrap_or(COPIES_MAX);
        if pattern.bytes == sampler.device().block && copies > 1 {
            let near_wait = joined::near_wait(sampler, copies).await?;
            pattern.evidence.push(ProbeEvidence::NearReads(probability(near_wait.abs())));
            if near_wait > 0.0 {
                return Ok(Some(PatternResult { copies: None, joined: Some(near_wait), ..pattern }));
            }
        }
        if pattern.copies.is_none() {
            // More disks than any mirror has: the stride only seemed to be one class because it is spread over all of them.
            return Err(Failure::NoneIsSlow);
        }
    }
    Ok(Some(pattern))
}

/// The candidate whose bursts take longest, if further bursts confirm it: a multiple of the pattern is among the slowest.
async fn slowest(sampler: &mut Sampler, burst: Burst, strides: Vec<u64>, attempt: usize) -> Result<u64, EarlyEnd> {
    let live = slow(sampler, burst, strides, attempt).await?;
    let mut offsets = Offsets::new(sampler);
    let slow = live.iter().map(|(_, log)| *log).fold(f64::MIN, f64::max);
    for (stride, _) in &live {
        let mut odds = 0.0;
        while odds > -DISMISSED {
            let offset = offsets.next_of(*stride, sampler.device().block);
            odds += of_stride(burst.pace(sampler, *stride, offset).await? - slow, CANDIDATE_SPREAD);
            if odds >= BELIEVED {
                return Ok(*stride);
            }
        }
    }
    Ok(live[0].0)
}

/// The strides that are about as slow as the slowest one, with their median paces; the most evenly slow one first.
async fn slow(
    sampler: &mut Sampler,
    burst: Burst,
    strides: Vec<u64>,
    attempt: usize,
) -> Result<Vec<(u64, f64)>, EarlyEnd> {
    let mut offsets = Offsets::new(sampler);
    let mut live: Vec<(u64, Vec<f64>)> = strides.into_iter().map(|stride| (stride, Vec::new())).collect();
    let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len() as f64;
    for lag_max in LAG_MAX {
        for (stride, logs) in &mut live {
            for _ in 0..attempt {
                let offset = offsets.next_of(*stride, sampler.device().block);
                logs.push(burst.pace(sampler, *stride, offset).await?);
            }
        }
        let best = live.iter().map(|(_, logs)| mean(logs)).fold(f64::MIN, f64::max);
        live.retain(|(_, logs)| mean(logs) >= best - lag_max);
        if live.len() == 1 {
            break;
        }
    }
    live.sort_by(|(_, a), (_, b)| evenness(b).total_cmp(&evenness(a)));
    Ok(live.into_iter().map(|(stride, logs)| (stride, median(&logs))).collect())
}

/// The mean of the lower half, which is low for a stride that is one disk at some offsets only.
fn evenness(logs: &[f64]) -> f64 {
    let middle = median(logs);
    let low: Vec<f64> = logs.iter().copied().filter(|log| *log <= middle).collect();
    low.iter().sum::<f64>() / low.len() as f64
}

/// Divides by primes as long as the result stays a multiple by quick tests.
async fn divided(
    sampler: &mut Sampler,
    yardstick: &mut Yardstick,
    multiple: u64,
    attempt: usize,
) -> Result<u64, EarlyEnd> {
    let block = sampler.device().block;
    let accepted = (TENTATIVE * attempt as f64).min(DECIDED);
    let limits = (accepted, (DISMISSED * attempt as f64).min(DECIDED));
    // One disk has no pattern, so no search is needed.
    if is_multiple(sampler, yardstick, block, limits).await? > 0.0 {
        return Ok(block);
    }
    let powers = 1 << multiple.trailing_zeros();
    let mut bytes = multiple;
    if is_multiple(sampler, yardstick, powers, limits).await? > 0.0 {
        bytes = powers;
    } else {
        for (prime, exponent) in factors(multiple / powers) {
            for _ in 0..exponent {
                // A divisor that leaves only powers of two has been tested before.
                if bytes / powers == prime || is_multiple(sampler, yardstick, bytes / prime, limits).await? <= 0.0 {
                    break;
                }
                bytes /= prime;
            }
        }
    }
    // The exponent of two, by bisection: 2^`low` can be divided out, 2^`high` cannot.
    let (mut low, mut high) = (0, (bytes / block).trailing_zeros() + 1);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if is_multiple(sampler, yardstick, bytes >> middle, limits).await? > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(bytes >> low)
}

/// Tests with certainty that `bytes` is a multiple of the pattern, and that no part of it is one.
///
/// The stride by which it was found may have been no multiple: RAID-5 left-asymmetric is slow, if not everywhere, at each
/// multiple of a stripe. So it is compared with one of its own multiples: the slowest, which is a multiple of the pattern if
/// any is. (A flash drive is an array of dies itself: there the slowest multiple shows how those are laid out.)
async fn confirmed(
    sampler: &mut Sampler,
    mut yardstick: Yardstick,
    bytes: u64,
    stride_max: u64,
) -> Result<Option<PatternResult>, EarlyEnd> {
    let block = sampler.device().block;
    let mut bytes = bytes;
    let mut doubt = Doubt::default();
    if yardstick.burst.device_class == DeviceClass::Disks {
        let slow = slow(sampler, yardstick.burst, multiples(bytes, stride_max), 1).await?;
        yardstick.move_to(sampler, slow[0].0).await?;
    }
    let odds = is_multiple_for_sure(sampler, &mut yardstick, bytes).await?;
    // If so many bursts cannot decide, it is mostly a part of the pattern; deciding takes sixteen on the pattern.
    if odds < DECIDED {
        return Ok(None);
    }
    doubt.add(odds);
    let mut primes: Vec<u64> = factors(bytes / block).into_iter().map(|(prime, _)| prime).collect();
    while let Some(&prime) = primes.last() {
        if !(bytes / block).is_multiple_of(prime) {
            primes.pop();
            continue;
        }
        let odds = is_multiple_for_sure(sampler, &mut yardstick, bytes / prime).await?;
        doubt.add(odds);
        if (0.0..DECIDED).contains(&odds) {
            return Ok(None);
        }
        if odds > 0.0 {
            bytes /= prime;
        } else {
            primes.pop();
        }
    }
    let evidence = vec![ProbeEvidence::Strides(doubt.confidence())];
    Ok(Some(PatternResult { bytes, evidence, yardstick, copies: None, joined: None, stride_max }))
}
