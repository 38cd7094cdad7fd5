//! The sequential test whether a stride is a multiple of the pattern: whether all blocks at that distance lie on one disk.

use super::evidence::of_stride;
use super::sampler::{End, Sampler};
use super::thresholds::BURSTS_MAX;
use super::yardstick::{Offsets, Yardstick};

/// Bursts for each reference that is measured along with them.
const REFRESHED_EACH: usize = 6;

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
) -> Result<f64, End> {
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
