//! The first step: how the device serves requests, which decides how it is probed.

use super::sampler::{EarlyEnd, Sampler};
use super::statistic::{median, undisturbed};
use super::thresholds::{DEPTH_MAX, DOUBLED, MEMORY_NANOS, SPINNING_NANOS};
use crate::probe::known::{DeviceClass, Unmeasurable};

/// Single reads; the standard error of their quantile is 6 % on a disk.
const SINGLES: usize = 32;
/// Bursts of each depth; odd, for their median.
const BURSTS: usize = 9;
/// The least share of the rarer kind, if single reads are of two kinds, quick and slow.
const QUICK_SHARE_MIN: f64 = 0.12;
/// The factor by which the median of the quick reads is less than that of the others, at least.
const QUICK_TIMES: f64 = 8.0;
/// The ratio of the shortest other read to the longest quick one, at least.
const QUICK_GAP: f64 = 3.0;
/// Simultaneous reads of a deep burst.
const DEEP: usize = 32;
/// Deep bursts.
const DEEP_BURSTS: usize = 3;
/// A deep burst takes less than this many times as long as one read where nothing spins; on 32 disks, several reads
/// meet on some disk.
const DEEP_TIMES: f64 = 1.4;
/// The first depth that is tried on flash.
const DEPTH_MIN: usize = 16;

/// The result of this step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceClassResult {
    /// How the device is to be probed.
    pub device_class: DeviceClass,
    /// The time of single random reads without disturbance, in nanoseconds.
    pub response: f64,
}

/// Determines the device class by single reads, and where nothing spins, by deeper and deeper bursts until twice the
/// depth takes twice the time.
///
/// # Errors
/// [`Unmeasurable::Memory`], [`Unmeasurable::PartlyMemory`] and [`Unmeasurable::Unfilled`].
pub async fn find(sampler: &mut Sampler) -> Result<DeviceClassResult, EarlyEnd> {
    let mut times = Vec::new();
    for place in everywhere(sampler, SINGLES) {
        let mut first = Some(place);
        let draw = |sampler: &mut Sampler| {
            let place = first.take().unwrap_or_else(|| sampler.random_places(1, 1)[0]);
            vec![sampler.read(place)]
        };
        times.extend(sampler.run(draw).await?[0]);
    }
    let response = undisturbed(&times);
    if response <= MEMORY_NANOS {
        return Err(EarlyEnd::Unmeasurable(Unmeasurable::Memory { response_nanos: response as u64 }));
    }
    if let Some(share) = quick_share(&times) {
        return Err(EarlyEnd::Unmeasurable(Unmeasurable::PartlyMemory { percent: (share * 100.0).round() as u8 }));
    }
    let device_class = if response >= SPINNING_NANOS && !is_deep(sampler, response).await? {
        DeviceClass::Disks
    } else {
        DeviceClass::Flash { depth: depth(sampler).await? }
    };
    Ok(DeviceClassResult { device_class, response })
}

/// The share of reads that are so much quicker than the others that something else must answer them; `None` if one of
/// the kinds is rare.
fn quick_share(times: &[f64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rare = (sorted.len() as f64 * QUICK_SHARE_MIN).ceil() as usize;
    let widest = (rare..=sorted.len().saturating_sub(rare))
        .filter(|&at| at > 0 && at < sorted.len())
        .max_by(|&a, &b| (sorted[a] / sorted[a - 1]).total_cmp(&(sorted[b] / sorted[b - 1])))?;
    let (quick, slow) = sorted.split_at(widest);
    // Memory is no slower than flash, and the rest spins: on a busy machine any disk now and then takes many times as
    // long for a read.
    let is_memory = median(quick) < SPINNING_NANOS && median(slow) >= SPINNING_NANOS;
    let is_apart =
        is_memory && slow[0] >= QUICK_GAP * quick[quick.len() - 1] && median(slow) >= QUICK_TIMES * median(quick);
    is_apart.then(|| quick.len() as f64 / sorted.len() as f64)
}

/// Whether many reads are done in the time of one: then nothing spins, however long one takes, and its time is spent on the way.
async fn is_deep(sampler: &mut Sampler, response: f64) -> Result<bool, EarlyEnd> {
    Ok(makespan(sampler, DEEP, DEEP_BURSTS).await? < DEEP_TIMES * response)
}

async fn depth(sampler: &mut Sampler) -> Result<usize, EarlyEnd> {
    let mut depth = DEPTH_MIN;
    let mut before = makespan(sampler, depth, BURSTS).await?;
    let mut doubled = 0;
    while depth * 2 <= DEPTH_MAX {
        depth *= 2;
        let after = makespan(sampler, depth, BURSTS).await?;
        doubled = if after >= DOUBLED * before { doubled + 1 } else { 0 };
        if doubled == 2 {
            return Ok(depth);
        }
        before = after;
    }
    // If only the last step doubled the time, its depth is the best available answer.
    if doubled > 0 {
        return Ok(depth);
    }
    Err(EarlyEnd::Unmeasurable(Unmeasurable::Unfilled { depth }))
}

/// The median time in which seven of eight random reads of a burst are done.
async fn makespan(sampler: &mut Sampler, depth: usize, bursts: usize) -> Result<f64, EarlyEnd> {
    let mut times = Vec::new();
    for _ in 0..bursts {
        let draw =
            |sampler: &mut Sampler| everywhere(sampler, depth).into_iter().map(|place| sampler.read(place)).collect();
        let mut done: Vec<f64> = sampler.run(draw).await?.into_iter().flatten().collect();
        done.sort_by(f64::total_cmp);
        times.extend(done.get(done.len() * 7 / 8).copied());
    }
    Ok(median(&times))
}

/// Random places, evenly spread over the device.
fn everywhere(sampler: &mut Sampler, count: usize) -> Vec<u64> {
    let block = sampler.device().block;
    sampler.places(block, 0, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_delayed_by_a_busy_machine_do_not_make_the_quick_ones_count_as_memory() {
        let times =
            |quick: f64, slow: f64| (0..32).map(|read| if read % 8 == 0 { slow } else { quick }).collect::<Vec<_>>();
        assert_eq!(quick_share(&times(20e3, 8e6)), Some(0.875));
        assert_eq!(quick_share(&times(4e6, 50e6)), None, "a disk");
        assert_eq!(quick_share(&times(50e3, 600e3)), None, "flash");
    }
}
