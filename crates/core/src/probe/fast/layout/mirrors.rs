//! Whether mirrors have pairs of disks of their own, or share each disk with the neighbouring mirrors.

use super::places::Places;
use crate::layout::LayoutKind;
use crate::probe::fast::hammer::Hammer;
use crate::probe::fast::sampler::{EarlyEnd, Sampler};
use crate::probe::fast::thresholds::{APART, HAMMERS_MAX, TOGETHER};

/// The numbers of hammers, on all classes except a random one, after which the test may end.
const HAMMERS: [usize; 3] = [8, 16, 24];
/// Disks are a class's own if at most one probe in this many is late, by other reads. (If they are shared, most probes
/// are late, or half of them where the nearest copy is read.)
const LATE_ONE_IN: usize = 8;
/// Reads of such a hammer on each class, per copy: enough to delay a probe.
const READS: usize = 5;

/// Whether classes have disks of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MirrorDisks {
    /// Each class has disks of its own, with these log-odds.
    Own(f64),
    /// Classes share disks, with these log-odds.
    Shared(f64),
    /// The answers contradict each other, because of the way in which copies are chosen.
    Unclear,
}

/// Determines whether classes share disks: all classes except one are hammered at once, and a chunk of that one is
/// probed, which is early on disks of its own.
///
/// # Errors
/// Those of [`Sampler::run`].
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
        let class_chunks: Vec<usize> = (0..classes.len()).filter(|&chunk| classes[chunk] == class).collect();
        class_chunks[sampler.rng.below(class_chunks.len() as u64) as usize]
    };
    let mut found = Vec::new();
    for look in HAMMERS {
        while found.len() < look {
            let probed = sampler.rng.below(count as u64) as usize;
            let others =
                (0..count).filter(|&class| class != probed).map(|class| any(sampler, class)).collect::<Vec<_>>();
            let (at, probe) = (places.random_offsets(sampler, &others), any(sampler, probed));
            let probe = places.random_offset(sampler, probe);
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

/// The kinds of layout that share disks as this array does, with the log-odds; `None` if there is none. Each chunk of
/// the pattern must be a class: a chunk is delayed by hammers on the two chunks that share its disks. (Chained: Hsiao &
/// DeWitt 1990. On three disks all kinds are alike.)
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn kind(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
) -> Result<Option<(Vec<LayoutKind>, f64)>, EarlyEnd> {
    let chunks = places.chunks();
    if chunks == 3 {
        return Ok(Some((vec![LayoutKind::Chained, LayoutKind::Near], f64::MAX)));
    }
    // Chunk i of near copies lies on disks 2 i and 2 i + 1 of an odd number: it shares them with the chunks half the number away.
    for (kind, distance) in [(LayoutKind::Chained, 1), (LayoutKind::Near, chunks.div_ceil(2))] {
        if kind == LayoutKind::Near && chunks.is_multiple_of(2) {
            continue;
        }
        let mut odds = 0.0f64;
        for _ in 0..HAMMERS_MAX {
            let chunk = sampler.rng.below(chunks as u64) as usize;
            let at =
                places.random_offsets(sampler, &[(chunk + distance) % chunks, (chunk + chunks - distance) % chunks]);
            let probe = places.random_offset(sampler, chunk);
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
