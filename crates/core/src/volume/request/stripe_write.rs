//! Computes the new rows and parities of a write to one stripe, by the plan with the least I/O, from checked rows only.

use crate::buffer::Buffer;
use crate::index::{StripeIndex, StripePosition};
use crate::layout::Shape;
use crate::position_set::PositionSet;
use crate::volume::block::BlockFailure;
use crate::volume::durable::persist;
use crate::volume::integrity::judge::is_consistent;
use crate::volume::integrity::scheme::Scheme;
use crate::volume::integrity::tag::{self, ListEntry, Version};
use crate::volume::plan::{PlanMode, StripePlan, StripeState as PlanState, Want, plan};
use crate::volume::repair::stripe_repair::{self, StripeContent};
use crate::volume::request::rows::{self, Rows};
use crate::volume::request::seal::{predecessor_sum, seal, sum_and_seal};
use crate::volume::request::writes::PendingWrite;
use crate::volume::tasks::handle::VolumeHandle;
use crate::volume::tasks::state::VolumeState;
use scrubjay_code::crc32c;

/// Copies the batch's bytes over a chunk's content, in the order of arrival.
fn apply(batch: &[PendingWrite], position: StripePosition, chunk: &mut [u8]) {
    for write in batch {
        for piece in write.pieces.iter().filter(|piece| piece.position == position) {
            match &write.data {
                Some(data) => chunk[piece.range.clone()].copy_from_slice(&data[piece.at..piece.at + piece.range.len()]),
                None => chunk[piece.range.clone()].fill(0),
            }
        }
    }
}

/// What is to be written to a stripe: whole rows, sealed, and appendices alone.
pub struct StripeOutput {
    /// Rows, by position.
    pub rows: Vec<(StripePosition, Buffer)>,
    /// Appendices of rows whose chunks stay, by position.
    pub appendices: Vec<(StripePosition, Buffer)>,
}

/// A stripe's first write: all its rows, with zeros where the batch has no data.
pub fn first(handle: &VolumeHandle, stripe: StripeIndex, batch: &[PendingWrite], version: Version) -> StripeOutput {
    handle.with(|state| {
        let mut data: Vec<Option<Buffer>> = Vec::with_capacity(state.shape().data);
        for position in state.shape().data_positions() {
            let mut row = state.io.pool.take_zeroed(state.row_bytes());
            apply(batch, position, &mut row[..state.geometry.chunk_bytes as usize]);
            data.push(Some(row));
        }
        let entries = vec![ListEntry { version, sum: 0 }; data.len()];
        encode_stripe(state, stripe, data, entries, state.shape().data_set())
    })
}

/// The write number of this write, in schemes that have versions. (Hybrid-1 uses it only for chunks whose own version
/// was not read: a first write, also after a trim, must not begin below the versions that are still on the disks.)
pub async fn version(handle: &VolumeHandle) -> Version {
    match handle.with(|state| state.geometry.scheme.has_versions()) {
        true => Version(persist::next_write_number(handle).await),
        false => Version(0),
    }
}

