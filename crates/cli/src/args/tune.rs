//! The arguments of `tune`.

use super::exit_codes::TRACES as EXIT_CODES;
use super::named::parser;
use super::{DiskModelArgs, Traces};
use clap::Args;
use scrubjay_core::scrub::idle::GoalForm;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_jobs::quantity;
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

/// Sizes are multiples of this.
pub const SIZE_STEP: Bytes = Bytes::kib(64);
/// No size is larger than what `scrub` accepts.
const SIZE_MAX: Bytes = Bytes::mib(16);

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
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = quantity::time, help_heading = "Goal")]
    pub slowdown: Nanos,
    /// Latency that it may add to any one request
    #[arg(long, value_name = "TIME", default_value = "50.4ms", value_parser = quantity::time, help_heading = "Goal")]
    pub max_slowdown: Nanos,
    /// When the mean must be kept: at any time, or at the end
    #[arg(long, value_parser = parser::<GoalForm>(), value_name = "FORM", default_value = "average", help_heading = "Goal")]
    pub goal: GoalForm,
    /// Request sizes to try, both ends included, in steps of 64 KiB
    #[arg(long, value_name = "A..B", default_value = "64KiB..4MiB", value_parser = sizes, help_heading = "Goal")]
    pub sizes: RangeInclusive<u64>,
    /// Skip devices with fewer requests
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Trace")]
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

/// `64KiB..4MiB`, in steps of 64 KiB.
fn sizes(text: &str) -> Result<RangeInclusive<u64>, String> {
    let what = || format!("`{text}` is no range of sizes: write 64KiB..4MiB");
    let (first, last) = text.split_once("..").ok_or_else(what)?;
    let steps = |text: &str| {
        let size = quantity::bytes(text)?;
        if size.0 == 0 || !size.0.is_multiple_of(SIZE_STEP.0) {
            return Err(format!("`{text}` is not a multiple of 64 KiB"));
        }
        if size > SIZE_MAX {
            return Err(format!("`{text}` is too large: {SIZE_MAX} is the most"));
        }
        Ok(size.0 / SIZE_STEP.0)
    };
    let range = steps(first)?..=steps(last)?;
    if range.is_empty() { Err(format!("`{text}` is empty")) } else { Ok(range) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_steps() {
        assert_eq!(sizes("64KiB..4MiB"), Ok(1..=64));
        assert_eq!(sizes("1MiB..1MiB"), Ok(16..=16));
        for text in ["", "64KiB", "64KiB..", "..4MiB", "0..4MiB", "65KiB..4MiB", "2MiB..1MiB", "64KiB..17MiB"] {
            assert!(sizes(text).is_err(), "{text}");
        }
    }
}
