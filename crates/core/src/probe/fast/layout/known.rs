//! Classes by the library: a few hammers select a known layout, which must then pass a test of all its chunks.

use super::places::Places;
use crate::layout::Layout;
use crate::probe::fast::hammer::Hammer;
use crate::probe::fast::sampler::{EarlyEnd, Sampler};
use crate::probe::fast::thresholds::DECIDED;
use crate::probe::library::{self, canonical};

/// Hammers for the selection, at most; each excludes a part of the remaining layouts.
const ROUNDS_MAX: usize = 48;
/// Hammers in a row that cannot divide the remaining layouts, after which these count as equal.
const IDLE_MAX: usize = 4;
/// Chunks that are considered as probes of a hammer, of each kind.
const CONSIDERED: usize = 24;
/// Probes of a hammer, at most: few enough not to delay each other.
const PROBES: usize = 5;
/// Probes of a hammer in the final test, at most; there each lies on a disk of its own, or all lie on the hammer's.
const TESTED: usize = 12;
/// Passes of the final test, at most: of few classes, one pass gives too little evidence.
const PASSES_MAX: usize = 3;
/// The least share of the remaining layouts (by probability) that must disagree about a probe for it to be read.
const DIVIDED_MIN: f64 = 0.003;

/// The classes of a layout that passed the test.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// The class of each chunk.
    pub classes: Vec<usize>,
    /// The log-odds that they are right.
    pub odds: f64,
}

#[derive(Clone, Copy, Debug)]
struct Hypothesis {
    layout: Layout,
    shift: u64,
    odds: f64,
}

impl Hypothesis {
    fn disk(&self, chunk: usize) -> usize {
        self.layout.data_disk(self.shift + chunk as u64)
    }

    fn is_together(&self, one: usize, other: usize) -> bool {
        self.disk(one) == self.disk(other)
    }
}

/// Determines the known layout of the array. `None` when there is none, or its chunks do not behave as they should: the
/// test compares them with one disk and two disks, never with the next best layout.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn find(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    copies: usize,
) -> Result<Option<Accepted>, EarlyEnd> {
    let chunks = places.chunks();
    let layouts = library::layouts(chunks as u64, Some(copies));
    let each = |layout: Layout| (0..chunks as u64).map(move |shift| Hypothesis { layout, shift, odds: 0.0 });
    let mut live: Vec<Hypothesis> = layouts.into_iter().flat_map(each).collect();
    let mut idle = 0;
    for _ in 0..ROUNDS_MAX {
        if live.is_empty() || idle >= IDLE_MAX {
            break;
        }
        let at = sampler.rng.below(chunks as u64) as usize;
        let probes = dividing(sampler, &live, at, chunks);
        if probes.is_empty() {
            idle += 1;
            continue;
        }
        idle = 0;
        let (from, to) = (places.random_offset(sampler, at), places.random_offsets(sampler, &probes));
        let found = hammer.strike(sampler, &[from], &to).await?;
        for hypothesis in &mut live {
            let together = probes.iter().zip(&found).filter(|(probe, _)| hypothesis.is_together(at, **probe));
            hypothesis.odds += together.map(|(_, odds)| odds).sum::<f64>();
        }
        let best = best_odds(&live);
        live.retain(|hypothesis| hypothesis.odds >= best - DECIDED);
    }
    let Some(best) = live.iter().max_by(|a, b| a.odds.total_cmp(&b.odds)) else { return Ok(None) };
    let classes = canonical(&(0..chunks).map(|chunk| best.disk(chunk)).collect::<Vec<_>>());
    let odds = test_classes(sampler, hammer, places, &classes).await?;
    Ok(odds.map(|odds| Accepted { classes, odds: odds.min(DECIDED) }))
}

fn best_odds(live: &[Hypothesis]) -> f64 {
    live.iter().map(|hypothesis| hypothesis.odds).fold(f64::MIN, f64::max)
}

