//! Recognises a limit that makes every burst as slow as one disk: of a cloud, a quality-of-service rule, a link.
//!
//! Behind a limit all places look alike, and so they do on one disk. But a disk reads adjacent blocks in no time,
//! whereas a limit lets one request pass after each fixed time, whatever it reads: adjacent blocks take as long as
//! scattered ones, and twice as many take twice as long.

use super::sampler::{EarlyEnd, Sampler};
use super::statistic::median;
use crate::probe::known::{DeviceClass, Unmeasurable};

/// Reads of one burst.
const READS: usize = 24;
/// Bursts of each kind; odd, for their median.
const BURSTS: usize = 5;
/// Adjacent reads take less than this share of the time of scattered ones where there is an arm.
const SIDE_BY_SIDE: f64 = 0.7;
/// Adjacent reads take less than this many times as long as half of them where there is an arm: their time is that of the
/// first seek. (On many disks, each with few of the scattered reads, these may well take no longer than the adjacent ones.)
const TWICE: f64 = 1.5;
/// Requests that a flash drive serves at a time, at least.
const PARALLEL_MIN: f64 = 2.0;
/// The longest time per request that a flash drive takes when it has many, in nanoseconds: the slowest SATA drives
/// serve 10,000 a second.
const FLASH_PACE_MAX: f64 = 100_000.0;

/// Ends the probe if an array with one class is a limit; a single read takes `response` nanoseconds, one of many `pace`.
///
/// # Errors
/// [`Unmeasurable::Limited`], and those of [`Sampler::run`].
pub async fn refuse(
    sampler: &mut Sampler,
    device_class: DeviceClass,
    response: f64,
    pace: f64,
) -> Result<(), EarlyEnd> {
    let is_limit = match device_class {
        DeviceClass::Flash { .. } => pace * PARALLEL_MIN > response || pace > FLASH_PACE_MAX,
        DeviceClass::Disks => hides_disks(sampler).await?,
    };
    if is_limit { Err(EarlyEnd::Unmeasurable(Unmeasurable::Limited)) } else { Ok(()) }
}

/// Whether adjacent blocks, which take a disk almost no time, take about as long as scattered ones, and twice as many
/// take twice as long.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn hides_disks(sampler: &mut Sampler) -> Result<bool, EarlyEnd> {
    let [mut scattered, mut side_by_side, mut half] = [const { Vec::new() }; 3];
    for _ in 0..BURSTS {
        scattered.push(time(sampler, |sampler| sampler.random_places(1, READS)).await?);
        side_by_side.push(time(sampler, |sampler| adjacent(sampler, READS)).await?);
        half.push(time(sampler, |sampler| adjacent(sampler, READS / 2)).await?);
    }
    let all = median(&side_by_side);
    Ok(all > SIDE_BY_SIDE * median(&scattered) && all > TWICE * median(&half))
}

/// The places of `count` adjacent blocks, beginning at a random one.
fn adjacent(sampler: &mut Sampler, count: usize) -> Vec<u64> {
    let block = sampler.device().block;
    let last = sampler.device().bytes / block - count as u64;
    let first = sampler.rng.below(last.max(1));
    (first..first + count as u64).map(|place| place * block).collect()
}

/// The time of a burst, in nanoseconds.
async fn time(sampler: &mut Sampler, mut places: impl FnMut(&mut Sampler) -> Vec<u64>) -> Result<f64, EarlyEnd> {
    let draw = |sampler: &mut Sampler| places(sampler).into_iter().map(|place| sampler.read(place)).collect();
    let done = sampler.run(draw).await?.into_iter().flatten();
    Ok(done.fold(1.0, f64::max))
}
