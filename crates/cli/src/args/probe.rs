//! The arguments of `probe`.

use super::codes::PROBE as EXIT_CODES;
use crate::quantity;
use clap::{Args, ValueEnum};
use scrubjay_core::units::{Bytes, Nanos};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  scrubjay probe /dev/sdb                       chunk, disks, layout, and lines for mkfs
  scrubjay probe /dev/sdb --budget 60s --json   what can be known within a minute
  scrubjay probe /dev/sdb --allow-writes        tells RAID-0 from RAID-5: rewrites what it reads
  scrubjay probe /dev/sdb --mode paper --requests 100 --repeats 5";

/// Arguments of `probe`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Probe {
    /// The device: a whole disk, a logical unit, a partition
    #[arg(value_name = "DEVICE")]
    pub device: PathBuf,
    /// How to go about it
    #[command(flatten)]
    pub how: How,
    /// Stop after so long at the device, with what is known by then
    #[arg(long, value_name = "TIME", value_parser = quantity::time)]
    pub budget: Option<Nanos>,
    /// Stop after so many requests, with what is known by then
    #[arg(long, value_name = "COUNT")]
    pub budget_ios: Option<u64>,
    /// Also rewrite blocks with what they hold, which tells the redundancy; nobody else may use the device then
    #[arg(long)]
    pub allow_writes: bool,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
}

/// How an array is probed, real or modelled.
#[derive(Clone, Debug, Args)]
pub struct How {
    /// The fast prober, or the paper's (Denehy et al. 2004)
    #[arg(long, value_enum, default_value_t = Mode::Fast)]
    pub mode: Mode,
    /// Patterns up to this size are looked for
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = quantity::bytes)]
    pub max_pattern: Bytes,
    /// Decides which places are asked
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Requests of a trial (paper)
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    pub requests: usize,
    /// Trials of a test (paper)
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    pub repeats: usize,
    /// The smallest chunk that is looked for (paper)
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = quantity::bytes)]
    pub block: Bytes,
}

/// A prober.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Thousands of requests, a confidence for each statement
    Fast,
    /// Shear as it was published: millions of requests
    Paper,
}

impl How {
    /// Is something of it zero that must not be?
    pub fn is_empty(&self) -> bool {
        self.requests == 0 || self.repeats == 0 || self.block.0 == 0
    }
}
