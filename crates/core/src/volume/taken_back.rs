//! What a resync took back must not come again. A row that named a newer version of a chunk than the one that the stripe went back
//! to would pass for the newest row if its disk lost the write that replaced it: one lie would outvote all others.

use super::finding::{CorruptionKind, Resolution, kind_of};
use super::handle::VolumeHandle;
use super::persist;
use super::repair;
use super::rows::Rows;
use super::settled::{changed, known_rows};
use crate::buffer::Buffer;
use crate::index::{StripeIndex, StripePosition};
use crate::position_set::PositionSet;
use crate::volume::integrity::evidence::{Evidence, RowEvidence};
use crate::volume::integrity::reconcile::reconcile;
use crate::volume::integrity::tag::{ListEntry, RowStatus, Version};
use crate::volume::member::OpKind;

/// The rows that name a newer version of a chunk than these entries do, and are believed: sound data rows, and parities' lists.
pub(super) fn superseded(evidence: &Evidence, entries: &[ListEntry]) -> PositionSet {
    let is_newer = |one: ListEntry, other: ListEntry| one.version.number() > other.version.number();
    let is_own_newer = |&position: &StripePosition| {
        let row = &evidence.rows[position];
        row.is_sound() && is_newer(row.entry, entries[position.get()])
    };
    let is_list_newer = |list: &[ListEntry]| list.iter().zip(entries).any(|(&listed, &entry)| is_newer(listed, entry));
    let parities = evidence.lists().filter(|(_, list)| is_list_newer(list)).map(|(position, _)| position);
    evidence.shape.data_positions().filter(is_own_newer).chain(parities).collect()
}

/// Flushes these rows, just written, and reads them back. If any was lost, all chunks get new versions, greater than what the
/// old row names: then it is an old row like any other, which a repair rights. Returns whether they did.
pub(super) async fn make_sure(handle: &VolumeHandle, stripe: StripeIndex, rows: Vec<(StripePosition, Buffer)>) -> bool {
    let positions: PositionSet = rows.iter().map(|&(position, _)| position).collect();
    let present = handle.with(|state| positions - state.membership.missing(stripe));
    if present.is_empty() {
        return false;
    }
    let is_right = |read: &Rows, position: StripePosition| {
        rows.iter().any(|(at, row)| *at == position && read.buffers[position].as_deref() == Some(&row[..]))
    };
    let right = repair::flush_and_read_back(handle, stripe, present, is_right).await;
    let lost = handle.with(|state| {
        state.io.recycle(rows.into_iter().map(|(_, row)| row));
        present - right - state.membership.missing(stripe)
    });
    // A broken volume decides nothing: what does not answer may hold what is right.
    if lost.is_empty() || handle.with(|state| state.membership.is_broken) {
        return false;
    }
    // What else the resync wrote must not be lost when new versions are half written.
    let others =
        handle.with(|state| state.shape().positions().collect::<PositionSet>() - state.membership.missing(stripe));
    let member = |position| handle.with(|state| state.geometry.place(stripe, position).member);
    let done = handle.ops(others.iter().map(|position| (member(position), OpKind::Flush)).collect()).await;
    for (disk, reason) in persist::failed(handle, done) {
        persist::fail_member(handle, disk, reason).await;
    }
    for (position, kind) in renumber(handle, stripe, lost).await {
        let place = handle.with(|state| {
            repair::record(state, stripe, position, kind, Resolution::Reconstructed);
            state.geometry.place(stripe, position)
        });
        persist::blame(handle, place.member, place.row);
    }
    true
}

/// Writes all rows of a stripe anew, with new versions. The rows at `distrusted` prove nothing; returns what is wrong with them.
async fn renumber(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    distrusted: PositionSet,
) -> Vec<(StripePosition, CorruptionKind)> {
    let mut rows = repair::read_all(handle, stripe).await;
    let geometry = handle.with(|state| state.geometry);
    let mut wrong = Vec::with_capacity(distrusted.count());
    for position in distrusted.iter() {
        let no_evidence = RowEvidence::with_status(RowStatus::NotRead);
        let row = std::mem::replace(&mut rows.evidence.rows[position], no_evidence);
        wrong.push((position, kind_of(row.status, true, &geometry)));
    }
    let mut reconciliation = reconcile(&rows.evidence);
    let data = handle.with(|state| known_rows(state, &rows, &mut reconciliation));
    if !(reconciliation.lost | reconciliation.resealed).is_empty() {
        // Something else is wrong by now: a repair decides.
        handle.with(|state| state.io.recycle(data.into_iter().flatten()));
        rows.recycle(handle);
        return wrong;
    }
    let number = persist::next_write_number(handle).await;
    if handle.with(|state| state.membership.is_broken) {
        handle.with(|state| state.io.recycle(data.into_iter().flatten()));
        rows.recycle(handle);
        return Vec::new();
    }
    let writes = handle.with(|state| {
        let renewed = |position: StripePosition| {
            let own = rows.evidence.rows[position].entry;
            let kept = if reconciliation.rebuilt.contains(position) { reconciliation.expected[position] } else { own };
            let version = if kept.version.is_lost() { Version(number).lost() } else { Version(number) };
            ListEntry { version, ..kept }
        };
        let entries = StripePosition::first(data.len()).map(renewed).collect();
        changed(state, stripe, data, entries, &rows)
    });
    let done = handle.ops_twice(writes).await;
    for (disk, reason) in persist::failed(handle, done) {
        persist::fail_member(handle, disk, reason).await;
    }
    rows.recycle(handle);
    wrong
}
