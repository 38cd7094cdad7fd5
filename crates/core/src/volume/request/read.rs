//! Reads pieces of stripes for a client: checks them, and reconstructs them where needed.

use crate::index::{StripeIndex, StripePosition};
use crate::position_set::PositionSet;
use crate::volume::block::ReadPart;
use crate::volume::integrity::judge::{is_consistent, judge};
use crate::volume::integrity::tag::ListEntry;
use crate::volume::options::SeededBug;
use crate::volume::plan::{PlanMode, StripePlan, StripeState as PlanState, Want, plan};
use crate::volume::repair::marks;
use crate::volume::repair::remains::{self, part};
use crate::volume::repair::resync;
use crate::volume::repair::stripe_repair::{self, StripeContent};
use crate::volume::request::parts::ChunkBytes;
use crate::volume::request::rows::{self, Rows, WantedRows};
use crate::volume::tasks::handle::{Guard, VolumeHandle};
use crate::volume::tasks::state::VolumeState;
use scrubjay_code::crc32c;

/// Stripes read together, at most (count); a longer request is split.
pub const STRIPES_MAX: usize = 64;

/// A stripe, and the pieces of it that a request wants, in their order.
pub type StripePieces = (StripeIndex, Vec<ChunkBytes>);

/// The outcome of the first attempt to read a stripe.
enum FirstRead {
    Parts(Vec<ReadPart>),
    /// Another task holds the stripe alone, or waits to.
    Busy,
    /// A row is missing, wrong or unproven: the whole stripe must be read and judged.
    Doubtful,
}

/// The parts that answer these wants, in their order. All stripes that no task holds alone are read at once. (A reader
/// never waits for a stripe while it holds another: two such readers could wait for each other.)
pub async fn stripes(handle: &VolumeHandle, wants: &[StripePieces]) -> Vec<ReadPart> {
    for (stripe, _) in wants.iter().filter(|_| !handle.with(|state| state.is_planted(SeededBug::ReadBeforeResync))) {
        resync::ensure_resynced(handle, *stripe).await;
    }
    let guards = wants.iter().map(|(stripe, _)| handle.share(*stripe)).collect();
    let answers = read_held(handle, wants, guards).await;
    let mut parts = Vec::with_capacity(wants.iter().map(|(_, pieces)| pieces.len()).sum());
    for (want, mut answer) in wants.iter().zip(answers) {
        if let FirstRead::Busy = answer {
            let guard = handle.lock(want.0, false).await;
            let mut answers = read_held(handle, std::slice::from_ref(want), vec![Some(guard)]).await;
            answer = answers.pop().expect("one for the one");
        }
        match answer {
            FirstRead::Parts(stripe_parts) => parts.extend(stripe_parts),
            FirstRead::Busy | FirstRead::Doubtful => parts.extend(resolved(handle, want).await),
        }
    }
    parts
}

/// Reads the stripes whose guards were granted, and releases them at the end.
async fn read_held(handle: &VolumeHandle, wants: &[StripePieces], guards: Vec<Option<Guard>>) -> Vec<FirstRead> {
    let positions_of = |pieces: &[ChunkBytes]| -> PositionSet { pieces.iter().map(|piece| piece.position).collect() };
    let is_held_and_written = |stripe: StripeIndex, guard: &Option<Guard>| {
        guard.is_some() && handle.with(|state| state.maps.written.get(stripe))
    };
    // A plan for each stripe that is locked and written; none if it is undecided, or lacks more members than it has parities.
    let plans: Vec<Option<StripePlan>> = wants
        .iter()
        .zip(&guards)
        .map(|((stripe, pieces), guard)| {
            is_held_and_written(*stripe, guard)
                .then(|| handle.with(|state| plan_read(state, *stripe, positions_of(pieces))))?
        })
        .collect();
    // One batch of reads for all plans; the results come in their order.
    let planned = wants.iter().zip(&plans).filter_map(|((stripe, _), plan)| {
        let plan = plan.as_ref()?;
        Some(WantedRows { stripe: *stripe, chunks: plan.read_chunks, appendices: plan.read_appendices })
    });
    let mut all = rows::read_together(handle, &planned.collect::<Vec<_>>()).await.into_iter();

    // A stripe without a plan is answered for its reason: busy, undecided or too much of it missing, or never written.
    let mut answers = Vec::with_capacity(wants.len());
    for (((stripe, pieces), plan), guard) in wants.iter().zip(&plans).zip(&guards) {
        let (stripe, wanted) = (*stripe, positions_of(pieces));
        answers.push(match plan {
            Some(plan) => {
                let mut rows = all.next().expect("one for each plan");
                stripe_repair::retry(handle, stripe, &mut rows).await;
                let parts = handle.with(|state| answer(state, stripe, plan, wanted, pieces, rows));
                parts.map_or(FirstRead::Doubtful, FirstRead::Parts)
            }
            None if guard.is_none() => FirstRead::Busy,
            None if is_held_and_written(stripe, guard) => {
                FirstRead::Parts(remains::read_without_reconstruction(handle, stripe, pieces, wanted).await)
            }
            None => FirstRead::Parts(unwritten(handle, stripe, pieces).await),
        });
    }
    answers
}

