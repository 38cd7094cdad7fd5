//! The last check: does the layout found predict which further reads wait for each other?
//!
//! Reads are drawn at new places, which no test before has chosen. Those of one class must wait for each other, those
//! of different classes must not. A layout that does not predict this is wrong, and none has more confidence than the
//! draws that support it.

use super::evidence::probability;
use super::layout::places::Places;
use super::sampler::{EarlyEnd, Sampler};
use super::statistic::{Trimmed, median, time_reached};
use super::thresholds::APART;
use super::yardstick::Burst;
use crate::probe::known::DeviceClass;

/// The numbers of draws after which the check may end, on disks.
const LOOKS: [usize; 5] = [16, 32, 64, 128, 256];
/// The numbers of draws after which the check may end on flash, where each draw is a burst that saturates it.
const FLASH_LOOKS: [usize; 2] = [6, 12];
/// The log-odds at which the layout is confirmed: one wrong answer in a thousand. More would take more reads than all
/// steps before.
const CONFIRMED: f64 = 6.9;
/// Reads of different classes in one draw, at most.
const READS_MAX: usize = 6;
/// Reads of one class per copy, at most, compared with as many of different classes.
const CLASS_READS: usize = 4;
/// The excess, in logarithms, of reads of different classes over the longest of as many single reads, at most: half of
/// the excess if two of them wait for each other.
const WAIT_LOG: f64 = 0.2;
/// The least mean excess, in logarithms, of reads in stripes far apart over reads in one stripe, if the supposed
/// pattern is a stripe: then reads of different classes wait for each other in one draw of three if they are far apart,
/// and never in one stripe.
const STRIPE_LOG: f64 = 0.1;
/// The least excess, in logarithms, of reads of one class over as many reads of different classes. Two take twice as
/// long, less the longer of two seeks and what a better order saves.
const TOGETHER_LOG: f64 = 0.25;
/// Bursts on all disks, and as many on one class.
const ALL_BURSTS: usize = 6;
/// Reads per disk in these bursts, and reads of a burst in total, at most.
const ALL_READS: (usize, usize) = (8, 256);
/// Simulated draws from the times of single reads.
const SIMULATED_DRAWS: usize = 512;

/// The result of the check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CheckOutcome {
    /// The predictions were right, with this confidence for all claims about the array.
    Confirmed {
        /// The confidence, 0.5 to 1.
        confidence: f64,
    },
    /// The predictions were wrong.
    Contradicted,
    /// All disks together are little faster than one: something else limits them.
    Limited,
}

/// The layout that is to be checked.
#[derive(Clone, Copy, Debug)]
pub struct CheckedLayout<'a> {
    /// The kind of burst, with the device class.
    pub burst: Burst,
    /// Where the chunks are.
    pub places: Places,
    /// The class of each chunk.
    pub classes: &'a [usize],
    /// The class of chunks that wait for all others, and are not drawn.
    pub lost: Option<usize>,
    /// The number of disks that share the reads of each chunk.
    pub copies: usize,
    /// Mirrors share their disks, so reads of different classes may meet.
    pub is_shared: bool,
    /// Multiples of the pattern were tried, so it is not a stripe of a larger one.
    pub is_settled: bool,
}

