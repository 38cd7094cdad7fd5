//! The arguments of `trace`.

use super::{named, source};
use clap::{Args, Subcommand};
use scrubjay_cli::args::exit_codes::TRACES as EXIT_CODES;
use scrubjay_core::quantity;
use scrubjay_core::units::Nanos;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  scrubjay trace info proj_0.csv.gz                requests, sizes, idle intervals
  scrubjay trace convert proj_0.csv.gz proj.parquet   fast to read again
  sudo scrubjay trace capture /dev/sda --for 1h sda.parquet
  scrubjay trace generate --model mid-read --hours 24 day.csv
  scrubjay trace formats                           formats that can be read and written";

/// Arguments of `trace`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct TraceArgs {
    /// What to do with them
    #[command(subcommand)]
    pub what: TraceVerb,
}

/// What can be done with traces.
#[derive(Debug, Subcommand)]
pub enum TraceVerb {
    /// Summarise a trace: requests, sizes, devices, idle intervals
    Info(Box<Info>),
    /// Convert a trace to another format
    Convert(Convert),
    /// Record all requests to a disk
    Capture(CaptureArgs),
    /// Generate a trace from a model, or like another trace
    Generate(TraceGenerateArgs),
    /// List the trace formats
    #[command(after_help = format!("{FORMATS_EXAMPLES}\n\n{EXIT_CODES}"))]
    Formats,
}

const FORMATS_EXAMPLES: &str = "\
Examples:
  scrubjay trace formats    their names, for --format and --to";

const INFO_EXAMPLES: &str = "\
Examples:
  scrubjay trace info hplajw.srt.xz                        all devices together
  scrubjay trace info hplajw.srt.xz --device 0 --json      one of them, for a program
  scrubjay trace info proj_0.csv.gz --service model --disk 8ms,5.5ms
  scrubjay trace info trace.blktrace.*                     several files, one trace
  scrubjay trace info sda.parquet --plot sda               a page with figures of the idle intervals

An idle interval lasts from the completion of all requests that came so far to the next arrival.
When a request is completed is taken from the trace's response times if it has them, else from a
model of the disk.";

/// Arguments of `trace info`.
#[derive(Debug, Args)]
#[command(after_help = format!("{INFO_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Info {
    /// Which traces
    #[command(flatten)]
    pub traces: source::Traces,
    /// How long requests took
    #[command(flatten)]
    pub disk: source::DiskModelArgs,
    /// Print the figures as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write figures of the idle intervals into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plot: Option<PathBuf>,
    /// Replace the page that is there
    #[arg(long, requires = "plot", help_heading = "Output")]
    pub force: bool,
}

/// How a trace is written.
#[derive(Debug, Args)]
pub struct Destination {
    /// Output format [default: by the ending of OUT: .parquet, .csv (msr), .iolog or .log, .txt or .blkparse]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub to: Option<String>,
    /// Overwrite OUT
    #[arg(long, help_heading = "Output")]
    pub force: bool,
}

const CONVERT_EXAMPLES: &str = "\
Examples:
  scrubjay trace convert proj_0.csv.gz proj.parquet        fast to read again
  scrubjay trace convert sda.blktrace.* sda.csv.zst        several files, one trace; compressed
  scrubjay trace convert cello.srt.xz --device 1 disk1.iolog   for fio
  scrubjay trace convert sda.parquet - --to msr | head

OUT, the last one, is a file, compressed if it ends in .gz or .zst, or - for standard output.
Convert reports what the output format cannot hold, and how many records that concerns. OUT appears when it is complete.";

/// Arguments of `trace convert`.
#[derive(Debug, Args)]
#[command(
    override_usage = "scrubjay trace convert [OPTIONS] <TRACE>... <OUT>",
    after_help = format!("{CONVERT_EXAMPLES}\n\n{EXIT_CODES}"),
)]
pub struct Convert {
    /// Which traces, and last of all where to write
    #[command(flatten)]
    pub traces: source::Traces,
    /// How
    #[command(flatten)]
    pub destination: Destination,
}

