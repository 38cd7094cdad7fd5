//! The yardstick: the time of a burst on one disk (one mirror), measured repeatedly, because the device's load may change.

use super::sampler::{EarlyEnd, Sampler};
use super::statistic::{gap_trimmed, median, spread, time_reached};
use super::thresholds::{BURST_MAX, BURST_MIN, SPREAD_MAX, SPREAD_MIN, SPREAD_WANTED};
use crate::probe::known::{DeviceClass, Unmeasurable};
use std::collections::VecDeque;

/// References at the beginning.
const REFERENCES: usize = 10;
/// References that are kept, at most.
const REFERENCES_MAX: usize = 24;
/// Fresh references that are measured to detect a drift.
const FRESH: usize = 5;
/// There is a drift when the median of the fresh references is off by more than this many of its spreads: by chance,
/// one in ten thousand is.
const DRIFTED_SPREADS: f64 = 4.0;
/// Attempts at a burst of which too few requests succeed.
const ATTEMPTS_MAX: usize = 8;
/// The golden section: its multiples modulo 1 are the most even sequence, so that few offsets cover much of a pattern.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// A kind of burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// How the members serve requests.
    pub device_class: DeviceClass,
    /// The number of requests.
    pub count: usize,
}

impl Burst {
    /// The logarithm of the pace (nanoseconds per request) on places at `offset` from multiples of `stride`.
    ///
    /// # Errors
    /// Those of [`Sampler::run`]; [`Unmeasurable::Errors`] when requests of each attempt fail.
    pub async fn pace(&self, sampler: &mut Sampler, stride: u64, offset: u64) -> Result<f64, EarlyEnd> {
        for _ in 0..ATTEMPTS_MAX {
            let draw = |sampler: &mut Sampler| {
                sampler.places(stride, offset, self.count).into_iter().map(|place| sampler.read(place)).collect()
            };
            let done: Vec<f64> = sampler.run(draw).await?.into_iter().flatten().collect();
            let pace = match self.device_class {
                DeviceClass::Disks => gap_trimmed(&done),
                DeviceClass::Flash { .. } => time_reached(&done),
            };
            if let Some(pace) = pace {
                // If all are done at once the pace is zero; a nanosecond has a logarithm.
                return Ok(pace.max(1.0).ln());
            }
        }
        Err(EarlyEnd::Unmeasurable(Unmeasurable::Errors))
    }
}

/// Offsets into a stride, evenly spread whatever their number.
#[derive(Clone, Copy, Debug)]
pub struct Offsets {
    at: f64,
}

impl Offsets {
    /// Offsets that begin at a random one.
    pub fn new(sampler: &mut Sampler) -> Offsets {
        Offsets { at: sampler.rng.uniform() }
    }

    /// The next offset: a multiple of `block` below `stride`.
    pub fn next_of(&mut self, stride: u64, block: u64) -> u64 {
        self.at = (self.at + GOLDEN).fract();
        ((self.at * (stride / block) as f64) as u64).min(stride / block - 1) * block
    }
}

/// Measurements of one disk, with which bursts are compared.
#[derive(Clone, Debug)]
pub struct Yardstick {
    /// The burst of each reference.
    pub burst: Burst,
    /// The distance of the reads: a multiple of the pattern, as far as is known.
    stride: u64,
    logs: VecDeque<f64>,
    offsets: Offsets,
}

impl Yardstick {
    /// Measures a multiple of the pattern; on disks with larger and larger bursts until the spread is small enough.
    ///
    /// # Errors
    /// [`Unmeasurable::TooNoisy`] when the spread stays too large, and those of [`Burst::pace`].
    pub async fn new(sampler: &mut Sampler, burst: Burst, stride: u64) -> Result<Yardstick, EarlyEnd> {
        let mut yardstick = Yardstick { burst, stride, logs: VecDeque::new(), offsets: Offsets::new(sampler) };
        loop {
            yardstick.move_to(sampler, stride).await?;
            let spread = spread(yardstick.logs.make_contiguous());
            let count = yardstick.burst.count;
            if spread <= SPREAD_WANTED || count >= BURST_MAX {
                break if spread <= SPREAD_MAX {
                    Ok(yardstick)
                } else {
                    Err(EarlyEnd::Unmeasurable(Unmeasurable::TooNoisy))
                };
            }
            yardstick.burst.count = (count * 3 / 2).clamp(BURST_MIN, BURST_MAX);
        }
    }

    /// Measures this multiple from now on, and drops all earlier references.
    ///
    /// # Errors
    /// Those of [`Burst::pace`].
    pub async fn move_to(&mut self, sampler: &mut Sampler, stride: u64) -> Result<(), EarlyEnd> {
        self.stride = stride;
        self.logs.clear();
        for _ in 0..REFERENCES {
            self.refresh(sampler).await?;
        }
        Ok(())
    }

    /// Adds a reference; the oldest is dropped when there are too many.
    ///
    /// # Errors
    /// Those of [`Burst::pace`].
    pub async fn refresh(&mut self, sampler: &mut Sampler) -> Result<(), EarlyEnd> {
        let offset = self.offsets.next_of(self.stride, sampler.device().block);
        self.logs.push_back(self.burst.pace(sampler, self.stride, offset).await?);
        if self.logs.len() > REFERENCES_MAX {
            self.logs.pop_front();
        }
        Ok(())
    }

    /// Whether the pace of one disk has changed, by a few fresh references; if so, all older ones are dropped.
    ///
    /// # Errors
    /// Those of [`Burst::pace`].
    pub async fn has_drifted(&mut self, sampler: &mut Sampler) -> Result<bool, EarlyEnd> {
        let (before, spread) = (self.log(), self.spread());
        let mut fresh = Vec::new();
        for _ in 0..FRESH {
            self.refresh(sampler).await?;
            fresh.extend(self.logs.back());
        }
        // A median of five has half the spread of one.
        let has_drifted = (median(&fresh) - before).abs() > DRIFTED_SPREADS * spread / 2.0;
        if has_drifted {
            self.move_to(sampler, self.stride).await?;
        }
        Ok(has_drifted)
    }

    /// The logarithm of the pace of one disk, in nanoseconds per request.
    pub fn log(&self) -> f64 {
        median(&self.logs.iter().copied().collect::<Vec<_>>())
    }

    /// The spread of that logarithm from burst to burst.
    pub fn spread(&self) -> f64 {
        spread(&self.logs.iter().copied().collect::<Vec<_>>()).clamp(SPREAD_MIN, SPREAD_MAX)
    }
}
