//! The arguments of `bench`.

use super::exit_codes::BENCH as EXIT_CODES;
use clap::{Args, Subcommand, ValueEnum};
use scrubjay_code::bench::DATA_MAX;
use scrubjay_core::bench::plan::DEPTH_MAX;
use scrubjay_core::quantity;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_core::volume::format::geometry::{CHUNK_BYTES_MAX, CHUNK_BYTES_MIN};
use std::path::PathBuf;

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

const DISK_EXAMPLES: &str = "\
Examples:
  sudo scrubjay bench disk /dev/sda               IOPS with latency, by depth, within 40 s; only reads
  sudo scrubjay bench disk ZL2ABCDE --page page   the disk with this serial number; figures into a folder
  scrubjay bench disk disk.img --depth 1,8 --seconds 20
  scrubjay bench disk /dev/nvme0n1 --engine fio --json
  scrubjay bench disk /dev/sdb --write --i-know ZL2ABCDE   WRITES: what is on it is lost

Depth 1 is measured for --seconds, the other depths of small random reads for half as long, large
sequential ones for a fifth, all parts of the disk for half. No place is read twice while there are
others. What fills and empties the queue does not count; where that takes more than 8 s, the steps
become shorter. Ctrl-C ends it at once, and tells what is known. Results are kept in the state folder,
so that the next one can be held against them: only like against like.";

const ALL_EXAMPLES: &str = "\
Examples:
  sudo scrubjay bench disk /dev/sda     IOPS with latency; only reads
  sudo scrubjay bench verify /dev/sda   whether its VERIFY reads the medium
  scrubjay bench code                   how fast this machine computes parities";

/// Arguments of `bench`.
#[derive(Debug, Args)]
#[command(after_help = format!("{ALL_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct BenchArgs {
    /// What to measure
    #[command(subcommand)]
    pub what: Benched,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Benched {
    /// A disk: IOPS with latency by queue depth, by position, and whether that is as it should be
    Disk(Box<BenchDiskArgs>),
    /// Whether a drive's VERIFY reads the medium: response times by size, read cache on and off
    Verify(BenchVerifyArgs),
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

/// Arguments of `bench disk`.
#[derive(Debug, Args)]
#[command(after_help = format!("{DISK_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct BenchDiskArgs {
    /// Disk, partition or file: a path, a name such as sda, a serial number or WWN
    #[arg(value_name = "DISK|FILE")]
    pub target: String,

    /// Queue depths: numbers and ranges by powers of two, up to 256
    #[arg(long, value_name = "LIST", default_value = "1..64", value_parser = depths, help_heading = "Measuring")]
    pub depth: BenchDepths,
    /// How long depth 1 is measured; all else takes a part of it
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds, help_heading = "Measuring")]
    pub seconds: f64,
    /// Mean latency that may not be exceeded (20ms; 3ms where nothing rotates)
    #[arg(long, value_name = "TIME", value_parser = quantity::time_not_zero, allow_hyphen_values = true, help_heading = "Measuring")]
    pub budget: Option<Nanos>,
    /// Who sends the requests
    #[arg(long, value_enum, default_value_t = BenchEngine::Own, help_heading = "Measuring")]
    pub engine: BenchEngine,
    /// Seed of the random places [default: another one each time]
    #[arg(long, value_name = "NUMBER", help_heading = "Measuring")]
    pub seed: Option<u64>,
    /// Measure writes instead. ALL THAT IS THERE IS LOST
    ///
    /// Refused where the disk is mounted, claimed or open for writing elsewhere.
    #[arg(long, requires = "known", help_heading = "Measuring")]
    pub write: bool,
    /// With --write: the serial number of the disk, or the name of the file; once more where it has partitions
    #[arg(long = "i-know", value_name = "SERIAL", id = "known", requires = "write", help_heading = "Measuring")]
    pub known: Vec<String>,

    /// Print it as one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write figures into this folder: index.html, SVG and CSV
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub page: Option<PathBuf>,
    /// Replace the page that is there
    #[arg(long, requires = "page", help_heading = "Output")]
    pub force: bool,
    /// Write results and logs as fio does into this folder, for fio-plot
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub fio_logs: Option<PathBuf>,
    /// Show no progress
    #[arg(long, help_heading = "Output")]
    pub no_progress: bool,
    /// Folder that keeps results [default: as scrub's]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub state: Option<PathBuf>,
    /// Keep no result
    #[arg(long, help_heading = "Output")]
    pub no_history: bool,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  sudo scrubjay bench verify /dev/sda                 some twenty seconds; only reads and verifies
  sudo scrubjay bench verify ZL2ABCDE --page page     response time by size, as a figure
  sudo scrubjay bench verify /dev/sdb --keep-cache --json

