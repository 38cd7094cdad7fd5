//! `scrubjay simulate scrub`: any policy against a trace.

use crate::args::{SimulateScrub, SimulatedPolicy as Name};
use crate::crew;
use crate::exit::Exit;
use crate::load::{self, Hold, Load};
use crate::quantity::show_time;
use crate::say::shown;
use crate::tally::{self, Ground, Tally, percent, rate};
use anyhow::{Context, Result};
use clap::ValueEnum;
use scrubjay_core::idle::{
    Adaptive, Budget, Choice, Cutoff, Goal, Growth, IdleClass, IntervalPolicy, Method, Pattern, Predicted, Waiting,
};
use scrubjay_core::server::ServiceModel;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_sim::exact::{self, Lossless, Oracle, Outcome};
use scrubjay_sim::online;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// What the paper's `AR (80th)` uses: intervals predicted to be longer than so many percent of all predictions.
const PERCENTILE: f64 = 80.0;

/// Simulates.
pub fn run(args: &SimulateScrub) -> Result<Exit> {
    let loads = load::load(&args.traces, &args.disk, hold(args.policy))?;
    let played = crew::share(&loads, |load| play(args, load, args.disk.disk));
    let mut out = io::stdout().lock();
    for (load, played) in loads.iter().zip(&played) {
        let printed = if args.json {
            let document = serde_json::to_string(&Document::new(load, args, played)).context("the result as JSON")?;
            writeln!(out, "{document}")
        } else {
            print(&mut out, load, args, played)
        };
        printed.context("cannot write the result to standard output")?;
    }
    Ok(Exit::Clean)
}

/// What must be held of a trace. Policies that do not care whether the disk is idle are played request by request, by the
/// scrubber that ships.
fn hold(policy: Name) -> Hold {
    if matches!(policy, Name::Delay | Name::None) { Hold::Requests } else { Hold::Periods }
}

/// What a policy came to.
struct Played {
    outcome: Outcome,
    /// How many lost more than all but one in a hundred were to; `None` without such a goal.
    above_p99: Option<u64>,
}

/// Plays the policy against one load.
fn play(args: &SimulateScrub, load: &Load, disk: ServiceModel) -> Played {
    if args.policy != Name::Budget {
        return Played { outcome: play_fixed(args, load, disk), above_p99: None };
    }
    let goal = Goal::new(args.slowdown, args.max_slowdown).p99(args.p99_slowdown).form(args.goal.into());
    let learned = exact::learner(&load.periods, disk, &mut Budget::new(goal));
    Played { outcome: learned.outcome, above_p99: goal.p99.map(|p99| learned.slowdown.longer_than(p99)) }
}

/// One that does not learn. All but the shipped ones settle an idle interval when it begins.
fn play_fixed(args: &SimulateScrub, load: &Load, disk: ServiceModel) -> Outcome {
    let (wait, size, max) = (args.wait, size(args), args.max_request);
    let growing = |plus| Growth::By { factor: args.factor, plus, max };
    let adaptive = |growth| Box::new(Adaptive { pattern: Pattern { wait, first: size, growth } });
    let predicted = |method, wait| Box::new(Predicted::new(method, cutoff(args), wait, size));
    let shipped = |choice: Choice| online::play(&load.requests, disk, choice.policy());
    let mut policy: Box<dyn IntervalPolicy> = match args.policy {
        Name::Waiting => Box::new(Waiting { wait, size }),
        Name::IdleClass => Box::new(IdleClass),
        Name::Exponential => adaptive(growing(Bytes(0))),
        Name::Linear => adaptive(growing(args.plus)),
        Name::Swapping => adaptive(Growth::Swap { after: args.swap_after, to: max }),
        Name::Ar => predicted(Method::AutoRegressive, Nanos::ZERO),
        Name::ArWaiting => predicted(Method::AutoRegressive, wait),
        Name::Acd => predicted(Method::Acd, Nanos::ZERO),
        Name::Oracle => {
            let mut oracle = Oracle::longest(args.share, load.periods.intervals(), size);
            return exact::simulate(&load.periods, disk, &mut oracle);
        }
        Name::Lossless => return exact::simulate(&load.periods, disk, &mut Lossless { wait, size }),
        Name::Budget => unreachable!("it learns"),
        Name::Delay => return shipped(Choice::Delay { delay: args.delay, size }),
        Name::None => return shipped(Choice::None { size }),
    };
    exact::simulate(&load.periods, disk, policy.as_mut())
}

/// The size of a request, or of the first one.
fn size(args: &SimulateScrub) -> Bytes {
    let grows = matches!(args.policy, Name::Exponential | Name::Linear | Name::Swapping);
    args.request.unwrap_or(if grows { Bytes::kib(64) } else { Bytes::mib(1) })
}

fn cutoff(args: &SimulateScrub) -> Cutoff {
    let percentile = args.percentile.unwrap_or(PERCENTILE);
    args.cutoff.map_or(Cutoff::Percentile((percentile * 100.0).round() as u16), Cutoff::Length)
}

