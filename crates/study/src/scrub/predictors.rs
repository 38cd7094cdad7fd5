//! Which idle intervals to use: figure 14, the share of idle time used against the collisions caused.
//!
//! The size is 64 KiB throughout, the smallest, so that the only question is which intervals are used. Collisions
//! barely depend on the size, because nearly every interval that is used ends in one.
//!
//! Predictions come from previous intervals, as those of [`Predictor`] always do, but from those of the trace without
//! a scrub in it. Cutoffs are percentiles of all predictions, in hindsight, as in the paper. So a predictor does better
//! here than in service.

use crate::say::{duration, percent};
use scrubjay_chart::{CurvePoint, Series, Style};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{IdlePattern, Method, Predictor, RequestGrowth};
use scrubjay_core::stats::Moments;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_sim::exact::{self, Interval, Lossless, Oracle, Player, ScrubFigures};
use scrubjay_trace::Periods;

/// The request size of all policies; see the module's text.
pub const SIZE: Bytes = Bytes::kib(64);
/// The end of the paper's axis: collisions per idle interval.
pub const RATE_MAX: f64 = 0.10;
/// Curves are called close together if they nowhere differ by more than this share of the figure's height, which is that of
/// its highest curve: two in a hundred, the width of a mark, hide each other.
const CLOSE: f64 = 0.02;
/// The percentiles of predictions above which AR and ACD fire.
const CUTOFFS_PCT: [f64; 25] = [
    0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 92.0, 94.0, 95.0, 96.0, 97.0, 98.0,
    99.0, 99.3, 99.6, 99.8, 99.9, 99.97,
];
/// The percentiles of AR's predictions used as cutoffs in the paper's four mixes of AR and Waiting.
const MIXES_PCT: [f64; 4] = [20.0, 40.0, 60.0, 80.0];
/// Thresholds are 1 ms times powers of the eighth root of two; from this one on, whole powers of two are labelled, as
/// the paper's.
const LABELLED_MIN: Nanos = Nanos::from_millis(8);
const PER_OCTAVE: u32 = 8;

/// The curves of figure 14, each a list of (collisions per idle interval, share of the idle time used).
#[derive(Clone, Debug, PartialEq)]
pub struct Predictors {
    /// The x % longest intervals, used from their beginning, for all x.
    pub oracle: Series,
    /// The time that Waiting uses plus the time that it waited, for all thresholds.
    pub lossless: Series,
    /// Waiting, for all thresholds.
    pub waiting: Series,
    /// Auto-regression, for all cutoffs.
    pub auto_regression: Series,
    /// The ACD model, for all cutoffs.
    pub acd: Series,
    /// AR and Waiting combined, for all thresholds: one curve for each percentile of the predictions, 20, 40, 60 and
    /// 80.
    pub mixes: Vec<Series>,
    /// How well the next interval can be predicted from those before: the correlation of AR's predictions with the
    /// actual lengths, -1..=1. Zero if either is constant.
    pub correlation: f64,
    /// The coefficient of variation of the intervals; 1 if they are exponential.
    pub variation: f64,
}