/// The chunks about which the remaining layouts disagree most: whether they lie on the same disk as `at`.
fn dividing(sampler: &mut Sampler, live: &[Hypothesis], at: usize, chunks: usize) -> Vec<usize> {
    let best = best_odds(live);
    let leader = live.iter().max_by(|a, b| a.odds.total_cmp(&b.odds)).expect("some are left");
    let mut considered: Vec<usize> = (0..CONSIDERED).map(|_| sampler.rng.below(chunks as u64) as usize).collect();
    considered.extend((0..chunks).filter(|&chunk| leader.is_together(at, chunk)).take(CONSIDERED));
    considered.sort_unstable();
    considered.dedup();
    considered.retain(|&chunk| chunk != at);
    let weight: f64 = live.iter().map(|hypothesis| (hypothesis.odds - best).exp()).sum();
    let mut scored: Vec<(f64, usize)> = considered
        .into_iter()
        .map(|chunk| {
            let together = live.iter().filter(|hypothesis| hypothesis.is_together(at, chunk));
            let share = together.map(|hypothesis| (hypothesis.odds - best).exp()).sum::<f64>() / weight;
            (share.min(1.0 - share), chunk)
        })
        .filter(|(share, _)| *share >= DIVIDED_MIN)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(PROBES).map(|(_, chunk)| chunk).collect()
}

/// Tests every chunk against a chunk of its class, and every class against every other: the log-odds of the weakest
/// class, or `None` when one fails.
async fn test_classes(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    classes: &[usize],
) -> Result<Option<f64>, EarlyEnd> {
    let count = classes.iter().max().map_or(0, |most| most + 1);
    let members: Vec<Vec<usize>> =
        (0..count).map(|class| (0..classes.len()).filter(|&chunk| classes[chunk] == class).collect()).collect();
    let mut support = vec![0.0; count];
    for _ in 0..PASSES_MAX {
        for class in 0..count {
            let Some(found) = test_class(sampler, hammer, places, &members, class).await? else { return Ok(None) };
            for (probe, odds) in found {
                support[class] += odds;
                support[classes[probe]] += odds;
            }
        }
        if support.iter().all(|odds| *odds >= DECIDED) {
            break;
        }
    }
    Ok(Some(support.into_iter().fold(f64::MAX, f64::min)))
}

/// Tests a class against all its chunks, and against one of each later class: the tested chunks, with the log-odds that
/// each adds. `None` when one is not on the disk where it should be.
async fn test_class(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    members: &[Vec<usize>],
    class: usize,
) -> Result<Option<Vec<(usize, f64)>>, EarlyEnd> {
    let any = |sampler: &mut Sampler, of: &[usize]| of[sampler.rng.below(of.len() as u64) as usize];
    let at = any(sampler, &members[class]);
    let same_class: Vec<usize> = members[class].iter().copied().filter(|&chunk| chunk != at).collect();
    let other_classes: Vec<usize> = members[class + 1..].iter().map(|of| any(sampler, of)).collect();
    let mut found = Vec::new();
    for (probes, is_together) in [(same_class, true), (other_classes, false)] {
        for probes in probes.chunks(TESTED) {
            for (probe, odds) in probes.iter().zip(probe_each(sampler, hammer, places, at, probes, is_together).await?)
            {
                if (odds > 0.0) != is_together {
                    return Ok(None);
                }
                found.push((*probe, odds.abs()));
            }
        }
    }
    Ok(Some(found))
}

/// Probes each chunk once, and those with an unexpected answer until the answer is definite.
async fn probe_each(
    sampler: &mut Sampler,
    hammer: Hammer,
    places: Places,
    at: usize,
    probes: &[usize],
    is_together: bool,
) -> Result<Vec<f64>, EarlyEnd> {
    let (from, to) = (places.random_offset(sampler, at), places.random_offsets(sampler, probes));
    let mut odds = hammer.strike(sampler, &[from], &to).await?;
    for (place, odds) in to.iter().zip(&mut odds) {
        if (*odds > 0.0) != is_together {
            *odds = hammer.compare(sampler, from, &[*place]).await?[0];
        }
    }
    Ok(odds)
}