/// A parameter of a policy.
#[derive(Clone, Debug)]
enum Parameter {
    Time(&'static str, Nanos),
    Size(&'static str, Bytes),
    Number(&'static str, f64),
    Name(&'static str, String),
}

impl Parameter {
    /// In SI units and bytes, the unit in the name.
    fn json(self) -> (String, Value) {
        match self {
            Parameter::Time(name, time) => (format!("{name}_seconds"), time.as_secs_f64().into()),
            Parameter::Size(name, size) => (format!("{name}_bytes"), size.0.into()),
            Parameter::Number(name, number) => (name.to_owned(), number.into()),
            Parameter::Name(name, value) => (name.to_owned(), value.into()),
        }
    }

    fn text(self) -> String {
        match self {
            Parameter::Time(name, time) => format!("{} {}", name.replace('_', " "), show_time(time)),
            Parameter::Size(name, size) => format!("{} {size}", name.replace('_', " ")),
            Parameter::Number(name, number) => format!("{} {number}", name.replace('_', " ")),
            Parameter::Name(name, value) => format!("{} {value}", name.replace('_', " ")),
        }
    }
}

/// The parameters that the policy heeds.
fn parameters(args: &SimulateScrub) -> Vec<Parameter> {
    let wait = Parameter::Time("wait", args.wait);
    let request = Parameter::Size("request", size(args));
    let max_request = Parameter::Size("max_request", args.max_request);
    let factor = Parameter::Number("factor", args.factor);
    let cutoff = match cutoff(args) {
        Cutoff::Length(length) => Parameter::Time("cutoff", length),
        Cutoff::Percentile(hundredths) => Parameter::Number("percentile", f64::from(hundredths) / 100.0),
    };
    match args.policy {
        Name::Waiting | Name::Lossless => vec![wait, request],
        Name::IdleClass => {
            let Pattern { wait, first, .. } = IdleClass.pattern();
            vec![Parameter::Time("wait", wait), Parameter::Size("request", first)]
        }
        Name::Exponential => vec![wait, request, factor, max_request],
        Name::Linear => vec![wait, request, factor, Parameter::Size("plus", args.plus), max_request],
        Name::Swapping => vec![wait, request, Parameter::Time("swap_after", args.swap_after), max_request],
        Name::Ar | Name::Acd => vec![cutoff, request],
        Name::ArWaiting => vec![wait, cutoff, request],
        Name::Oracle => vec![Parameter::Number("share", args.share), request],
        Name::Budget => {
            let times = [("slowdown", Some(args.slowdown)), ("max_slowdown", Some(args.max_slowdown))];
            let name = args.goal.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
            let times = times.into_iter().chain([("p99_slowdown", args.p99_slowdown)]);
            let times = times.filter_map(|(name, time)| Some(Parameter::Time(name, time?)));
            times.chain([Parameter::Name("goal", name)]).collect()
        }
        Name::Delay => vec![Parameter::Time("delay", args.delay), request],
        Name::None => vec![request],
    }
}

fn policy_name(args: &SimulateScrub) -> String {
    args.policy.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The JSON of `--json`: schema 1, one object a load.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    trace: &'a str,
    policy: String,
    parameters: Map<String, Value>,
    #[serde(flatten)]
    ground: Ground,
    #[serde(flatten)]
    tally: Tally,
    #[serde(skip_serializing_if = "Option::is_none")]
    above_goal_p99: Option<u64>,
}

impl Document<'_> {
    fn new<'a>(load: &'a Load, args: &SimulateScrub, played: &Played) -> Document<'a> {
        let Played { outcome, above_p99 } = played;
        Document {
            schema: 1,
            trace: &load.name,
            policy: policy_name(args),
            parameters: parameters(args).into_iter().map(Parameter::json).collect(),
            ground: Ground::from(outcome),
            tally: Tally::from(outcome),
            above_goal_p99: *above_p99,
        }
    }
}

fn print(out: &mut impl Write, load: &Load, args: &SimulateScrub, played: &Played) -> io::Result<()> {
    let Played { outcome, above_p99 } = played;
    let parameters: Vec<String> = parameters(args).into_iter().map(Parameter::text).collect();
    writeln!(out, "{}: {}", shown(&load.name), tally::ground(outcome))?;
    writeln!(out, "  {}: {}", policy_name(args), parameters.join(", "))?;
    let (read, used) = (Bytes(outcome.scrub_bytes), percent(outcome.used_ratio()));
    writeln!(out, "  reads      {} ({read}), in {used} of the idle time", rate(outcome.bytes_per_second()))?;
    let (mean, max) = (show_time(tally::slowdown_mean(outcome)), show_time(outcome.slowdown_max));
    let late = above_p99.map_or(String::new(), |late| {
        let share = percent(late as f64 / outcome.requests.max(1) as f64);
        format!(", more than {} for {share}", show_time(args.p99_slowdown.unwrap_or_default()))
    });
    writeln!(out, "  slowdown   {mean} on average{late}, {max} at most")?;
    writeln!(out, "  collisions in {} of the idle intervals", percent(outcome.collision_rate()))
}
