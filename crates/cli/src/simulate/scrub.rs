//! `scrubjay simulate scrub`: any policy against a trace.

use crate::args::SimulateScrub;
use crate::costs::{self, CostDocument, TraceSummaryDocument, percent, rate};
use crate::exit::{Exit, Usage};
use crate::heed;
use crate::say::shown;
use crate::workload;
use anyhow::{Context, Result};
use scrubjay_core::scrub::idle::{Parameter, ParameterRange, ParameterValue, PolicyParameters};
use scrubjay_core::units::{Bytes, SECTOR_BYTES};
use scrubjay_jobs::quantity::show_time;
use scrubjay_jobs::workload::{DeviceLoad, Hold};
use scrubjay_jobs::{parallel, parameter};
use scrubjay_sim::exact::ScrubFigures;
use scrubjay_sim::play::{Playable, PlayedPolicy};
use serde::Serialize;
use serde_json::Map;
use std::io::{self, Write};

/// Simulates.
pub fn run(args: &SimulateScrub) -> Result<Exit> {
    heed::check(args.policy.name(), args.policy.heeds(), &args.parameters.given)?;
    let parameters = PolicyParameters::with(&args.parameters.given);
    check_sizes(&args.parameters.given)?;
    let hold = if args.policy.needs_requests() { Hold::Requests } else { Hold::Periods };
    let loads = workload::load(&args.traces, &args.disk, hold)?;
    let disk = args.disk.disk;
    let played = parallel::share(&loads, |load| {
        let PlayedPolicy { outcome, slowdown } = args.policy.play(&parameters, &load.periods, &load.requests, disk);
        let above_p99 = slowdown.zip(parameters.goal.p99).map(|(slowdown, p99)| slowdown.longer_than(p99));
        PolicyDescription { outcome, above_p99 }
    });
    let mut out = io::stdout().lock();
    for (load, played) in loads.iter().zip(&played) {
        let printed = if args.json {
            let document = serde_json::to_string(&SimulationDocument::new(load, args.policy, &parameters, played))
                .context("the result as JSON")?;
            writeln!(out, "{document}")
        } else {
            print(&mut out, load, args.policy, &parameters, played)
        };
        printed.context("cannot write the result to standard output")?;
    }
    Ok(Exit::Clean)
}

/// The largest request that a modelled disk takes.
const REQUEST_MAX: Bytes = Bytes::gib(1);

/// Requests are of whole sectors.
fn check_sizes(given: &[(Parameter, ParameterValue)]) -> Result<(), Usage> {
    for (parameter, value) in given {
        let (ParameterRange::RequestSize, &ParameterValue::Size(size)) = (parameter.row().takes, value) else {
            continue;
        };
        if size.0 == 0 || !size.0.is_multiple_of(SECTOR_BYTES) || size > REQUEST_MAX {
            let name = parameter.name();
            let what = "whole sectors of 512 bytes";
            return Err(Usage(format!("--{name} {size} is no size of a request: give {what}, {REQUEST_MAX} at most")));
        }
    }
    Ok(())
}

/// What is told of a policy.
struct PolicyDescription {
    outcome: ScrubFigures,
    /// How many lost more than all but one in a hundred were to; `None` without such a goal.
    above_p99: Option<u64>,
}

/// A parameter in SI units and bytes, the unit in the name.
fn json((name, value): (&str, ParameterValue)) -> (String, serde_json::Value) {
    let name = name.replace('-', "_");
    match value {
        ParameterValue::Time(time) => (format!("{name}_seconds"), time.as_secs_f64().into()),
        ParameterValue::Size(size) => (format!("{name}_bytes"), size.0.into()),
        ParameterValue::Number(number) => (name, number.into()),
        ParameterValue::GoalForm(form) => (name, form.name().into()),
    }
}

/// A parameter for people.
fn text((name, value): (&str, ParameterValue)) -> String {
    format!("{} {}", name.replace('-', " "), parameter::show(value))
}

/// The JSON of `--json`: schema 1, one object a load.
#[derive(Debug, Serialize)]
struct SimulationDocument<'a> {
    schema: u32,
    trace: &'a str,
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
    fn new<'a>(
        load: &'a DeviceLoad,
        policy: Playable,
        parameters: &PolicyParameters,
        played: &PolicyDescription,
    ) -> SimulationDocument<'a> {
        let PolicyDescription { outcome, above_p99 } = played;
        SimulationDocument {
            schema: 1,
            trace: &load.name,
            policy: policy.name(),
            parameters: policy.named_values(parameters).into_iter().map(json).collect(),
            ground: TraceSummaryDocument::from(outcome),
            tally: CostDocument::from(outcome),
            above_goal_p99: *above_p99,
        }
    }
}

fn print(
    out: &mut impl Write,
    load: &DeviceLoad,
    policy: Playable,
    parameters: &PolicyParameters,
    played: &PolicyDescription,
) -> io::Result<()> {
    let PolicyDescription { outcome, above_p99 } = played;
    let set: Vec<String> = policy.named_values(parameters).into_iter().map(text).collect();
    writeln!(out, "{}: {}", shown(&load.name), costs::ground(outcome))?;
    writeln!(out, "  {}: {}", policy.name(), set.join(", "))?;
    let (read, used) = (Bytes(outcome.scrub_bytes), percent(outcome.used_ratio()));
    writeln!(out, "  reads      {} ({read}), in {used} of the idle time", rate(outcome.bytes_per_second()))?;
    let (mean, max) = (show_time(costs::slowdown_mean(outcome)), show_time(outcome.slowdown_max));
    let late = above_p99.map_or(String::new(), |late| {
        let share = percent(late as f64 / outcome.requests.max(1) as f64);
        format!(", more than {} for {share}", show_time(parameters.goal.p99.unwrap_or_default()))
    });
    writeln!(out, "  slowdown   {mean} on average{late}, {max} at most")?;
    writeln!(out, "  collisions in {} of the idle intervals", percent(outcome.collision_rate()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_whole_sectors_and_a_gibibyte_at_most() {
        let check = |bytes| check_sizes(&[(Parameter::Request, ParameterValue::Size(Bytes(bytes)))]);
        assert!(check(64 << 10).is_ok() && check(1 << 30).is_ok());
        for bytes in [0, 100, 2 << 30] {
            assert!(check(bytes).unwrap_err().0.contains("no size of a request"), "{bytes}");
        }
        assert!(check_sizes(&[(Parameter::Plus, ParameterValue::Size(Bytes(100)))]).is_ok());
    }
}