/// Reads a doubtful stripe whole, repairs it, and answers the pieces.
async fn resolved(handle: &VolumeHandle, (stripe, pieces): &StripePieces) -> Vec<ReadPart> {
    let _guard = handle.lock(*stripe, true).await;
    if !handle.with(|state| state.maps.written.get(*stripe)) {
        return zeros(pieces); // trimmed while it was not locked
    }
    let resolved = marks::repair_and_mark(handle, *stripe).await;
    resolved_parts(handle, pieces, resolved)
}

/// Answers pieces of a stripe that the written map calls unwritten: zeros; or lost, where a first write may have been
/// cut short and no resync will decide it (the volume is broken or read-only).
async fn unwritten(handle: &VolumeHandle, stripe: StripeIndex, pieces: &[ChunkBytes]) -> Vec<ReadPart> {
    let (needs_resync, may_have_unmapped_write) =
        handle.with(|state| (state.maps.needs_resync(stripe), state.maps.may_have_unmapped_write(stripe)));
    if needs_resync || may_have_unmapped_write && !resync::is_unwritten(handle, stripe).await {
        return pieces.iter().map(|piece| ReadPart::Lost(piece.range.len() as u64)).collect();
    }
    zeros(pieces)
}

/// Zeros for each piece.
fn zeros(pieces: &[ChunkBytes]) -> Vec<ReadPart> {
    pieces.iter().map(|piece| ReadPart::Zeros(piece.range.len() as u64)).collect()
}

fn plan_read(state: &VolumeState, stripe: StripeIndex, wanted: PositionSet) -> Option<StripePlan> {
    let missing = state.membership.missing(stripe);
    let is_undecided = state.maps.is_undecided(stripe) && !state.is_planted(SeededBug::ReadBeforeResync);
    let known = PlanState {
        is_read: wanted
            .iter()
            .filter(|&position| state.maps.read_status.is_read(state.maps.chunk(stripe, position)))
            .collect(),
        missing,
        list_rotation: stripe.get() as usize,
    };
    plan(state.geometry.scheme, state.shape(), Want::Read(wanted), known).filter(|_| !is_undecided)
}

/// The parts, if all rows that were read are sound and consistent; else `None`.
fn answer(
    state: &mut VolumeState,
    stripe: StripeIndex,
    plan: &StripePlan,
    wanted: PositionSet,
    pieces: &[ChunkBytes],
    mut rows: Rows,
) -> Option<Vec<ReadPart>> {
    let skips = state.is_planted(SeededBug::SkipOneListComparison);
    let is_fine = if skips && plan.mode == PlanMode::Reconstruct {
        rows.read.iter().all(|position| rows.evidence.rows[position].is_sound())
    } else {
        is_consistent(&rows.evidence, rows.read)
    };
    let is_fine =
        is_fine && (plan.mode != PlanMode::Reconstruct || reconstruct(state, stripe, wanted, &mut rows, plan));
    if !is_fine {
        state.io.recycle(rows.buffers.into_iter().flatten());
        return None;
    }
    let lost: PositionSet =
        wanted.iter().filter(|&position| rows.evidence.rows[position].entry.version.is_lost()).collect();
    // A sound chunk that was compared with nothing may still be stale.
    let shape = state.shape();
    let has_list = !((plan.read_chunks | plan.read_appendices) & shape.parity_set()).is_empty();
    let has_buddies = state.geometry.scheme.has_buddies() && shape.data > 1;
    if has_list || has_buddies && shape.data_set().is_subset(plan.read_chunks) {
        (wanted & rows.flushed).iter().for_each(|position| state.maps.note_read(stripe, position));
    }
    let parts = pieces.iter().map(|piece| part(state, piece, lost, rows.buffers[piece.position].take())).collect();
    state.io.recycle(rows.buffers.into_iter().flatten());
    Some(parts)
}

/// Decodes wanted chunks whose members are missing; false if the result does not match the parities' lists.
fn reconstruct(
    state: &mut VolumeState,
    stripe: StripeIndex,
    wanted: PositionSet,
    rows: &mut Rows,
    plan: &StripePlan,
) -> bool {
    let diagnosis = judge(&rows.evidence);
    let missing = wanted - plan.read_chunks;
    let using: Vec<StripePosition> = plan.read_chunks.iter().take(state.shape().data).collect();
    stripe_repair::decode(state, &mut rows.buffers, missing, &using);
    let chunk_bytes = state.chunk_bytes();
    missing.iter().all(|position| {
        let expected = diagnosis.expected[position];
        let is_right = !state.geometry.scheme.lists_sums()
            || expected.is_some_and(|entry| {
                rows.content(position, chunk_bytes).is_some_and(|chunk| crc32c(chunk) == entry.sum)
            });
        let is_marked =
            rows.content(position, chunk_bytes).is_some_and(|chunk| state.is_marked(stripe, position, chunk));
        let entry = expected.unwrap_or_default();
        let version = if is_marked { entry.version.lost() } else { entry.version };
        rows.evidence.rows[position].entry = ListEntry { version, ..entry };
        is_right
    })
}

fn resolved_parts(handle: &VolumeHandle, pieces: &[ChunkBytes], mut resolved: StripeContent) -> Vec<ReadPart> {
    let lost = resolved.all_lost();
    let parts = handle.with(|state| {
        pieces.iter().map(|piece| part(state, piece, lost, resolved.rows[piece.position].take())).collect()
    });
    resolved.recycle(handle);
    parts
}