impl Predictors {
    /// Plays all policies on a trace.
    pub fn of(periods: &Periods, disk: ServiceModel) -> Predictors {
        let service = disk.service(SIZE);
        let waits = waits(periods);
        let wait = |&wait: &Nanos| {
            let outcome =
                exact::waiting(periods, wait, SIZE, service, exact::Limit::None).expect("nothing is too much");
            CurvePoint { label: label(wait), ..place(&outcome) }
        };
        let play = |player: &mut dyn Player| place(&exact::simulate(periods, disk, player));
        let regression = IntervalPredictions::by(Method::AutoRegressive, periods);
        let acd = IntervalPredictions::by(Method::Acd, periods);
        let without_wait = |predictions: &IntervalPredictions| {
            let cutoffs = CUTOFFS_PCT.iter().map(|&pct| predictions.percentile(pct));
            let points = cutoffs.map(|cutoff| play(&mut predictions.player(cutoff, Nanos::ZERO)));
            points.collect()
        };
        let mix = |&pct: &f64| {
            let cutoff = regression.percentile(pct);
            let points = waits.iter().map(|&wait| play(&mut regression.player(cutoff, wait)));
            curve(&format!("AR ({pct:.0}th) + Waiting"), Style::Dashed, points.collect())
        };
        let oracles = shares().map(|share| play(&mut Oracle::longest(share, periods.intervals(), SIZE)));
        let lossless = waits.iter().map(|&wait| play(&mut Lossless { wait, size: SIZE }));
        let mut moments = Moments::default();
        periods.intervals().iter().for_each(|idle| moments.add(idle.as_secs_f64()));
        Predictors {
            oracle: curve("Oracle", Style::Line, oracles.collect()),
            lossless: curve("Lossless Waiting", Style::Dashed, lossless.collect()),
            waiting: curve("Waiting", Style::Line, waits.iter().map(wait).collect()),
            auto_regression: curve("Auto-Regression", Style::Line, without_wait(&regression)),
            acd: curve("ACD", Style::Dashed, without_wait(&acd)),
            mixes: MIXES_PCT.iter().map(mix).collect(),
            correlation: regression.correlation(periods),
            variation: moments.variation(),
        }
    }

    /// The curves that hide each other in the figure, in a sentence; `None` if there are none.
    pub fn close_together(&self) -> Option<String> {
        let height = self.all().map(|curve| used_within(curve, RATE_MAX)).fold(0.0, f64::max);
        let mut groups: Vec<Vec<&Series>> = Vec::new();
        for curve in self.all() {
            match groups.iter_mut().find(|group| group.iter().all(|other| are_close(curve, other, height))) {
                Some(group) => group.push(curve),
                None => groups.push(vec![curve]),
            }
        }
        groups.retain(|group| group.len() > 1);
        let group_text = |group: &Vec<&Series>| {
            let used = group.iter().map(|curve| used_within(curve, RATE_MAX));
            let [least, most] = [used.clone().fold(f64::INFINITY, f64::min), used.fold(0.0, f64::max)].map(percent);
            let range = if least == most { most } else { format!("{least} to {most}") };
            let names: Vec<&str> = group.iter().map(|curve| curve.name.as_str()).collect();
            format!("{} ({range})", names.join(", "))
        };
        let texts: Vec<String> = groups.iter().map(group_text).collect();
        (!texts.is_empty()).then(|| {
            format!(
                "Curves that hide each other, with the share that they use at {:.0} % collisions: {}.",
                RATE_MAX * 100.0,
                texts.join("; ")
            )
        })
    }

    /// All curves, in the order of the paper's ranking.
    pub fn all(&self) -> impl Iterator<Item = &Series> {
        let first = [&self.oracle, &self.lossless, &self.waiting].into_iter();
        first.chain(&self.mixes).chain([&self.auto_regression, &self.acd])
    }
}

/// The share of the idle time that a policy can use with at most `rate` collisions per interval: the best of its
/// points, interpolated linearly between two points (as tossing a coin for each interval would achieve).
pub fn used_within(curve: &Series, rate: f64) -> f64 {
    let mut best = (0.0, 0.0);
    for point in &curve.points {
        if point.y <= best.1 {
            continue;
        }
        if point.x > rate {
            let part = (rate - best.0) / (point.x - best.0);
            return best.1 + part * (point.y - best.1);
        }
        best = (point.x, point.y);
    }
    best.1
}

/// Whether two curves differ by no more than [`CLOSE`] of the figure's `height` at any of its collision rates.
fn are_close(one: &Series, two: &Series, height: f64) -> bool {
    let mut rates = (1..=50).map(|step| RATE_MAX * f64::from(step) / 50.0);
    rates.all(|rate| (used_within(one, rate) - used_within(two, rate)).abs() <= CLOSE * height)
}

/// The point of a policy in the figure.
pub fn place(outcome: &ScrubFigures) -> CurvePoint {
    CurvePoint { x: outcome.collision_rate(), y: outcome.used_ratio(), label: String::new() }
}