/// Computes all parities and sums from all data. Returns the rows that change: those of `touched`, and the parities.
pub fn encode_stripe(
    state: &mut VolumeState,
    stripe: StripeIndex,
    data: Vec<Option<Buffer>>,
    mut entries: Vec<ListEntry>,
    touched: PositionSet,
) -> StripeOutput {
    let chunk_bytes = state.chunk_bytes();
    let mut parities: Vec<Buffer> = (0..state.shape().parity).map(|_| state.io.pool.take(state.row_bytes())).collect();
    let mut sums = vec![0; state.shape().width()];
    {
        let sources: Vec<&[u8]> =
            data.iter().map(|row| &row.as_ref().expect("all data are known")[..chunk_bytes]).collect();
        let mut out: Vec<&mut [u8]> = parities.iter_mut().map(|row| &mut row[..chunk_bytes]).collect();
        if state.geometry.scheme.has_appendix() {
            state.code.encode_summed(&sources, &mut out, &mut sums);
        } else {
            state.code.encode(&sources, &mut out);
        }
    }
    entries.iter_mut().zip(&sums).for_each(|(entry, &sum)| *entry = state.sealed(ListEntry { sum, ..*entry }));
    let missing = state.membership.missing(stripe);
    let buddies = buddies(state, touched);
    let mut output =
        StripeOutput { rows: Vec::with_capacity(touched.count() + parities.len()), appendices: Vec::new() };
    for (position, row) in StripePosition::numbered(data) {
        let mut row = row.expect("all data are known");
        if missing.contains(position) || !(touched | buddies).contains(position) {
            state.io.pool.give(row);
            continue;
        }
        seal(state, stripe, position, &mut row, sums[position.get()], &entries);
        if touched.contains(position) {
            output.rows.push((position, row));
        } else {
            let mut appendix = state.io.pool.take(row.len() - chunk_bytes);
            appendix.copy_from_slice(&row[chunk_bytes..]);
            state.io.pool.give(row);
            output.appendices.push((position, appendix));
        }
    }
    for (index, mut row) in parities.into_iter().enumerate() {
        let position = state.shape().parity_position(index);
        if missing.contains(position) {
            state.io.pool.give(row);
            continue;
        }
        seal(state, stripe, position, &mut row, sums[position.get()], &entries);
        output.rows.push((position, row));
    }
    output
}

/// Untouched data chunks that carry a copy of a touched one's checksum.
fn buddies(state: &VolumeState, touched: PositionSet) -> PositionSet {
    let Shape { data, parity } = state.shape();
    if !state.geometry.scheme.has_buddies() || data < 2 || parity == 0 {
        return PositionSet::NONE;
    }
    touched
        .iter()
        .map(|position| state.shape().after(position))
        .filter(|&position| !touched.contains(position))
        .collect()
}

/// Replaces chunks of a stripe by the plan with the least I/O; `None` when the stripe must be resolved first.
pub async fn replace(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    batch: &[PendingWrite],
    touched: PositionSet,
    partial: PositionSet,
) -> Result<Option<StripeOutput>, BlockFailure> {
    let plan = handle.with(|state| {
        let data = state.shape().data_set();
        let is_read = data
            .iter()
            .filter(|&position| state.maps.read_status.is_read(state.maps.chunk(stripe, position)))
            .collect();
        let missing = state.membership.missing(stripe);
        let known = PlanState { is_read, missing, list_rotation: stripe.get() as usize };
        plan(state.geometry.scheme, state.shape(), Want::Write { touched, partial }, known)
    });
    let Some(plan) = plan else { return Ok(None) };
    // With all parities missing no list holds the checksums that neighbours copy: only a read of all data keeps the copies right.
    let are_all_lists_missing = handle.with(|state| {
        let parities = state.shape().parity_set();
        !parities.is_empty()
            && state.geometry.scheme.has_buddies()
            && parities.is_subset(state.membership.missing(stripe))
    });
    if are_all_lists_missing {
        return Ok(None);
    }
    let mut rows = rows::read(handle, stripe, plan.read_chunks, plan.read_appendices).await;
    stripe_repair::retry(handle, stripe, &mut rows).await;
    let is_fine = is_consistent(&rows.evidence, rows.read);
    let needs_decoding = handle.with(|state| {
        let missing = state.membership.missing(stripe);
        let needed = match plan.mode {
            PlanMode::ReadModifyWrite => touched,
            _ => (state.shape().data_set() - touched) | partial,
        };
        !(needed & missing).is_empty()
    });
    if !is_fine || needs_decoding {
        rows.recycle(handle);
        return Ok(None);
    }
    let stamp = version(handle).await;
    handle.with(|state| {
        let is_lost = |position: StripePosition| rows.evidence.rows[position].entry.version.is_lost();
        if partial.iter().any(is_lost) {
            return Err(BlockFailure::Io);
        }
        Ok(Some(match plan.mode {
            PlanMode::ReadModifyWrite => modify(state, stripe, batch, touched, stamp, &plan, rows),
            _ => reconstruct(state, stripe, batch, touched, stamp, rows),
        }))
    })
}

