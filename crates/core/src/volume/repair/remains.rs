//! Reads what is left of a stripe that cannot be resolved.
//!
//! Either more members are missing than the parities make up for, or a crash left it undecided.

use crate::buffer::Buffer;
use crate::index::{StripeIndex, StripePosition};
use crate::position_set::PositionSet;
use crate::volume::block::ReadPart;
use crate::volume::integrity::evidence::Evidence;
use crate::volume::integrity::judge::judge;
use crate::volume::request::parts::ChunkBytes;
use crate::volume::request::rows;
use crate::volume::tasks::handle::VolumeHandle;
use crate::volume::tasks::state::VolumeState;

/// The answer to one piece: bytes of its row, or lost. A client may hold the answer for long: a small part is copied,
/// so that it does not hold the whole row's buffer.
pub fn part(state: &mut VolumeState, piece: &ChunkBytes, lost: PositionSet, row: Option<Buffer>) -> ReadPart {
    let len = piece.range.len();
    match row {
        Some(row) if !lost.contains(piece.position) && 2 * len < row.len() => {
            let mut copy = state.io.pool.take(len);
            copy.copy_from_slice(&row[piece.range.clone()]);
            state.io.pool.give(row);
            ReadPart::Data(copy, 0..len)
        }
        Some(row) if !lost.contains(piece.position) => ReadPart::Data(row, piece.range.clone()),
        row => {
            state.io.recycle(row);
            ReadPart::Lost(len as u64)
        }
    }
}

/// The data chunks of an undecided stripe that cannot be read. The caller holds the stripe.
pub async fn lost(handle: &VolumeHandle, stripe: StripeIndex) -> PositionSet {
    let (count, len) = handle.with(|state| (state.shape().data, state.chunk_bytes()));
    let pieces: Vec<ChunkBytes> =
        StripePosition::first(count).map(|position| ChunkBytes { position, range: 0..len, at: 0 }).collect();
    let parts = read_without_reconstruction(handle, stripe, &pieces, PositionSet::range(0, count)).await;
    let mut lost = PositionSet::NONE;
    for (position, part) in StripePosition::numbered(parts) {
        match part {
            ReadPart::Data(buffer, _) => handle.with(|state| state.io.pool.give(buffer)),
            ReadPart::Zeros(_) => {}
            ReadPart::Lost(_) => lost.insert(position),
        }
    }
    lost
}

/// Do all lists that can be believed, at least one, name a newer version of this data row?
fn is_older_than_all(evidence: &Evidence, position: StripePosition) -> bool {
    let own = evidence.rows[position].entry.version.number();
    let mut named = evidence.lists().map(|(_, list)| list[position].version.number()).peekable();
    evidence.scheme.has_versions() && named.peek().is_some() && named.all(|number| number > own)
}

/// Answers the wanted pieces as far as their own rows prove them, without reconstruction: more members are missing than
/// the parities make up for, or a crash left the stripe undecided.
pub async fn read_without_reconstruction(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    pieces: &[ChunkBytes],
    wanted: PositionSet,
) -> Vec<ReadPart> {
    let (all, missing, lists, is_undecided, scheme) = handle.with(|state| {
        let (missing, scheme) = (state.membership.missing(stripe), state.geometry.scheme);
        let all = PositionSet::range(0, state.shape().width()) - missing;
        (all, missing, state.shape().parity_set() - missing, state.maps.is_undecided(stripe), scheme)
    });
    // A row that does not show that it is outdated needs others that say so: one that does not check itself, and one without
    // a version where a crash left the stripe undecided. All rows are read then, so that any part of a stripe is judged alike.
    let needs_witnesses = scheme.lists_sums() && (!scheme.checks_itself() || (is_undecided && !scheme.has_versions()));
    let present = wanted - missing;
    let lists = if scheme.checks_itself() && !needs_witnesses { lists } else { PositionSet::NONE };
    let rows = rows::read(handle, stripe, if needs_witnesses { all } else { present }, lists).await;
    let diagnosis = judge(&rows.evidence);
    let doubtful = match (scheme.checks_itself(), is_undecided) {
        (true, false) => diagnosis.erased | diagnosis.lost,
        // A crash may have cut a write short: some lists may be newer than the row, or older. But where all lists that
        // are left are newer, the row's last write may have been lost, long before the crash.
        (true, true) => wanted.iter().filter(|&position| is_older_than_all(&rows.evidence, position)).collect(),
        (false, _) => PositionSet::NONE,
    };
    // Such a row counts as right if another row claims the same sum for it, or no other row has a claim.
    let is_witnessed = |position: StripePosition, sum: u32| {
        let mut other_claims = rows.evidence.claims(position).filter(|&(claimant, _)| claimant != position).peekable();
        !needs_witnesses || other_claims.peek().is_none() || other_claims.any(|(_, entry)| entry.sum == sum)
    };
    let is_right = |position: StripePosition| {
        let seen = &rows.evidence.rows[position];
        let is_lost = seen.entry.version.is_lost() || doubtful.contains(position);
        seen.is_sound() && !is_lost && is_witnessed(position, seen.entry.sum)
    };
    let lost: PositionSet =
        wanted.iter().filter(|&position| !present.contains(position) || !is_right(position)).collect();
    let mut buffers = rows.buffers;
    handle.with(|state| {
        let parts = pieces.iter().map(|piece| part(state, piece, lost, buffers[piece.position].take())).collect();
        state.io.recycle(buffers.into_iter().flatten());
        parts
    })
}
