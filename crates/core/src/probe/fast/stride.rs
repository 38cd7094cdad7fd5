//! The sequential test whether a stride is a multiple of the pattern: whether all blocks at that distance lie on one disk.

use super::evidence::of_stride;
use super::sampler::{EarlyEnd, Sampler};
use super::thresholds::{BURSTS_MAX, DECIDED};
use super::yardstick::{Offsets, Yardstick};

/// Bursts for each reference that is measured along with them.
const REFRESHED_EACH: usize = 6;

/// A test is made again so many times when the pace of one disk was another after it.
const DRIFTS_MAX: usize = 3;

/// Tests it for good: what was measured while the device became busier, or idle again, does not count.
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn is_multiple_for_sure(
    sampler: &mut Sampler,
    yardstick: &mut Yardstick,
    stride: u64,
) -> Result<f64, EarlyEnd> {
    for _ in 0..DRIFTS_MAX {
        let odds = is_multiple(sampler, yardstick, stride, (DECIDED, DECIDED)).await?;
        if !yardstick.has_drifted(sampler).await? {
            return Ok(odds);
        }
    }
    is_multiple(sampler, yardstick, stride, (DECIDED, DECIDED)).await
}

/// Tests it until the log-odds are above `accepted` or below minus `dismissed`, or [`BURSTS_MAX`] bursts are done: the
/// log-odds that it is one. The reference is refreshed on the way.
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn is_multiple(
    sampler: &mut Sampler,
    yardstick: &mut Yardstick,
    stride: u64,
    (accepted, dismissed): (f64, f64),
) -> Result<f64, EarlyEnd> {
    let block = sampler.device().block;
    let mut offsets = Offsets::new(sampler);
    let mut odds = 0.0;
    for burst in 0..BURSTS_MAX {
        if burst % REFRESHED_EACH == 0 {
            yardstick.refresh(sampler).await?;
        }
        let log = yardstick.burst.pace(sampler, stride, offsets.next_of(stride, block)).await?;
        odds += of_stride(log - yardstick.log(), yardstick.spread());
        if odds >= accepted || odds <= -dismissed {
            break;
        }
    }
    Ok(odds)
}
