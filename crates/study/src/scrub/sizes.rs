//! Request sizes: figure 15, throughput against the mean slowdown, for fixed, best and growing sizes.
//!
//! The adaptive approaches get every advantage: their constants and start sizes are the best of a grid for each goal,
//! and for each of them the threshold is bisected on the exact simulator.

use super::goals::{ReachedGoal, megabytes};
use super::ladder::Ladder;
use scrubjay_chart::{CurvePoint, Series, Style};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{Goal, GoalForm, IdlePattern, RequestGrowth};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_sim::exact::{self, ScrubFigures};
use scrubjay_sim::tune::{self, Pair, SIZES, Tuner};
use scrubjay_trace::Periods;

/// The end of the figure's axis: mean slowdown.
const SLOWDOWN_MAX: Nanos = Nanos::from_millis(4);
/// The sizes of the fixed curves; the paper's are 64 KB, three best ones, and 4 MB.
const FIXED: [Bytes; 4] = [Bytes::kib(64), Bytes::kib(256), Bytes::mib(1), Bytes::mib(4)];
/// One of this many of the tuner's thresholds is a point of a curve: four per octave.
const CURVE_STEP: usize = 8;
/// Additional goals for the curve of the best size, in microseconds of mean slowdown, besides those of the table.
const BETWEEN_US: [u64; 5] = [250, 750, 1500, 2500, 3000];
/// The exponential approach's factors a, the paper's 2 among them.
const FACTORS: [f64; 5] = [1.05, 1.2, 1.5, 2.0, 4.0];
/// The linear approach's increments b.
const PLUS: [Bytes; 3] = [Bytes::kib(64), Bytes::kib(256), Bytes::mib(1)];
/// Swapping's times t', in milliseconds since the beginning of the interval.
const SWAP_AFTER_MS: [u64; 9] = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
/// The number of start sizes tried.
const STARTS: usize = 4;
/// The number of start sizes tried with swapping.
const SWAPPED: usize = 2;
/// The number of thresholds also tried on each side of the bisected one: where few intervals decide, chance rules.
const AROUND: usize = 6;

/// The contents of figure 15.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure15 {
    /// For each fixed size, a curve over the threshold: mean slowdown (ms), MB/s.
    pub fixed: Vec<Series>,
    /// The best size and threshold by goal, in ascending order.
    pub best: Vec<(Goal, Pair)>,
    /// The best of each adaptive approach, by goal.
    pub adapted: Vec<Adapted>,
}

/// An approach to growing requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthApproach {
    /// Each request is a times the last one.
    Exponential,
    /// Each request is a times the last one plus b.
    Linear,
    /// From t' on, requests have the largest size that the max goal allows.
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

/// The best result of an adaptive approach within a goal, and that of the best fixed size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adapted {
    /// The approach.
    pub kind: GrowthApproach,
    /// The goal.
    pub goal: Goal,
    /// The pattern with the best constants.
    pub pattern: IdlePattern,
    /// Its result.
    pub outcome: ScrubFigures,
    /// The result of the best fixed size.
    pub fixed: ScrubFigures,
}

impl Adapted {
    /// The share by which it reads more than the best fixed size: 0.01 is 1 % more, below zero is less.
    pub fn gain(&self) -> f64 {
        let (grown, fixed) = (self.outcome.scrub_bytes as f64, self.fixed.scrub_bytes as f64);
        if fixed > 0.0 { grown / fixed - 1.0 } else { 0.0 }
    }

    /// Whether it reads more by over half a percent. Smaller gains are artefacts of the grid: swapping late enough
    /// equals one fixed size.
    pub fn wins(&self) -> bool {
        self.gain() > 0.005
    }
}

/// The best size from 64 KiB to 4 MiB and its threshold; `None`: no pair keeps the goal.
pub fn optimum(tuner: &Tuner<'_>, goal: Goal) -> Option<Pair> {
    tune::best(&tuner.candidates(SIZES.map(|step| Bytes::kib(64 * step)), goal))
}

