//! Writing one stripe: what has come for it is written together, and all rows before anything is acknowledged.

use super::handle::Handle;
use super::options::Planted;
use super::persist;
use super::resolve;
use super::restripe::{self, Output};
use super::settle;
use super::state::{Life, Queue, State};
use super::writes::{Coverage, Pending};
use crate::block::Failure;
use crate::buffer::Buffer;
use crate::format::superblock::Why;
use crate::member::{Fault, OpKind};
use crate::slots::Slots;

/// Does the writes of a stripe, as many at once as have come, until there are no more.
pub(super) async fn drain(handle: Handle, stripe: u64) {
    settle::ensure(&handle, stripe).await;
    loop {
        let guard = handle.lock(stripe, true).await;
        let batch = handle.with(|state| state.writes.take(stripe));
        if batch.is_empty() {
            return;
        }
        let acks_early = handle.with(|state| state.is_planted(Planted::AckBeforeLastWrite));
        if acks_early {
            settle_tickets(&handle, &batch, true);
        }
        let is_done = write(&handle, stripe, &batch).await.is_ok();
        if !is_done && batch.len() > 1 && !acks_early {
            // Some of them may be what can be done: a part of a lost chunk is nothing that another write must fail for.
            for one in batch.chunks(1) {
                let is_done = write(&handle, stripe, one).await.is_ok();
                settle_tickets(&handle, one, is_done);
            }
            continue;
        }
        drop(guard);
        if !acks_early {
            settle_tickets(&handle, &batch, is_done);
        }
    }
}

fn settle_tickets(handle: &Handle, batch: &[Pending], is_done: bool) {
    for write in batch {
        let ticket = &write.ticket;
        ticket.left.set(ticket.left.get() - 1);
        if !is_done {
            ticket.is_failed.set(true);
        }
        if ticket.left.get() == 0 {
            handle.with(|state| state.ready.push_back(ticket.task));
        }
    }
}

/// One batch, under the stripe's lock, inside an announced region.
async fn write(handle: &Handle, stripe: u64, batch: &[Pending]) -> Result<(), Failure> {
    let region = handle.with(|state| state.geometry.region_of(stripe));
    persist::announce(handle, region).await;
    let result = match handle.with(|state| matches!(state.life, Life::Open | Life::Stopping)) {
        true => write_announced(handle, stripe, batch).await,
        false => Err(Failure::Io),
    };
    handle.with(|state| {
        let now = state.now;
        state.intents.end(region, now);
        state.wake(Queue::Idle);
    });
    persist::clean_later(handle);
    result
}

async fn write_announced(handle: &Handle, stripe: u64, batch: &[Pending]) -> Result<(), Failure> {
    let (touched, partial) = handle.with(|state| coverage(state, batch));
    let is_anew = handle.with(|state| {
        // Too few rows would be written to read it again: the volume was started without a member while another one
        // was being rebuilt.
        if state.missing(stripe).count() > state.shape().parity {
            return Err(Failure::Io);
        }
        let is_all = touched == state.shape().data_slots() && partial.is_empty();
        let is_undecided = state.is_undecided(stripe);
        if is_undecided && !is_all {
            return Err(Failure::Io);
        }
        // What was undecided is written over whole; it may be decided then.
        Ok(!state.written.get(stripe) || is_undecided && is_all)
    })?;
    let mut is_first = None;
    let rows = if !is_anew {
        match restripe::replace(handle, stripe, batch, touched, partial).await? {
            Some(rows) => rows,
            None => {
                let resolved = resolve::resolve(handle, stripe).await;
                restripe::from_resolved(handle, stripe, batch, touched, partial, resolved).await?
            }
        }
    } else {
        let version = restripe::version(handle).await;
        is_first = Some(version);
        restripe::first(handle, stripe, batch, version)
    };
    put(handle, stripe, rows, false).await?;
    handle.with(|state| {
        state.unresolved.remove(&stripe);
        state.note_written(stripe);
    });
    // If this process is killed, the write must still be found: by its version, when the written map's page says nothing
    // of so late a time; or by the page itself.
    let needs_page = is_first.is_some_and(|version| {
        handle.with(|state| {
            let page = stripe / state.geometry.stripes_per_page();
            !state.geometry.scheme.has_versions() || version.number() < state.written_sinces[page as usize]
        })
    });
    match needs_page && !persist::flush(handle).await {
        true => Err(Failure::Io),
        false => Ok(()),
    }
}

/// The chunks that a batch touches, and those of them of which some bytes stay.
fn coverage(state: &State, batch: &[Pending]) -> (Slots, Slots) {
    let mut chunks = vec![Coverage::default(); state.shape().data];
    for piece in batch.iter().flat_map(|write| &write.pieces) {
        chunks[piece.slot].add(&piece.range);
    }
    let touched = chunks.iter().enumerate().filter(|(_, chunk)| chunk.is_any()).map(|(slot, _)| slot).collect();
    let chunk_bytes = state.chunk_bytes();
    let partial = chunks
        .iter_mut()
        .enumerate()
        .filter_map(|(slot, chunk)| (chunk.is_any() && !chunk.is_whole(chunk_bytes)).then_some(slot))
        .collect();
    (touched, partial)
}

/// Writes it all. A member that does not take its row twice is taken out, durably, before this returns.
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
