//! The fourth step: which chunks of the pattern lie together, by the library of known layouts if one of them stands the test,
//! from nothing otherwise.

mod free;
mod known;
pub mod places;

use super::evidence::probability;
use super::hammer::Hammer;
use super::sampler::{EarlyEnd, Sampler};
use super::thresholds::{HAMMERS_MAX, TOGETHER};
use free::FoundClasses;
use known::Accepted;
use places::Places;

/// What was found out.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    /// The class of each chunk of the pattern, numbered by their first chunks.
    pub classes: Vec<usize>,
    /// The class of chunks that wait for every other one.
    pub lost: Option<usize>,
    /// How sure that is.
    pub confidence: f64,
}

/// Finds it out. Nothing when the answers are not the same twice: there are no classes then, and no chunks.
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn find(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    copies: usize,
) -> Result<Option<Classes>, EarlyEnd> {
    if let Some(accepted) = known::find(sampler, hammer, places, copies).await? {
        let Accepted { classes, odds } = accepted;
        return Ok(Some(Classes { classes, lost: None, confidence: probability(odds) }));
    }
    let found = free::find(sampler, hammer, places, copies).await?;
    // Nothing that is known stands for the chunks here: the classes are no surer than they are.
    let sure = places.chunk.confidence;
    Ok(found.map(|FoundClasses { classes, lost, confidence }| Classes {
        classes,
        lost,
        confidence: confidence.min(sure),
    }))
}

/// The log-odds that mirrors are chained (Hsiao & DeWitt 1990): hammers on two chunks load both disks of the chunk between
/// them then, and none of its disks where each chunk has a pair of its own.
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn is_chained(sampler: &mut Sampler, hammer: Hammer, places: Places) -> Result<f64, EarlyEnd> {
    let chunks = places.chunks();
    let mut odds = 0.0f64;
    for _ in 0..HAMMERS_MAX {
        let first = sampler.rng.below(chunks as u64) as usize;
        let at = places.some_of_each(sampler, &[first, (first + 2) % chunks]);
        let between = places.some(sampler, (first + 1) % chunks);
        odds += hammer.strike(sampler, &at, &[between]).await?[0];
        if odds.abs() >= TOGETHER {
            break;
        }
    }
    Ok(odds)
}
