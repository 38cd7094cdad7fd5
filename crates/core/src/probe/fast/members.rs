//! The last step: is a member unlike the others?
//!
//! A few bursts on each class raise a suspicion; further ones, in pairs with bursts on classes that are not suspected,
//! must confirm it. The first bursts are not counted again, because among many healthy members some always seem odd at
//! first. The bursts of a pair follow each other, so that another program disturbs both alike.

use super::layout::places::Places;
use super::sampler::{EarlyEnd, Sampler};
use super::statistic::{Trimmed, gap_trimmed, median, median_low, time_reached};
use super::thresholds::{DECIDED, ODD_DECIDED, ODD_DISMISSED, ODD_MIN, ODD_PRIOR, ODD_SAME, ODD_SUSPECTED};
use super::yardstick::Burst;
use crate::probe::known::DeviceClass;

/// Bursts on every class for the suspicion.
const SCREENED: usize = 3;
/// The numbers of pairs after which the test may end; only a few, because each look is a chance to be wrong.
const LOOKS: [usize; 5] = [6, 12, 24, 48, 96];

/// The classes, and how they are measured.
#[derive(Clone, Copy, Debug)]
pub struct MemberClasses<'a> {
    /// The kind of burst.
    pub burst: Burst,
    /// Where the chunks are.
    pub places: Places,
    /// The class of each chunk.
    pub classes: &'a [usize],
    /// The class whose disk is missing, which is not compared.
    pub lost: Option<usize>,
}

/// The time of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassTime {
    /// Its time relative to the other classes.
    pub factor: f64,
    /// The log-odds that it is unlike them; `None` where that is not shown.
    pub odds: Option<f64>,
}

/// Measures each class.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn find(sampler: &mut Sampler, members: MemberClasses<'_>) -> Result<Vec<ClassTime>, EarlyEnd> {
    let count = members.classes.iter().max().map_or(0, |most| most + 1);
    let mut logs = vec![Vec::new(); count];
    for _ in 0..SCREENED {
        for (class, logs) in logs.iter_mut().enumerate() {
            logs.extend(pace(sampler, &members, class).await?);
        }
    }
    let screened: Vec<f64> = logs.iter().map(|logs| median(logs)).collect();
    let is_compared = |class: &usize| Some(*class) != members.lost;
    // Of two classes the faster one is the standard: a disk is slow more often than fast.
    let middle = median_low(&(0..count).filter(is_compared).map(|class| screened[class]).collect::<Vec<_>>());
    let (suspects, trusted): (Vec<usize>, Vec<usize>) =
        (0..count).filter(is_compared).partition(|class| (screened[*class] - middle).abs() > ODD_SUSPECTED);
    let mut times: Vec<ClassTime> =
        screened.iter().map(|log| ClassTime { factor: (log - middle).exp(), odds: None }).collect();
    for suspect in &suspects {
        let suspect_count = suspects.len();
        times[*suspect] = confirmed(sampler, &members, *suspect, &trusted, suspect_count).await?;
    }
    Ok(times)
}

/// Measures one class against the trusted ones, in turn, until it is certain whether it is like them; `suspect_count`
/// classes are under suspicion.
async fn confirmed(
    sampler: &mut Sampler,
    members: &MemberClasses<'_>,
    suspect: usize,
    trusted: &[usize],
    suspect_count: usize,
) -> Result<ClassTime, EarlyEnd> {
    let mut differences = Vec::new();
    let mut time = ClassTime { factor: 1.0, odds: None };
    for pairs in LOOKS {
        for pair in differences.len()..pairs {
            let other = trusted[pair % trusted.len()];
            // Each of the two is first in half of the pairs.
            let (first, second) = if pair % 2 == 0 { (suspect, other) } else { (other, suspect) };
            let (first, second) = (pace(sampler, members, first).await?, pace(sampler, members, second).await?);
            // A burst that failed altogether counts as no difference.
            let difference = first.zip(second).map_or(0.0, |(first, second)| first - second);
            differences.push(if pair % 2 == 0 { difference } else { -difference });
        }
        let deviation = Trimmed::of(&differences);
        let odds = deviation.log_odds(ODD_SAME) - ODD_PRIOR - ((suspect_count * LOOKS.len()) as f64).ln();
        let is_odd = deviation.mean.abs() > ODD_MIN && odds >= ODD_DECIDED;
        time = ClassTime { factor: deviation.mean.exp(), odds: is_odd.then_some(odds.min(DECIDED)) };
        if odds >= DECIDED || deviation.mean.abs() + ODD_DISMISSED * deviation.error < ODD_MIN {
            break;
        }
    }
    Ok(time)
}

/// The logarithm of the pace of one burst on a class; `None` if too few requests succeeded.
async fn pace(sampler: &mut Sampler, members: &MemberClasses<'_>, class: usize) -> Result<Option<f64>, EarlyEnd> {
    let MemberClasses { burst, places, classes, .. } = *members;
    let class_chunks: Vec<usize> = (0..classes.len()).filter(|&chunk| classes[chunk] == class).collect();
    let draw = |sampler: &mut Sampler| {
        let mut reads = Vec::new();
        for start in sampler.places(places.pattern, places.pattern - sampler.device().block, burst.count) {
            let chunk = class_chunks[sampler.rng.below(class_chunks.len() as u64) as usize];
            let pattern = start / places.pattern * places.pattern;
            let place = places.random_offset(sampler, chunk);
            reads.push(sampler.read(pattern + place));
        }
        reads
    };
    let done: Vec<f64> = sampler.run(draw).await?.into_iter().flatten().collect();
    let pace = match burst.device_class {
        DeviceClass::Disks => gap_trimmed(&done),
        DeviceClass::Flash { .. } => time_reached(&done),
    };
    Ok(pace.map(|pace| pace.max(1.0).ln()))
}
