//! The findings on one trace.

use super::goals::ReachedGoal;
use super::predictors::Predictors;
use super::ranking::{self, Ranking};
use super::sizes::{self, Figure15};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{Budget, Goal, GoalForm, IdleClass, IntervalPolicy};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_sim::exact::{self, ScrubFigures};
use scrubjay_sim::tune::{Pair, Tuner};
use scrubjay_trace::Periods;

/// The maximum goal: the slowdown of one request that limits the paper's sizes to 4 MiB (Table III, footnote 6).
const MAX: Nanos = Nanos(50_400_000);

/// The goals of Table III, and one below them.
pub const GOALS: [Goal; 4] = [goal(500), goal(1000), goal(2000), goal(4000)];

const fn goal(mean_us: u64) -> Goal {
    Goal::new(Nanos(mean_us * 1000), MAX).form(GoalForm::Average)
}

/// The findings on one trace.
#[derive(Clone, Debug, PartialEq)]
pub struct ScrubFindings {
    /// The trace's name.
    pub name: String,
    /// The model of the disk that is scrubbed.
    pub disk: ServiceModel,
    /// The number of idle intervals longer than the service time of 64 KiB.
    pub usable: usize,
    /// Figure 14.
    pub predictors: Predictors,
    /// The paper's ranking, pair by pair, at each collision rate.
    pub ranking: Vec<Ranking>,
    /// Figure 15.
    pub sizes: Figure15,
    /// Table III, one entry for each goal.
    pub goals: Vec<ReachedGoal>,
    /// The result of the paper's baseline: requests of 64 KiB after 10 ms.
    pub idle_class: ScrubFigures,
    /// The best wait and size with a mean slowdown not above the idle class's.
    pub at_par: Option<Pair>,
}

/// The steps of each goal: its budget in both forms, its tuned wait, its growing sizes. Then come the predictors, and the fixed sizes.
const GOAL_STEPS: u64 = 4;
const OTHER_STEPS: u64 = 2;

/// With fewer usable idle intervals policies are not compared: one collision more or less decides.
const USABLE_MIN: usize = 100;

impl ScrubFindings {
    /// Whether there are too few usable intervals to tell policies apart.
    pub fn has_too_few_intervals(&self) -> bool {
        self.usable < USABLE_MIN
    }

    /// The upper bound of any scrub's throughput relative to the idle class in the same idle time: requests of 4 MiB
    /// instead of 64 KiB.
    pub fn ceiling(&self) -> f64 {
        let rate = |size: Bytes| size.0 as f64 / self.disk.service(size).as_secs_f64().max(1e-9);
        rate(Bytes::mib(4)) / rate(IdleClass.pattern().first)
    }

    /// The throughput in multiples of the idle class's.
    pub fn times_idle_class(&self, outcome: &ScrubFigures) -> f64 {
        outcome.scrub_bytes as f64 / self.idle_class.scrub_bytes.max(1) as f64
    }
}

/// The number of steps in the study of one trace. How long each takes depends on the trace: some searches end early.
pub fn steps(goals: usize) -> u64 {
    goals as u64 * GOAL_STEPS + OTHER_STEPS
}

/// Studies one trace; `step` is called after each step.
pub fn study(name: &str, periods: &Periods, disk: ServiceModel, goals: &[Goal], step: &dyn Fn()) -> ScrubFindings {
    let idle_class = exact::simulate(periods, disk, &mut IdleClass);
    let tuner = Tuner::new(periods, disk);
    let reach = |&goal: &Goal| {
        let [budget, average] = [GoalForm::Strict, GoalForm::Average].map(|form| {
            let figures = exact::learner(periods, disk, &mut Budget::new(goal.form(form))).outcome;
            step();
            figures
        });
        let tuned = sizes::optimum(&tuner, goal);
        step();
        ReachedGoal { goal, tuned, budget, average }
    };
    let goals: Vec<ReachedGoal> = goals.iter().map(reach).collect();
    let par = Goal::new(Nanos::from_secs_f64(idle_class.slowdown_mean_seconds()), MAX).form(GoalForm::Average);
    let predictors = Predictors::of(periods, disk);
    step();
    let shortest = disk.service(IdleClass.pattern().first);
    ScrubFindings {
        name: name.to_owned(),
        disk,
        usable: periods.intervals().iter().filter(|&&idle| idle > shortest).count(),
        ranking: ranking::check(&predictors),
        predictors,
        sizes: Figure15::of(periods, disk, &tuner, &goals, step),
        goals,
        idle_class,
        at_par: sizes::optimum(&tuner, par),
    }
}
