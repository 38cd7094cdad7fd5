//! Hammer and probe: is one place of the pattern on the same disk as another?
//!
//! ```text
//! hammer: many reads of one place, in patterns one after the other      |x x x x x x        |
//! probes: a little later, one read of each other place, far away        |              a b c|
//! ```
//!
//! A probe on the hammer's disk is done after the hammer, in whatever order the disk serves: it came later (first come first
//! served), is farther away (nearest first), and lies above (elevators go up). Any other probe takes its own seek only.

use super::evidence::of_probe;
use super::sampler::{EarlyEnd, Sampler};
use super::thresholds::{APART, EARLY_RESPONSES, HAMMER_READS, HAMMERS_MAX, TOGETHER};
use super::yardstick::Yardstick;
use crate::probe::io::ProbeRequest;
use crate::probe::known::DeviceClass;
use crate::units::Nanos;

/// A hammer takes this fraction of the device (one tenth), but at least twice as many patterns as it has reads: so each
/// read takes a seek of its own (within a hundredth, a small disk serves all of them at once), and none lies as far
/// away as the probes.
const BAND_SHARE: u64 = 10;
/// Where probes begin behind the hammer, as a range of shares of the device.
const PROBE_DISTANCE: (f64, f64) = (0.35, 0.45);
/// Probes follow after this share of one request's time, so that the disk is busy then.
const DELAY_SHARE: f64 = 0.5;

/// The parameters of a hammer with its probes.
#[derive(Clone, Copy, Debug)]
pub struct Hammer {
    /// The pattern's size in bytes.
    pub pattern: u64,
    /// The number of reads.
    pub count: usize,
    /// The delay of the probes, from the start of the batch.
    pub delay: Nanos,
    /// A probe that takes longer, in nanoseconds, is not early, even if the hammer is later.
    pub patience: f64,
}

impl Hammer {
    /// A hammer for a pattern of this many bytes, on mirrors of `copies` copies, where a single read takes `response`
    /// nanoseconds. On flash it is half a saturating burst.
    pub fn new(pattern: u64, copies: usize, response: f64, yardstick: &Yardstick) -> Hammer {
        let count = match yardstick.burst.device_class {
            DeviceClass::Disks => HAMMER_READS * copies,
            DeviceClass::Flash { .. } => yardstick.burst.count / 2,
        };
        let delay = Nanos((yardstick.log().exp() * copies as f64 * DELAY_SHARE) as u64);
        Hammer { pattern, count, delay, patience: EARLY_RESPONSES * response }
    }

    /// Hammers the places `at` equally often, and probes each of the others once. Returns, per probe, the log-odds that
    /// it lies on the disk of one of them. Places are bytes of the pattern.
    ///
    /// # Errors
    /// Those of [`Sampler::run`].
    pub async fn strike(&self, sampler: &mut Sampler, at: &[u64], probes: &[u64]) -> Result<Vec<f64>, EarlyEnd> {
        let device = sampler.device();
        let patterns = device.bytes / self.pattern - 1;
        let band = (patterns / BAND_SHARE).max(2 * self.count as u64).min(patterns / 4);
        let first = sampler.rng.below(patterns / 2 - band + 1);
        let (from, to) = PROBE_DISTANCE;
        let probe_start = first + band + ((from + (to - from) * sampler.rng.uniform()) * patterns as f64) as u64;
        let probe_band = band.min(patterns - probe_start);
        let draw = |sampler: &mut Sampler| {
            let mut requests = Vec::new();
            // Upwards, so that an elevator passes them all before it reaches the probes.
            for read in 0..self.count as u64 {
                for place in at {
                    let slot = band * read / self.count as u64;
                    let width = (band * (read + 1) / self.count as u64 - slot).max(1);
                    let pattern = first + slot + sampler.rng.below(width);
                    requests.push(sampler.read(pattern * self.pattern + place));
                }
            }
            for place in probes {
                let pattern = probe_start + sampler.rng.below(probe_band.max(1));
                let offset = pattern * self.pattern + place % self.pattern;
                requests.push(ProbeRequest { at: self.delay, ..sampler.read(offset.min(device.bytes - device.block)) });
            }
            requests
        };
        let done = sampler.run(draw).await?;
        let (hammer, probed) = done.split_at(self.count * at.len());
        let before = |time: f64| hammer.iter().flatten().filter(|done| **done < time).count() as f64;
        let answered = hammer.iter().flatten().count().max(1) as f64;
        let odds = |time: f64| {
            let odds = of_probe(before(time) / answered);
            // One of two mirrored disks may be delayed, while the probe has waited at the other.
            if time - self.delay.0 as f64 > self.patience { odds.max(0.0) } else { odds }
        };
        Ok(probed.iter().map(|time| time.map_or(0.0, odds)).collect())
    }

    /// Repeats probes until each has a definite answer: the log-odds that it lies on the disk of `at`.
    ///
    /// # Errors
    /// Those of [`Sampler::run`].
    pub async fn compare(&self, sampler: &mut Sampler, at: u64, probes: &[u64]) -> Result<Vec<f64>, EarlyEnd> {
        let mut odds = vec![0.0; probes.len()];
        for _ in 0..HAMMERS_MAX {
            let open: Vec<usize> = (0..probes.len()).filter(|&i| odds[i] < TOGETHER && odds[i] > -APART).collect();
            if open.is_empty() {
                break;
            }
            let places: Vec<u64> = open.iter().map(|&i| probes[i]).collect();
            for (i, found) in open.iter().zip(self.strike(sampler, &[at], &places).await?) {
                odds[*i] += found;
            }
        }
        Ok(odds)
    }
}