/// The version of a chunk's next content: in Hybrid-1 the version found on the chunk plus one, else the write's number.
fn next_version(scheme: Scheme, stamp: Version, found: Version) -> Version {
    if scheme == Scheme::Hybrid1 { Version(found.number() + 1) } else { stamp }
}

/// Read-modify-write: old data and parities were read; the difference is applied to the parities.
fn modify(
    state: &mut VolumeState,
    stripe: StripeIndex,
    batch: &[PendingWrite],
    touched: PositionSet,
    stamp: Version,
    plan: &StripePlan,
    mut rows: Rows,
) -> StripeOutput {
    let shape = state.shape();
    let scheme = state.geometry.scheme;
    let chunk_bytes = state.chunk_bytes();
    let parities: Vec<StripePosition> = (plan.read_chunks & shape.parity_set()).iter().collect();
    // The list agrees with the chunks that were read: all that was read is consistent.
    let listed = parities.iter().find_map(|&position| rows.evidence.rows[position].list.clone());
    let mut entries = listed.unwrap_or_else(|| vec![ListEntry::default(); shape.data]);

    let mut all: Vec<Option<Buffer>> =
        shape.parity_set().iter().map(|position| rows.buffers[position].take()).collect();
    let mut output = StripeOutput { rows: Vec::new(), appendices: Vec::new() };
    let mut fresh = Vec::new();
    for position in touched.iter() {
        let old = rows.buffers[position].take().expect("a touched chunk was read");
        let mut row = state.io.pool.take(state.row_bytes());
        row[..chunk_bytes].copy_from_slice(&old[..chunk_bytes]);
        apply(batch, position, &mut row[..chunk_bytes]);
        update(state, position, &old[..chunk_bytes], &row[..chunk_bytes], &mut all);
        if scheme.has_appendix() {
            let found = rows.evidence.rows[position].entry.version;
            entries[position] =
                ListEntry { version: next_version(scheme, stamp, found), sum: crc32c(&row[..chunk_bytes]) };
        }
        state.io.pool.give(old);
        fresh.push((position, row));
    }
    for (position, mut row) in fresh {
        seal(state, stripe, position, &mut row, entries[position].sum, &entries);
        output.rows.push((position, row));
    }
    for (index, row) in all.into_iter().enumerate() {
        let Some(mut row) = row else { continue };
        let position = shape.parity_position(index);
        sum_and_seal(state, stripe, position, &mut row, &entries);
        output.rows.push((position, row));
    }
    for position in plan.write_appendices.iter() {
        let predecessor_sum = predecessor_sum(state, position, &entries);
        let appendix = match rows.buffers[position].take() {
            Some(mut appendix) => {
                tag::renew_predecessor_sum(&mut appendix, predecessor_sum);
                appendix
            }
            // In the pure scheme an appendix holds nothing but the copy.
            None => {
                let mut row = state.io.pool.take_zeroed(state.row_bytes());
                tag::seal_data(
                    &mut row,
                    chunk_bytes,
                    state.identity(stripe, position),
                    ListEntry::default(),
                    predecessor_sum,
                );
                let mut appendix = state.io.pool.take(row.len() - chunk_bytes);
                appendix.copy_from_slice(&row[chunk_bytes..]);
                state.io.pool.give(row);
                appendix
            }
        };
        output.appendices.push((position, appendix));
    }
    state.io.recycle(rows.buffers.into_iter().flatten());
    output
}

