//! The arguments of `scrub`.

use super::EXIT_CODES;
use crate::quantity;
use clap::{Args, ValueEnum};
use scrubjay_core::units::{Bytes, Nanos};
use std::ops::Range;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  scrubjay scrub /dev/sda                    read all of it; applications lose at most 1 ms a request on average
  scrubjay scrub /dev/sd[a-d]                four disks side by side
  scrubjay scrub /dev/sda --slowdown 0.2ms   be more careful still
  scrubjay scrub /dev/sda --policy none      as fast as it goes: nobody else uses the disk
  scrubjay scrub disk.img --json             an image file, and a result for a program
  scrubjay scrub /dev/sda --range 1TiB..     only what lies behind the first TiB

Nothing is ever written to a target. A stop (Ctrl-C, kill, even kill -9) is a pause: the same command goes on.";

/// Arguments of `scrub`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Scrub {
    /// Disks, partitions or image files
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<PathBuf>,

    /// What foreground requests may lose on average (policy budget)
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = quantity::time, help_heading = "When")]
    pub slowdown: Nanos,
    /// What any one of them may lose (policy budget)
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = quantity::time, help_heading = "When")]
    pub max_slowdown: Nanos,
    /// When to read
    #[arg(long, value_enum, default_value_t = Policy::Budget, help_heading = "When")]
    pub policy: Policy,
    /// How long the disk must have been idle (policy waiting)
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = quantity::time, help_heading = "When")]
    pub wait: Nanos,
    /// The pause after each request (policy delay)
    #[arg(long, value_name = "TIME", default_value = "16ms", value_parser = quantity::time, help_heading = "When")]
    pub delay: Nanos,
    /// The size of a request (every policy but budget, which chooses it)
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = quantity::bytes, help_heading = "When")]
    pub request: Bytes,

    /// In which order to read
    #[arg(long, value_enum, default_value_t = Order::Staggered, help_heading = "What")]
    pub order: Order,
    /// The size of a region: what is read at once around an error
    #[arg(long, value_name = "SIZE", default_value = "128MiB", value_parser = quantity::bytes, help_heading = "What")]
    pub region: Bytes,
    /// The size of a segment: what is read in one go
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = quantity::bytes, help_heading = "What")]
    pub segment: Bytes,
    /// Only these bytes of each target
    #[arg(long, value_name = "A..B", value_parser = quantity::range, help_heading = "What")]
    pub range: Option<Range<Option<u64>>>,
    /// How to verify; auto reads, which is the only way to know
    #[arg(long, value_enum, default_value_t = Verify::Auto, help_heading = "What")]
    pub verify: Verify,

    /// Where to keep the state [default: $XDG_STATE_HOME/scrubjay, or /var/lib/scrubjay for root]
    #[arg(long, value_name = "DIR", help_heading = "State and output")]
    pub state: Option<PathBuf>,
    /// Begin a new pass, whatever was done before
    #[arg(long, help_heading = "State and output")]
    pub fresh: bool,
    /// The result as one JSON object
    #[arg(long, help_heading = "State and output")]
    pub json: bool,
    /// Say nothing until the end
    #[arg(long, help_heading = "State and output")]
    pub no_progress: bool,
    /// Watch the foreground with this detector, not the best one that works
    #[arg(long, value_enum, help_heading = "State and output")]
    pub detector: Option<Detector>,
    /// Record all that happens, to be replayed in the simulator (one target only)
    #[arg(long, value_name = "FILE", help_heading = "State and output")]
    pub record: Option<PathBuf>,
}

/// Policies by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// Tune wait, size and pace to the slowdown goals
    Budget,
    /// Wait for idleness, then read until somebody comes
    Waiting,
    /// Pause after each request, whoever uses the disk
    Delay,
    /// As fast as it goes
    None,
}

/// Orders by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Ascending addresses
    Sequential,
    /// One segment of every region, then the next of every region: finds clusters of errors early
    Staggered,
    /// What was read longest ago comes first
    Oldest,
}

/// Verifiers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Verify {
    /// Whatever is known to read the medium: today, read
    Auto,
    /// Read past the page cache
    Read,
    /// SCSI VERIFY
    Scsi,
    /// ATA READ VERIFY SECTORS EXT
    Ata,
    /// NVMe Verify
    Nvme,
}

/// Detectors by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Detector {
    /// BPF programs on the block layer's tracepoints
    Bpf,
    /// The same tracepoints through perf
    Perf,
    /// Counters in /sys/block
    Stat,
    /// None: see nobody
    None,
}
