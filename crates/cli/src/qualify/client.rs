//! The client: a process that knows nothing of the scrub, and times its own reads.

use super::load::QualifyLoad;
use crate::exit::Exit;
use anyhow::{Context, Result};
use rustix::fs::OFlags;
use scrubjay_core::rng::Rng;
use scrubjay_device::buffer::PageBuffer;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The size of a read, in bytes.
const BLOCK: usize = 4096;

/// The latencies of a run, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientLatencies {
    /// Reads that succeeded.
    pub requests: u64,
    /// Reads that failed: they are not in the latencies.
    pub errors: u64,
    /// The mean.
    pub mean_seconds: f64,
    /// The standard error of the mean.
    pub error_seconds: f64,
    /// Half of all took no longer.
    pub p50_seconds: f64,
    /// 99 of 100 took no longer.
    pub p99_seconds: f64,
    /// The longest.
    pub max_seconds: f64,
}

impl ClientLatencies {
    fn of(mut times: Vec<f64>, errors: u64) -> ClientLatencies {
        let count = times.len().max(1) as f64;
        let mean = times.iter().sum::<f64>() / count;
        let variance = times.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
        times.sort_by(f64::total_cmp);
        let quantile =
            |share: f64| times.get(((share * count).ceil() as usize).saturating_sub(1)).copied().unwrap_or(0.0);
        ClientLatencies {
            requests: times.len() as u64,
            errors,
            mean_seconds: mean,
            error_seconds: (variance / count).sqrt(),
            p50_seconds: quantile(0.5),
            p99_seconds: quantile(0.99),
            max_seconds: times.last().copied().unwrap_or(0.0),
        }
    }
}

/// Sends the load for so many seconds, and prints its latencies as JSON.
///
/// # Errors
/// The target cannot be opened, or is smaller than a read.
pub fn run(path: &Path, load: QualifyLoad, seconds: f64, seed: u64) -> Result<Exit> {
    let shown = path.display();
    let open = |flags: OFlags| OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    // A file system may refuse direct reads; then the page cache answers, which is no measurement of a disk, but of a file.
    let file =
        open(OFlags::DIRECT).or_else(|_| open(OFlags::empty())).with_context(|| format!("cannot open {shown}"))?;
    let blocks = (&file).seek(SeekFrom::End(0))? / BLOCK as u64;
    anyhow::ensure!(blocks > 0, "{shown} is smaller than one read of {BLOCK} bytes");
    let (mut random, mut times, mut errors) = (Rng::new(seed), Vec::new(), 0);
    let mut buffer = PageBuffer::new(BLOCK, BLOCK);
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < seconds {
        thread::sleep(load.pause(begun.elapsed(), &mut random).min(Duration::from_secs_f64(seconds)));
        for _ in 0..load.burst() {
            match read(&file, random.below(blocks) * BLOCK as u64, buffer.as_mut_slice()) {
                Ok(took) => times.push(took),
                Err(_) => errors += 1,
            }
        }
    }
    let document = serde_json::to_string(&ClientLatencies::of(times, errors)).context("latencies as JSON")?;
    writeln!(io::stdout().lock(), "{document}")?;
    Ok(Exit::Clean)
}

/// How long one read takes, in seconds.
fn read(file: &File, place: u64, buffer: &mut [u8]) -> io::Result<f64> {
    let begun = Instant::now();
    file.read_exact_at(buffer, place)?;
    Ok(begun.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_summed_up() {
        let seen = ClientLatencies::of((1..=100).rev().map(f64::from).collect(), 3);
        assert_eq!((seen.requests, seen.errors, seen.mean_seconds), (100, 3, 50.5));
        assert_eq!((seen.p50_seconds, seen.p99_seconds, seen.max_seconds), (50.0, 99.0, 100.0));
        assert!((seen.error_seconds - 2.887).abs() < 0.01);
        assert_eq!(ClientLatencies::of(Vec::new(), 0), ClientLatencies::default());
    }
}