impl Figure15 {
    /// Computes the figure; `reached` has the best pairs of the table's goals. `step` is called after each of these, and at
    /// the end.
    pub fn of(
        periods: &Periods,
        disk: ServiceModel,
        tuner: &Tuner<'_>,
        reached: &[ReachedGoal],
        step: &dyn Fn(),
    ) -> Figure15 {
        let mut best: Vec<(Goal, Pair)> = reached.iter().filter_map(|one| Some((one.goal, one.tuned?))).collect();
        let adapt = |one: &ReachedGoal| {
            let adapted =
                one.tuned.map(|pair| adapt(&ThresholdSearch { periods, disk, goal: one.goal, near: pair.wait }, pair));
            step();
            adapted.unwrap_or_default()
        };
        let adapted = reached.iter().flat_map(adapt).collect();
        if let Some(&ReachedGoal { goal: Goal { max, .. }, .. }) = reached.first() {
            let between = BETWEEN_US.map(|us| Goal::new(Nanos(us * 1000), max).form(GoalForm::Average));
            let new = between.into_iter().filter(|goal| reached.iter().all(|one| one.goal != *goal));
            best.extend(new.filter_map(|goal| Some((goal, optimum(tuner, goal)?))));
        }
        best.sort_by_key(|(goal, _)| goal.mean);
        let fixed = FIXED.iter().map(|&size| fixed(periods, disk, size)).collect();
        step();
        Figure15 { fixed, best, adapted }
    }
}

/// The curve of one fixed size, from the largest threshold down to the first that exceeds [`SLOWDOWN_MAX`].
fn fixed(periods: &Periods, disk: ServiceModel, size: Bytes) -> Series {
    let limit = exact::Limit::InAll(u128::from(SLOWDOWN_MAX.0) * u128::from(periods.requests_total()));
    let thresholds: Vec<Nanos> = tune::thresholds().step_by(CURVE_STEP).collect();
    let played = thresholds.iter().rev().map(|&wait| exact::waiting(periods, wait, size, disk.service(size), limit));
    let points = played.skip_while(|outcome| outcome.is_some_and(|outcome| outcome.scrub_requests == 0));
    let points = points.map_while(|outcome| outcome.map(|outcome| place(&outcome)));
    Series { name: format!("{} KiB fixed", size.0 >> 10), style: Style::Line, colour: None, points: points.collect() }
}

/// The point of a policy in the figure.
pub fn place(outcome: &ScrubFigures) -> CurvePoint {
    CurvePoint { x: outcome.slowdown_mean_seconds() * 1e3, y: megabytes(outcome), label: String::new() }
}

/// The best of each approach within a goal, given the best fixed size.
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
}

impl ThresholdSearch<'_> {
    /// The pattern that reads most within the goal.
    fn best(
        &self,
        starts: &[Bytes],
        growths: impl IntoIterator<Item = RequestGrowth>,
    ) -> Option<(IdlePattern, ScrubFigures)> {
        let tried = growths.into_iter().flat_map(|growth| starts.iter().map(move |&first| (first, growth)));
        tried.filter_map(|(first, growth)| self.best_wait(first, growth)).max_by_key(|(_, outcome)| outcome.scrub_bytes)
    }

    fn best_wait(&self, first: Bytes, growth: RequestGrowth) -> Option<(IdlePattern, ScrubFigures)> {
        let waits: Vec<Nanos> = tune::thresholds().collect();
        let play = |slot: usize| {
            let pattern = IdlePattern { wait: waits[slot], first, growth };
            let lost_max = u128::from(self.goal.mean.0) * u128::from(self.periods.requests_total());
            let outcome = Ladder::new(&pattern, self.disk).play(self.periods, lost_max)?;
            (outcome.slowdown_max <= self.goal.max).then_some((pattern, outcome))
        };
        // Doubling steps away from the best fixed size's threshold, then bisection.
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
