//! The JSON of `tune --json`: schema 1, one object a load.

use crate::costs::{CostDocument, TraceSummaryDocument};
use crate::tune::{TuneTask, TuneTimes, Tuned, TunedPair};
use crate::workload::DeviceLoad;
use scrubjay_core::units::Nanos;
use scrubjay_sim::tune::Pair;
use serde::Serialize;

/// The result for one load.
#[derive(Debug, Serialize)]
pub struct TuneDocument<'a> {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    trace: &'a str,
    /// Of each file of the trace, if they are known.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub sha256: &'a [String],
    #[serde(flatten)]
    ground: TraceSummaryDocument,
    goal_mean_seconds: f64,
    goal_max_seconds: f64,
    /// The best wait; null, with all fields that belong to it left out, if there is no answer.
    wait_seconds: Option<f64>,
    request_bytes: Option<u64>,
    #[serde(flatten)]
    tally: Option<CostDocument>,
    /// The slowdown with waits up to half a request shorter or longer.
    near: Option<Near>,
    /// Why there is no answer.
    error: Option<&'a str>,
    /// The rate of reading without a foreground.
    disk_bytes_per_second: f64,
    idle_class: CostDocument,
    /// The best wait for each size that has one.
    candidates: Vec<CandidateDocument>,
    /// Time to read all traces together.
    read_seconds: f64,
    tune_seconds: f64,
}

#[derive(Debug, Serialize)]
struct Near {
    least_slowdown_seconds: f64,
    mean_slowdown_seconds: f64,
    most_slowdown_seconds: f64,
    /// Does the answer's very wait happen to suit this trace?
    is_lucky: bool,
    /// If `is_lucky`: the best pair that keeps the goal with any wait near it.
    steady: Option<CandidateDocument>,
}

impl From<&TunedPair> for Near {
    fn from(answer: &TunedPair) -> Near {
        let TunedPair { spread, is_lucky, steady, .. } = answer;
        let [least, mean, most] = [spread.least, spread.mean, spread.most].map(Nanos::as_secs_f64);
        Near {
            least_slowdown_seconds: least,
            mean_slowdown_seconds: mean,
            most_slowdown_seconds: most,
            is_lucky: *is_lucky,
            steady: steady.as_ref().map(CandidateDocument::from),
        }
    }
}

#[derive(Debug, Serialize)]
struct CandidateDocument {
    wait_seconds: f64,
    request_bytes: u64,
    #[serde(flatten)]
    tally: CostDocument,
}

impl TuneDocument<'_> {
    /// Makes the document of one load.
    pub fn new<'a>(load: &'a DeviceLoad, task: &TuneTask, tuned: &'a Tuned, took: TuneTimes) -> TuneDocument<'a> {
        let best = tuned.best.as_ref().ok();
        TuneDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            trace: &load.name,
            sha256: &[],
            ground: TraceSummaryDocument::new(load, &tuned.idle_class),
            goal_mean_seconds: task.goal.mean.as_secs_f64(),
            goal_max_seconds: task.goal.max.as_secs_f64(),
            wait_seconds: best.map(|best| best.pair.wait.as_secs_f64()),
            request_bytes: best.map(|best| best.pair.size.0),
            tally: best.map(|best| CostDocument::from(&best.pair.outcome)),
            near: best.map(Near::from),
            error: tuned.best.as_ref().err().map(String::as_str),
            disk_bytes_per_second: tuned.idle_disk_rate,
            idle_class: CostDocument::from(&tuned.idle_class),
            candidates: tuned.candidates.iter().map(CandidateDocument::from).collect(),
            read_seconds: took.read.as_secs_f64(),
            tune_seconds: took.tune.as_secs_f64(),
        }
    }
}

impl From<&Pair> for CandidateDocument {
    fn from(pair: &Pair) -> CandidateDocument {
        let tally = CostDocument::from(&pair.outcome);
        CandidateDocument { wait_seconds: pair.wait.as_secs_f64(), request_bytes: pair.size.0, tally }
    }
}
