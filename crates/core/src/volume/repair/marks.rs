//! Marks lost chunks on the members before any client learns of the loss, so that they stay lost whatever happens next.
//!
//! Where all rows were read and are wrong, no more evidence can come. The lost chunks are *marked*: a mark lies in their
//! places, their versions have the lost bit, and the parities encode the mark, so the other chunks are as safe as before.
//! Where a member is missing or a row cannot be read, that row may yet come back and prove the content. Then only those rows
//! are *discarded* that could pass for half-written ones after a crash: what is written over them proves nothing.

use crate::buffer::Buffer;
use crate::index::{RegionIndex, StripeIndex, StripePosition};
use crate::position_set::PositionSet;
use crate::volume::durable::persist;
use crate::volume::member::OpKind;
use crate::volume::repair::stripe_repair::{self, LossEvidence, StripeContent};
use crate::volume::request::put;
use crate::volume::request::stripe_write::{self, StripeOutput};
use crate::volume::tasks::handle::VolumeHandle;
use crate::volume::tasks::state::VolumeState;

/// Reads everything that is left of a stripe, repairs what is wrong ([`stripe_repair::repair`]), and makes sure that what is lost
/// stays lost.
pub async fn repair_and_mark(handle: &VolumeHandle, stripe: StripeIndex) -> StripeContent {
    let mut resolved = stripe_repair::repair(handle, stripe).await;
    if handle.with(|state| state.is_writable()) && !resolved.lost.is_empty() {
        match resolved.loss_evidence {
            LossEvidence::Exhausted => write_lost_marks(handle, stripe, &mut resolved).await,
            LossEvidence::MayReturn(discard) => discard_rows(handle, stripe, discard).await,
        }
    }
    // Before anybody learns of the loss, it is recorded that there is one. (Of a broken volume nothing is decided.)
    if handle.with(|state| state.is_writable()) {
        handle.with(|state| state.note_loss(stripe, !resolved.all_lost().is_empty()));
        persist::commit_losses(handle).await;
    }
    resolved
}

/// Marks all lost chunks. The marks are written before the parities that encode them: a crash in between leaves the marks. The
/// intent is announced only after the marks are durable: before that, a crash would make a resync take torn rows of a stripe that
/// nobody was writing for half-written ones, and keep them.
pub async fn write_lost_marks(handle: &VolumeHandle, stripe: StripeIndex, resolved: &mut StripeContent) {
    let (region, lost) = (handle.with(|state| state.geometry.region_of(stripe)), resolved.lost);
    let version = stripe_write::version(handle).await;
    let output = handle.with(|state| {
        lost.iter().for_each(|position| resolved.entries[position].version = version.lost());
        let mut data = Vec::with_capacity(resolved.rows.len());
        for (position, known) in StripePosition::numbered(&resolved.rows) {
            data.push(Some(match known.as_ref().filter(|_| !lost.contains(position)) {
                Some(known) => copy(state, known),
                None => marked(state, stripe, position),
            }));
        }
        // Copies of neighbours' checksums may be out of date, so every data row is written.
        let touched = if state.geometry.scheme.has_buddies() { state.shape().data_set() } else { lost };
        stripe_write::encode_stripe(state, stripe, data, resolved.entries.clone(), touched)
    });
    let (marks, rows) = output.rows.into_iter().partition(|(position, _)| lost.contains(*position));
    if put::put(handle, stripe, StripeOutput { rows: marks, appendices: Vec::new() }, true).await.is_ok() {
        persist::mark_dirty(handle, region).await;
        // If these cannot be written, the marks are there all the same.
        let _ = put::put(handle, stripe, StripeOutput { rows, appendices: output.appendices }, false).await;
        end(handle, region);
    } else {
        let buffers = rows.into_iter().map(|(_, row)| row).chain(output.appendices.into_iter().map(|(_, row)| row));
        handle.with(|state| state.io.recycle(buffers));
    }
}

/// Overwrites these rows with content that no check accepts. It announces no intent: in a clean region a row that was cut short is
/// judged after a crash, and proves as little as before; in a dirty one the torn row would pass for a half-written one, and a
/// member that is out would give up the row that may prove the content.
async fn discard_rows(handle: &VolumeHandle, stripe: StripeIndex, positions: PositionSet) {
    if positions.is_empty() {
        return;
    }
    let ops = handle.with(|state| {
        let mut ops = Vec::with_capacity(positions.count());
        for position in positions.iter() {
            let place = state.geometry.place(stripe, position);
            let (offset, buffer) = (state.geometry.chunk_offset(place.row), marked(state, stripe, position));
            ops.push((place.member, OpKind::Write { offset, buffer, is_durable: true }));
        }
        ops
    });
    let refused = persist::write_all(handle, ops).await;
    // A member that refused its write still has the row. It must be recorded as out before anybody learns of the loss: after
    // a crash it would be in, and in a dirty region its row could pass for a half-written one.
    persist::wait_failures_durable(handle).await;
    if !refused.is_empty() && handle.with(|state| !state.membership.is_broken) {
        // Recorded as written while that member was out: if it comes back, it does not keep the row.
        let region = handle.with(|state| state.geometry.region_of(stripe));
        persist::mark_dirty(handle, region).await;
        end(handle, region);
    }
    handle.with(|state| positions.iter().for_each(|position| state.maps.note_write(stripe, position)));
}

fn end(handle: &VolumeHandle, region: RegionIndex) {
    handle.with(|state| {
        let now = state.scheduler.now;
        state.maps.intents.end(region, now);
    });
    persist::clean_later(handle);
}

/// A row with a mark as its content and no appendix: it proves nothing.
fn marked(state: &mut VolumeState, stripe: StripeIndex, position: StripePosition) -> Buffer {
    let mut row = state.io.pool.take_zeroed(state.row_bytes());
    let chunk_bytes = state.chunk_bytes();
    state.mark(stripe, position).fill(&mut row[..chunk_bytes]);
    row
}

fn copy(state: &mut VolumeState, row: &Buffer) -> Buffer {
    let mut copy = state.io.pool.take(row.len());
    copy.copy_from_slice(row);
    copy
}
