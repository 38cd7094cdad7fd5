//! The arguments of `bench`.

use clap::{Args, Subcommand};
use scrubjay_code::bench::DATA_MAX;
use scrubjay_core::units::Bytes;
use scrubjay_core::volume::format::geometry::{CHUNK_BYTES_MAX, CHUNK_BYTES_MIN};
use scrubjay_jobs::quantity;

const EXAMPLES: &str = "\
Examples:
  scrubjay bench code                                 6 + 2, chunks of 64 KiB
  scrubjay bench code --data 10 --parity 4 --chunk 4KiB
  scrubjay bench code --figure7                       by disks and by chunk, RAID-5 and RAID-6
  scrubjay bench code --quick --json                  a short run, for a program

One core works on stripes, once on so few that they stay in its cache, once on --memory of them.
All contenders take turns; the median of the rounds counts. GB/s are 10^9 bytes of data a second,
parities not counted. A `~` marks what says little, because the rounds differ: measure again when
the machine has nothing else to do.

Exit codes:
  0    done
  1    could not do the job
  2    bad usage";

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to measure
    #[command(subcommand)]
    pub what: Benched,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Benched {
    /// Speed of parities, checksums and integrity metadata, beside memcpy and ISA-L
    Code(BenchCode),
}

/// Arguments of `bench code`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchCode {
    /// Data chunks in a stripe
    #[arg(long, value_name = "K", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=DATA_MAX as i64), help_heading = "Shape")]
    pub data: u16,
    /// Parity chunks in a stripe
    #[arg(long, value_name = "M", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=6), help_heading = "Shape")]
    pub parity: u16,
    /// Chunk size: a power of two, 512 to 4MiB
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = chunk, help_heading = "Shape")]
    pub chunk: Bytes,
    /// Measure the shapes of Li & Lee 2014, Figure 7, instead of one
    #[arg(long, conflicts_with_all = ["data", "parity", "chunk"], help_heading = "Shape")]
    pub figure7: bool,

    /// Memory to work on: more than fits into the caches
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = memory, help_heading = "Measuring")]
    pub memory: Bytes,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=101), help_heading = "Measuring")]
    pub rounds: u32,
    /// 3 short rounds on 64 MiB: a check, not a measurement
    #[arg(long, conflicts_with_all = ["memory", "rounds"], help_heading = "Measuring")]
    pub quick: bool,

    /// Print it as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// What a volume may have as a chunk.
fn chunk(text: &str) -> Result<Bytes, String> {
    let size = quantity::bytes(text)?;
    if size.0.is_power_of_two() && (CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&size.0) {
        return Ok(size);
    }
    Err(format!("`{text}` is no chunk: a power of two, 512 to 4MiB"))
}

/// From what no cache should be mistaken for, to what no measurement needs.
fn memory(text: &str) -> Result<Bytes, String> {
    let size = quantity::bytes(text)?;
    if (Bytes::mib(1)..=Bytes::gib(64)).contains(&size) {
        return Ok(size);
    }
    Err(format!("`{text}`: from 1MiB to 64GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_their_bounds() {
        assert_eq!((chunk("4KiB"), memory("1GiB")), (Ok(Bytes::kib(4)), Ok(Bytes::gib(1))));
        assert!(["0", "256", "3KiB", "8MiB", "large"].iter().all(|text| chunk(text).is_err()));
        assert!(["0", "1MB", "65GiB", "large"].iter().all(|text| memory(text).is_err()));
    }
}
