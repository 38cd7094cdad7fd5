//! The fourth step: which chunks of the pattern lie together, by the library of known layouts if one of them stands the test,
//! from nothing otherwise.

mod free;
mod known;
pub mod mirrors;
pub mod places;

use super::evidence::probability;
use super::hammer::Hammer;
use super::sampler::{EarlyEnd, Sampler};
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
