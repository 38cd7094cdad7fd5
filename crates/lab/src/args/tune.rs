//! The arguments of `tune`.

use super::{DiskModelArgs, Traces};
use clap::Args;
use scrubjay_cli::args::exit_codes::TRACES as EXIT_CODES;
use scrubjay_cli::args::named::parser;
use scrubjay_core::quantity;
use scrubjay_core::scrub::idle::GoalForm;
use scrubjay_core::units::Nanos;
use scrubjay_research::tune;
use std::ops::RangeInclusive;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  scrubjay tune sda.blktrace.0                        the best wait and request size for this load
  scrubjay tune src1.csv.gz --device src1_1           one device of several
  scrubjay tune usr.csv --slowdown 0.2ms              for a stricter goal
  scrubjay tune usr.csv --config sda.toml             write the answer to a file, then:
  scrubjay scrub /dev/sda --config sda.toml

Tune plays waits of 0 to 39 h (32 per octave) against the trace with each request size, then refines the best; the
answer is the pair that reads most inside the goal. If slightly shorter or longer waits would cost much more, tune says
so and also names the best pair that keeps the goal with all of them; --config gets that one.";

/// Arguments of `tune`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Tune {
    /// Which traces
    #[command(flatten)]
    pub traces: Traces,
    /// How long requests take
    #[command(flatten)]
    pub disk: DiskModelArgs,

    /// Mean latency that the scrub may add to a request of others
    #[arg(long, value_name = "TIME", default_value = tune::SLOWDOWN, value_parser = quantity::time, allow_hyphen_values = true, help_heading = "Goal")]
    pub slowdown: Nanos,
    /// Latency that it may add to any one request
    #[arg(long, value_name = "TIME", default_value = tune::SLOWDOWN_MAX, value_parser = quantity::time, allow_hyphen_values = true, help_heading = "Goal")]
    pub max_slowdown: Nanos,
    /// When the mean must be kept: at any time, or at the end
    #[arg(long, value_parser = parser::<GoalForm>(), value_name = "FORM", default_value = tune::GOAL_FORM, help_heading = "Goal")]
    pub goal: GoalForm,
    /// Request sizes to try, both ends included, in steps of 64 KiB
    #[arg(long, value_name = "A..B", default_value = tune::SIZES, value_parser = tune::sizes, help_heading = "Goal")]
    pub sizes: RangeInclusive<u64>,
    /// Skip devices with fewer requests
    #[arg(long, value_name = "N", default_value_t = tune::REQUESTS_MIN, help_heading = "Trace")]
    pub min_requests: u64,

    /// Print one JSON object per device, one per line
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write the answer to this file, for scrub --config
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub config: Option<PathBuf>,
    /// Overwrite that file
    #[arg(long, requires = "config", help_heading = "Output")]
    pub force: bool,
}
