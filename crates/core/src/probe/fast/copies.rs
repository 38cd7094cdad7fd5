//! How many disks hold each chunk and share its reads. Two reads of one class at once take the time of both
//! where there is one copy, and the time of one where there are two.

use super::evidence::probability;
use super::sampler::{EarlyEnd, Sampler};
use super::statistic::undisturbed;
use super::thresholds::{COLLIDED_LOG, COLLIDED_SPREAD, COPIES_MAX, DECIDED};
use crate::probe::known::Claim;

/// Collisions at first; the standard error of what is taken of them is a quarter of the distance to the threshold.
const COLLISIONS: usize = 32;
/// Collisions before reads are said to wait for each other. Where mirrors choose a copy by chance, half of two reads wait
/// although there are two copies; of so many, seven in ten do in one array of a thousand (of 32, in one of a hundred).
const COLLISIONS_MIN: usize = 64;
/// More are made as long as it is less sure than that,
const SURE: f64 = 0.999;
/// up to so many.
const COLLISIONS_MAX: usize = 160;

/// Finds it out, for a pattern of so many bytes; nothing when there seem to be more than [`COPIES_MAX`]. Only copies that share
/// the reads can be seen (Denehy et al. 2004, section 2.1).
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn find(sampler: &mut Sampler, pattern: u64) -> Result<Option<Claim<usize>>, EarlyEnd> {
    let mut confidence: f64 = 1.0;
    let mut singles = Vec::new();
    for copies in 1..=COPIES_MAX {
        let (is_collided, sure) = is_collided(sampler, pattern, copies + 1, &mut singles).await?;
        confidence = confidence.min(sure);
        if is_collided {
            return Ok(Some(Claim::new(copies, confidence)));
        }
    }
    Ok(None)
}

/// Do so many reads of one class wait for each other? And how sure that is. As many single reads are measured, if they are
/// not yet.
async fn is_collided(
    sampler: &mut Sampler,
    pattern: u64,
    reads: usize,
    singles: &mut Vec<f64>,
) -> Result<(bool, f64), EarlyEnd> {
    let mut logs = Vec::new();
    loop {
        for _ in 0..COLLISIONS {
            logs.push(longest(sampler, pattern, reads).await?);
        }
        while singles.len() < logs.len() {
            singles.push(longest(sampler, pattern, 1).await?);
        }
        let off = undisturbed(&logs) - undisturbed(singles) - COLLIDED_LOG;
        // 1.3 of the error of a mean is that of this quantile.
        let errors = off.abs() / (1.3 * COLLIDED_SPREAD / (logs.len() as f64).sqrt());
        let sure = probability((errors * errors / 2.0).min(DECIDED));
        let is_enough = off <= 0.0 || logs.len() >= COLLISIONS_MIN;
        if sure >= SURE && is_enough || logs.len() >= COLLISIONS_MAX {
            return Ok((off > 0.0, sure));
        }
    }
}

/// The logarithm of the time until so many reads of one class are done.
async fn longest(sampler: &mut Sampler, pattern: u64, reads: usize) -> Result<f64, EarlyEnd> {
    let block = sampler.device().block;
    let offset = sampler.rng.below(pattern / block) * block;
    let reads = sampler.places(pattern, offset, reads).into_iter().map(|place| sampler.read(place)).collect();
    let done = sampler.run(reads).await?.into_iter().flatten();
    Ok(done.fold(1.0, f64::max).ln())
}
