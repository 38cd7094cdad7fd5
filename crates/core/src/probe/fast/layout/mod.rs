//! The fourth step: which chunks of the pattern lie on the same disk.
//!
//! The answer is a known layout if one of them passes the test; otherwise the chunks are classified without the library.

mod free;
mod known;
pub mod mirrors;
pub mod places;

use super::confidence::ProbeEvidence;
use super::evidence::probability;
use super::hammer::Hammer;
use super::sampler::{EarlyEnd, Sampler};
use free::FoundClasses;
use known::Accepted;
use places::Places;

/// The classes of the chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    /// The class of each chunk of the pattern, numbered by their first chunks.
    pub classes: Vec<usize>,
    /// The class of chunks that wait for every other one, if there are any.
    pub lost: Option<usize>,
    /// The evidence for the classes.
    pub evidence: ProbeEvidence,
}

/// Determines the classes. `None` when the answers are not the same twice: there are no classes then, and no chunks.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn find(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    copies: usize,
) -> Result<Option<Classes>, EarlyEnd> {
    if let Some(accepted) = known::find(sampler, hammer, places, copies).await? {
        let Accepted { classes, odds } = accepted;
        return Ok(Some(Classes { classes, lost: None, evidence: ProbeEvidence::KnownClasses(probability(odds)) }));
    }
    let found = free::find(sampler, hammer, places, copies).await?;
    Ok(found.map(|FoundClasses { classes, lost, confidence }| Classes {
        classes,
        lost,
        evidence: ProbeEvidence::FreeClasses(confidence),
    }))
}