/// Draws reads until the answer is certain, or the draws are used up.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn check(sampler: &mut Sampler, checked: CheckedLayout<'_>) -> Result<CheckOutcome, EarlyEnd> {
    let count = checked.classes.iter().max().map_or(0, |most| most + 1);
    let members: Vec<Vec<usize>> = (0..count)
        .filter(|class| Some(*class) != checked.lost)
        .map(|class| (0..checked.classes.len()).filter(|&chunk| checked.classes[chunk] == class).collect())
        .collect();
    if members.len() < 2 {
        // A single class allows no prediction.
        return Ok(CheckOutcome::Confirmed { confidence: 0.5 });
    }
    let (mut draws, mut odds) = (Draws { members, ..Draws::new(checked) }, 0.0);
    if !draws.is_flash() && draws.is_limited(sampler).await? {
        return Ok(CheckOutcome::Limited);
    }
    let looks = if draws.is_flash() { &FLASH_LOOKS[..] } else { &LOOKS[..] };
    for &look in looks {
        while draws.together.len() < look {
            draws.draw(sampler).await?;
        }
        odds = draws.odds(sampler);
        if odds >= CONFIRMED || odds <= -APART {
            break;
        }
    }
    Ok(if odds > 0.0 {
        CheckOutcome::Confirmed { confidence: probability(odds.min(CONFIRMED)) }
    } else {
        CheckOutcome::Contradicted
    })
}

/// The draws so far; all times are logarithms.
struct Draws<'a> {
    checked: CheckedLayout<'a>,
    /// The chunks of each class that is drawn.
    members: Vec<Vec<usize>>,
    singles: Vec<f64>,
    /// Times of reads of different classes at random places.
    apart: Vec<f64>,
    /// The excess of these over reads of the same chunks in one pattern.
    longer: Vec<f64>,
    /// The excess of reads of one class over as many of different classes.
    together: Vec<f64>,
}

