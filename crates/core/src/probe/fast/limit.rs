//! Is it a limit that makes every burst as slow as one disk: of a cloud, a quality-of-service rule, a link?
//!
//! Behind one all places look alike, and so does one disk. But a disk takes its own time for each request, longer for far
//! ones; a limit lets one pass after each fixed time.

use super::sampler::{EarlyEnd, Sampler};
use super::statistic::{median, spread};
use crate::probe::known::{DeviceClass, Unmeasurable};

/// Reads of one burst: of so many, one disk's times add up to a sum that varies by 7 % (a rotation each, by chance), a
/// limit's by a third of that.
const READS: usize = 24;
/// Bursts of each kind.
const BURSTS: usize = 16;
/// The spread of the logarithm of the time of a burst, below which no disk's rotation is in it.
const EVEN: f64 = 0.045;
/// Near reads take less than far ones by at least so much (in logarithms) where there is an arm.
const ALIKE: f64 = 0.1;
/// Near reads lie in this share of the device.
const NEAR_SHARE: u64 = 16;
/// A flash drive does at least so many requests at a time.
const PARALLEL_MIN: f64 = 2.0;

/// And takes no longer than that for each, in nanoseconds, when it has many: 10,000 a second, which the slowest SATA drives do.
const FLASH_PACE_MAX: f64 = 100_000.0;

/// Ends the probe where one class of disks, a read of which takes `response` nanoseconds and one of many `pace`, is a limit.
///
/// # Errors
/// [`Unmeasurable::Unsaturated`], and those of [`Sampler::run`].
pub async fn refuse(
    sampler: &mut Sampler,
    device_class: DeviceClass,
    response: f64,
    pace: f64,
) -> Result<(), EarlyEnd> {
    let is_limit = match device_class {
        DeviceClass::Flash { .. } => pace * PARALLEL_MIN > response || pace > FLASH_PACE_MAX,
        DeviceClass::Disks => {
            let (mut far, mut near) = (Vec::new(), Vec::new());
            for _ in 0..BURSTS {
                far.push(burst(sampler, 1).await?);
                near.push(burst(sampler, NEAR_SHARE).await?);
            }
            let is_alike = (median(&far) - median(&near)).abs() < ALIKE;
            is_alike && spread(&far).min(spread(&near)) < EVEN
        }
    };
    if is_limit { Err(EarlyEnd::Unmeasurable(Unmeasurable::Unsaturated)) } else { Ok(()) }
}

/// The logarithm of the time of a burst at random places of one of `parts` parts of the device.
async fn burst(sampler: &mut Sampler, parts: u64) -> Result<f64, EarlyEnd> {
    let reads = sampler.anywhere(parts, READS).into_iter().map(|place| sampler.read(place)).collect();
    let done = sampler.run(reads).await?.into_iter().flatten();
    Ok(done.fold(1.0, f64::max).ln())
}