/// A curve sorted by collisions, as [`used_within`] needs it.
fn curve(name: &str, style: Style, mut points: Vec<CurvePoint>) -> Series {
    points.sort_by(|one, two| one.x.total_cmp(&two.x).then(one.y.total_cmp(&two.y)));
    Series { name: name.to_owned(), style, colour: None, points }
}

/// The thresholds: zero, then from 1 ms up to the longest interval.
fn waits(periods: &Periods) -> Vec<Nanos> {
    let longest = periods.intervals().iter().copied().max().unwrap_or_default();
    let steps = (0..).map(|step| Nanos::from_secs_f64(1e-3 * (f64::from(step) / f64::from(PER_OCTAVE)).exp2()));
    std::iter::once(Nanos::ZERO).chain(steps.take_while(|&wait| wait < longest)).collect()
}

/// The label of a threshold that the paper names: `16 ms`, `17.5 min`; empty for others.
fn label(wait: Nanos) -> String {
    let millis = wait.0 / 1_000_000;
    if wait < LABELLED_MIN || !wait.0.is_multiple_of(1_000_000) || !millis.is_power_of_two() {
        return String::new();
    }
    duration(wait.as_secs_f64())
}

/// Shares from one in 100 000 to 1, 24 per decade.
fn shares() -> impl Iterator<Item = f64> {
    (0..=120).map(|step| 10f64.powf(-5.0 + f64::from(step) / 24.0))
}

/// The predicted length of each idle interval, made just before it began.
struct IntervalPredictions {
    /// Predictions by busy period, in seconds; negative infinity where there is none.
    seconds: Vec<f64>,
    ascending: Vec<f64>,
}

impl IntervalPredictions {
    fn by(method: Method, periods: &Periods) -> IntervalPredictions {
        let mut predictor = Predictor::new(method);
        let mut seconds = vec![f64::NEG_INFINITY; periods.idle_before().len().min(1)];
        for &idle in periods.intervals() {
            seconds.push(predictor.next().unwrap_or(f64::NEG_INFINITY));
            predictor.add(idle);
        }
        let mut ascending: Vec<f64> = seconds.iter().copied().filter(|seconds| seconds.is_finite()).collect();
        ascending.sort_by(f64::total_cmp);
        IntervalPredictions { seconds, ascending }
    }

    /// A percentile of all predictions, in seconds; infinite if there are none.
    fn percentile(&self, pct: f64) -> f64 {
        let rank = pct / 100.0 * self.ascending.len().saturating_sub(1) as f64;
        self.ascending.get(rank.round() as usize).copied().unwrap_or(f64::INFINITY)
    }

    fn player(&self, cutoff: f64, wait: Nanos) -> PredictionPlayer<'_> {
        PredictionPlayer {
            expected: &self.seconds,
            cutoff,
            firing_pattern: IdlePattern { wait, first: SIZE, growth: RequestGrowth::Fixed },
        }
    }

    /// The correlation of predictions with actual lengths.
    fn correlation(&self, periods: &Periods) -> f64 {
        let pairs = || {
            let actual = periods.idle_before().iter().map(|idle| idle.as_secs_f64());
            self.seconds.iter().copied().zip(actual).filter(|(expected, _)| expected.is_finite())
        };
        let count = pairs().count().max(1) as f64;
        let (sum_x, sum_y) = pairs().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        let (mean_x, mean_y) = (sum_x / count, sum_y / count);
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for (x, y) in pairs() {
            xx += (x - mean_x).powi(2);
            xy += (x - mean_x) * (y - mean_y);
            yy += (y - mean_y).powi(2);
        }
        if xx > 0.0 && yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 }
    }
}

/// Fires in intervals that are predicted to be longer than the cutoff.
struct PredictionPlayer<'a> {
    expected: &'a [f64],
    cutoff: f64,
    firing_pattern: IdlePattern,
}

