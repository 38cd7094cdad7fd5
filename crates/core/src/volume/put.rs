//! Writing rows: all of them, or their members are out.

use super::handle::Handle;
use super::persist;
use super::restripe::Output;
use super::state::Life;
use crate::block::Failure;
use crate::buffer::Buffer;
use crate::format::superblock::Why;
use crate::member::{Fault, OpKind};
use crate::slots::Slots;

/// Writes it all, through the members' caches if wished. A member that does not take its row twice is taken out, durably, before this returns.
pub(super) async fn put(handle: &Handle, stripe: u64, output: Output, is_durable: bool) -> Result<(), Failure> {
    let mut left: Vec<(usize, bool, Buffer)> = output.rows.into_iter().map(|(slot, row)| (slot, true, row)).collect();
    left.extend(output.appendices.into_iter().map(|(slot, appendix)| (slot, false, appendix)));
    // All of them, not only those that somebody wrote to: the first write of a stripe lays zeros beside what it brings.
    let written: Slots = handle.with(|state| {
        let written: Slots = left.iter().map(|(slot, ..)| *slot).filter(|slot| *slot < state.shape().data).collect();
        written.iter().for_each(|slot| state.read_status.clear(state.chunk(stripe, slot)));
        written
    });
    for attempt in 0..2 {
        let (ops, places) = handle.with(|state| {
            let mut ops = Vec::with_capacity(left.len());
            let mut places: Vec<(usize, bool)> = Vec::with_capacity(left.len());
            for (slot, is_row, buffer) in left.drain(..) {
                let place = state.geometry.layout.place(stripe, slot);
                if !state.is_attached(place.disk) {
                    state.pool.give(buffer);
                    continue;
                }
                let skipped = if is_row { 0 } else { state.geometry.chunk_bytes };
                let offset = state.geometry.chunk_offset(place.row) + skipped;
                ops.push((place.disk, OpKind::Write { offset, buffer, is_durable }));
                places.push((slot, is_row));
            }
            (ops, places)
        });
        let done = handle.ops(ops).await;
        let mut failed = Vec::new();
        for (done, (slot, is_row)) in done.into_iter().zip(places) {
            match (done.result, done.buffer) {
                (Err(Fault::Medium), Some(buffer)) if attempt == 0 => left.push((slot, is_row, buffer)),
                (result, buffer) => {
                    handle.with(|state| state.recycle(buffer));
                    let why = if result == Err(Fault::Medium) { Why::Refused } else { Why::Gone };
                    failed.extend(result.err().map(|_| (done.disk, why)));
                }
            }
        }
        for (disk, why) in failed {
            persist::take_out(handle, disk, why).await;
        }
        if left.is_empty() {
            break;
        }
    }
    handle.with(|state| written.iter().for_each(|slot| state.note_write(stripe, slot)));
    // Rows may have been left out for a member that somebody else is just taking out.
    if handle.with(|state| !state.missing(stripe).is_empty()) {
        persist::outs_known(handle).await;
    }
    match handle.with(|state| state.life == Life::Broken) {
        true => Err(Failure::Io),
        false => Ok(()),
    }
}
