//! The second step: the pattern's size, by division of a large multiple of it.
//!
//! ```text
//! candidates -> the slowest (one disk does it all) -> yardstick -> divide by primes, as long as it stays slow
//!      ^                                                  -> confirm: against its own slowest multiple -> copies: is it one class?
//!      +-------- once more, of more disks, if one of these fails <---------------------------------+
//! ```
//!
//! Where that ends at one class of several copies, other strides are scanned: an array that has none of the candidates looks so.

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
use crate::probe::known::{Claim, DeviceClass, Unmeasurable};

/// Rounds in which the slowest candidate is looked for.
const ROUNDS: usize = 5;
/// By how much the logarithm of a candidate's mean pace may lie below that of the slowest, by round: what is left out is 3
/// spreads away at first, and a stride that looks like one disk at half of its offsets goes at the end.
const BEHIND: [f64; ROUNDS] = [0.35, 0.3, 0.25, 0.2, 0.15];
/// Requests of a candidate's burst on disks.
const CANDIDATE_BURST: usize = 14;
/// The spread of such bursts, which is not known yet; of the slowest of several it is the larger one.
const CANDIDATE_SPREAD: f64 = 0.15;
/// A burst at one disk is served so many times faster than single reads at most, by better order.
const FASTER_MAX: f64 = 1.7;
/// After so many patterns that did not stand the last test, there is none.
const ATTEMPTS_MAX: usize = 4;
/// Strides that are tried one after the other, [`SCAN_STEP`] or less apart: all patterns of so many chunks of that size.
const SCANNED: u64 = 160;
/// See [`SCANNED`]: chunks of up to 128 KiB, and larger ones of fewer disks.
const SCAN_STEP: u64 = 128 << 10;
/// So many of them, the slowest, are measured again, by so many bursts.
const SCAN_AGAIN: usize = 6;
/// See [`SCAN_AGAIN`].
const SCAN_BURSTS: usize = 7;
/// By how much the logarithm of its pace is larger at least where it is a multiple: one disk takes the time of two or more
/// (0.69), two that of three (0.41); whole cylinders, on a disk of one zone, take somewhat longer than other strides, too.
const OVERLOOKED_LOG: f64 = 0.3;
/// The smallest stride that must have room: chunks of 4 KiB on four disks.
const STRIDE_MIN: u64 = 16 << 10;

/// What was found out.
#[derive(Clone, Debug)]
pub struct PatternResult {
    /// The least distance at which all blocks lie on the same disk again.
    pub bytes: u64,
    /// How sure that is.
    pub confidence: f64,
    /// The pace of one disk.
    pub yardstick: Yardstick,
    /// Disks that hold each chunk; not asked of flash.
    pub copies: Option<Claim<usize>>,
    /// The log-odds that there is no pattern, but disks that lie one behind the other.
    pub joined: Option<f64>,
    /// Multiples of it up to this were tried, in bytes: all that had room.
    pub stride_max: u64,
}

/// Why an attempt failed.
enum Failure {
    /// At no stride is a burst as slow as one disk.
    NoneIsSlow,
    /// Another reason.
    Other(EarlyEnd),
}

impl From<EarlyEnd> for Failure {
    fn from(end: EarlyEnd) -> Failure {
        Failure::Other(end)
    }
}

/// Finds it out, where a single read takes `response` nanoseconds. Nothing when no stride stands the tests: the pattern is none
/// that was thought of.
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

/// The largest stride that leaves room for bursts.
pub fn stride_max(sampler: &Sampler, burst: Burst) -> u64 {
    sampler.device().bytes / segments(burst)
}

fn segments(burst: Burst) -> u64 {
    SEGMENTS_MIN.max(8 * burst.count as u64)
}

/// Looks for it once, among the divisors of these strides. Copies of one class are what an array looks like, too, of which
/// no stride is a multiple: others are tried before that is said.
async fn attempted(
    sampler: &mut Sampler,
    burst: Burst,
    response: f64,
    strides: Vec<u64>,
    attempt: usize,
) -> Result<Option<PatternResult>, Failure> {
    let burst = Burst { count: burst.count.max(CANDIDATE_BURST * attempt.min(2)), ..burst };
    let stride_max = strides.iter().copied().max().unwrap_or_default();
    // Larger ones than those that are likely may unmask one of them.
    let room = self::stride_max(sampler, burst);
    let found = divisor(sampler, burst, response, strides, room, attempt).await?;
    let Some(pattern) = found.as_ref().filter(|pattern| pattern.bytes == sampler.device().block) else {
        return Ok(found);
    };
    if pattern.copies.as_ref().is_none_or(|copies| copies.value == 1) || pattern.joined.is_some() {
        return Ok(found);
    }
    match overlooked(sampler, &pattern.yardstick, stride_max).await? {
        Some(stride) => divisor(sampler, burst, response, vec![stride], room, attempt).await,
        None => Ok(found),
    }
}

