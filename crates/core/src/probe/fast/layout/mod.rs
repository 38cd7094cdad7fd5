//! The fifth step: which chunks of the pattern lie together, by the library of known layouts if one of them stands the test,
//! from nothing otherwise.

mod free;
mod known;
pub mod places;

use super::evidence::probability;
use super::hammer::Hammer;
use super::sampler::{End, Sampler};
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

/// Finds it out.
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn find(sampler: &mut Sampler, hammer: Hammer, places: Places, copies: usize) -> Result<Classes, End> {
    if let Some(accepted) = known::find(sampler, hammer, places, copies).await? {
        return Ok(Classes { classes: accepted.classes, lost: None, confidence: probability(accepted.odds) });
    }
    let found = free::find(sampler, hammer, places).await?;
    Ok(Classes { classes: found.classes, lost: found.lost, confidence: found.confidence })
}

/// The least period of a list: what a pattern is made of, if it was taken too large.
pub fn period(classes: &[usize]) -> usize {
    let repeats = |size: &usize| {
        classes.len().is_multiple_of(*size) && classes.iter().enumerate().all(|(i, class)| *class == classes[i % size])
    };
    (1..=classes.len()).find(repeats).unwrap_or(classes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_as_long_as_what_repeats() {
        assert_eq!(period(&[0, 1, 2, 0, 1, 2]), 3);
        assert_eq!((period(&[0, 0]), period(&[0, 1, 0]), period(&[])), (1, 3, 0));
    }
}
