//! The arguments of `simulate`.

use super::array::SimulateArray;
use super::exit_codes::TRACES as EXIT_CODES;
use super::integrity::SimulateIntegrity;
use super::named::parser;
use super::{DiskModelArgs, Traces};
use crate::heed::Given;
use clap::{Args, Subcommand};
use scrubjay_core::scrub::idle::{Cutoff, Goal, GoalForm, Parameter, PolicyParameters};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_jobs::quantity;
use scrubjay_sim::play::Playable;

const EXAMPLES: &str = "\
Examples:
  scrubjay simulate scrub usr.csv --policy waiting --wait 205ms --request 1280KiB
  scrubjay simulate scrub usr.csv --policy budget --slowdown 0.5ms      the policy that `scrub` uses
  scrubjay simulate scrub usr.csv --policy oracle --share 0.05          an upper bound: it knows all idle intervals beforehand
  scrubjay simulate scrub usr.csv --policy ar --percentile 80 --json";

/// Arguments of `simulate`.
#[derive(Debug, Args)]
pub struct Simulate {
    /// What to simulate
    #[command(subcommand)]
    pub what: Simulated,
}

/// What can be simulated.
#[derive(Debug, Subcommand)]
pub enum Simulated {
    /// Play a scrub against a trace: what it would read, and how long requests would wait
    Scrub(Box<SimulateScrub>),
    /// Count the disk I/Os that checksums add to an array, for each scheme and the requests of a trace
    Integrity(Box<SimulateIntegrity>),
    /// Probe modelled arrays, and count right and wrong answers
    Array(Box<SimulateArray>),
}

/// Arguments of `simulate scrub`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct SimulateScrub {
    /// Which traces
    #[command(flatten)]
    pub traces: Traces,
    /// How long requests take
    #[command(flatten)]
    pub disk: DiskModelArgs,

    /// When to send requests
    #[arg(long, value_parser = parser::<Playable>(), help_heading = "When")]
    pub policy: Playable,
    /// Start after so long an idle time (waiting, ar-waiting, exponential, linear, swapping, lossless) [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "When")]
    pub wait: Option<Nanos>,
    /// Request size, or that of the first one (exponential, linear, swapping) [default: 1MiB, or 64KiB if it grows]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "When")]
    pub request: Option<Bytes>,
    /// Mean latency that the scrub may add to a request of others (budget) [default: 1ms]
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "When")]
    pub slowdown: Option<Nanos>,
    /// Latency that it may add to any one request (budget) [default: 50ms]
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "When")]
    pub max_slowdown: Option<Nanos>,
    /// Latency that it may add, but for 1 request in 100 (budget)
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "When")]
    pub p99_slowdown: Option<Nanos>,
    /// When the mean must be kept: at any time, or at the end (budget) [default: strict]
    #[arg(long, value_parser = parser::<GoalForm>(), value_name = "FORM", help_heading = "When")]
    pub goal: Option<GoalForm>,
    /// Pause after each request (delay) [default: 16ms]
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "When")]
    pub delay: Option<Nanos>,

    /// Use idle intervals that are predicted to be longer than this (ar, ar-waiting, acd)
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "Prediction")]
    pub cutoff: Option<Nanos>,
    /// Use idle intervals whose predicted length is above this percentile of predictions [default: 80]
    #[arg(long, value_name = "PERCENT", value_parser = percent, conflicts_with = "cutoff", help_heading = "Prediction")]
    pub percentile: Option<f64>,
    /// Use the longest idle intervals, this share of them (oracle): 0 to 1 [default: 0.1]
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Prediction")]
    pub share: Option<f64>,

    /// Growth factor from one request to the next (exponential, linear) [default: 2]
    #[arg(long, value_name = "X", value_parser = factor, help_heading = "Growth")]
    pub factor: Option<f64>,
    /// Growth step from one request to the next (linear) [default: 64KiB]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes, help_heading = "Growth")]
    pub plus: Option<Bytes>,
    /// Send the largest size from this idle time on (swapping) [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "Growth")]
    pub swap_after: Option<Nanos>,
    /// Largest request size (exponential, linear, swapping) [default: 4MiB]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Growth")]
    pub max_request: Option<Bytes>,

    /// Print one JSON object per device, one per line
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

