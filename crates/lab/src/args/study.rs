//! The arguments of `study`.

use super::integrity::REQUESTS;
use super::{DiskModelArgs, Traces, named};
use clap::{ArgGroup, Args, Subcommand};
use scrubjay_cli::args::exit_codes::TRACES as EXIT_CODES;
use scrubjay_core::quantity;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_study::mlet::SweepSetup;
use std::path::PathBuf;

const IDLE_EXAMPLES: &str = "\
Examples:
  scrubjay study idle usr.csv.gz --out idle               how long the disk is idle, and what a wait tells
  scrubjay study idle cello.srt.bz2 --device 1f0260 --device 1f0160 --out two-disks
  scrubjay study idle src1.csv usr.csv --out both         side by side";

const SCRUB_EXAMPLES: &str = "\
Examples:
  scrubjay study scrub usr.csv.gz --out scrub             every policy and request size: what it reads and costs
  scrubjay study scrub usr.csv.gz --out scrub --slowdown 0.5ms,1ms";

const MLET_EXAMPLES: &str = "\
Examples:
  scrubjay study mlet --out mlet                          effect of order, region and segment, in tours
  scrubjay study mlet usr.csv.gz --out mlet               and in hours, in the idle time of this disk
  scrubjay study mlet usr.csv.gz --disk-size 8TB --out mlet";

const INTEGRITY_EXAMPLES: &str = "\
Examples:
  scrubjay study integrity --out integrity                what checksums cost, and which scheme to choose";

const SHEAR_EXAMPLES: &str = "\
Examples:
  scrubjay study shear --out shear                        the paper's figures on modelled arrays
  scrubjay study shear --out quick --requests 100 --repeats 3";

const EXAMPLES: &str = "\
Examples:
  scrubjay study idle usr.csv.gz --out idle     how long a disk is idle
  scrubjay study scrub usr.csv.gz --out scrub   which policy reads most
  scrubjay study mlet --out mlet                which order is best
  scrubjay study integrity --out integrity      what checksums cost in an array
  scrubjay study shear --out shear              what a probe can tell

Each writes a page, index.html, with figures and their numbers, into a folder.";

/// Arguments of `study`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct StudyArgs {
    /// What to study
    #[command(subcommand)]
    pub what: Studied,
}

/// What can be studied.
#[derive(Debug, Subcommand)]
pub enum Studied {
    /// Idle intervals: their lengths, hazard and daily rhythm
    Idle(Box<StudyIdle>),
    /// Scrubbing policies: what each reads in idle time, and the latency it adds
    Scrub(Box<StudyScrub>),
    /// Latent errors: mean time until detection, by order, region and segment
    Mlet(Box<StudyMlet>),
    /// Silent corruption: disk I/Os that each scheme adds to an array
    Integrity(Box<StudyIntegrity>),
    /// Unknown arrays: what timing tells of the layout of modelled ones
    Shear(Box<StudyShear>),
}

/// Arguments of `study idle`.
#[derive(Debug, Args)]
#[command(after_help = format!("{IDLE_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct StudyIdle {
    /// Which traces
    #[command(flatten)]
    pub traces: Traces,
    /// How long requests take
    #[command(flatten)]
    pub disk: DiskModelArgs,
    /// Where the page goes
    #[command(flatten)]
    pub out: Out,
}

/// Arguments of `study scrub`.
#[derive(Debug, Args)]
#[command(after_help = format!("{SCRUB_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct StudyScrub {
    /// Which traces
    #[command(flatten)]
    pub traces: Traces,
    /// How long requests take
    #[command(flatten)]
    pub disk: DiskModelArgs,
    /// Mean latency that the scrub may add to a request of others: one or several goals [default: 0.5ms,1ms,2ms,4ms]
    #[arg(long, value_name = "TIME,...", value_delimiter = ',', value_parser = quantity::time, help_heading = "Goal")]
    pub slowdown: Vec<Nanos>,
    /// Latency that it may add to any one request
    #[arg(long, value_name = "TIME", default_value = "50.4ms", value_parser = quantity::time, allow_hyphen_values = true, help_heading = "Goal")]
    pub max_slowdown: Nanos,
    /// Where the page goes
    #[command(flatten)]
    pub out: Out,
}

/// Options of `study mlet` that have no effect without a trace.
const OF_TRACES: [&str; 4] = ["service", "disk", "slowdown", "max_slowdown"];

