//! Reading: what a client wants of one stripe, checked, and rebuilt where it has to be.

use super::handle::Handle;
use super::options::Planted;
use super::parts::Piece;
use super::resolve::{self, Resolved};
use super::rows::{self, Rows};
use super::state::State;
use crate::block::Part;
use crate::buffer::Buffer;
use crate::integrity::judge::{is_consistent, judge};
use crate::plan::{Mode, Plan, State as PlanState, Want, plan};
use crate::slots::Slots;
use scrubjay_code::crc32c;

/// The parts that answer these pieces of a stripe, in their order.
pub(super) async fn stripe(handle: &Handle, stripe: u64, pieces: Vec<Piece>) -> Vec<Part> {
    let wanted: Slots = pieces.iter().map(|piece| piece.slot).collect();
    let is_written = || handle.with(|state| state.written.get(stripe));
    {
        let _guard = handle.lock(stripe, false).await;
        if !is_written() {
            return zeros(&pieces);
        }
        let Some(plan) = handle.with(|state| plan_read(state, stripe, wanted)) else {
            return lost_or_whole(handle, stripe, pieces, wanted).await;
        };
        let mut rows = rows::read(handle, stripe, plan.read_chunks, plan.read_appendices).await;
        resolve::retry(handle, stripe, &mut rows).await;
        if let Some(parts) = handle.with(|state| answer(state, stripe, &plan, wanted, &pieces, rows)) {
            return parts;
        }
    }
    let _guard = handle.lock(stripe, true).await;
    if !is_written() {
        return zeros(&pieces); // trimmed, while nobody held it
    }
    let resolved = resolve::resolve(handle, stripe).await;
    resolved_parts(handle, pieces, resolved)
}

/// What was never written.
fn zeros(pieces: &[Piece]) -> Vec<Part> {
    pieces.iter().map(|piece| Part::Zeros(piece.range.len() as u64)).collect()
}

fn plan_read(state: &State, stripe: u64, wanted: Slots) -> Option<Plan> {
    let missing = state.missing(stripe);
    let is_unresolved = state.unresolved.contains(&stripe);
    let known = PlanState {
        is_read: wanted.iter().filter(|&slot| state.read_status.is_read(state.chunk(stripe, slot))).collect(),
        missing,
        turn: stripe as usize,
    };
    plan(state.geometry.scheme, state.shape(), Want::Read(wanted), known).filter(|_| !is_unresolved)
}

/// The parts, if all that was read is as it should be.
fn answer(
    state: &mut State,
    stripe: u64,
    plan: &Plan,
    wanted: Slots,
    pieces: &[Piece],
    mut rows: Rows,
) -> Option<Vec<Part>> {
    let skips = state.options.planted == Some(Planted::SkipOneListComparison);
    let is_fine = if skips && plan.mode == Mode::Reconstruct {
        rows.read.iter().all(|slot| rows.evidence.rows[slot].is_sound())
    } else {
        is_consistent(&rows.evidence, rows.read)
    };
    let is_fine = is_fine && (plan.mode != Mode::Reconstruct || reconstruct(state, wanted, &mut rows, plan));
    if !is_fine {
        state.recycle(rows.buffers.into_iter().flatten());
        return None;
    }
    let lost: Slots = wanted.iter().filter(|&slot| rows.evidence.rows[slot].entry.version.is_lost()).collect();
    // Without any list to compare with, a sound chunk may still be an old one.
    let is_compared = !((plan.read_chunks | plan.read_appendices) & state.shape().parity_slots()).is_empty();
    if is_compared || state.geometry.scheme.has_buddies() {
        (wanted & rows.settled).iter().for_each(|slot| state.note_read(stripe, slot));
    }
    let parts = pieces.iter().map(|piece| part(piece, lost, rows.buffers[piece.slot].take())).collect();
    state.recycle(rows.buffers.into_iter().flatten());
    Some(parts)
}

/// Decodes wanted chunks whose members are missing; false when the result is not what the lists say.
fn reconstruct(state: &mut State, wanted: Slots, rows: &mut Rows, plan: &Plan) -> bool {
    let judgement = judge(&rows.evidence);
    let missing = wanted - plan.read_chunks;
    let using: Vec<usize> = plan.read_chunks.iter().take(state.shape().data).collect();
    resolve::decode(state, &mut rows.buffers, missing, &using);
    let chunk_bytes = state.chunk_bytes();
    missing.iter().all(|slot| {
        let truth = judgement.truth[slot];
        let is_right = !state.geometry.scheme.lists_sums()
            || truth
                .is_some_and(|entry| rows.content(slot, chunk_bytes).is_some_and(|chunk| crc32c(chunk) == entry.sum));
        rows.evidence.rows[slot].entry = truth.unwrap_or_default();
        is_right
    })
}

fn part(piece: &Piece, lost: Slots, row: Option<Buffer>) -> Part {
    let len = piece.range.len() as u64;
    match row {
        Some(row) if !lost.contains(piece.slot) => Part::Data(row, piece.range.clone()),
        _ => Part::Lost(len),
    }
}

/// More members are missing than the parities make up for, or a crash left the stripe undecided: what is left of the
/// chunks that were asked for.
async fn lost_or_whole(handle: &Handle, stripe: u64, pieces: Vec<Piece>, wanted: Slots) -> Vec<Part> {
    let (all, missing, lists, is_judged, scheme) = handle.with(|state| {
        let (missing, scheme) = (state.missing(stripe), state.geometry.scheme);
        let all = Slots::range(0, state.shape().slots()) - missing;
        let is_judged = scheme.checks_itself() && !state.unresolved.contains(&stripe);
        (all, missing, state.shape().parity_slots() - missing, is_judged, scheme)
    });
    let needs_witnesses = scheme.lists_sums() && !scheme.checks_itself();
    let present = wanted - missing;
    let lists = if is_judged { lists } else { Slots::NONE };
    let rows = rows::read(handle, stripe, if needs_witnesses { all } else { present }, lists).await;
    let judgement = judge(&rows.evidence);
    let doubtful = if is_judged { judgement.erased | judgement.lost } else { Slots::NONE };
    // A row that says nothing of itself is right if anybody else says so, or there is nobody to ask.
    let is_witnessed = |slot: usize, sum: u32| {
        let mut others = rows.evidence.claims(slot).filter(|&(by, _)| by != slot).peekable();
        !needs_witnesses || others.peek().is_none() || others.any(|(_, entry)| entry.sum == sum)
    };
    let is_right = |slot: usize| {
        let seen = &rows.evidence.rows[slot];
        let is_lost = seen.entry.version.is_lost() || doubtful.contains(slot);
        seen.is_sound() && !is_lost && is_witnessed(slot, seen.entry.sum)
    };
    let lost: Slots = wanted.iter().filter(|&slot| !present.contains(slot) || !is_right(slot)).collect();
    let mut buffers = rows.buffers;
    let parts = pieces.iter().map(|piece| part(piece, lost, buffers[piece.slot].take())).collect();
    handle.with(|state| state.recycle(buffers.into_iter().flatten()));
    parts
}

fn resolved_parts(handle: &Handle, pieces: Vec<Piece>, mut resolved: Resolved) -> Vec<Part> {
    let marked = resolved.entries.iter().enumerate().filter(|(_, entry)| entry.version.is_lost());
    let lost: Slots = resolved.lost | marked.map(|(slot, _)| slot).collect();
    let parts = pieces.iter().map(|piece| part(piece, lost, resolved.rows[piece.slot].take())).collect();
    resolved.recycle(handle);
    parts
}
