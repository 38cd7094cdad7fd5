//! How large requests should be: figure 15, throughput against the mean slowdown, for fixed sizes, for the best size at
//! each slowdown, and for sizes that grow while the disk stays idle.
//!
//! The adaptive approaches get every chance: their constants and start sizes are the best of a grid for each goal, and
//! their threshold is bisected on the exact simulator, for each of them anew.

use super::goals::{ReachedGoal, megabytes};
use super::ladder::Ladder;
use scrubjay_chart::{CurvePoint, Series, Style};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{Goal, GoalForm, IdlePattern, RequestGrowth};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_sim::exact::{self, ScrubFigures};
use scrubjay_sim::tune::{self, Pair, SIZES, Tuner};
use scrubjay_trace::Periods;

/// The figure's axis ends here.
const SLOWDOWN_MAX: Nanos = Nanos::from_millis(4);
/// The sizes of the fixed curves; the paper's are 64 KB, three best ones, and 4 MB.
const FIXED: [Bytes; 4] = [Bytes::kib(64), Bytes::kib(256), Bytes::mib(1), Bytes::mib(4)];
/// Of the tuner's thresholds every so-manieth is a point of a curve: four to the octave.
const CURVE_STEP: usize = 8;
/// Goals between those of the table, for the curve of the best size, in microseconds.
const BETWEEN_US: [u64; 5] = [250, 750, 1500, 2500, 3000];
/// The exponential approach's a, the paper's 2 among them.
const FACTORS: [f64; 5] = [1.05, 1.2, 1.5, 2.0, 4.0];
/// The linear approach's b.
const PLUS: [Bytes; 3] = [Bytes::kib(64), Bytes::kib(256), Bytes::mib(1)];
/// Swapping's t', in milliseconds since the beginning of the interval.
const SWAP_AFTER_MS: [u64; 9] = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
/// Sizes to start with.
const STARTS: usize = 4;
/// Of them those that are swapped.
const SWAPPED: usize = 2;
/// So many thresholds are looked for at each goal.
pub const STEPS: u64 = (STARTS * (FACTORS.len() + 2 * PLUS.len()) + SWAPPED * SWAP_AFTER_MS.len()) as u64;
/// Around the bisected threshold so many others are tried: where few intervals decide, chance rules.
const AROUND: usize = 6;

/// What figure 15 shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure15 {
    /// For each fixed size a curve over the threshold: mean slowdown (ms), MB/s.
    pub fixed: Vec<Series>,
    /// The best size and threshold, by goal, ascending.
    pub best: Vec<(Goal, Pair)>,
    /// The best of each adaptive approach, by goal.
    pub adapted: Vec<Adapted>,
}

/// An approach to growing requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthApproach {
    /// Each is a times the last one.
    Exponential,
    /// Each is a times the last one and b more.
    Linear,
    /// From t' on the largest that the max goal allows.
    Swapping,
}

impl GrowthApproach {
    /// Its name in legends.
    pub fn name(self) -> &'static str {
        match self {
            GrowthApproach::Exponential => "exponential",
            GrowthApproach::Linear => "linear",
            GrowthApproach::Swapping => "swapping",
        }
    }
}

/// An adaptive approach inside a goal, and its rival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adapted {
    /// Which.
    pub kind: GrowthApproach,
    /// The goal.
    pub goal: Goal,
    /// Its best constants.
    pub pattern: IdlePattern,
    /// What it comes to.
    pub outcome: ScrubFigures,
    /// What the best fixed size comes to.
    pub fixed: ScrubFigures,
}

impl Adapted {
    /// How much more it reads than the best fixed size: 0.01 is 1 % more, below zero is less.
    pub fn gain(&self) -> f64 {
        let (grown, fixed) = (self.outcome.scrub_bytes as f64, self.fixed.scrub_bytes as f64);
        if fixed > 0.0 { grown / fixed - 1.0 } else { 0.0 }
    }

    /// Does it read more by more than half a percent? Less is the grid's doing: swapping late enough is no different
    /// from one fixed size.
    pub fn wins(&self) -> bool {
        self.gain() > 0.005
    }
}

/// The best size from 64 KiB to 4 MiB and its threshold.
pub fn optimum(tuner: &Tuner<'_>, goal: Goal) -> Option<Pair> {
    tune::best(&tuner.candidates(SIZES.map(|step| Bytes::kib(64 * step)), goal))
}

impl Figure15 {
    /// Reckons them, with the best pairs of the table's goals at hand.
    pub fn of(
        periods: &Periods,
        disk: ServiceModel,
        tuner: &Tuner<'_>,
        reached: &[ReachedGoal],
        step: &dyn Fn(u64),
    ) -> Figure15 {
        let mut best: Vec<(Goal, Pair)> = reached.iter().filter_map(|one| Some((one.goal, one.tuned?))).collect();
        step((reached.len() - best.len()) as u64 * STEPS);
        let adapt =
            |&(goal, pair): &(Goal, Pair)| adapt(&ThresholdSearch { periods, disk, goal, near: pair.wait, step }, pair);
        let adapted = best.iter().flat_map(adapt).collect();
        if let Some(&ReachedGoal { goal: Goal { max, .. }, .. }) = reached.first() {
            let between = BETWEEN_US.map(|us| Goal::new(Nanos(us * 1000), max).form(GoalForm::Average));
            let new = between.into_iter().filter(|goal| reached.iter().all(|one| one.goal != *goal));
            best.extend(new.filter_map(|goal| Some((goal, optimum(tuner, goal)?))));
        }
        best.sort_by_key(|(goal, _)| goal.mean);
        Figure15 { fixed: FIXED.iter().map(|&size| fixed(periods, disk, size)).collect(), best, adapted }
    }
}

