//! The arguments of `simulate array`.

use clap::{Args, ValueEnum};
use scrubjay_cli::args::ProbeMethodArgs;
use scrubjay_cli::args::exit_codes::TRACES as EXIT_CODES;
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::quantity;
use scrubjay_core::units::Bytes;

const EXAMPLES: &str = "\
Examples:
  scrubjay simulate array --layout raid5-la --disks 8 --trials 40
  scrubjay simulate array --layout raid0 --disks 4 --noise heavy --queue clook --trials 100 --json
  scrubjay simulate array --layout raid5-ls --disks 6 --slow 2:1.4      names the slow member
  scrubjay simulate array --layout raid0 --disks 4 --same 0,1           two members on one disk";

/// Arguments of `simulate array`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct SimulateArray {
    /// Layout
    #[arg(long, value_name = "NAME", value_parser = scrubjay_cli::args::volume::layout(), help_heading = "Array")]
    pub layout: LayoutKind,
    /// Number of members
    #[arg(long, value_name = "COUNT", help_heading = "Array")]
    pub disks: usize,
    /// Parity chunks in a stripe (rotating) [default: what the layout has]
    #[arg(long, value_name = "COUNT", help_heading = "Array")]
    pub parity: Option<usize>,
    /// Chunk size
    #[arg(long, value_name = "SIZE", default_value = "32KiB", value_parser = quantity::bytes, help_heading = "Array")]
    pub chunk: Bytes,
    /// Offset of the partition [default: random]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes, help_heading = "Array")]
    pub phase: Option<Bytes>,
    /// Order in which each disk serves its queue
    #[arg(long, value_enum, default_value_t = QueueArg::Fcfs, help_heading = "Array")]
    pub queue: QueueArg,
    /// Disturbance
    #[arg(long, value_enum, default_value_t = NoiseArg::Clean, help_heading = "Array")]
    pub noise: NoiseArg,
    /// A slow member: its number and by what factor
    #[arg(long, value_name = "DISK:FACTOR", value_parser = slow, help_heading = "Array")]
    pub slow: Vec<(usize, f64)>,
    /// A missing member
    #[arg(long, value_name = "DISK", help_heading = "Array")]
    pub lost: Option<usize>,
    /// Two members that are halves of one disk
    #[arg(long, value_name = "DISK,DISK", value_parser = pair, help_heading = "Array")]
    pub same: Option<(usize, usize)>,

    /// How
    #[command(flatten)]
    pub how: ProbeMethodArgs,
    /// Also rewrite blocks, to measure the redundancy
    #[arg(long)]
    pub allow_writes: bool,
    /// Number of arrays to probe, each with another seed
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub trials: u64,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// A discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueueArg {
    /// First come, first served
    Fcfs,
    /// Upwards over the disk, then from its start again
    Clook,
    /// The nearest first
    Sstf,
}

/// What disturbs an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NoiseArg {
    /// None
    Clean,
    /// One request in a hundred takes much longer
    Tail,
    /// One in twenty takes much longer, and others read before every fifth
    Heavy,
}

fn slow(text: &str) -> Result<(usize, f64), String> {
    let refusal = || format!("`{text}` is no slow disk: write DISK:FACTOR, 2:1.4");
    let (disk, factor) = text.split_once(':').ok_or_else(refusal)?;
    let factor: f64 = factor.parse().map_err(|_| refusal())?;
    if !(0.01..=100.0).contains(&factor) {
        return Err(format!("`{text}`: a factor lies between 0.01 and 100"));
    }
    Ok((disk.parse().map_err(|_| refusal())?, factor))
}

fn pair(text: &str) -> Result<(usize, usize), String> {
    let refusal = || format!("`{text}` are no two disks: write DISK,DISK, 0,1");
    let (first, second) = text.split_once(',').ok_or_else(refusal)?;
    Ok((first.parse().map_err(|_| refusal())?, second.parse().map_err(|_| refusal())?))
}
