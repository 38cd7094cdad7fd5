//! Classes without the library: each chunk is probed under a hammer on one chunk of each class, until it is late.

use super::places::Places;
use crate::probe::fast::evidence::Doubt;
use crate::probe::fast::hammer::Hammer;
use crate::probe::fast::sampler::{EarlyEnd, Sampler};
use crate::probe::library;

/// Probes of one hammer, at least and at most: more when there are more disks on which they may lie.
const PROBES: (usize, usize) = (3, 8);

/// Chunks of a pattern that is classified, at most: as many as 64 disks with a parity have.
const CHUNKS_MAX: usize = 4096;
/// Attempts, at most, to find classes of no known layout twice in a row: one wrong answer makes any layout an unknown one.
const TRIES: usize = 3;
/// Hammers, with the fewest probes of [`PROBES`] each, that check the classes.
const CHECKS: usize = 12;
/// Answers of the check that may differ, by another program's disturbance. Where mirrors choose a copy by chance, up to
/// a third of them does, and two chunks with a disk in common may be in one class: for mirrors none may differ.
const DIFFERENT_MAX: usize = 2;

/// The classes that were found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundClasses {
    /// The class of each chunk.
    pub classes: Vec<usize>,
    /// The class of the chunks that wait for every other one, if there are any.
    pub lost: Option<usize>,
    /// The confidence that all of it is right.
    pub confidence: f64,
}

/// Determines the classes without any assumption. `None` when there are too many chunks, the answers differ when they
/// are checked, or a lost member's chunks are not as many as those of others: then they wait for another reason (with
/// two parities, chunks that wait for all but one).
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn find(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    copies: usize,
) -> Result<Option<FoundClasses>, EarlyEnd> {
    if places.chunks() > CHUNKS_MAX {
        return Ok(None);
    }
    let mut found = classify(sampler, hammer, places).await?;
    for tries in (0..TRIES).rev() {
        let classes = &found.classes[..library::period(&found.classes)];
        if !library::fits(classes, None).is_empty() {
            break;
        }
        let again = classify(sampler, hammer, places).await?;
        if (&again.classes, again.lost) == (&found.classes, found.lost) {
            break;
        }
        if tries == 0 {
            return Ok(None);
        }
        found = again;
    }
    if found.lost.is_some() && !is_even(&found.classes) {
        return Ok(None);
    }
    let different_max = if copies > 1 { 0 } else { DIFFERENT_MAX };
    Ok((count_differences(sampler, hammer, places, &found).await? <= different_max).then_some(found))
}

/// Whether all classes are of the same size.
fn is_even(classes: &[usize]) -> bool {
    let size = |class: usize| classes.iter().filter(|other| **other == class).count();
    classes.iter().all(|class| size(*class) == size(classes[0]))
}

/// Checks the classes: the number of answers that differ from them.
async fn count_differences(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    found: &FoundClasses,
) -> Result<usize, EarlyEnd> {
    let mut different = 0;
    for _ in 0..CHECKS {
        let mut any = || sampler.rng.below(found.classes.len() as u64) as usize;
        let (at, chunks) = (any(), [(); PROBES.0].map(|()| any()));
        let (from, to) = (places.random_offset(sampler, at), places.random_offsets(sampler, &chunks));
        for (chunk, odds) in chunks.into_iter().zip(hammer.compare(sampler, from, &to).await?) {
            let (one, other) = (found.classes[at], found.classes[chunk]);
            let is_together = one == other || found.lost == Some(one) || found.lost == Some(other);
            different += usize::from(is_together != (odds > 0.0));
        }
    }
    Ok(different)
}

async fn classify(sampler: &mut Sampler, hammer: Hammer, places: Places) -> Result<FoundClasses, EarlyEnd> {
    let chunks = places.chunks();
    let mut doubt = Doubt::default();
    let mut pending: Vec<usize> = (0..chunks).collect();
    let (mut found, mut lost): (Vec<Vec<usize>>, Vec<usize>) = (Vec::new(), Vec::new());
    while let Some(&first) = pending.first() {
        let probes = (PROBES.0 + found.len()).min(PROBES.1);
        let late = same_disk_chunks(sampler, hammer, places, first, &pending[1..], probes, &mut doubt).await?;
        // There are several classes, so a chunk that waits for all of them belongs to none.
        let waits_for_all = found.is_empty() && chunks > 2 && late.len() + 1 == pending.len();
        if waits_for_all {
            lost.push(first);
            pending.remove(0);
            continue;
        }
        pending.retain(|chunk| *chunk != first && !late.contains(chunk));
        found.push(std::iter::once(first).chain(late).collect());
        if found.len() == 2 {
            // Lost chunks wait for the first class, too, and were counted as its members.
            let suspects = found[0][1..].to_vec();
            let waiting_for_both =
                same_disk_chunks(sampler, hammer, places, first, &suspects, PROBES.0, &mut doubt).await?;
            found[0].retain(|chunk| !waiting_for_both.contains(chunk));
            lost.extend(waiting_for_both);
        }
    }
    let lost_class = (!lost.is_empty()).then_some(found.len());
    found.push(lost);
    let class_of = |chunk: usize| found.iter().position(|class| class.contains(&chunk)).expect("every chunk has one");
    let numbers: Vec<usize> = (0..chunks).map(class_of).collect();
    let classes = library::canonical(&numbers);
    let lost = lost_class.and_then(|class| numbers.iter().position(|number| *number == class)).map(|at| classes[at]);
    Ok(FoundClasses { classes, lost, confidence: doubt.confidence() })
}

/// The chunks that lie on the same disk as `at`.
async fn same_disk_chunks(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    at: usize,
    chunks: &[usize],
    probes: usize,
    doubt: &mut Doubt,
) -> Result<Vec<usize>, EarlyEnd> {
    let mut late = Vec::new();
    let mut order = chunks.to_vec();
    for i in (1..order.len()).rev() {
        order.swap(i, sampler.rng.below(i as u64 + 1) as usize);
    }
    for group in order.chunks(probes) {
        let (from, to) = (places.random_offset(sampler, at), places.random_offsets(sampler, group));
        for (chunk, odds) in group.iter().zip(hammer.compare(sampler, from, &to).await?) {
            doubt.add(odds);
            if odds > 0.0 {
                late.push(*chunk);
            }
        }
    }
    Ok(late)
}