/// From the largest threshold down to the one that costs too much.
fn fixed(periods: &Periods, disk: ServiceModel, size: Bytes) -> Series {
    let limit = exact::Limit::InAll(u128::from(SLOWDOWN_MAX.0) * u128::from(periods.requests()));
    let thresholds: Vec<Nanos> = tune::thresholds().step_by(CURVE_STEP).collect();
    let played = thresholds.iter().rev().map(|&wait| exact::waiting(periods, wait, size, disk.service(size), limit));
    let points = played.skip_while(|outcome| outcome.is_some_and(|outcome| outcome.scrub_requests == 0));
    let points = points.map_while(|outcome| outcome.map(|outcome| place(&outcome)));
    Series { name: format!("{} KiB fixed", size.0 >> 10), style: Style::Line, points: points.collect() }
}

/// Where a policy lies in the figure.
pub fn place(outcome: &ScrubFigures) -> CurvePoint {
    CurvePoint { x: outcome.slowdown_mean_seconds() * 1e3, y: megabytes(outcome), label: String::new() }
}

/// The best of each approach inside a goal, given the best fixed size.
fn adapt(search: &ThresholdSearch<'_>, pair: Pair) -> Vec<Adapted> {
    let ThresholdSearch { disk, goal, .. } = *search;
    let largest = SIZES.rev().map(|step| Bytes::kib(64 * step)).find(|&size| disk.service(size) <= goal.max);
    let max = largest.unwrap_or(pair.size);
    let mut starts: [Bytes; STARTS] = [1, 4, 2, 0].map(|shift| Bytes((pair.size.0 >> shift >> 16 << 16).max(1 << 16)));
    starts[1] = Bytes::kib(64);
    let grow = |factor: f64, plus: Bytes| RequestGrowth::By { factor, plus, max };
    let exponential = search.best(&starts, FACTORS.map(|factor| grow(factor, Bytes(0))));
    let factor = match exponential.map(|(pattern, _)| pattern.growth) {
        Some(RequestGrowth::By { factor, .. }) => factor,
        _ => 1.0,
    };
    let linear = PLUS.into_iter().flat_map(|plus| [grow(1.0, plus), grow(factor, plus)]);
    let swaps = SWAP_AFTER_MS.map(|millis| RequestGrowth::Swap { after: Nanos::from_millis(millis), to: max });
    let found = [
        (GrowthApproach::Exponential, exponential),
        (GrowthApproach::Linear, search.best(&starts, linear)),
        (GrowthApproach::Swapping, search.best(&starts[STARTS - SWAPPED..], swaps)),
    ];
    let adapted = found.into_iter().filter_map(|(kind, best)| {
        let (pattern, outcome) = best?;
        Some(Adapted { kind, goal, pattern, outcome, fixed: pair.outcome })
    });
    adapted.collect()
}

/// The search for the threshold of a growing pattern.
struct ThresholdSearch<'a> {
    periods: &'a Periods,
    disk: ServiceModel,
    goal: Goal,
    near: Nanos,
    /// Is told of each threshold that was looked for.
    step: &'a dyn Fn(u64),
}

impl ThresholdSearch<'_> {
    /// The one that reads most.
    fn best(
        &self,
        starts: &[Bytes],
        growths: impl IntoIterator<Item = RequestGrowth>,
    ) -> Option<(IdlePattern, ScrubFigures)> {
        let tried = growths.into_iter().flat_map(|growth| starts.iter().map(move |&first| (first, growth)));
        let found = tried.map(|(first, growth)| {
            let found = self.best_wait(first, growth);
            (self.step)(1);
            found
        });
        found.flatten().max_by_key(|(_, outcome)| outcome.scrub_bytes)
    }

    fn best_wait(&self, first: Bytes, growth: RequestGrowth) -> Option<(IdlePattern, ScrubFigures)> {
        let waits: Vec<Nanos> = tune::thresholds().collect();
        let play = |slot: usize| {
            let pattern = IdlePattern { wait: waits[slot], first, growth };
            let lost_max = u128::from(self.goal.mean.0) * u128::from(self.periods.requests());
            let outcome = Ladder::new(&pattern, self.disk).play(self.periods, lost_max)?;
            (outcome.slowdown_max <= self.goal.max).then_some((pattern, outcome))
        };
        // Steps that double, away from the best fixed size's threshold, and then halving.
        let near = waits.partition_point(|&wait| wait < self.near).min(waits.len() - 1);
        let (mut low, mut high, mut step) = (near, near, 1);
        while high < waits.len() - 1 && play(high).is_none() {
            (low, high, step) = (high, (high + step).min(waits.len() - 1), step * 2);
        }
        step = 1;
        while low > 0 && play(low).is_some() {
            (high, low, step) = (low, low.saturating_sub(step), step * 2);
        }
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if play(middle).is_some() { high = middle } else { low = middle }
        }
        let around = low.saturating_sub(AROUND)..(high + AROUND).min(waits.len());
        around.filter_map(play).max_by_key(|(_, outcome)| outcome.scrub_bytes)
    }
}
