//! Concatenated disks (LVM linear, JBOD): reads wait for each other where they are near, and not where they are far apart.
//!
//! On a mirror they do neither, on one disk both.

use super::evidence::{Doubt, of_probe, probability};
use super::sampler::{EarlyEnd, Sampler};
use super::statistic::Trimmed;
use super::thresholds::{APART, COLLIDED_LOG, DECIDED, HAMMER_READS, HAMMERS_MAX, TOGETHER};
use crate::probe::io::ProbeRequest;
use crate::probe::known::Claim;
use crate::units::Nanos;

/// Pairs of near reads: measured before each check, and in total, at most.
const PAIRS: (usize, usize) = (24, 96);
/// The device is cut into this many parts, and near reads lie in one of them: on few disks, most parts lie on one.
const NEAR_SHARE: u64 = 24;
/// The precision of the places, in bytes.
const PRECISION: u64 = 1 << 20;
/// The reads of a hammer lie in this fraction of the device (one hundredth).
const BAND_SHARE: u64 = 100;
/// Concatenated disks that are counted, at most.
const DISKS_MAX: usize = 32;

/// The log-odds that two near reads wait for each other, on a device where `copies` far ones do not: positive for
/// concatenated disks, negative for mirrors.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn near_wait(sampler: &mut Sampler, copies: usize) -> Result<f64, EarlyEnd> {
    let mut logs = Vec::new();
    loop {
        for _ in 0..PAIRS.0 {
            let band = sampler.rng.below(NEAR_SHARE);
            // As many reads as copies bring each copy's head to the part.
            longest(sampler, band, copies).await?;
            let single = longest(sampler, band, 1).await?;
            longest(sampler, band, copies).await?;
            logs.push(longest(sampler, band, 2).await? - single);
        }
        let found = Trimmed::of(&logs);
        let excess = found.mean - COLLIDED_LOG;
        let odds = (excess / found.error.max(1e-9)).powi(2).min(2.0 * DECIDED) / 2.0 * excess.signum();
        if odds.abs() >= APART || logs.len() >= PAIRS.1 {
            return Ok(odds);
        }
    }
}

async fn longest(sampler: &mut Sampler, band: u64, reads: usize) -> Result<f64, EarlyEnd> {
    let draw = |sampler: &mut Sampler| {
        sampler.random_places_in(band, NEAR_SHARE, reads).into_iter().map(|place| sampler.read(place)).collect()
    };
    let done = sampler.run(draw).await?.into_iter().flatten();
    Ok(done.fold(1.0, f64::max).ln())
}

/// The first byte of each disk, to [`PRECISION`] bytes; the first one is 0. `None` where it cannot be determined.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn starts(sampler: &mut Sampler, pace: f64, odds: f64) -> Result<Option<Claim<Vec<u64>>>, EarlyEnd> {
    let bytes = sampler.device().bytes;
    let (mut starts, mut doubt) = (vec![0], Doubt::default());
    while starts.len() < DISKS_MAX {
        let at = starts[starts.len() - 1];
        let band = bytes / BAND_SHARE;
        let (mut low, mut high) = (at + band, bytes - 1);
        if low >= high || is_together(sampler, at, high, pace, &mut doubt).await? {
            break;
        }
        if !is_together(sampler, at, low, pace, &mut doubt).await? {
            return Ok(None);
        }
        while high - low > PRECISION {
            let middle = low + (high - low) / 2;
            if is_together(sampler, at, middle, pace, &mut doubt).await? {
                low = middle;
            } else {
                high = middle;
            }
        }
        starts.push(high.div_ceil(PRECISION) * PRECISION);
    }
    let confidence = doubt.confidence().min(probability(odds));
    Ok((starts.len() > 1 && confidence > 0.5).then(|| Claim::new(starts, confidence)))
}

/// Whether a read at `other` waits for reads from `at` on.
async fn is_together(
    sampler: &mut Sampler,
    at: u64,
    other: u64,
    pace: f64,
    doubt: &mut Doubt,
) -> Result<bool, EarlyEnd> {
    let device = sampler.device();
    let (band, mut odds) = (device.bytes / BAND_SHARE, 0.0);
    for _ in 0..HAMMERS_MAX {
        let draw = |sampler: &mut Sampler| {
            let mut reads = Vec::new();
            for read in 0..HAMMER_READS as u64 {
                let place = at + PRECISION + (band - PRECISION.min(band / 2)) * read / HAMMER_READS as u64;
                let place = place + sampler.rng.below(band / HAMMER_READS as u64 / 2);
                reads.push(sampler.read(place / device.block * device.block));
            }
            let last = (other / device.block * device.block).min(device.bytes - device.block);
            reads.push(ProbeRequest { at: Nanos((pace / 2.0) as u64), ..sampler.read(last) });
            reads
        };
        let done = sampler.run(draw).await?;
        let (hammer, probed) = done.split_at(HAMMER_READS);
        if let Some(time) = probed[0] {
            let before = hammer.iter().flatten().filter(|done| **done < time).count() as f64;
            odds += of_probe(before / hammer.iter().flatten().count().max(1) as f64);
        }
        if !(-APART..TOGETHER).contains(&odds) {
            break;
        }
    }
    doubt.add(odds);
    Ok(odds > 0.0)
}
