//! Simulates a policy against a trace, and describes the result as JSON.

use crate::ResearchError;
use crate::costs::{CostDocument, TraceSummaryDocument};
use crate::job_control::JobControl;
use crate::parallel;
use crate::workload::{DeviceLoad, Hold};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{Parameter, ParameterRange, ParameterValue, PolicyParameters};
use scrubjay_core::units::{Bytes, SECTOR_BYTES};
use scrubjay_jobs::JobError;
use scrubjay_sim::exact::ScrubFigures;
use scrubjay_sim::play::{Playable, PlayedPolicy};
use serde::Serialize;
use serde_json::Map;

/// The largest request that a modelled disk accepts.
const REQUEST_MAX: Bytes = Bytes::gib(1);

/// Checks that all request sizes are whole sectors.
///
/// # Errors
/// One is not; the text names the parameter as settings do, prefixed by `dashes`.
pub fn check_sizes(given: &[(Parameter, ParameterValue)], dashes: &str) -> Result<(), ResearchError> {
    for (parameter, value) in given {
        let (ParameterRange::RequestSize, &ParameterValue::Size(size)) = (parameter.row().takes, value) else {
            continue;
        };
        if size.0 == 0 || !size.0.is_multiple_of(SECTOR_BYTES) || size > REQUEST_MAX {
            let name = parameter.name();
            let expected = "whole sectors of 512 bytes";
            let text = format!("{dashes}{name} {size} is no size of a request: give {expected}, {REQUEST_MAX} at most");
            return Err(JobError::Input(text).into());
        }
    }
    Ok(())
}

/// The result of a policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyDescription {
    /// What it read, and the slowdown that it caused.
    pub outcome: ScrubFigures,
    /// Foreground requests that lost more than the goal for the 99th percentile; `None` without such a goal.
    pub above_p99: Option<u64>,
}

/// Which data of a trace must be held to play a policy.
pub fn hold(policy: Playable) -> Hold {
    if policy.needs_requests() { Hold::Requests } else { Hold::Periods }
}

/// Plays a policy against each load.
///
/// # Errors
/// The job was stopped.
pub fn play(
    loads: &[DeviceLoad],
    policy: Playable,
    parameters: &PolicyParameters,
    disk: ServiceModel,
    control: &JobControl,
) -> Result<Vec<PolicyDescription>, ResearchError> {
    parallel::share_under(control, loads, |load| {
        let PlayedPolicy { outcome, slowdown } = policy.play(parameters, &load.periods, &load.requests, disk);
        let above_p99 = slowdown.zip(parameters.goal.p99).map(|(slowdown, p99)| slowdown.longer_than(p99));
        PolicyDescription { outcome, above_p99 }
    })
}

/// A parameter as JSON: in SI units or bytes, with the unit in its name.
fn json((name, value): (&str, ParameterValue)) -> (String, serde_json::Value) {
    let name = name.replace('-', "_");
    match value {
        ParameterValue::Time(time) => (format!("{name}_seconds"), time.as_secs_f64().into()),
        ParameterValue::Size(size) => (format!("{name}_bytes"), size.0.into()),
        ParameterValue::Number(number) => (name, number.into()),
        ParameterValue::GoalForm(form) => (name, form.name().into()),
    }
}

/// The JSON of `--json`: schema 1, one object a load.
#[derive(Debug, Serialize)]
pub struct SimulationDocument<'a> {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    trace: &'a str,
    /// Of each file of the trace, if they are known.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub sha256: &'a [String],
    policy: &'static str,
    parameters: Map<String, serde_json::Value>,
    #[serde(flatten)]
    ground: TraceSummaryDocument,
    #[serde(flatten)]
    tally: CostDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    above_goal_p99: Option<u64>,
}

impl SimulationDocument<'_> {
    /// Makes the document of one load.
    pub fn new<'a>(
        load: &'a DeviceLoad,
        policy: Playable,
        parameters: &PolicyParameters,
        played: &PolicyDescription,
    ) -> SimulationDocument<'a> {
        let PolicyDescription { outcome, above_p99 } = played;
        SimulationDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            trace: &load.name,
            sha256: &[],
            policy: policy.name(),
            parameters: policy.named_values(parameters).into_iter().map(json).collect(),
            ground: TraceSummaryDocument::new(load, outcome),
            tally: CostDocument::from(outcome),
            above_goal_p99: *above_p99,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_whole_sectors_and_a_gibibyte_at_most() {
        let check = |bytes| check_sizes(&[(Parameter::Request, ParameterValue::Size(Bytes(bytes)))], "");
        assert!(check(64 << 10).is_ok() && check(1 << 30).is_ok());
        for bytes in [0, 100, 2 << 30] {
            assert!(check(bytes).unwrap_err().to_string().contains("no size of a request"), "{bytes}");
        }
        assert!(check_sizes(&[(Parameter::Plus, ParameterValue::Size(Bytes(100)))], "").is_ok());
    }
}
