//! The first step: how the device answers, and so how it must be asked.

use super::sampler::{EarlyEnd, Sampler};
use super::statistic::{median, undisturbed};
use super::thresholds::{DEPTH_MAX, DOUBLED, MEMORY_NANOS, SPINNING_NANOS};
use crate::probe::known::{DeviceClass, Unmeasurable};

/// Single reads; the standard error of what is taken of them is 6 % on a disk.
const SINGLES: usize = 32;
/// Bursts of each depth; odd, for their median.
const BURSTS: usize = 9;
/// The first depth that is tried on flash.
const DEPTH_MIN: usize = 16;

/// What was found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceClassResult {
    /// How it is to be asked.
    pub device_class: DeviceClass,
    /// The time of single random reads that nobody disturbs, in nanoseconds.
    pub response: f64,
}

/// Finds it out: single reads, and on what does not spin deeper and deeper bursts until twice the depth takes twice the time.
///
/// # Errors
/// [`Unmeasurable::Memory`] and [`Unmeasurable::Unsaturated`].
pub async fn find(sampler: &mut Sampler) -> Result<DeviceClassResult, EarlyEnd> {
    let mut times = Vec::new();
    for place in everywhere(sampler, SINGLES) {
        let read = sampler.read(place);
        times.extend(sampler.run(vec![read]).await?[0]);
    }
    let response = undisturbed(&times);
    if response <= MEMORY_NANOS {
        return Err(EarlyEnd::Unmeasurable(Unmeasurable::Memory { response_nanos: response as u64 }));
    }
    let device_class = if response >= SPINNING_NANOS {
        DeviceClass::Disks
    } else {
        DeviceClass::Flash { depth: depth(sampler).await? }
    };
    Ok(DeviceClassResult { device_class, response })
}

async fn depth(sampler: &mut Sampler) -> Result<usize, EarlyEnd> {
    let mut depth = DEPTH_MIN;
    let mut before = makespan(sampler, depth).await?;
    let mut doubled = 0;
    while depth * 2 <= DEPTH_MAX {
        depth *= 2;
        let after = makespan(sampler, depth).await?;
        doubled = if after >= DOUBLED * before { doubled + 1 } else { 0 };
        if doubled == 2 {
            return Ok(depth);
        }
        before = after;
    }
    // The last step is the best that can be had.
    if doubled > 0 {
        return Ok(depth);
    }
    Err(EarlyEnd::Unmeasurable(Unmeasurable::Unsaturated))
}

/// The median time in which seven of eight random reads are done.
async fn makespan(sampler: &mut Sampler, depth: usize) -> Result<f64, EarlyEnd> {
    let mut times = Vec::new();
    for _ in 0..BURSTS {
        let reads = everywhere(sampler, depth).into_iter().map(|place| sampler.read(place)).collect();
        let mut done: Vec<f64> = sampler.run(reads).await?.into_iter().flatten().collect();
        done.sort_by(f64::total_cmp);
        times.extend(done.get(done.len() * 7 / 8).copied());
    }
    Ok(median(&times))
}

/// Places all over the device.
fn everywhere(sampler: &mut Sampler, count: usize) -> Vec<u64> {
    let block = sampler.device().block;
    sampler.places(block, 0, count)
}
