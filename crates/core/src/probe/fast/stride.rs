//! The sequential test of whether a stride is a multiple of the pattern: whether all blocks at that distance lie on one disk.

use super::evidence::of_stride;
use super::sampler::{EarlyEnd, Sampler};
use super::thresholds::{BURSTS_MAX, DECIDED};
use super::yardstick::{Offsets, Yardstick};

/// Bursts per reference that is measured along with them.
const REFRESHED_EACH: usize = 6;

/// Repetitions of a test, at most, if the pace of one disk has changed meanwhile.
const DRIFTS_MAX: usize = 3;

/// The log-odds that `stride` is a multiple, tested until decided; measurements during which the device became busier
/// or less busy do not count.
///
/// # Errors
/// Those of [`Sampler::run`].
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

/// The log-odds that `stride` is a multiple, tested until they are at least `accepted` or at most minus `dismissed`, or
/// [`BURSTS_MAX`] bursts are done. The references are refreshed meanwhile.
///
/// # Errors
/// Those of [`Sampler::run`].
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