A drive that rotates and reads the medium needs a turn before it comes upon a place again; one that
answers from its cache does not. The read cache is switched off for a part of the time where the
drive has a switch (SCSI: RCD; ATA: read look-ahead), and on again: if this one is killed, by the
next `bench disk` or `bench verify`, as a note in /var/lib/scrubjay tells it. Scrubs may use a VERIFY that reads the medium: scrubjay scrub --verify.";

/// Arguments of `bench verify`.
#[derive(Debug, Args)]
#[command(after_help = format!("{VERIFY_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct BenchVerifyArgs {
    /// Disk: a path, a name such as sda, a serial number or WWN
    #[arg(value_name = "DISK")]
    pub target: String,
    /// Leave the read cache as it is
    #[arg(long)]
    pub keep_cache: bool,
    /// Print it as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write a figure into this folder: index.html, SVG and CSV
    #[arg(long, value_name = "DIR")]
    pub page: Option<PathBuf>,
    /// Replace the page that is there
    #[arg(long, requires = "page")]
    pub force: bool,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
}

/// Who sends the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchEngine {
    /// Scrubjay, by io_uring
    Own,
    /// fio, which must be installed
    Fio,
}

/// Queue depths, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchDepths(pub Vec<u32>);

/// Parses a list of depths such as `1,2,4..64`: a range goes by powers of two.
fn depths(text: &str) -> Result<BenchDepths, String> {
    let wrong = || format!("`{text}` is no list of depths: numbers from 1 to {DEPTH_MAX}, such as 1,2,4..64");
    let number =
        |text: &str| text.trim().parse::<u32>().ok().filter(|depth| (1..=DEPTH_MAX).contains(depth)).ok_or_else(wrong);
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => all.push(number(part)?),
            Some((from, to)) => {
                let (mut depth, last) = (number(from)?, number(to.trim_start_matches('='))?);
                if depth > last {
                    return Err(wrong());
                }
                while depth < last {
                    all.push(depth);
                    depth *= 2;
                }
                all.push(last);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(BenchDepths(all))
}

/// Parses a number of seconds: less gives no result, and more is longer than a person waits.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text).trim().parse::<f64>().ok();
    let fitting = seconds.filter(|seconds| (0.02..=3600.0).contains(seconds));
    fitting.ok_or_else(|| format!("`{text}`: seconds, from 0.02 to 3600"))
}

/// Parses the size of a chunk, as a volume may have it.
fn chunk(text: &str) -> Result<Bytes, String> {
    let size = quantity::bytes(text)?;
    if size.0.is_power_of_two() && (CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&size.0) {
        return Ok(size);
    }
    Err(format!("`{text}` is no chunk: a power of two, 512 to 4MiB"))
}

/// Parses a size of memory: less fits into caches, and more serves no measurement.
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
    fn depths_are_numbers_and_ranges_by_powers_of_two() {
        let read = |text| depths(text).map(|depths| depths.0).ok();
        assert_eq!(read("1..64"), Some(vec![1, 2, 4, 8, 16, 32, 64]));
        assert_eq!(read("8,1, 2,4..32"), Some(vec![1, 2, 4, 8, 16, 32]));
        assert_eq!(read("3..20"), Some(vec![3, 6, 12, 20]));
        assert!(["", "0", "1,,2", "64..1", "257", "one"].iter().all(|text| read(text).is_none()));
        assert_eq!((seconds("5"), seconds("0.5s")), (Ok(5.0), Ok(0.5)));
        assert!(["0", "-1", "nan", "4000", "x"].iter().all(|text| seconds(text).is_err()));
    }

    #[test]
    fn sizes_keep_their_bounds() {
        assert_eq!((chunk("4KiB"), memory("1GiB")), (Ok(Bytes::kib(4)), Ok(Bytes::gib(1))));
        assert!(["0", "256", "3KiB", "8MiB", "large"].iter().all(|text| chunk(text).is_err()));
        assert!(["0", "1MB", "65GiB", "large"].iter().all(|text| memory(text).is_err()));
    }
}
