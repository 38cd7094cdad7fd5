//! The arguments of `qualify`.

use crate::qualify::load::QualifyLoad;
use clap::Args;
use scrubjay_core::quantity;
use scrubjay_core::units::Nanos;
use std::path::PathBuf;

const TEXT: &str = "\
Examples:
  sudo scrubjay qualify /dev/sda                               half an hour; only reads
  sudo scrubjay qualify ZL2ABCDE --out sda.json --page page    the disk with this serial number; JSON, and a page with figures
  sudo scrubjay qualify /dev/sda --minutes 10 --goals 1ms
  sudo scrubjay qualify /dev/sda --by-hand                     then asks you to unplug the disk, and to suspend the machine

A client in a process of its own reads 4 KiB at random places: at even times, at random times, in bursts. It measures its own
latency, alone and beside a scrub at each goal, in turns. What it lost stands beside what the scrub said that it lost, and how many
requests it sent beside how many the scrub saw. All of it only reads; --verify switches the drive's read cache off for a moment and on again.
Let nothing else use the disk. The result is for docs/qualified.md, and `scrubjay report --with` takes it along.

Exit codes:
  0    the client lost no more than the goals allow, as far as can be told
  1    could not do the job
  2    the command or the disk is wrong
  3    it lost more than a goal allows, or requests were not seen
  4    no permission: try sudo
  130  ended by a signal: what was measured is shown";

/// Arguments of `qualify`.
#[derive(Debug, Args)]
#[command(after_help = TEXT)]
pub struct QualifyArgs {
    /// Disk, partition or file: a path, a name such as sda, a serial number or WWN
    #[arg(value_name = "DISK")]
    pub target: String,
    /// How long all of it takes
    #[arg(long, value_name = "MINUTES", default_value_t = 30.0, value_parser = minutes)]
    pub minutes: f64,
    /// Limits for the mean slowdown of the client's requests
    #[arg(long, value_name = "TIMES", value_delimiter = ',', default_value = "0.5ms,1ms,3ms", value_parser = quantity::time_not_zero)]
    pub goals: Vec<Nanos>,
    /// Measure too whether the drive's VERIFY reads the medium (as bench verify does)
    #[arg(long)]
    pub verify: bool,
    /// Then ask to unplug the disk, and to suspend the machine, and see what becomes of a scrub
    #[arg(long)]
    pub by_hand: bool,
    /// Write the result to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Draw a page into this folder
    #[arg(long, value_name = "DIR")]
    pub page: Option<PathBuf>,
    /// Replace FILE, and the page in DIR
    #[arg(long)]
    pub force: bool,
    /// Print it as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(long)]
    pub no_progress: bool,
    /// The client's process: sends this load to DISK, and prints its latencies
    #[arg(long, value_name = "LOAD", value_enum, hide = true)]
    pub client: Option<QualifyLoad>,
    /// For how long the client runs
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, hide = true)]
    pub seconds: f64,
    /// The client's random numbers
    #[arg(long, value_name = "N", default_value_t = 1, hide = true)]
    pub seed: u64,
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if (0.1..=1440.0).contains(&minutes) => Ok(minutes),
        _ => Err(format!("`{text}` is not between 0.1 and 1440 minutes")),
    }
}
