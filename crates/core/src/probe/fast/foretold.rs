//! The last check: does what was found foretell which further reads wait for each other?
//!
//! Reads are drawn anew, at places that no test before has chosen. All of one class wait for each other; those of different
//! classes do not, whether they lie side by side in one pattern or in patterns far apart. Whatever an array is, an answer that
//! does not foretell that is not an answer; and none is surer than the draws that bore it out.

use super::evidence::probability;
use super::layout::places::Places;
use super::sampler::{EarlyEnd, Sampler};
use super::statistic::Trimmed;
use super::thresholds::{APART, DECIDED};

/// Draws after which the answer is looked at.
const LOOKS: [usize; 4] = [16, 32, 64, 128];
/// Log-odds at which it is borne out: one wrong answer in a thousand. To be surer would take more reads than all steps before.
const BORNE_OUT: f64 = 6.9;
/// Reads of different classes in one draw.
const READS_MAX: usize = 6;
/// Reads of one class, for each copy, beside as many of different classes.
const CLASS_READS: usize = 4;
/// Where what is taken for the pattern is not it, reads of different classes in patterns far apart wait for each other now and
/// then: one draw in three takes the time of two. The mean of the logarithms is off by at least so much:
const APART_LOG: f64 = 0.1;
/// As many reads of one class take the time of all of them: at least so much more (in logarithms) than of different classes.
/// Two take twice as long, less what the longer way of two takes and better order saves.
const TOGETHER_LOG: f64 = 0.25;

/// What the draws said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Foretold {
    /// As it was foretold: no statement about the array is surer than this.
    Confirmed {
        /// 0.5 to 1.
        sure: f64,
    },
    /// Otherwise.
    Contradicted,
}

/// Draws, for these classes of copies; `lost` chunks wait for all others, and are not drawn. Where mirrors share their disks,
/// reads of different classes may meet.
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn check(
    sampler: &mut Sampler,
    places: Places,
    classes: &[usize],
    lost: Option<usize>,
    (copies, is_shared): (usize, bool),
) -> Result<Foretold, EarlyEnd> {
    let count = classes.iter().max().map_or(0, |most| most + 1);
    let members: Vec<Vec<usize>> = (0..count)
        .filter(|class| Some(*class) != lost)
        .map(|class| (0..classes.len()).filter(|&chunk| classes[chunk] == class).collect())
        .collect();
    if members.len() < 2 {
        return Ok(Foretold::Confirmed { sure: probability(DECIDED) });
    }
    let (mut apart, mut together) = (Vec::new(), Vec::new());
    let mut odds = 0.0;
    for draws in LOOKS {
        while apart.len() < draws {
            let drawn = some_of_different_classes(sampler, &members, READS_MAX);
            let side_by_side = time(sampler, places, &drawn, Spread::OnePattern).await?;
            let far_apart = time(sampler, places, &drawn, Spread::Anywhere).await?;
            apart.push(far_apart - side_by_side);
            let reads = CLASS_READS.min(members.len());
            let different = some_of_different_classes(sampler, &members, reads);
            let one = &members[sampler.rng.below(members.len() as u64) as usize];
            let same: Vec<usize> =
                (0..reads * copies).map(|_| one[sampler.rng.below(one.len() as u64) as usize]).collect();
            let (same, different) = (
                time(sampler, places, &same, Spread::Anywhere).await?,
                time(sampler, places, &different, Spread::Anywhere).await?,
            );
            together.push(same - different);
        }
        let (apart, together) = (Trimmed::of(&apart), Trimmed::of(&together));
        let normal = |off: f64, error: f64| (off / error.max(1e-9)).powi(2) / 2.0 * off.signum();
        odds = normal(together.mean - TOGETHER_LOG, together.error);
        if !is_shared {
            odds = odds.min(normal(APART_LOG - apart.mean, apart.error));
        }
        if odds >= BORNE_OUT || odds <= -APART {
            break;
        }
    }
    Ok(if odds > 0.0 { Foretold::Confirmed { sure: probability(odds.min(BORNE_OUT)) } } else { Foretold::Contradicted })
}

/// Where the patterns of the chunks that are read lie.
#[derive(Clone, Copy, PartialEq)]
enum Spread {
    /// All in one.
    OnePattern,
    /// Each in one of its own.
    Anywhere,
}

fn some_of_different_classes(sampler: &mut Sampler, members: &[Vec<usize>], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    let mut drawn = Vec::new();
    while drawn.len() < count && !order.is_empty() {
        let class = order.swap_remove(sampler.rng.below(order.len() as u64) as usize);
        drawn.push(members[class][sampler.rng.below(members[class].len() as u64) as usize]);
    }
    drawn
}

/// The logarithm of the time in which all of these chunks are read.
async fn time(sampler: &mut Sampler, places: Places, chunks: &[usize], spread: Spread) -> Result<f64, EarlyEnd> {
    let device = sampler.device();
    let patterns = device.bytes / places.pattern - 1;
    let any = |sampler: &mut Sampler| sampler.rng.below(patterns.max(1));
    let one = any(sampler);
    let mut reads = Vec::new();
    for &chunk in chunks {
        let pattern = if spread == Spread::OnePattern { one } else { any(sampler) };
        // Not wrapped round: chunks of one pattern are those behind its phase.
        let at = pattern * places.pattern + places.whole(sampler, chunk);
        reads.push(sampler.read(at.min(device.bytes - device.block)));
    }
    let done = sampler.run(reads).await?.into_iter().flatten();
    Ok(done.fold(1.0, f64::max).ln())
}
