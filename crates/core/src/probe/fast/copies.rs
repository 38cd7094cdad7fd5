//! The third step: how many disks hold each chunk and share its reads. Two reads of one class at once take the time of both
//! where there is one copy, and the time of one where there are two.

use super::evidence::probability;
use super::sampler::{End, Sampler};
use super::statistic::median;
use super::thresholds::{COLLIDED_LOG, COLLIDED_SPREAD, COPIES_MAX};
use crate::probe::known::Claim;

/// Collisions of which the median is taken: its standard error is a quarter of the distance to the threshold.
const COLLISIONS: usize = 32;

/// Finds it out, for a pattern and the median time of single reads, in nanoseconds; nothing when there seem to be more than
/// [`COPIES_MAX`]. Only copies that share the reads can be seen (Denehy et al. 2004, section 2.1).
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn find(sampler: &mut Sampler, pattern: u64, response: f64) -> Result<Option<Claim<usize>>, End> {
    let mut confidence: f64 = 1.0;
    for copies in 1..=COPIES_MAX {
        let longer = collided(sampler, pattern, copies + 1).await? - response.ln();
        // 1.25 of the spread of a mean is that of a median.
        let errors = (longer - COLLIDED_LOG).abs() / (1.25 * COLLIDED_SPREAD / (COLLISIONS as f64).sqrt());
        confidence = confidence.min(probability(errors * errors / 2.0));
        if longer > COLLIDED_LOG {
            return Ok(Some(Claim::new(copies, confidence)));
        }
    }
    Ok(None)
}

/// The median logarithm of the time of so many reads of one class.
async fn collided(sampler: &mut Sampler, pattern: u64, reads: usize) -> Result<f64, End> {
    let block = sampler.device().block;
    let mut logs = Vec::new();
    for _ in 0..COLLISIONS {
        let offset = sampler.rng.below(pattern / block) * block;
        let requests = sampler.places(pattern, offset, reads).into_iter().map(|place| sampler.read(place)).collect();
        let done = sampler.run(requests).await?.into_iter().flatten();
        logs.push(done.fold(1.0, f64::max).ln());
    }
    Ok(median(&logs))
}
