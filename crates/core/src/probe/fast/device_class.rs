//! The first step: how the device answers, and so how it must be asked.

use super::sampler::{EarlyEnd, Sampler};
use super::statistic::{median, undisturbed};
use super::thresholds::{DEPTH_MAX, DOUBLED, MEMORY_NANOS, SPINNING_NANOS};
use crate::probe::known::{DeviceClass, Unmeasurable};

/// Single reads; the standard error of what is taken of them is 6 % on a disk.
const SINGLES: usize = 32;
/// Bursts of each depth; odd, for their median.
const BURSTS: usize = 9;
/// Of two kinds of answers the rarer one is at least this share of the single reads,
const QUICK_SHARE_MIN: f64 = 0.12;
/// the quick ones are so many times as fast as the others by their medians,
const QUICK_TIMES: f64 = 8.0;
/// and none of the others takes less than so many times the longest of them.
const QUICK_GAP: f64 = 3.0;
/// So many reads at a time,
const DEEP: usize = 32;
/// in so many bursts,
const DEEP_BURSTS: usize = 3;
/// take less than so many times as long as one, where nothing spins: on 32 disks two and more of them meet on some.
const DEEP_TIMES: f64 = 1.4;
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
/// [`Unmeasurable::Memory`], [`Unmeasurable::PartlyMemory`] and [`Unmeasurable::Unfilled`].
pub async fn find(sampler: &mut Sampler) -> Result<DeviceClassResult, EarlyEnd> {
    let mut times = Vec::new();
    for place in everywhere(sampler, SINGLES) {
        let mut first = Some(place);
        let draw = |sampler: &mut Sampler| {
            let place = first.take().unwrap_or_else(|| sampler.anywhere(1, 1)[0]);
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

/// The share of reads that are answered so much sooner than the others that something else answers them. Neither of the two
/// kinds is rare.
fn quick_share(times: &[f64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rare = (sorted.len() as f64 * QUICK_SHARE_MIN).ceil() as usize;
    let widest = (rare..=sorted.len().saturating_sub(rare))
        .filter(|&at| at > 0 && at < sorted.len())
        .max_by(|&a, &b| (sorted[a] / sorted[a - 1]).total_cmp(&(sorted[b] / sorted[b - 1])))?;
    let (quick, slow) = sorted.split_at(widest);
    // Memory is no slower than flash, and what is not in it spins: on a busy machine now and then a read of any disk takes so many
    // times as long as others.
    let is_memory = median(quick) < SPINNING_NANOS && median(slow) >= SPINNING_NANOS;
    let is_apart =
        is_memory && slow[0] >= QUICK_GAP * quick[quick.len() - 1] && median(slow) >= QUICK_TIMES * median(quick);
    is_apart.then(|| quick.len() as f64 / sorted.len() as f64)
}

/// Are many reads done in the time of one? Then it does not spin, however long one takes: its time is on the way to it.
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
    // The last step is the best that can be had.
    if doubled > 0 {
        return Ok(depth);
    }
    Err(EarlyEnd::Unmeasurable(Unmeasurable::Unfilled { depth }))
}

/// The median time in which seven of eight random reads are done.
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

/// Places all over the device.
fn everywhere(sampler: &mut Sampler, count: usize) -> Vec<u64> {
    let block = sampler.device().block;
    sampler.places(block, 0, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_that_a_busy_machine_holds_up_do_not_make_the_others_memory() {
        let times =
            |quick: f64, slow: f64| (0..32).map(|read| if read % 8 == 0 { slow } else { quick }).collect::<Vec<_>>();
        assert_eq!(quick_share(&times(20e3, 8e6)), Some(0.875));
        assert_eq!(quick_share(&times(4e6, 50e6)), None, "a disk");
        assert_eq!(quick_share(&times(50e3, 600e3)), None, "flash");
    }
}
