//! Writes one stripe: all waiting writes of a stripe are done together, and none is acknowledged before all rows are written.

use crate::index::{StripeIndex, StripePosition};
use crate::position_set::PositionSet;
use crate::volume::block::BlockFailure;
use crate::volume::durable::persist;
use crate::volume::membership::VolumePhase;
use crate::volume::options::SeededBug;
use crate::volume::repair::marks;
use crate::volume::repair::resync;
use crate::volume::request::put;
use crate::volume::request::stripe_write;
use crate::volume::request::writes::{PendingWrite, WriteOverlay};
use crate::volume::tasks::handle::VolumeHandle;
use crate::volume::tasks::scheduler::WaitList;
use crate::volume::tasks::state::VolumeState;

/// Does the waiting writes of a stripe, all at once, until there are no more.
pub async fn drain(handle: VolumeHandle, stripe: StripeIndex) {
    resync::ensure_resynced(&handle, stripe).await;
    loop {
        let guard = handle.lock(stripe, true).await;
        let batch = handle.with(|state| state.scheduler.writes.take(stripe));
        if batch.is_empty() {
            return;
        }
        let acks_early = handle.with(|state| state.is_planted(SeededBug::AckBeforeLastWrite));
        if acks_early {
            complete_tickets(&handle, &batch, true);
        }
        let is_done = write(&handle, stripe, &batch).await.is_ok();
        if !is_done && batch.len() > 1 && !acks_early {
            // Some may succeed alone: a partial write of a lost chunk fails, but must not fail another request's write.
            for single in batch.chunks(1) {
                let is_done = write(&handle, stripe, single).await.is_ok();
                complete_tickets(&handle, single, is_done);
            }
            continue;
        }
        drop(guard);
        if !acks_early {
            complete_tickets(&handle, &batch, is_done);
        }
    }
}

fn complete_tickets(handle: &VolumeHandle, batch: &[PendingWrite], is_done: bool) {
    for write in batch {
        let ticket = &write.ticket;
        ticket.left.set(ticket.left.get() - 1);
        if !is_done {
            ticket.is_failed.set(true);
        }
        if ticket.left.get() == 0 {
            handle.with(|state| state.scheduler.ready.push_back(ticket.task));
        }
    }
}

/// Writes one batch, under the stripe's lock, in a region that is durably dirty.
async fn write(handle: &VolumeHandle, stripe: StripeIndex, batch: &[PendingWrite]) -> Result<(), BlockFailure> {
    let region = handle.with(|state| state.geometry.region_of(stripe));
    persist::mark_dirty(handle, region).await;
    let result = match handle.with(|state| {
        !state.membership.is_broken && matches!(state.membership.phase, VolumePhase::Open | VolumePhase::Stopping)
    }) {
        true => write_announced(handle, stripe, batch).await,
        false => Err(BlockFailure::Io),
    };
    handle.with(|state| {
        let now = state.scheduler.now;
        state.maps.intents.end(region, now);
        state.look_again(stripe);
        state.scheduler.wake(WaitList::Idle);
    });
    persist::clean_later(handle);
    result
}

async fn write_announced(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    batch: &[PendingWrite],
) -> Result<(), BlockFailure> {
    let (touched, partial) = handle.with(|state| coverage(state, batch));
    let is_unwritten = handle.with(|state| {
        // More rows are missing than there are parities: too few would be written to read the stripe again. (The volume
        // was started without a member while another one was being rebuilt.)
        if state.membership.missing(stripe).count() > state.shape().parity {
            return Err(BlockFailure::Io);
        }
        Ok(!state.maps.written.get(stripe))
    })?;
    let mut first_version = None;
    let rows = if !is_unwritten {
        match stripe_write::replace(handle, stripe, batch, touched, partial).await? {
            Some(rows) => rows,
            None => {
                let resolved = marks::repair_and_mark(handle, stripe).await;
                stripe_write::from_resolved(handle, stripe, batch, touched, partial, resolved).await?
            }
        }
    } else {
        let version = stripe_write::version(handle).await;
        first_version = Some(version);
        stripe_write::first(handle, stripe, batch, version)
    };
    put::put(handle, stripe, rows, false).await?;
    handle.with(|state| state.maps.note_written(stripe));
    // After a kill the resync finds this first write by its version, if that is not below the trim horizon of the
    // page on the disks. Otherwise only the page itself records the write, and must be durable before the reply.
    let needs_page = first_version.is_some_and(|version| {
        handle.with(|state| {
            let page = state.geometry.written_page_of(stripe);
            !state.geometry.scheme.has_versions() || version.number() < state.maps.written_trim_horizons[page as usize]
        })
    });
    match needs_page && !persist::flush(handle).await {
        true => Err(BlockFailure::Io),
        false => Ok(()),
    }
}

/// The chunks that a batch touches, and those of them that it replaces only in part.
fn coverage(state: &VolumeState, batch: &[PendingWrite]) -> (PositionSet, PositionSet) {
    let mut chunks = vec![WriteOverlay::default(); state.shape().data];
    for piece in batch.iter().flat_map(|write| &write.pieces) {
        chunks[piece.position].add(&piece.range);
    }
    let touched =
        StripePosition::numbered(&chunks).filter(|(_, chunk)| chunk.is_any()).map(|(position, _)| position).collect();
    let chunk_bytes = state.chunk_bytes();
    let partial = StripePosition::numbered(&mut chunks)
        .filter_map(|(position, chunk)| (chunk.is_any() && !chunk.is_whole(chunk_bytes)).then_some(position))
        .collect();
    (touched, partial)
}
