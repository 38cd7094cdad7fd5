//! Whose disks mirrors are on: pairs of their own, or each shared with the mirrors beside it.

use super::places::Places;
use crate::layout::LayoutKind;
use crate::probe::fast::hammer::Hammer;
use crate::probe::fast::sampler::{EarlyEnd, Sampler};
use crate::probe::fast::thresholds::{APART, HAMMERS_MAX, TOGETHER};

/// The log-odds that a class shares its disks with others: all others are hammered at once, and one of its chunks is probed. On
/// disks of its own it is early.
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn are_shared(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    classes: &[usize],
) -> Result<f64, EarlyEnd> {
    let count = classes.iter().max().map_or(0, |most| most + 1);
    let any = |sampler: &mut Sampler, class: usize| {
        let own: Vec<usize> = (0..classes.len()).filter(|&chunk| classes[chunk] == class).collect();
        own[sampler.rng.below(own.len() as u64) as usize]
    };
    let mut odds = 0.0f64;
    for _ in 0..HAMMERS_MAX {
        let probed = sampler.rng.below(count as u64) as usize;
        let others: Vec<usize> = (0..count).filter(|&class| class != probed).map(|class| any(sampler, class)).collect();
        let (at, probe) = (places.some_of_each(sampler, &others), any(sampler, probed));
        let probe = places.some(sampler, probe);
        odds += hammer.strike(sampler, &at, &[probe]).await?[0];
        if odds >= TOGETHER || odds <= -APART {
            break;
        }
    }
    Ok(odds)
}

/// Which kinds share disks as these do, where each chunk of the pattern is a class: hammers on the two chunks that share a
/// chunk's disks hold it up. And the log-odds. Nothing where none does. (Chained: Hsiao & DeWitt 1990. Of three disks all are
/// alike.)
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn kind(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
) -> Result<Option<(Vec<LayoutKind>, f64)>, EarlyEnd> {
    let chunks = places.chunks();
    if chunks == 3 {
        return Ok(Some((vec![LayoutKind::Chained, LayoutKind::Near], f64::MAX)));
    }
    // Chunk i of near copies lies on disks 2 i and 2 i + 1 of an odd count: beside it lie those half the count away.
    for (kind, beside) in [(LayoutKind::Chained, 1), (LayoutKind::Near, chunks.div_ceil(2))] {
        if kind == LayoutKind::Near && chunks.is_multiple_of(2) {
            continue;
        }
        let mut odds = 0.0f64;
        for _ in 0..HAMMERS_MAX {
            let chunk = sampler.rng.below(chunks as u64) as usize;
            let at = places.some_of_each(sampler, &[(chunk + beside) % chunks, (chunk + chunks - beside) % chunks]);
            let probe = places.some(sampler, chunk);
            odds += hammer.strike(sampler, &at, &[probe]).await?[0];
            if odds >= TOGETHER || odds <= -APART {
                break;
            }
        }
        if odds > 0.0 {
            return Ok(Some((vec![kind], odds)));
        }
    }
    Ok(None)
}
