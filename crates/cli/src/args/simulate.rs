//! The arguments of `simulate`.

use super::array::SimulateArray;
use super::exit_codes::TRACES as EXIT_CODES;
use super::integrity::SimulateIntegrity;
use super::named::parser;
use super::policy::SimulatedParameters;
use super::{DiskModelArgs, Traces};
use clap::{Args, Subcommand};
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
    /// What it is set to
    #[command(flatten)]
    pub parameters: SimulatedParameters,

    /// Print one JSON object per device, one per line
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