impl SimulateScrub {
    /// What the policy is set to.
    pub fn parameters(&self) -> PolicyParameters {
        let usual = PolicyParameters::default();
        let (mean, max) = (self.slowdown.unwrap_or(usual.goal.mean), self.max_slowdown.unwrap_or(usual.goal.max));
        let percentile = self.percentile.map(|percent| Cutoff::Percentile((percent * 100.0).round() as u16));
        PolicyParameters {
            wait: self.wait.unwrap_or(usual.wait),
            request: self.request,
            request_max: self.max_request.unwrap_or(usual.request_max),
            goal: Goal::new(mean, max).p99(self.p99_slowdown).form(self.goal.unwrap_or(usual.goal.form)),
            delay: self.delay.unwrap_or(usual.delay),
            cutoff: self.cutoff.map(Cutoff::Length).or(percentile).unwrap_or(usual.cutoff),
            factor: self.factor.unwrap_or(usual.factor),
            plus: self.plus.unwrap_or(usual.plus),
            swap_after: self.swap_after.unwrap_or(usual.swap_after),
            share: self.share.unwrap_or(usual.share),
        }
    }

    /// The options that set a parameter of policies.
    pub fn given(&self) -> [Given; 14] {
        [
            ("--wait", Parameter::Wait, self.wait.is_some()),
            ("--request", Parameter::Request, self.request.is_some()),
            ("--slowdown", Parameter::Slowdown, self.slowdown.is_some()),
            ("--max-slowdown", Parameter::SlowdownMax, self.max_slowdown.is_some()),
            ("--p99-slowdown", Parameter::SlowdownP99, self.p99_slowdown.is_some()),
            ("--goal", Parameter::GoalForm, self.goal.is_some()),
            ("--delay", Parameter::Delay, self.delay.is_some()),
            ("--cutoff", Parameter::Cutoff, self.cutoff.is_some()),
            ("--percentile", Parameter::Cutoff, self.percentile.is_some()),
            ("--share", Parameter::Share, self.share.is_some()),
            ("--factor", Parameter::Factor, self.factor.is_some()),
            ("--plus", Parameter::Plus, self.plus.is_some()),
            ("--swap-after", Parameter::SwapAfter, self.swap_after.is_some()),
            ("--max-request", Parameter::RequestMax, self.max_request.is_some()),
        ]
    }
}

/// Whole sectors, up to what a disk could take.
fn size(text: &str) -> Result<Bytes, String> {
    let size = quantity::bytes(text)?;
    if size.0 == 0 || !size.0.is_multiple_of(512) || size > Bytes::gib(1) {
        return Err(format!("`{text}` is no size of a request: whole sectors of 512 bytes, 1 GiB at most"));
    }
    Ok(size)
}

fn number(text: &str, lowest: f64, highest: f64) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (lowest..=highest).contains(number));
    number.ok_or_else(|| format!("`{text}` is no number from {lowest} to {highest}"))
}

fn percent(text: &str) -> Result<f64, String> {
    number(text, 0.0, 100.0)
}

fn share(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1.0)
}

fn factor(text: &str) -> Result<f64, String> {
    number(text, 1.0, 1000.0)
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Verb};
    use super::*;
    use clap::{CommandFactory, Parser};

    fn parsed(arguments: &[String]) -> SimulateScrub {
        let fixed = ["scrubjay", "simulate", "scrub", "t", "--policy", "none"].map(str::to_owned);
        match Cli::try_parse_from(fixed.iter().chain(arguments)).unwrap().verb {
            Some(Verb::Simulate(Simulate { what: Simulated::Scrub(scrub) })) => *scrub,
            _ => panic!("a simulated scrub"),
        }
    }

    #[test]
    fn the_help_tells_the_defaults() {
        let command = Cli::command();
        let scrub = command.find_subcommand("simulate").and_then(|simulate| simulate.find_subcommand("scrub")).unwrap();
        let options = parsed(&[]).given().map(|(option, ..)| option);
        let mut told = Vec::new();
        for argument in scrub.get_arguments() {
            let help = argument.get_help().unwrap_or_default().to_string();
            let Some(name) = argument.get_long().map(|name| format!("--{name}")) else { continue };
            if let (true, Some((_, default))) = (options.contains(&name.as_str()), help.split_once("[default: ")) {
                let default = default.split(',').next().unwrap_or(default).trim_end_matches(']');
                told.push(format!("{name}={default}"));
            }
        }
        let usual = PolicyParameters { request: Some(Bytes::mib(1)), ..PolicyParameters::default() };
        assert_eq!((told.len(), parsed(&told).parameters()), (12, usual), "{told:?}");
    }

    #[test]
    fn numbers_keep_their_bounds() {
        assert_eq!((percent("80"), share("0.25"), factor("1.5")), (Ok(80.0), Ok(0.25), Ok(1.5)));
        assert_eq!(size("64KiB"), Ok(Bytes::kib(64)));
        for text in ["", "-1", "NaN", "1001", "inf"] {
            assert!(percent(text).is_err() && share(text).is_err() && factor(text).is_err(), "{text}");
        }
        assert!(size("100").is_err() && size("0").is_err() && size("2GiB").is_err());
    }
}