const CAPTURE_EXAMPLES: &str = "\
Examples:
  sudo scrubjay trace capture /dev/sda --for 1h sda.parquet
  sudo scrubjay trace capture /dev/nvme0n1 --for 10m - --to blkparse

Nothing is written to the disk, unless OUT lies on it. Requests of the idle I/O class (ionice -c 3;
a scrub) are left out where the kernel tells them (Linux 6.11). Ctrl-C ends the capture and keeps
what there is.";

/// Arguments of `trace capture`.
#[derive(Debug, Args)]
#[command(after_help = format!("{CAPTURE_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct CaptureArgs {
    /// The disk
    #[arg(value_name = "DEV")]
    pub device: PathBuf,
    /// Output file, compressed if it ends in .gz or .zst; `-` is standard output
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Duration
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = quantity::time, help_heading = "When")]
    pub length: Nanos,
    /// How
    #[command(flatten)]
    pub destination: Destination,
}

const GENERATE_EXAMPLES: &str = "\
Examples:
  scrubjay trace generate --list
  scrubjay trace generate --model mid-read --hours 24 day.csv
  scrubjay trace generate --like proj_0.csv.gz --save proj.json   only learn the model
  scrubjay trace generate --params proj.json --hours 168 --seed 7 week.parquet

The same model, hours and seed give the same trace.";

/// The sources of a model other than --like: options of --like have no effect with them. (A requirement does not suffice: clap
/// waives one that conflicts with what is given.)
const UNLIKE: [&str; 3] = ["params", "model", "list"];

/// Arguments of `trace generate`.
#[derive(Debug, Args)]
#[command(after_help = format!("{GENERATE_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct TraceGenerateArgs {
    /// Output file, compressed if it ends in .gz or .zst; `-` is standard output
    #[arg(value_name = "OUT", required_unless_present_any = ["list", "save"], conflicts_with = "list")]
    pub out: Option<PathBuf>,

    /// Generate a trace like this one; may be repeated for the files of one trace
    #[arg(long, value_name = "FILE", group = "source", help_heading = "Model")]
    pub like: Vec<PathBuf>,
    /// Use a model written by --save
    #[arg(long, value_name = "FILE", group = "source", help_heading = "Model")]
    pub params: Option<PathBuf>,
    /// Use this built-in model
    #[arg(long, value_name = "NAME", value_parser = named::model(), group = "source", help_heading = "Model")]
    pub model: Option<String>,
    /// List the built-in models
    #[arg(long, group = "source", help_heading = "Model")]
    pub list: bool,
    /// Name of the model in --params, or for that of --like
    #[arg(long, value_name = "NAME", conflicts_with_all = ["model", "list"], help_heading = "Model")]
    pub name: Option<String>,
    /// Format of --like [default: detected]
    #[arg(long, value_name = "NAME", value_parser = named::format(), requires = "like", conflicts_with_all = UNLIKE, help_heading = "Model")]
    pub format: Option<String>,
    /// Only this device of --like; may be repeated
    #[arg(long, value_name = "NAME", requires = "like", conflicts_with_all = UNLIKE, help_heading = "Model")]
    pub device: Vec<String>,
    /// Write the model to this file
    #[arg(long, value_name = "PARAMS.json", conflicts_with = "list", help_heading = "Model")]
    pub save: Option<PathBuf>,

    /// Length in hours [default: that of the original]
    #[arg(long, value_name = "H", value_parser = hours, conflicts_with = "list", help_heading = "Run")]
    pub hours: Option<f64>,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "list", help_heading = "Run")]
    pub seed: u64,
    /// How
    #[command(flatten)]
    pub destination: Destination,
}

/// Parses a number of hours, less than a century.
fn hours(text: &str) -> Result<f64, String> {
    let hours: f64 = text.parse().map_err(|_| format!("`{text}` is no number of hours"))?;
    let is_sound = hours > 0.0 && hours < 876_600.0;
    if is_sound { Ok(hours) } else { Err(format!("`{text}`: more than 0 hours, less than a century")) }
}