impl Player for PredictionPlayer<'_> {
    fn pattern(&mut self, interval: Interval) -> IdlePattern {
        if self.expected[interval.number] > self.cutoff { self.firing_pattern } else { IdlePattern::NEVER }
    }

    fn ended(&mut self, _: Nanos) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::rng::Rng;
    use scrubjay_core::scrub::idle::{Cutoff, Predicted};
    use scrubjay_sim::workload::{Bursts, TimeSpan};

    #[test]
    fn the_best_within_a_rate_is_between_points_in_proportion() {
        let points = [(0.02, 0.4), (0.03, 0.3), (0.04, 0.6)].map(|(x, y)| CurvePoint { x, y, label: String::new() });
        let curve = curve("", Style::Line, points.to_vec());
        let used = [0.0, 0.01, 0.02, 0.03, 0.04, 1.0].map(|rate| used_within(&curve, rate));
        let expected = [0.0, 0.2, 0.4, 0.5, 0.6, 0.6];
        assert!(used.iter().zip(expected).all(|(used, expected)| (used - expected).abs() < 1e-9), "{used:?}");
    }

    #[test]
    fn curves_that_hide_each_other_are_named() {
        let through = |name: &str, used: f64| Series::new(name, Style::Line, [(0.0, 0.0), (0.1, used)]);
        let predictors = Predictors {
            oracle: through("Oracle", 0.9),
            lossless: through("Lossless Waiting", 0.5),
            waiting: through("Waiting", 0.011),
            auto_regression: through("Auto-Regression", 0.3),
            acd: through("ACD", 0.285),
            mixes: vec![through("AR (20th) + Waiting", 0.02), through("AR (40th) + Waiting", 0.035)],
            correlation: 0.0,
            variation: 1.0,
        };
        let text = predictors.close_together().unwrap();
        assert_eq!(
            text,
            "Curves that hide each other, with the share that they use at 10 % collisions: Waiting, AR (20th) + Waiting (1.1 % to \
             2.0 %); Auto-Regression, ACD (28.5 % to 30.0 %)."
        );
        let apart = Predictors { acd: through("ACD", 0.2), mixes: Vec::new(), ..predictors };
        assert_eq!(apart.close_together(), None);
        // In a figure of a sixth of that height the same distance is plain to see.
        let low = |name: &str, used: f64| through(name, used / 6.0);
        let (oracle, lossless, waiting) = (low("Oracle", 0.9), low("Lossless Waiting", 0.5), low("Waiting", 0.011));
        let (auto_regression, acd) = (low("Auto-Regression", 0.3), through("ACD", 0.05 + 0.015));
        let low = Predictors { oracle, lossless, waiting, auto_regression, acd, ..apart };
        assert_eq!(low.close_together(), None);
    }

    /// In service a predictor sees the intervals as its own requests leave them: the same cutoff fires more often. At
    /// the same collision rate it uses about as much idle time, but not more.
    #[test]
    fn precomputed_predictions_are_at_least_as_good_as_the_policy_in_service() {
        let think = TimeSpan::Pareto { minimum: Nanos::from_millis(30), shape: 1.2, maximum: Nanos::from_secs(100) };
        let gap = TimeSpan::Exponential { mean: Nanos::from_millis(10) };
        let requests = Bursts::new(4, gap, think, TimeSpan::Fixed(Nanos::from_millis(2)), Rng::new(5)).take(8000);
        let (periods, disk): (Periods, _) = (requests.collect(), ServiceModel::ULTRASTAR_15K450);
        let predictors = Predictors::of(&periods, disk);
        let methods = [(Method::AutoRegressive, &predictors.auto_regression), (Method::Acd, &predictors.acd)];
        for (method, once) in methods {
            let predictions = IntervalPredictions::by(method, &periods);
            for pct in [50.0, 80.0, 95.0] {
                let cutoff = Cutoff::Length(Nanos::from_secs_f64(predictions.percentile(pct)));
                let live = exact::simulate(&periods, disk, &mut Predicted::new(method, cutoff, Nanos::ZERO, SIZE));
                let (used, used_once) = (live.used_ratio(), used_within(once, live.collision_rate()));
                assert!(live.collisions > 0 && used < used_once + 0.03, "{method:?} {pct}: {used} {used_once}");
                assert!(used > used_once - 0.15, "{method:?} {pct}: {used} {used_once}");
            }
        }
    }
}
