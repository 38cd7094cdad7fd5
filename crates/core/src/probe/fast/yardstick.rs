//! The yardstick: how long a burst takes that one disk (one mirror) does alone, measured again and again, as the device
//! may be busier now than it was.

use super::sampler::{EarlyEnd, Sampler};
use super::statistic::{gap_trimmed, median, spread, time_reached};
use super::thresholds::{BURST_MAX, BURST_MIN, SPREAD_MAX, SPREAD_MIN, SPREAD_WANTED};
use crate::probe::known::{DeviceClass, Unmeasurable};
use std::collections::VecDeque;

/// References that it begins with, and that are kept.
const REFERENCES: usize = 10;
/// See [`REFERENCES`].
const REFERENCES_MAX: usize = 24;
/// Fresh references that show a drift, when their median is so many of its spreads off: by chance one in ten thousand is.
const FRESH: usize = 5;
/// See [`FRESH`].
const DRIFTED_SPREADS: f64 = 4.0;
/// A burst that is lost altogether is run again so many times.
const LOST_MAX: usize = 8;
/// The golden section: multiples of it, modulo 1, are the most even sequence there is, so that few offsets see much of a
/// pattern.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// A kind of burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// How the members answer.
    pub device_class: DeviceClass,
    /// Requests.
    pub count: usize,
}

impl Burst {
    /// The logarithm of its pace (time for each request) on places at `offset` from multiples of `stride`.
    ///
    /// # Errors
    /// Of [`Sampler::run`]; [`Unmeasurable::Errors`] when all requests fail again and again.
    pub async fn pace(&self, sampler: &mut Sampler, stride: u64, offset: u64) -> Result<f64, EarlyEnd> {
        for _ in 0..LOST_MAX {
            let draw = |sampler: &mut Sampler| {
                sampler.places(stride, offset, self.count).into_iter().map(|place| sampler.read(place)).collect()
            };
            let done: Vec<f64> = sampler.run(draw).await?.into_iter().flatten().collect();
            let pace = match self.device_class {
                DeviceClass::Disks => gap_trimmed(&done),
                DeviceClass::Flash { .. } => time_reached(&done),
            };
            if let Some(pace) = pace {
                // All done at once take no time; a nanosecond has a logarithm.
                return Ok(pace.max(1.0).ln());
            }
        }
        Err(EarlyEnd::Unmeasurable(Unmeasurable::Errors))
    }
}

/// Offsets into a stride, evenly spread however many are taken.
#[derive(Clone, Copy, Debug)]
pub struct Offsets {
    at: f64,
}

impl Offsets {
    /// From somewhere on.
    pub fn new(sampler: &mut Sampler) -> Offsets {
        Offsets { at: sampler.rng.uniform() }
    }

    /// The next one: a multiple of `block` below `stride`.
    pub fn next_of(&mut self, stride: u64, block: u64) -> u64 {
        self.at = (self.at + GOLDEN).fract();
        ((self.at * (stride / block) as f64) as u64).min(stride / block - 1) * block
    }
}

/// References of one disk.
#[derive(Clone, Debug)]
pub struct Yardstick {
    /// The burst of each reference.
    pub burst: Burst,
    /// A multiple of the pattern, as far as is known.
    stride: u64,
    logs: VecDeque<f64>,
    offsets: Offsets,
}

impl Yardstick {
    /// Measures a multiple of the pattern; on disks with as many requests a burst as it takes.
    ///
    /// # Errors
    /// [`Unmeasurable::TooNoisy`] when that does not help.
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

    /// Measures this multiple from now on, and forgets what it knew.
    ///
    /// # Errors
    /// Of [`Burst::pace`].
    pub async fn move_to(&mut self, sampler: &mut Sampler, stride: u64) -> Result<(), EarlyEnd> {
        self.stride = stride;
        self.logs.clear();
        for _ in 0..REFERENCES {
            self.refresh(sampler).await?;
        }
        Ok(())
    }

    /// One reference more; the oldest is forgotten.
    ///
    /// # Errors
    /// Of [`Burst::pace`].
    pub async fn refresh(&mut self, sampler: &mut Sampler) -> Result<(), EarlyEnd> {
        let offset = self.offsets.next_of(self.stride, sampler.device().block);
        self.logs.push_back(self.burst.pace(sampler, self.stride, offset).await?);
        if self.logs.len() > REFERENCES_MAX {
            self.logs.pop_front();
        }
        Ok(())
    }

    /// Has the pace of one disk changed? A few fresh references say so; if it has, all older ones are forgotten.
    ///
    /// # Errors
    /// Of [`Burst::pace`].
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

    /// The logarithm of the pace of one disk, in nanoseconds a request.
    pub fn log(&self) -> f64 {
        median(&self.logs.iter().copied().collect::<Vec<_>>())
    }

    /// Its spread from burst to burst.
    pub fn spread(&self) -> f64 {
        spread(&self.logs.iter().copied().collect::<Vec<_>>()).clamp(SPREAD_MIN, SPREAD_MAX)
    }
}
