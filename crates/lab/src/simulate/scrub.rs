//! `scrubjay simulate scrub`: plays any policy against a trace.

use crate::args::SimulateScrub;
use crate::costs::{self, percent, rate};
use crate::workload;
use anyhow::{Context, Result};
use scrubjay_cli::exit::Exit;
use scrubjay_cli::say::print_line;
use scrubjay_cli::unused_option;
use scrubjay_core::quantity::show_time;
use scrubjay_core::scrub::idle::{ParameterValue, PolicyParameters};
use scrubjay_core::units::Bytes;
use scrubjay_jobs::parameter;
use scrubjay_research::job_control::JobControl;
use scrubjay_research::simulation::{self, PolicyDescription, SimulationDocument};
use scrubjay_research::trace_hash;
use scrubjay_research::workload::DeviceLoad;
use scrubjay_sim::play::Playable;
use std::io::{self, Write};

/// Runs the simulation.
pub fn run(args: &SimulateScrub) -> Result<Exit> {
    unused_option::check(args.policy.name(), args.policy.uses(), &args.parameters.given)?;
    let parameters = PolicyParameters::with(&args.parameters.given);
    simulation::check_sizes(&args.parameters.given, "--")?;
    let loads = workload::load(&args.traces, &args.disk, simulation::hold(args.policy))?;
    let played = simulation::play(&loads, args.policy, &parameters, args.disk.disk, &JobControl::default())?;
    let mut out = io::stdout().lock();
    let sha256 = if args.json { trace_hash::sha256_of_all(&args.traces.files) } else { Vec::new() };
    for (load, played) in loads.iter().zip(&played) {
        let printed = if args.json {
            let mut document = SimulationDocument::new(load, args.policy, &parameters, played);
            document.sha256 = &sha256;
            let document = serde_json::to_string(&document).context("the result as JSON")?;
            writeln!(out, "{document}")
        } else {
            print(&mut out, load, args.policy, &parameters, played)
        };
        printed.context("cannot write the result to standard output")?;
    }
    Ok(Exit::Clean)
}

/// A parameter in words.
fn text((name, value): (&str, ParameterValue)) -> String {
    format!("{} {}", name.replace('-', " "), parameter::show(value))
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
    print_line(out, format_args!("{}: {}", load.name, costs::foreground(load, outcome)))?;
    print_line(out, format_args!("  {}: {}", policy.name(), set.join(", ")))?;
    let (read, used) = (Bytes(outcome.scrub_bytes), percent(outcome.used_ratio()));
    print_line(
        out,
        format_args!("  reads      {} ({read}), in {used} of the idle time", rate(outcome.bytes_per_second())),
    )?;
    let (mean, max) = (show_time(costs::slowdown_mean(outcome)), show_time(outcome.slowdown_max));
    let late = above_p99.map_or(String::new(), |late| {
        let share = percent(late as f64 / outcome.requests.max(1) as f64);
        format!(", more than {} for {share}", show_time(parameters.goal.p99.unwrap_or_default()))
    });
    print_line(out, format_args!("  slowdown   {mean} on average{late}, {max} at most"))?;
    print_line(out, format_args!("  collisions in {} of the idle intervals", percent(outcome.collision_rate())))
}
