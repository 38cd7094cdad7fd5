//! A foreground for the bench: one program that reads 4 KiB at random places, pauses, and records how long each read took.

use super::stalls::{Stall, StallDetector};
use anyhow::{Context, Result};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// The size of a read, and the alignment of its buffer, in bytes.
const BLOCK: usize = 4096;

/// When the next burst begins.
#[derive(Clone, Copy, Debug)]
pub enum Think {
    /// This long after the last burst.
    After(Duration),
    /// After a random pause, uniform from half of this to one and a half.
    Around(Duration),
    /// At each multiple of this.
    Beat(Duration),
}

/// A load: bursts of reads, one after the other, and the pauses between.
#[derive(Clone, Copy, Debug)]
pub struct ClientLoad {
    pub name: &'static str,
    pub burst: u32,
    /// The pauses, by parts of the run of equal length; `None`: no reads in that part.
    pub parts: &'static [Option<Think>],
}

impl ClientLoad {
    /// The idle intervals that it leaves in `time` seconds alone, where a request takes `service` seconds; in seconds.
    pub fn idle_intervals(&self, time: f64, service: f64, seed: u64) -> Vec<f64> {
        let (mut random, mut intervals, part) = (Random(seed), Vec::new(), time / self.parts.len() as f64);
        let busy = service * f64::from(self.burst);
        for think in self.parts {
            let mut at = 0.0;
            while at < part {
                let interval = match *think {
                    None => part,
                    Some(Think::After(time)) => time.as_secs_f64(),
                    Some(Think::Around(mean)) => mean.as_secs_f64() * (0.5 + random.share()),
                    Some(Think::Beat(period)) => (period.as_secs_f64() - busy).max(0.0),
                };
                intervals.push(interval);
                at += interval + busy;
            }
        }
        intervals
    }
}

/// The response times of the client's reads.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// Response times in seconds, ascending.
    sorted: Vec<f64>,
    mean: f64,
    deviation: f64,
    /// Length of the run, in seconds.
    pub time: f64,
    /// Further reads that are left out, because the machine stalled during them (count).
    pub left_out: usize,
}

impl Latencies {
    /// From reads (start and response time), without those during which the machine stalled.
    fn of_reads(reads: &[(Instant, Duration)], stalls: &[Stall], time: f64) -> Latencies {
        let is_kept = |&&(at, took): &&(Instant, Duration)| !stalls.iter().any(|stall| stall.overlaps(at, took));
        let kept: Vec<f64> = reads.iter().filter(is_kept).map(|(_, took)| took.as_secs_f64()).collect();
        Latencies { left_out: reads.len() - kept.len(), ..Latencies::of(kept, time) }
    }

    fn of(mut latencies: Vec<f64>, time: f64) -> Latencies {
        let count = latencies.len().max(1) as f64;
        let mean = latencies.iter().sum::<f64>() / count;
        let variance = latencies.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
        latencies.sort_by(f64::total_cmp);
        Latencies { sorted: latencies, mean, deviation: variance.sqrt(), time, left_out: 0 }
    }

    /// The response times of both together.
    pub fn combined_with(self, other: Latencies) -> Latencies {
        let left_out = self.left_out + other.left_out;
        Latencies { left_out, ..Latencies::of([self.sorted, other.sorted].concat(), self.time + other.time) }
    }

    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard error of the mean, in seconds.
    pub fn error(&self) -> f64 {
        self.deviation / (self.count().max(1) as f64).sqrt()
    }

    /// The quantile at 1 - `share`, in seconds.
    pub fn upper_quantile(&self, share: f64) -> f64 {
        let index = ((1.0 - share) * self.count() as f64).ceil() as usize;
        self.sorted.get(index.saturating_sub(1)).copied().unwrap_or(0.0)
    }

    /// Reads that took longer than `seconds` (count).
    pub fn above(&self, seconds: f64) -> usize {
        self.count() - self.sorted.partition_point(|&one| one <= seconds)
    }

    /// The share of the time in which no read was at the disk.
    pub fn idle(&self) -> f64 {
        1.0 - self.sorted.iter().sum::<f64>() / self.time.max(f64::MIN_POSITIVE)
    }
}

/// Median time in seconds of a request of `bytes` that continues where the last one ended, of `count` requests.
pub fn sequential(disk: &Path, bytes: usize, count: usize) -> Result<f64> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::DIRECT.bits() as i32);
    let file = options.open(disk).with_context(|| disk.display().to_string())?;
    let mut buffer = vec![0; bytes + BLOCK];
    let aligned = buffer.as_ptr().align_offset(BLOCK);
    let mut times = Vec::new();
    for index in 0..count {
        let at = Instant::now();
        file.read_exact_at(&mut buffer[aligned..aligned + bytes], (index * bytes) as u64)
            .context("a sequential read")?;
        times.push(at.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[count / 2])
}

/// Runs a load on a disk for `time`.
pub fn run(disk: &Path, load: ClientLoad, time: Duration, seed: u64) -> Result<Latencies> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::DIRECT.bits() as i32);
    let file = options.open(disk).with_context(|| disk.display().to_string())?;
    let blocks = std::io::Seek::seek(&mut &file, std::io::SeekFrom::End(0))? / BLOCK as u64;
    let mut random = Random(seed);
    let (start, part) = (Instant::now(), time / load.parts.len() as u32);
    let (mut reads, stall_detector) = (Vec::new(), StallDetector::new());
    for (index, think) in load.parts.iter().enumerate() {
        let end = start + part * (index as u32 + 1);
        while Instant::now() < end {
            match *think {
                None => std::thread::sleep(end.saturating_duration_since(Instant::now())),
                Some(think) => {
                    pause(think, &mut random, start);
                    burst(&file, load.burst, blocks, &mut random, &mut reads)?;
                }
            }
        }
    }
    Ok(Latencies::of_reads(&reads, &stall_detector.finish(), start.elapsed().as_secs_f64()))
}

fn pause(think: Think, random: &mut Random, start: Instant) {
    std::thread::sleep(match think {
        Think::After(time) => time,
        Think::Around(mean) => mean.mul_f64(0.5 + random.share()),
        Think::Beat(period) => {
            let since = start.elapsed();
            period.mul_f64((since.as_secs_f64() / period.as_secs_f64()).floor() + 1.0).saturating_sub(since)
        }
    });
}

fn burst(
    file: &File,
    count: u32,
    blocks: u64,
    random: &mut Random,
    reads: &mut Vec<(Instant, Duration)>,
) -> Result<()> {
    let mut buffer = vec![0; 2 * BLOCK];
    let aligned = buffer.as_ptr().align_offset(BLOCK);
    for _ in 0..count {
        let place = random.below(blocks) * BLOCK as u64;
        let at = Instant::now();
        file.read_exact_at(&mut buffer[aligned..aligned + BLOCK], place).context("a read of the foreground")?;
        reads.push((at, at.elapsed()));
    }
    Ok(())
}

/// Splitmix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_summed_up() {
        let seen = Latencies::of((1..=100).map(f64::from).collect(), 10_000.0);
        assert_eq!(
            (seen.count(), seen.mean(), seen.upper_quantile(0.01), seen.upper_quantile(0.0)),
            (100, 50.5, 99.0, 100.0)
        );
        assert_eq!((seen.above(98.0), seen.above(100.0)), (2, 0));
        assert!((seen.idle() - 0.495).abs() < 1e-9 && (seen.error() - 2.887).abs() < 0.01);
    }
}
