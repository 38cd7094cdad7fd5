//! The arguments of `probe`.

use super::exit_codes::PROBE as EXIT_CODES;
use clap::{Args, ValueEnum};
use scrubjay_core::quantity;
use scrubjay_core::units::{Bytes, Nanos};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  scrubjay probe /dev/sdb                       chunk, disks, layout, and lines for mkfs
  scrubjay probe /dev/sdb --budget 60s --json   the same within a minute, for a program
  scrubjay probe /dev/sdb --allow-writes        tells RAID-0 from RAID-5: rewrites what it reads
  scrubjay probe /dev/sdb --mode paper --requests 100 --repeats 5 --plot page";

/// Arguments of `probe`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Probe {
    /// Device: a disk, a logical unit or a partition
    #[arg(value_name = "DEVICE")]
    pub device: PathBuf,
    /// How
    #[command(flatten)]
    pub how: ProbeMethodArgs,
    /// Stop after so much time at the device, and print what is known by then (fast: 3m; paper: no limit)
    #[arg(long, value_name = "TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Nanos>,
    /// Stop after so many requests, and print what is known by then
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub budget_ios: Option<u64>,
    /// Also rewrite blocks with the data just read, to measure the redundancy. NOBODY ELSE MAY WRITE TO THE DEVICE MEANWHILE
    ///
    /// A write of others between the reading and the rewriting of a block is undone. The probe claims the device, and
    /// refuses one that is mounted, partitioned, or open or mapped for writing by another process of this host (root
    /// sees that, outside of containers only). It cannot see other hosts, exports by the kernel (nvmet, LIO) and raw
    /// commands (/dev/sg*): rule them out yourself. Holes in files and thin devices are filled.
    #[arg(long)]
    pub allow_writes: bool,
    /// Write figures into this folder: index.html, SVG and CSV
    #[arg(long, value_name = "DIR")]
    pub plot: Option<PathBuf>,
    /// Replace the page that is there
    #[arg(long, requires = "plot")]
    pub force: bool,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
}

/// How an array is probed, real or modelled.
#[derive(Clone, Debug, Args)]
pub struct ProbeMethodArgs {
    /// Fast, or as published (Denehy et al. 2004)
    #[arg(long, value_enum, default_value_t = ProbeMode::Fast)]
    pub mode: ProbeMode,
    /// Largest pattern to look for
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = quantity::bytes)]
    pub max_pattern: Bytes,
    /// Seed of the random places
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Requests per trial, with --mode paper (500)
    #[arg(long, value_name = "COUNT")]
    pub requests: Option<usize>,
    /// Trials per test, with --mode paper (10)
    #[arg(long, value_name = "COUNT")]
    pub repeats: Option<usize>,
    /// Smallest chunk to look for, with --mode paper (4KiB)
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes)]
    pub block: Option<Bytes>,
}

/// A prober.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProbeMode {
    /// Thousands of requests, a confidence for each statement
    Fast,
    /// Shear as it was published: millions of requests
    Paper,
}

/// Bytes of a read by the published prober, and the smallest chunk that it looks for (Denehy et al. 2004, section 2.2).
pub const BLOCK: Bytes = Bytes(4 << 10);
/// The smallest limit of patterns in bytes: the fast prober looks for patterns in steps of this.
const PATTERN_MIN: u64 = 16 << 10;
/// Requests of a trial, at most, as they are kept in memory.
const REQUESTS_MAX: usize = 100_000;
/// Bytes of a block, at most: it is read at once, and thousands of reads are kept at a time.
const BLOCK_MAX: u64 = 1 << 20;

/// Parses a time in which something can be found out.
fn budget(text: &str) -> Result<Nanos, String> {
    match quantity::time(text)? {
        Nanos::ZERO => Err(format!("`{text}` leaves no time to probe: write 10s, 60s or 3min")),
        time => Ok(time),
    }
}

impl ProbeMethodArgs {
    /// Why the options make no sense for any device, in one line.
    pub fn refusal(&self) -> Option<String> {
        let empty = [
            ("--max-pattern", self.max_pattern.0 == 0),
            ("--requests", self.requests == Some(0)),
            ("--repeats", self.repeats == Some(0)),
            ("--block", self.block == Some(Bytes(0))),
        ];
        if let Some((name, _)) = empty.into_iter().find(|(_, is_empty)| *is_empty) {
            return Some(format!("{name} must be more than 0"));
        }
        let paper_options = [
            ("--requests", self.requests.is_some()),
            ("--repeats", self.repeats.is_some()),
            ("--block", self.block.is_some()),
        ];
        if let Some((name, _)) = paper_options.into_iter().find(|(_, is_set)| *is_set && self.mode == ProbeMode::Fast) {
            return Some(format!("{name} has no effect without --mode paper"));
        }
        if let Some(requests) = self.requests.filter(|requests| *requests > REQUESTS_MAX) {
            return Some(format!("--requests {requests}: {REQUESTS_MAX} is the most"));
        }
        if let Some(block) = self.block.filter(|block| block.0 > BLOCK_MAX) {
            return Some(format!("--block {block}: {} is the most", Bytes(BLOCK_MAX)));
        }
        if self.mode == ProbeMode::Fast && self.max_pattern.0 < PATTERN_MIN {
            return Some(format!("--max-pattern {}: {} is the least", self.max_pattern, Bytes(PATTERN_MIN)));
        }
        let block = self.block.unwrap_or(BLOCK);
        if self.mode == ProbeMode::Paper && self.max_pattern.0 < block.0 {
            return Some(format!("--max-pattern {} is less than --block {block}", self.max_pattern));
        }
        None
    }
}
