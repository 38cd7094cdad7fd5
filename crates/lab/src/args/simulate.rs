//! The arguments of `simulate`.

use super::array::SimulateArray;
use super::integrity::SimulateIntegrity;
use super::policy::SimulatedParameters;
use super::{DiskModelArgs, Traces};
use clap::{Args, Subcommand};
use scrubjay_cli::args::exit_codes::TRACES as EXIT_CODES;
use scrubjay_cli::args::named::parser;
use scrubjay_sim::play::Playable;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  scrubjay simulate scrub usr.csv --policy waiting --wait 205ms --request 1280KiB
  scrubjay simulate scrub usr.csv --policy budget --slowdown 0.5ms      the policy that `scrub` uses
  scrubjay simulate scrub usr.csv --policy oracle --share 0.05          an upper bound: it knows all idle intervals beforehand
  scrubjay simulate scrub usr.csv --policy ar --percentile 80 --json";

const ALL_EXAMPLES: &str = "\
Examples:
  scrubjay simulate scrub usr.csv --policy budget       what it would read
  scrubjay simulate integrity usr.csv                   I/Os for checksums
  scrubjay simulate array --layout raid5-ls --disks 6   what a probe finds
  scrubjay simulate watch --disks 8 --days 365          a year of passes";

/// Arguments of `simulate`.
#[derive(Debug, Args)]
#[command(after_help = format!("{ALL_EXAMPLES}\n\n{EXIT_CODES}"))]
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
    /// Watch over a modelled machine's disks for a year: passes, messages
    Watch(SimulateWatch),
}

const WATCH_EXAMPLES: &str = "\
Examples:
  scrubjay simulate watch --disks 8 --days 365 --seed 1
  scrubjay simulate watch --disks 24 --trouble 5       as if five times as much went wrong
  scrubjay simulate watch --disks 8 --seed 7 --json
  scrubjay simulate watch --disks 60 --page nas.json   then: scrubjay web --recorded nas.json";

/// Arguments of `simulate watch`.
#[derive(Debug, Args)]
#[command(after_help = format!("{WATCH_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct SimulateWatch {
    /// Number of disks, 1 to 60
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    pub disks: usize,
    /// How long
    #[arg(long, value_name = "DAYS", default_value_t = 365)]
    pub days: u64,
    /// What everything that happens is drawn from
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// How many times as often as in life things go wrong: 1 to 1000
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = factor)]
    pub trouble: f64,

    /// Print one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write what the web page would show at the end of it into this file, for `scrubjay web --recorded`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub page: Option<PathBuf>,
    /// Replace that file if it is there
    #[arg(long, requires = "page", help_heading = "Output")]
    pub force: bool,
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

/// Parses a factor from 1 to 1000.
fn factor(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (1.0..=1000.0).contains(number));
    number.ok_or_else(|| format!("`{text}` is no number from 1 to 1000"))
}
