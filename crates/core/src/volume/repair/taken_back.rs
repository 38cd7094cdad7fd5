//! What a resync took back must not come again. A row that named a newer version of a chunk than the one that the stripe went back
//! to would pass for the newest row if its disk lost the write that replaced it: one lie would outvote all others.

use crate::buffer::Buffer;
use crate::finding::{FindingKind, Resolution};
use crate::index::{StripeIndex, StripePosition};
use crate::position_set::PositionSet;
use crate::volume::durable::persist;
use crate::volume::finding::kind_of;
use crate::volume::integrity::evidence::{Evidence, RowEvidence};
use crate::volume::integrity::reconcile::reconcile;
use crate::volume::integrity::tag::{ListEntry, RowStatus, Version};
use crate::volume::member::OpKind;
use crate::volume::repair::settled::{changed, copies, known_rows};
use crate::volume::repair::stripe_repair;
use crate::volume::request::rows::Rows;
use crate::volume::tasks::handle::VolumeHandle;

/// The rows that name a newer version of a chunk than these entries do, and are believed: sound data rows, and parities' lists.
pub fn superseded(evidence: &Evidence, entries: &[ListEntry]) -> PositionSet {
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
/// old row names: then it is an old row like any other, which a repair rights. `written`, rows of the same resync, becomes what the
/// stripe's rows are then.
pub async fn make_sure(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    rows: Vec<(StripePosition, Buffer)>,
    written: &mut Vec<(StripePosition, Buffer)>,
) {
    let positions = rows.iter().map(|&(position, _)| position).collect();
    let lost = lost_writes(handle, stripe, positions, &rows).await;
    handle.with(|state| state.io.recycle(rows.into_iter().map(|(_, row)| row)));
    // A broken volume decides nothing: what does not answer may hold what is right.
    if lost.is_empty() || handle.with(|state| state.membership.is_broken) {
        return;
    }
    // What else the resync wrote must not be lost when new versions are half written.
    let all = handle.with(|state| state.shape().positions().collect());
    flush(handle, stripe, all).await;
    let Renumbered { wrong, rows: renewed } = renumber(handle, stripe, lost).await;
    let mut still_lost = lost;
    if !renewed.is_empty() {
        still_lost = lost_writes(handle, stripe, lost, &renewed).await;
        let outdated = std::mem::replace(written, renewed);
        handle.with(|state| state.io.recycle(outdated.into_iter().map(|(_, row)| row)));
    }
    // It may have broken meanwhile: then nothing was decided, and nobody is blamed.
    let present = handle.with(|state| match state.membership.is_broken {
        true => PositionSet::NONE,
        false => lost - state.membership.missing(stripe),
    });
    for (position, kind) in wrong.into_iter().filter(|&(position, _)| present.contains(position)) {
        let end = if still_lost.contains(position) { Resolution::Reconstructed } else { Resolution::Repaired };
        let place = handle.with(|state| {
            stripe_repair::record(state, stripe, position, kind, end);
            state.geometry.place(stripe, position)
        });
        persist::blame(handle, place.member, place.row);
    }
}

async fn flush(handle: &VolumeHandle, stripe: StripeIndex, positions: PositionSet) {
    let ops = handle.with(|state| {
        let present = positions - state.membership.missing(stripe);
        present.iter().map(|position| (state.geometry.place(stripe, position).member, OpKind::Flush)).collect()
    });
    let done = handle.ops(ops).await;
    for (disk, reason) in persist::failed(handle, done) {
        persist::fail_member(handle, disk, reason).await;
    }
}

/// Those of these positions whose members flushed, and do not hold their row of `rows`.
async fn lost_writes(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    positions: PositionSet,
    rows: &[(StripePosition, Buffer)],
) -> PositionSet {
    let present = handle.with(|state| positions - state.membership.missing(stripe));
    if present.is_empty() {
        return PositionSet::NONE;
    }
    let is_right = |read: &Rows, position: StripePosition| {
        rows.iter().any(|(at, row)| *at == position && read.buffers[position].as_deref() == Some(&row[..]))
    };
    let right = stripe_repair::flush_and_read_back(handle, stripe, present, is_right).await;
    handle.with(|state| present - right - state.membership.missing(stripe))
}

struct Renumbered {
    /// What is wrong with the rows that were not trusted.
    wrong: Vec<(StripePosition, FindingKind)>,
    /// The rows that were written; none if nothing had to be, or could be.
    rows: Vec<(StripePosition, Buffer)>,
}

/// Writes all rows of a stripe anew, with new versions, if one of the rows at `distrusted` may be believed by a later read. They
/// themselves prove nothing here.
async fn renumber(handle: &VolumeHandle, stripe: StripeIndex, distrusted: PositionSet) -> Renumbered {
    let mut rows = stripe_repair::read_all(handle, stripe).await;
    let geometry = handle.with(|state| state.geometry);
    let mut renumbered = Renumbered { wrong: Vec::with_capacity(distrusted.count()), rows: Vec::new() };
    let mut may_be_believed = false;
    for position in distrusted.iter() {
        let no_evidence = RowEvidence::with_status(RowStatus::NotRead);
        let row = std::mem::replace(&mut rows.evidence.rows[position], no_evidence);
        renumbered.wrong.push((position, kind_of(row.status, true, &geometry)));
        // A row that could not be read may be the newer one when it can be read again.
        may_be_believed |=
            row.list.is_some() || matches!(row.status, RowStatus::Sound | RowStatus::Unreadable | RowStatus::NotRead);
    }
    let mut reconciliation = reconcile(&rows.evidence);
    let data = handle.with(|state| known_rows(state, &rows, &mut reconciliation));
    let is_decided = (reconciliation.lost | reconciliation.resealed).is_empty(); // else a repair decides
    let number = if may_be_believed && is_decided { persist::next_write_number(handle).await } else { 0 };
    if number == 0 || handle.with(|state| state.membership.is_broken) {
        handle.with(|state| state.io.recycle(data.into_iter().flatten()));
        rows.recycle(handle);
        return renumbered;
    }
    let (writes, copies) = handle.with(|state| {
        let renewed = |position: StripePosition| {
            let own = rows.evidence.rows[position].entry;
            let kept = if reconciliation.rebuilt.contains(position) { reconciliation.expected[position] } else { own };
            let version = if kept.version.is_lost() { Version(number).lost() } else { Version(number) };
            ListEntry { version, ..kept }
        };
        let entries = StripePosition::first(data.len()).map(renewed).collect();
        let writes = changed(state, stripe, data, entries, &rows);
        let copies = copies(state, stripe, state.shape().positions().collect(), &writes);
        (writes, copies)
    });
    let done = handle.ops_twice(writes).await;
    for (disk, reason) in persist::failed(handle, done) {
        persist::fail_member(handle, disk, reason).await;
    }
    rows.recycle(handle);
    Renumbered { rows: copies, ..renumbered }
}
