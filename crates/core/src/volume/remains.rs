//! What is left of a stripe that cannot be resolved: more members are missing than the parities make up for, or a crash left
//! it undecided.

use super::handle::VolumeHandle;
use super::parts::ChunkBytes;
use super::rows;
use super::state::VolumeState;
use crate::buffer::Buffer;
use crate::index::StripeIndex;
use crate::position_set::PositionSet;
use crate::volume::block::ReadPart;
use crate::volume::integrity::judge::judge;

/// What answers a piece: of its row, or as lost. The answer may lie about for long, until a client takes it: a small part is
/// copied, and does not hold the row.
pub(super) fn part(state: &mut VolumeState, piece: &ChunkBytes, lost: PositionSet, row: Option<Buffer>) -> ReadPart {
    let len = piece.range.len();
    match row {
        Some(row) if !lost.contains(piece.slot) && 2 * len < row.len() => {
            let mut copy = state.pool.take(len);
            copy.copy_from_slice(&row[piece.range.clone()]);
            state.pool.give(row);
            ReadPart::Data(copy, 0..len)
        }
        Some(row) if !lost.contains(piece.slot) => ReadPart::Data(row, piece.range.clone()),
        row => {
            state.recycle(row);
            ReadPart::Lost(len as u64)
        }
    }
}

/// Of a stripe that is held, and undecided: the data chunks that cannot be read.
pub(super) async fn lost(handle: &VolumeHandle, stripe: StripeIndex) -> PositionSet {
    let (count, len) = handle.with(|state| (state.shape().data, state.chunk_bytes()));
    let pieces: Vec<ChunkBytes> = (0..count).map(|slot| ChunkBytes { slot, range: 0..len, at: 0 }).collect();
    let parts = lost_or_whole(handle, stripe, &pieces, PositionSet::range(0, count)).await;
    let mut lost = PositionSet::NONE;
    for (slot, part) in parts.into_iter().enumerate() {
        match part {
            ReadPart::Data(buffer, _) => handle.with(|state| state.pool.give(buffer)),
            ReadPart::Zeros(_) => {}
            ReadPart::Lost(_) => lost.insert(slot),
        }
    }
    lost
}

/// More members are missing than the parities make up for, or a crash left the stripe undecided: what is left of the
/// chunks that were asked for.
pub(super) async fn lost_or_whole(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    pieces: &[ChunkBytes],
    wanted: PositionSet,
) -> Vec<ReadPart> {
    let (all, missing, lists, is_judged, scheme) = handle.with(|state| {
        let (missing, scheme) = (state.missing(stripe), state.geometry.scheme);
        let all = PositionSet::range(0, state.shape().slots()) - missing;
        let is_judged = scheme.checks_itself() && !state.is_undecided(stripe);
        (all, missing, state.shape().parity_slots() - missing, is_judged, scheme)
    });
    let needs_witnesses = scheme.lists_sums() && !scheme.checks_itself();
    let present = wanted - missing;
    let lists = if is_judged { lists } else { PositionSet::NONE };
    let rows = rows::read(handle, stripe, if needs_witnesses { all } else { present }, lists).await;
    let judgement = judge(&rows.evidence);
    let doubtful = if is_judged { judgement.erased | judgement.lost } else { PositionSet::NONE };
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
    let lost: PositionSet = wanted.iter().filter(|&slot| !present.contains(slot) || !is_right(slot)).collect();
    let mut buffers = rows.buffers;
    handle.with(|state| {
        let parts = pieces.iter().map(|piece| part(state, piece, lost, buffers[piece.slot].take())).collect();
        state.recycle(buffers.into_iter().flatten());
        parts
    })
}