/// A stride that is slower than a reference: one after the other is tried.
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

/// The divisor of one of these strides that it is.
async fn divisor(
    sampler: &mut Sampler,
    burst: Burst,
    response: f64,
    strides: Vec<u64>,
    stride_max: u64,
    attempt: usize,
) -> Result<Option<PatternResult>, Failure> {
    let multiple = slowest(sampler, burst, strides, attempt).await?;
    // One disk at some offsets and several at others is no noise: that ends an attempt, too.
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
        pattern.copies = copies::find(sampler, pattern.bytes).await?;
        let copies = pattern.copies.as_ref().map_or(COPIES_MAX, |copies| copies.value);
        if pattern.bytes == sampler.device().block && copies > 1 {
            let near_wait = joined::near_wait(sampler, copies).await?;
            pattern.confidence = pattern.confidence.min(probability(near_wait.abs()));
            if near_wait > 0.0 {
                return Ok(Some(PatternResult { copies: None, joined: Some(near_wait), ..pattern }));
            }
        }
        if pattern.copies.is_none() {
            // More disks than any mirror has: it only looked alike because it is spread over all of them.
            return Err(Failure::NoneIsSlow);
        }
    }
    Ok(Some(pattern))
}

/// The candidate whose bursts take longest, if it goes on like that: if one of them is a multiple of the pattern, it is
/// among the slowest.
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

/// Of some strides those that nothing is much slower than, the most evenly slow one first, with their median paces.
async fn slow(
    sampler: &mut Sampler,
    burst: Burst,
    strides: Vec<u64>,
    attempt: usize,
) -> Result<Vec<(u64, f64)>, EarlyEnd> {
    let mut offsets = Offsets::new(sampler);
    let mut live: Vec<(u64, Vec<f64>)> = strides.into_iter().map(|stride| (stride, Vec::new())).collect();
    let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len() as f64;
    for behind in BEHIND {
        for (stride, logs) in &mut live {
            for _ in 0..attempt {
                let offset = offsets.next_of(*stride, sampler.device().block);
                logs.push(burst.pace(sampler, *stride, offset).await?);
            }
        }
        let best = live.iter().map(|(_, logs)| mean(logs)).fold(f64::MIN, f64::max);
        live.retain(|(_, logs)| mean(logs) >= best - behind);
        if live.len() == 1 {
            break;
        }
    }
    live.sort_by(|(_, a), (_, b)| evenness(b).total_cmp(&evenness(a)));
    Ok(live.into_iter().map(|(stride, logs)| (stride, median(&logs))).collect())
}

/// The mean of the lower half: a stride that is one disk only at some offsets is fast at the others.
fn evenness(logs: &[f64]) -> f64 {
    let middle = median(logs);
    let low: Vec<f64> = logs.iter().copied().filter(|log| *log <= middle).collect();
    low.iter().sum::<f64>() / low.len() as f64
}

/// Divides by primes as long as it stays a multiple, as far as quick tests tell.
async fn divided(
    sampler: &mut Sampler,
    yardstick: &mut Yardstick,
    multiple: u64,
    attempt: usize,
) -> Result<u64, EarlyEnd> {
    let block = sampler.device().block;
    let accepted = (TENTATIVE * attempt as f64).min(DECIDED);
    let limits = (accepted, (DISMISSED * attempt as f64).min(DECIDED));
    // One disk has no pattern at all: nothing need be searched.
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
                // A number of two primes has one less to be asked for.
                if bytes / powers == prime || is_multiple(sampler, yardstick, bytes / prime, limits).await? <= 0.0 {
                    break;
                }
                bytes /= prime;
            }
        }
    }
    // The exponent of two by halves: `low` can be divided out, `high` cannot.
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

/// Tests for good that it is a multiple of the pattern, and that no part of it is one.
///
/// What it was found by may have been no multiple either: RAID-5 left-asymmetric is slow, if not everywhere, at each
/// multiple of a stripe. So it is measured by one of its own multiples: the slowest, which is a multiple of the pattern if
/// any is. (A flash drive is an array of dies itself: there the slowest one says how those are laid out.)
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
    // What so many bursts cannot decide is mostly a part of the pattern: the pattern takes sixteen.
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
    let confidence = doubt.confidence();
    Ok(Some(PatternResult { bytes, confidence, yardstick, copies: None, joined: None, stride_max }))
}