/// Arguments of `study mlet`.
#[derive(Debug, Args)]
#[command(after_help = format!("{MLET_EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(group(ArgGroup::new("of traces").args(OF_TRACES).requires("files").multiple(true)))]
pub struct StudyMlet {
    /// Trace files, compressed or not (see `scrubjay trace formats`); `-` is standard input
    #[arg(value_name = "TRACE")]
    pub files: Vec<PathBuf>,
    /// Format [default: detected]
    #[arg(long, value_name = "NAME", value_parser = named::format(), requires = "files", help_heading = "Trace")]
    pub format: Option<String>,
    /// Unit of its times, for formats that have several (mqsim, disksim, tencent): s, ms, us, 100ns, ns
    #[arg(long, value_name = "UNIT", value_parser = quantity::time_unit, requires = "files", help_heading = "Trace")]
    pub time_unit: Option<Nanos>,
    /// Unit of its offsets and sizes, likewise: 1 (bytes), 4KiB
    #[arg(long, value_name = "SIZE", value_parser = quantity::block, requires = "files", help_heading = "Trace")]
    pub block: Option<Bytes>,
    /// Only this device; may be repeated
    #[arg(long, value_name = "NAME", requires = "files", help_heading = "Trace")]
    pub device: Vec<String>,
    /// How long requests take
    #[command(flatten)]
    pub disk: DiskModelArgs,
    /// Mean latency that the scrub may add to a request of others
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = quantity::time, allow_hyphen_values = true, help_heading = "Goal")]
    pub slowdown: Nanos,
    /// Latency that it may add to any one request
    #[arg(long, value_name = "TIME", default_value = "50.4ms", value_parser = quantity::time, allow_hyphen_values = true, help_heading = "Goal")]
    pub max_slowdown: Nanos,
    /// Size of the scrubbed disk
    #[arg(long, value_name = "SIZE", default_value = "1TB", value_parser = disk_size, help_heading = "Errors")]
    pub disk_size: Bytes,
    /// Number of simulated disks with errors
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000), help_heading = "Errors")]
    pub disks: u32,
    /// Seed of the random numbers: the same seed gives the same page
    #[arg(long, value_name = "N", default_value_t = 2012, help_heading = "Errors")]
    pub seed: u64,
    /// Where the page goes
    #[command(flatten)]
    pub out: Out,
}

/// Arguments of `study integrity`.
#[derive(Debug, Args)]
#[command(after_help = format!("{INTEGRITY_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct StudyIntegrity {
    /// Leave out the encoding speeds, which are measured on this machine
    #[arg(long, help_heading = "Speed")]
    pub no_speed: bool,
    /// Requests per workload
    #[arg(long, value_name = "N", default_value_t = REQUESTS, value_parser = clap::value_parser!(u32).range(1000..), help_heading = "Requests")]
    pub requests: u32,
    /// Seed of the random numbers: the same seed gives the same page
    #[arg(long, value_name = "N", default_value_t = 2014, help_heading = "Requests")]
    pub seed: u64,
    /// Where the page goes
    #[command(flatten)]
    pub out: Out,
}

/// Arguments of `study shear`.
#[derive(Debug, Args)]
#[command(after_help = format!("{SHEAR_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct StudyShear {
    /// Requests per trial (N in the paper, "approximately 500")
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(2..=10_000), help_heading = "Requests")]
    pub requests: u32,
    /// Repetitions of each measurement (R in the paper)
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Requests")]
    pub repeats: u32,
    /// Seed of the random numbers: the same seed gives the same page
    #[arg(long, value_name = "N", default_value_t = 1506, help_heading = "Requests")]
    pub seed: u64,
    /// Where the page goes
    #[command(flatten)]
    pub out: Out,
}

/// Where a page goes.
#[derive(Debug, Args)]
pub struct Out {
    /// Folder for the page: index.html, SVG and CSV
    #[arg(long = "out", value_name = "DIR", help_heading = "Output")]
    pub folder: PathBuf,
    /// Replace the page that is there
    #[arg(long, help_heading = "Output")]
    pub force: bool,
}

/// Parses the size of a disk that is large enough to compare orders on.
fn disk_size(text: &str) -> Result<Bytes, String> {
    let size = quantity::bytes(text)?;
    if (SweepSetup::DISK_MIN..=SweepSetup::DISK_MAX).contains(&size) {
        return Ok(size);
    }
    Err(format!("`{text}` is no disk for this: from {} to {}", SweepSetup::DISK_MIN, SweepSetup::DISK_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_have_bounds() {
        assert_eq!(disk_size("1TB"), Ok(Bytes(1_000_000_000_000)));
        assert_eq!((disk_size("1GiB"), disk_size("128TiB")), (Ok(SweepSetup::DISK_MIN), Ok(SweepSetup::DISK_MAX)));
        assert!(disk_size("1GB").is_err() && disk_size("129TiB").is_err() && disk_size("large").is_err());
    }
}
