//! Writes rows of a stripe: when `put` returns, each is written, or its member is out, or the volume is broken.

use crate::buffer::Buffer;
use crate::index::{StripeIndex, StripePosition};
use crate::position_set::PositionSet;
use crate::volume::block::BlockFailure;
use crate::volume::durable::persist;
use crate::volume::member::OpKind;
use crate::volume::request::stripe_write::StripeOutput;
use crate::volume::tasks::handle::VolumeHandle;

/// Writes these rows and appendices; with `is_durable`, through the members' caches. A member that refuses its row
/// twice is taken out, durably, before this returns.
pub async fn put(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    output: StripeOutput,
    is_durable: bool,
) -> Result<(), BlockFailure> {
    let mut parts: Vec<(StripePosition, bool, Buffer)> =
        output.rows.into_iter().map(|(position, row)| (position, true, row)).collect();
    parts.extend(output.appendices.into_iter().map(|(position, appendix)| (position, false, appendix)));
    // The members on which the region's intent is durable may be out: then a start would not know of this write.
    if handle.with(|state| state.membership.is_broken) {
        handle.with(|state| state.io.recycle(parts.into_iter().map(|(_, _, buffer)| buffer)));
        return Err(BlockFailure::Io);
    }
    let (written, ops) = handle.with(|state| {
        // All of these data rows, not only those with new data: a stripe's first write fills the rest with zeros.
        let written: PositionSet =
            parts.iter().map(|(position, ..)| *position).filter(|&position| state.shape().is_data(position)).collect();
        written.iter().for_each(|position| state.maps.read_status.clear(state.maps.chunk(stripe, position)));
        let mut ops = Vec::with_capacity(parts.len());
        for (position, is_row, buffer) in parts {
            let place = state.geometry.place(stripe, position);
            if !state.membership.is_attached(place.member) {
                state.io.pool.give(buffer);
                continue;
            }
            let skipped = if is_row { 0 } else { state.geometry.chunk_bytes };
            let offset = state.geometry.chunk_offset(place.row) + skipped;
            ops.push((place.member, OpKind::Write { offset, buffer, is_durable }));
        }
        (written, ops)
    });
    let done = handle.ops_twice(ops).await;
    for (disk, reason) in persist::failed(handle, done) {
        persist::fail_member(handle, disk, reason).await;
    }
    handle.with(|state| written.iter().for_each(|position| state.maps.note_write(stripe, position)));
    // Rows may have been omitted for a member that another task is taking out: wait until that is durable.
    if handle.with(|state| !state.membership.missing(stripe).is_empty()) {
        persist::wait_failures_durable(handle).await;
    }
    match handle.with(|state| state.membership.is_broken) {
        true => Err(BlockFailure::Io),
        false => Ok(()),
    }
}
