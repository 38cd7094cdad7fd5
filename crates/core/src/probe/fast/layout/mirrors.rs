//! Whose disks mirrors are on: pairs of their own, or each shared with the mirrors beside it.

use super::places::Places;
use crate::layout::LayoutKind;
use crate::probe::fast::hammer::Hammer;
use crate::probe::fast::sampler::{EarlyEnd, Sampler};
use crate::probe::fast::thresholds::{APART, HAMMERS_MAX, TOGETHER};

/// Hammers on all classes but one, which is another one each time, after which the answer is looked at.
const HAMMERS: [usize; 3] = [8, 16, 24];
/// Of so many probes of disks of their own no more than one is late, by somebody else's reads. (Of shared ones most are late, or
/// half of them where the nearest copy is read.)
const LATE_ONE_IN: usize = 8;
/// Reads of such a hammer on each class, for each copy: enough to hold up a probe.
const READS: usize = 5;

/// What hammers on all other classes said of one's disks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MirrorDisks {
    /// Each class has its own, with these log-odds.
    Own(f64),
    /// They are shared.
    Shared(f64),
    /// Now this, now that: by the way in which copies are chosen it cannot be seen.
    Unclear,
}

/// Does a class share its disks with others? All others are hammered at once, and one of its chunks is probed. On disks of its
/// own it is early.
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn disks(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    classes: &[usize],
    copies: usize,
) -> Result<MirrorDisks, EarlyEnd> {
    let count = classes.iter().max().map_or(0, |most| most + 1);
    let hammer = Hammer { count: READS * copies, ..hammer };
    let any = |sampler: &mut Sampler, class: usize| {
        let own: Vec<usize> = (0..classes.len()).filter(|&chunk| classes[chunk] == class).collect();
        own[sampler.rng.below(own.len() as u64) as usize]
    };
    let mut found = Vec::new();
    for look in HAMMERS {
        while found.len() < look {
            let probed = sampler.rng.below(count as u64) as usize;
            let others =
                (0..count).filter(|&class| class != probed).map(|class| any(sampler, class)).collect::<Vec<_>>();
            let (at, probe) = (places.some_of_each(sampler, &others), any(sampler, probed));
            let probe = places.some(sampler, probe);
            found.push(hammer.strike(sampler, &at, &[probe]).await?[0]);
        }
        let (late, odds) = (found.iter().filter(|odds| **odds > 0.0).count(), found.iter().sum::<f64>());
        if late * LATE_ONE_IN <= look && odds < 0.0 {
            return Ok(MirrorDisks::Own(-odds));
        }
        if late * 2 > look && odds > 0.0 {
            return Ok(MirrorDisks::Shared(odds));
        }
    }
    Ok(MirrorDisks::Unclear)
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