impl<'a> Draws<'a> {
    fn new(checked: CheckedLayout<'a>) -> Draws<'a> {
        let (members, singles, apart, longer, together) = Default::default();
        Draws { checked, members, singles, apart, longer, together }
    }

    fn is_flash(&self) -> bool {
        self.checked.burst.device_class != DeviceClass::Disks
    }

    async fn draw(&mut self, sampler: &mut Sampler) -> Result<(), EarlyEnd> {
        if self.is_flash() {
            let class = sampler.rng.below(self.members.len() as u64) as usize;
            let one_class = self.burst_time(sampler, Some(class)).await?;
            let all_classes = self.burst_time(sampler, None).await?;
            self.together.push(one_class - all_classes);
            return Ok(());
        }
        let drawn = self.draw_different(sampler, READS_MAX);
        let far_apart = self.time(sampler, &drawn, false).await?;
        self.apart.push(far_apart);
        if !self.checked.is_settled {
            self.longer.push(far_apart - self.time(sampler, &drawn, true).await?);
        }
        let single = self.draw_different(sampler, 1);
        self.singles.push(self.time(sampler, &single, false).await?);
        let reads = CLASS_READS.min(self.members.len());
        let different = self.draw_different(sampler, reads);
        let class_chunks = &self.members[sampler.rng.below(self.members.len() as u64) as usize];
        let any = |_| class_chunks[sampler.rng.below(class_chunks.len() as u64) as usize];
        let same: Vec<usize> = (0..reads * self.checked.copies).map(any).collect();
        let same = self.time(sampler, &same, false).await?;
        self.together.push(same - self.time(sampler, &different, false).await?);
        Ok(())
    }

    /// Whether something other than the disks limits the array: all classes, with equal work each, take longer than one
    /// class with that work, by more than ln(classes) / 2 + [`TOGETHER_LOG`] in logarithms.
    async fn is_limited(&self, sampler: &mut Sampler) -> Result<bool, EarlyEnd> {
        let classes = self.members.len();
        let each = ALL_READS.0.min(ALL_READS.1 / (classes * self.checked.copies)).max(2) * self.checked.copies;
        let mut longer = Vec::new();
        for _ in 0..ALL_BURSTS {
            let class = sampler.rng.below(classes as u64) as usize;
            let any = |sampler: &mut Sampler, class: usize| {
                self.members[class][sampler.rng.below(self.members[class].len() as u64) as usize]
            };
            let one_class: Vec<usize> = (0..each).map(|_| any(sampler, class)).collect();
            let all_classes: Vec<usize> = (0..each * classes).map(|read| any(sampler, read % classes)).collect();
            // Of so many reads one is always late.
            let one_time =
                time_reached(&self.done(sampler, &one_class, false).await?).map_or(0.0, f64::ln) + (each as f64).ln();
            let all_done = self.done(sampler, &all_classes, false).await?;
            longer.push(time_reached(&all_done).map_or(0.0, f64::ln) + (all_classes.len() as f64).ln() - one_time);
        }
        Ok(median(&longer) > (classes as f64).ln() / 2.0 + TOGETHER_LOG)
    }

    /// The log-odds of the weakest prediction.
    fn odds(&self, sampler: &mut Sampler) -> f64 {
        let normal = |deviation: f64, error: f64| (deviation / error.max(1e-9)).powi(2) / 2.0 * deviation.signum();
        let odds_above = |values: &[f64], from: f64| {
            let found = Trimmed::of(values);
            normal(found.mean - from, found.error)
        };
        let mut odds = odds_above(&self.together, TOGETHER_LOG);
        if !self.longer.is_empty() && !self.checked.is_shared {
            odds = odds.min(-odds_above(&self.longer, STRIPE_LOG));
        }
        if !self.apart.is_empty() && !self.checked.is_shared {
            let reads = READS_MAX.min(self.members.len());
            let mut any = || self.singles[sampler.rng.below(self.singles.len() as u64) as usize];
            let longest =
                (0..SIMULATED_DRAWS).map(|_| (0..reads).map(|_| any()).fold(f64::MIN, f64::max)).collect::<Vec<_>>();
            let (apart, simulated, single) =
                (Trimmed::of(&self.apart), Trimmed::of(&longest), Trimmed::of(&self.singles));
            odds = odds.min(normal(WAIT_LOG - (apart.mean - simulated.mean), apart.error.hypot(single.error)));
        }
        odds
    }

    /// One chunk of each of `count` different classes, or of all.
    fn draw_different(&self, sampler: &mut Sampler, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        let mut drawn = Vec::new();
        while drawn.len() < count && !order.is_empty() {
            let class_chunks = &self.members[order.swap_remove(sampler.rng.below(order.len() as u64) as usize)];
            drawn.push(class_chunks[sampler.rng.below(class_chunks.len() as u64) as usize]);
        }
        drawn
    }

    /// The logarithm of the time of a burst that saturates flash, on one class or on all.
    async fn burst_time(&self, sampler: &mut Sampler, class: Option<usize>) -> Result<f64, EarlyEnd> {
        let any = |_| {
            let class = class.unwrap_or_else(|| sampler.rng.below(self.members.len() as u64) as usize);
            self.members[class][sampler.rng.below(self.members[class].len() as u64) as usize]
        };
        let chunks: Vec<usize> = (0..self.checked.burst.count).map(any).collect();
        self.time(sampler, &chunks, false).await
    }

    /// The logarithm of the time in which all of these chunks are read: in one pattern, or each in a pattern of its own.
    async fn time(&self, sampler: &mut Sampler, chunks: &[usize], is_one_pattern: bool) -> Result<f64, EarlyEnd> {
        Ok(self.done(sampler, chunks, is_one_pattern).await?.into_iter().fold(1.0, f64::max).ln())
    }

    /// The times at which these reads are done, in nanoseconds.
    async fn done(&self, sampler: &mut Sampler, chunks: &[usize], is_one_pattern: bool) -> Result<Vec<f64>, EarlyEnd> {
        let places = self.checked.places;
        let draw = |sampler: &mut Sampler| {
            let pattern = sampler.rng.below(places.patterns(sampler));
            let mut reads = Vec::new();
            for &chunk in chunks {
                let at = match is_one_pattern {
                    true => places.of_pattern(sampler, pattern, chunk),
                    false => places.random_block(sampler, chunk),
                };
                reads.push(sampler.read(at));
            }
            reads
        };
        Ok(sampler.run(draw).await?.into_iter().flatten().collect())
    }
}
