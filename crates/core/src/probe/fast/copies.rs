//! The number of disks that hold each chunk and share its reads.
//!
//! Two simultaneous reads of one class take the time of both where there is one copy, and the time of one where there are two.

use super::evidence::probability;
use super::layout::places::Places;
use super::sampler::{EarlyEnd, Sampler};
use super::statistic::{UNDISTURBED, quantile, spread, undisturbed};
use super::thresholds::{COLLIDED_SPREAD, COPIES_MAX, DECIDED};
use crate::probe::known::Claim;
use crate::rng::Rng;

/// Collisions measured before each check; the standard error of their quantile is a quarter of the distance to the threshold.
const COLLISIONS: usize = 32;
/// The least number of collisions from which reads are found to wait for each other. Where mirrors choose a copy by
/// chance, half of two reads wait although there are two copies; of 64, seven in ten do in one array of a thousand (of
/// 32, in one of a hundred).
const COLLISIONS_MIN: usize = 64;
/// The confidence at which no more collisions are measured.
const CONFIDENCE_WANTED: f64 = 0.999;
/// Collisions measured, at most.
const COLLISIONS_MAX: usize = 160;
/// Pairs of reads, and single reads, by which one disk is recognised.
const PAIRS: usize = 192;
/// The log-odds from which on the device counts as one disk: one error in a thousand.
const ONE_DISK: f64 = 6.9;
/// A quantile of the pairs' times: if an array is nearly all on one disk, one pair in twenty does not wait.
const LOW_QUANTILE: f64 = 0.05;
/// The smallest device, in bytes, for the test of one disk. On smaller ones seeks take no time, and times of one and of
/// two reads overlap: they need the tests of patterns.
const BYTES_MIN: u64 = 1 << 30;
/// Simulated draws from the times of single reads.
const SIMULATED_DRAWS: usize = 512;

/// Determines the copies for a pattern of `pattern` bytes; `None` when there seem to be more than [`COPIES_MAX`]. Only
/// copies that share the reads can be seen (Denehy et al. 2004, section 2.1).
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn find(sampler: &mut Sampler, pattern: u64) -> Result<Option<Claim<usize>>, EarlyEnd> {
    let mut confidence: f64 = 1.0;
    let mut singles = Vec::new();
    for copies in 1..=COPIES_MAX {
        let (is_collided, collided_confidence) =
            is_collided(sampler, Drawn::Pattern(pattern), copies + 1, &mut singles).await?;
        confidence = confidence.min(collided_confidence);
        if is_collided {
            return Ok(Some(Claim::new(copies, confidence)));
        }
    }
    Ok(None)
}

/// The confidence that all of the device is one disk, because two reads wait for each other wherever they are; `None`
/// if it is not. On two disks half of all pairs would not wait.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn is_one_disk(sampler: &mut Sampler) -> Result<Option<f64>, EarlyEnd> {
    if sampler.device().bytes < BYTES_MIN {
        return Ok(None);
    }
    let (mut pairs, mut singles) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        for (reads, times) in [(2, &mut pairs), (1, &mut singles)] {
            let draw = |sampler: &mut Sampler| {
                sampler.random_places(1, reads).into_iter().map(|place| sampler.read(place)).collect()
            };
            let done = sampler.run(draw).await?.into_iter().flatten();
            times.push(done.fold(1.0, f64::max).ln());
        }
    }
    let mut odds = f64::MAX;
    for share in [LOW_QUANTILE, UNDISTURBED] {
        let excess = quantile(&pairs, share) - halfway(&singles, 2, share, &mut sampler.rng);
        let errors = excess / (1.3 * spread(&pairs).max(COLLIDED_SPREAD) / (PAIRS as f64).sqrt());
        odds = odds.min(errors * errors.abs() / 2.0);
    }
    Ok((odds >= ONE_DISK).then_some(probability(odds.min(DECIDED))))
}

/// Whether two reads of these chunks of a mirror wait for each other, so that it has lost its copies; and the
/// confidence of the answer.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn are_lost(sampler: &mut Sampler, places: Places, chunks: &[usize]) -> Result<(bool, f64), EarlyEnd> {
    is_collided(sampler, Drawn::Chunks(places, chunks), 2, &mut Vec::new()).await
}

/// The places from which reads of one class are drawn.
#[derive(Clone, Copy)]
enum Drawn<'a> {
    /// The same place in patterns of this many bytes.
    Pattern(u64),
    /// Any of these chunks.
    Chunks(Places, &'a [usize]),
}

/// Whether `reads` reads of one class wait for each other, and the confidence of the answer. Measures as many single
/// reads, unless they are there already.
async fn is_collided(
    sampler: &mut Sampler,
    drawn: Drawn<'_>,
    reads: usize,
    singles: &mut Vec<f64>,
) -> Result<(bool, f64), EarlyEnd> {
    let mut logs = Vec::new();
    loop {
        for _ in 0..COLLISIONS {
            logs.push(longest(sampler, drawn, reads).await?);
        }
        while singles.len() < logs.len() {
            singles.push(longest(sampler, drawn, 1).await?);
        }
        let excess = undisturbed(&logs) - halfway(singles, reads, UNDISTURBED, &mut sampler.rng);
        // The error of this quantile is 1.3 times that of a mean.
        let errors = excess.abs() / (1.3 * spread(&logs).max(COLLIDED_SPREAD) / (logs.len() as f64).sqrt());
        let confidence = probability((errors * errors / 2.0).min(DECIDED));
        let is_enough = excess <= 0.0 || logs.len() >= COLLISIONS_MIN;
        if confidence >= CONFIDENCE_WANTED && is_enough || logs.len() >= COLLISIONS_MAX {
            return Ok((excess > 0.0, confidence));
        }
    }
}

/// Halfway between the time of `reads` reads that do not wait for each other (the longest of them) and their time when
/// two wait, as a quantile of logarithms. On a large disk that is 0.46 above a single read; on a small one, where seeks
/// take no time and all is rotation, 0.7: half of its single reads are done at once.
fn halfway(singles: &[f64], reads: usize, share: f64, rng: &mut Rng) -> f64 {
    let mut any = || singles[rng.below(singles.len() as u64) as usize].exp();
    let (mut without_wait, mut with_wait) = (Vec::new(), Vec::new());
    for _ in 0..SIMULATED_DRAWS {
        let times: Vec<f64> = (0..reads).map(|_| any()).collect();
        let longest = times.iter().copied().fold(0.0, f64::max);
        without_wait.push(longest.ln());
        with_wait.push(longest.max(times[0] + times[1]).ln());
    }
    (quantile(&without_wait, share) + quantile(&with_wait, share)) / 2.0
}

/// The logarithm of the time until all of `reads` reads of one class are done.
async fn longest(sampler: &mut Sampler, drawn: Drawn<'_>, reads: usize) -> Result<f64, EarlyEnd> {
    let block = sampler.device().block;
    let draw = |sampler: &mut Sampler| {
        let at: Vec<u64> = match drawn {
            Drawn::Pattern(pattern) => {
                let offset = sampler.rng.below(pattern / block) * block;
                sampler.places(pattern, offset, reads)
            }
            Drawn::Chunks(places, chunks) => (0..reads)
                .map(|_| {
                    let chunk = chunks[sampler.rng.below(chunks.len() as u64) as usize];
                    places.random_block(sampler, chunk)
                })
                .collect(),
        };
        at.into_iter().map(|place| sampler.read(place)).collect()
    };
    let done = sampler.run(draw).await?.into_iter().flatten();
    Ok(done.fold(1.0, f64::max).ln())
}
