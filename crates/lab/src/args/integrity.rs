//! The arguments of `simulate integrity`.

use clap::{ArgGroup, Args, ValueEnum};
use scrubjay_cli::args::exit_codes::TRACES as EXIT_CODES;
use scrubjay_core::quantity;
use scrubjay_core::units::Bytes;
use std::path::PathBuf;

const SIMULATE_EXAMPLES: &str = "\
Examples:
  scrubjay simulate integrity usr.csv                           RAID-6 of 8 disks, chunks of 4 KiB
  scrubjay simulate integrity usr.csv --disks 6 --parity 1 --chunk 64KiB --strict
  scrubjay simulate integrity --synthetic table3 --chunk 8KiB   twelve workloads of the literature
  scrubjay simulate integrity usr.csv --json";

/// Requests of each generated workload by default: enough for shares of disk I/Os precise to a tenth of a percent.
pub const REQUESTS: u32 = 200_000;

/// Arguments of `simulate integrity`.
#[derive(Debug, Args)]
#[command(after_help = format!("{SIMULATE_EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(group(ArgGroup::new("source").args(["files", "synthetic"]).required(true)))]
pub struct SimulateIntegrity {
    /// Trace files, compressed or not (see `scrubjay trace formats`); `-` is standard input
    #[arg(value_name = "TRACE")]
    pub files: Vec<PathBuf>,
    /// Format [default: detected]
    #[arg(long, value_name = "NAME", requires = "files", conflicts_with = "synthetic", help_heading = "Trace")]
    pub format: Option<String>,
    /// Only this device; may be repeated
    #[arg(long, value_name = "NAME", requires = "files", conflicts_with = "synthetic", help_heading = "Trace")]
    pub device: Vec<String>,
    /// Generate this workload instead of reading a trace
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Trace")]
    pub synthetic: Option<Synthetic>,
    /// Requests per generated workload
    #[arg(long, value_name = "N", default_value_t = REQUESTS, conflicts_with = "files", help_heading = "Trace")]
    pub requests: u32,
    /// Seed of the random numbers: the same seed gives the same requests
    #[arg(long, value_name = "N", default_value_t = 2014, conflicts_with = "files", help_heading = "Trace")]
    pub seed: u64,

    /// Disks
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Array")]
    pub disks: u16,
    /// Of these, parity disks
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Array")]
    pub parity: u16,
    /// Chunk size
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = chunk, help_heading = "Array")]
    pub chunk: Bytes,
    /// Also count the reads of chunks that a write covers partly (the literature does not)
    #[arg(long, help_heading = "Array")]
    pub strict: bool,

    /// Print one JSON object per device, one per line
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Made-up workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Synthetic {
    /// The twelve of Li & Lee 2014, Table III: shares of reads and mean sizes, on 64 MiB
    Table3,
}

/// Parses the size of a chunk: whole sectors, up to 64 MiB.
fn chunk(text: &str) -> Result<Bytes, String> {
    let size = quantity::bytes(text)?;
    if size.0 == 0 || !size.0.is_multiple_of(512) || size > Bytes::mib(64) {
        return Err(format!("`{text}` is no chunk: whole sectors of 512 bytes, 64 MiB at most"));
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_whole_sectors() {
        assert_eq!(chunk("2KiB"), Ok(Bytes::kib(2)));
        assert!(["0", "100", "65MiB", "large"].iter().all(|text| chunk(text).is_err()));
    }
}