/// Applies the difference of one data chunk to all parities that were read.
fn update(state: &VolumeState, position: StripePosition, old: &[u8], new: &[u8], parities: &mut [Option<Buffer>]) {
    let chunk_bytes = state.chunk_bytes();
    if parities.iter().all(Option::is_some) {
        let mut out: Vec<&mut [u8]> = parities.iter_mut().flatten().map(|row| &mut row[..chunk_bytes]).collect();
        state.code.update(position.get(), old, new, &mut out);
        return;
    }
    // The code updates all parities, so a missing one needs a buffer in its place.
    let mut scratch = vec![0; chunk_bytes * parities.len()];
    let mut spare = scratch.chunks_mut(chunk_bytes);
    let mut out: Vec<&mut [u8]> = parities
        .iter_mut()
        .map(|row| match row {
            Some(row) => &mut row[..chunk_bytes],
            None => spare.next().expect("one for each"),
        })
        .collect();
    state.code.update(position.get(), old, new, &mut out);
}

/// Reconstruct-write, or a full stripe: all data are known, and the parities are computed from them.
fn reconstruct(
    state: &mut VolumeState,
    stripe: StripeIndex,
    batch: &[PendingWrite],
    touched: PositionSet,
    stamp: Version,
    mut rows: Rows,
) -> StripeOutput {
    let shape = state.shape();
    let chunk_bytes = state.chunk_bytes();
    let scheme = state.geometry.scheme;
    let listed = rows.evidence.lists().next().map(|(_, list)| list.to_vec());
    let mut data = Vec::with_capacity(shape.data);
    let mut entries = Vec::with_capacity(shape.data);
    for position in shape.data_positions() {
        let seen = &rows.evidence.rows[position];
        let found = match (seen.is_sound(), &listed) {
            (true, _) => seen.entry,
            (false, Some(list)) => list[position],
            (false, None) => ListEntry::default(),
        };
        let mut row = match rows.buffers[position].take() {
            Some(row) if row.len() == state.row_bytes() => row,
            other => {
                other.into_iter().for_each(|appendix| state.io.pool.give(appendix));
                state.io.pool.take(state.row_bytes())
            }
        };
        let mut entry = found;
        if touched.contains(position) {
            apply(batch, position, &mut row[..chunk_bytes]);
            // If the row was not read, or is not sound, its version comes from one parity's list, which may be stale: one
            // more could be a number that names another content already. The write's own number is greater than any in use.
            entry.version = if seen.is_sound() { next_version(scheme, stamp, found.version) } else { stamp };
        }
        data.push(Some(row));
        entries.push(entry);
    }
    state.io.recycle(rows.buffers.into_iter().flatten());
    encode_stripe(state, stripe, data, entries, touched)
}

/// Replaces chunks of a stripe that had to be resolved first. A lost chunk may be overwritten as a whole; one that is
/// not overwritten is marked as lost, so that the rest of the stripe is as safe as before.
pub async fn from_resolved(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    batch: &[PendingWrite],
    touched: PositionSet,
    partial: PositionSet,
    resolved: StripeContent,
) -> Result<StripeOutput, BlockFailure> {
    if !(resolved.all_lost() & partial).is_empty() {
        resolved.recycle(handle);
        return Err(BlockFailure::Io);
    }
    let stamp = version(handle).await;
    Ok(handle.with(|state| {
        let chunk_bytes = state.chunk_bytes();
        let scheme = state.geometry.scheme;
        let (mut entries, lost) = (resolved.entries, resolved.lost);
        let mut data: Vec<Option<Buffer>> = Vec::with_capacity(entries.len());
        for (position, row) in StripePosition::numbered(resolved.rows) {
            let mut row = row.unwrap_or_else(|| state.io.pool.take_zeroed(state.row_bytes()));
            if touched.contains(position) {
                apply(batch, position, &mut row[..chunk_bytes]);
                entries[position].version = next_version(scheme, stamp, entries[position].version);
            } else if lost.contains(position) {
                state.mark(stripe, position).fill(&mut row[..chunk_bytes]);
                entries[position].version = stamp.lost();
            }
            data.push(Some(row));
        }
        encode_stripe(state, stripe, data, entries, touched | lost)
    }))
}
