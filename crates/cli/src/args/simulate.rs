//! The arguments of `simulate`.

use super::array::SimulateArray;
use super::codes::TRACES as EXIT_CODES;
use super::integrity::SimulateIntegrity;
use super::{Disk, GoalForm, Traces};
use crate::quantity;
use clap::{Args, Subcommand, ValueEnum};
use scrubjay_core::units::{Bytes, Nanos};

const EXAMPLES: &str = "\
Examples:
  scrubjay simulate scrub usr.csv --policy waiting --wait 205ms --request 1280KiB
  scrubjay simulate scrub usr.csv --policy budget --slowdown 0.5ms      the scrubber as it ships
  scrubjay simulate scrub usr.csv --policy oracle --share 0.05          the best anybody could do
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
    /// Play a scrub against a trace: what it would have read, and what it would have cost
    Scrub(Box<SimulateScrub>),
    /// Count the disk I/Os of an array that checks what it reads: under each scheme, for the requests of a trace
    Integrity(Box<SimulateIntegrity>),
    /// Probe modelled arrays, and see how much of what is said of them is true
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
    pub disk: Disk,

    /// When to read
    #[arg(long, value_enum, help_heading = "When")]
    pub policy: SimulatedPolicy,
    /// How long the disk must have been idle (waiting, ar-waiting, exponential, linear, swapping, lossless)
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = quantity::time, help_heading = "When")]
    pub wait: Nanos,
    /// The size of a request, or of the first one (exponential, linear, swapping) [default: 1MiB, or 64KiB if it grows]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "When")]
    pub request: Option<Bytes>,
    /// What foreground requests may lose on average (budget)
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = quantity::time, help_heading = "When")]
    pub slowdown: Nanos,
    /// What any one of them may lose (budget)
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = quantity::time, help_heading = "When")]
    pub max_slowdown: Nanos,
    /// What they may lose, but for one in 100 (budget)
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "When")]
    pub p99_slowdown: Option<Nanos>,
    /// When the average is to be kept (budget)
    #[arg(long, value_enum, value_name = "FORM", default_value = "strict", help_heading = "When")]
    pub goal: GoalForm,
    /// The pause after each request (delay)
    #[arg(long, value_name = "TIME", default_value = "16ms", value_parser = quantity::time, help_heading = "When")]
    pub delay: Nanos,

    /// Use idle intervals that are predicted to be longer than this (ar, ar-waiting, acd)
    #[arg(long, value_name = "TIME", value_parser = quantity::time, help_heading = "Prediction")]
    pub cutoff: Option<Nanos>,
    /// Use idle intervals whose prediction exceeds so many percent of all predictions [default: 80]
    #[arg(long, value_name = "PERCENT", value_parser = percent, conflicts_with = "cutoff", help_heading = "Prediction")]
    pub percentile: Option<f64>,
    /// Use this share of the idle intervals, the longest (oracle): 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share, help_heading = "Prediction")]
    pub share: f64,

    /// Each request is so many times as large as the last (exponential, linear)
    #[arg(long, value_name = "X", default_value = "2", value_parser = factor, help_heading = "Growth")]
    pub factor: f64,
    /// And so much larger (linear)
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = quantity::bytes, help_heading = "Growth")]
    pub plus: Bytes,
    /// The size from this idle time on is the largest (swapping)
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = quantity::time, help_heading = "Growth")]
    pub swap_after: Nanos,
    /// The largest request (exponential, linear, swapping)
    #[arg(long, value_name = "SIZE", default_value = "4MiB", value_parser = size, help_heading = "Growth")]
    pub max_request: Bytes,

    /// One JSON object for each device, one to a line
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Every policy there is, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SimulatedPolicy {
    /// Wait for idleness, then read until somebody comes
    Waiting,
    /// What Linux's CFQ did: 10 ms, 64 KiB
    IdleClass,
    /// Wait; then requests that grow by a factor
    Exponential,
    /// Wait; then requests that grow by a factor and a fixed amount
    Linear,
    /// Wait; then small requests, and large ones after a while
    Swapping,
    /// Predict each idle interval by auto-regression; use the long ones at once
    Ar,
    /// The same, after a wait
    ArWaiting,
    /// Predict by an autoregressive conditional duration model
    Acd,
    /// Know the longest idle intervals, and use them
    Oracle,
    /// Waiting that gets back the time it waited
    Lossless,
    /// Tune wait, size and pace to the slowdown goals: the scrubber as it ships
    Budget,
    /// Pause after each request, whoever uses the disk
    Delay,
    /// As fast as it goes
    None,
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
    use super::*;

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
