//! Resyncs what a crash left: decides each stripe of a dirty region and makes it whole before it is read or written.
//!
//! Stripes are resynced in the background, or at once when a request needs one.

use crate::buffer::Buffer;
use crate::finding::{FindingKind, Resolution};
use crate::index::{RegionIndex, StripeIndex, StripePosition};
use crate::position_set::PositionSet;
use crate::volume::durable::persist;
use crate::volume::finding::kind_of;
use crate::volume::integrity::evidence::{Evidence, RowEvidence};
use crate::volume::integrity::judge::judge;
use crate::volume::integrity::reconcile::{Reconciliation, reconcile};
use crate::volume::integrity::scheme::Scheme;
use crate::volume::integrity::tag::{ListEntry, RowStatus, Version};
use crate::volume::member::{MemberIndex, OpKind};
use crate::volume::repair::marks;
use crate::volume::repair::settled;
use crate::volume::repair::stripe_repair::{self, LossEvidence, StripeContent};
use crate::volume::repair::taken_back;
use crate::volume::request::put;
use crate::volume::request::rows::{self, Rows};
use crate::volume::request::stripe_write;
use crate::volume::tasks::handle::VolumeHandle;
use crate::volume::tasks::scheduler::WaitList;
use crate::volume::tasks::state::VolumeState;
use scrubjay_code::crc32c;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Reads of rows that do not check themselves, at most, until two reads in a row agree (count).
const READS_MAX: usize = 16;
/// Stripes resynced concurrently in the background.
const STRIPES_AT_ONCE: usize = 16;

/// Resyncs all that a crash left, in the background, while the volume is open.
pub fn start(handle: &VolumeHandle) {
    let regions: Vec<RegionIndex> = handle.with(|state| state.maps.pending_resync.regions().collect());
    if regions.is_empty() {
        return;
    }
    let next = Rc::new(Cell::new((0, 0)));
    let regions = Rc::new(regions);
    for _ in 0..STRIPES_AT_ONCE {
        let (own, next, regions) = (handle.clone(), next.clone(), regions.clone());
        handle.with(|state| state.scheduler.unfinished += 1);
        handle.spawn(async move {
            while own.with(|state| state.membership.is_serving())
                && let Some(stripe) = own.with(|state| next_of(state, &regions, &next))
            {
                ensure_resynced(&own, stripe).await;
            }
            own.with(|state| {
                state.scheduler.unfinished -= 1;
                state.scheduler.wake(WaitList::Idle);
            });
            persist::clean_later(&own);
        });
    }
}

/// The next stripe of these regions. `next`: index of the region in `regions`, and of the stripe in that region.
fn next_of(state: &VolumeState, regions: &[RegionIndex], next: &Cell<(usize, u64)>) -> Option<StripeIndex> {
    loop {
        let (place, index) = next.get();
        let stripes = state.geometry.stripes_of_region(*regions.get(place)?);
        if stripes.start + index < stripes.end {
            next.set((place, index + 1));
            return Some(stripes.start + index);
        }
        next.set((place + 1, 0));
    }
}

/// Resyncs a stripe that a crash may have left half written, unless that is done already. No stripe may be used before.
pub async fn ensure_resynced(handle: &VolumeHandle, stripe: StripeIndex) {
    let needs_resync = || handle.with(|state| state.maps.needs_resync(stripe));
    if !needs_resync() {
        return;
    }
    let _guard = handle.lock(stripe, true).await;
    if !needs_resync() || handle.with(|state| state.membership.is_broken) {
        return;
    }
    let region = handle.with(|state| state.geometry.region_of(stripe));
    persist::mark_dirty(handle, region).await;
    resync_stripe(handle, stripe).await;
    handle.with(|state| {
        let now = state.scheduler.now;
        state.maps.intents.end(region, now);
        // Of a broken volume nothing is decided: what seems lost may be on the members that are gone.
        if !state.membership.is_broken {
            let stripes = state.geometry.stripes_of_region(region);
            state.maps.pending_resync.mark_resynced(region, stripe - stripes.start, stripes.end - stripes.start);
        }
    });
}

/// Decides what one stripe is to be, and makes it whole.
async fn resync_stripe(handle: &VolumeHandle, stripe: StripeIndex) {
    // 1. A stripe that is not in the written map, and in which no appendix shows a write, was never begun.
    let is_written = handle.with(|state| state.maps.written.get(stripe));
    if !is_written && (!handle.with(|state| state.geometry.scheme.has_versions()) || is_unwritten(handle, stripe).await)
    {
        return;
    }
    // 2. Read everything, until two reads agree: a misdirected read looks like a torn write.
    let mut rows = stripe_repair::read_all(handle, stripe).await;
    stripe_repair::retry(handle, stripe, &mut rows).await;
    read_until_alike(handle, stripe, &mut rows).await;
    if !is_written {
        handle.with(|state| discard_trimmed_rows(state, stripe, &mut rows));
    }
    // 3. Decide by versions and checksums what each chunk is to be: as it is, rebuilt, resealed, or lost.
    let mut reconciliation = reconcile(&rows.evidence);
    let mut damaged = if is_written { damaged_not_by_crash(&rows.evidence) } else { Vec::new() };
    // A mark, laid where a chunk was lost, is no fault of its disk.
    damaged.retain(|&(position, _)| handle.with(|state| !stripe_repair::is_own_mark(state, stripe, position, &rows)));
    if !is_written && (!reconciliation.lost.is_empty() || !reconciliation.resealed.is_empty()) {
        rows.recycle(handle);
        write_zeros(handle, stripe).await;
        return;
    }
    // 4. Where versions and checksums do not decide, the parity equations may.
    if !reconciliation.lost.is_empty() {
        handle.with(|state| decide_by_parity(state, &rows, &mut reconciliation));
    }
    let has_versions = handle.with(|state| state.geometry.scheme.has_versions());
    let chunk_bytes = handle.with(|state| state.chunk_bytes());
    // 5. A chunk that was marked lost before the crash stays lost, though it may look whole.
    let is_still_lost = |&position: &StripePosition| {
        let mark = handle.with(|state| state.mark(stripe, position));
        rows.content(position, chunk_bytes).is_some_and(|chunk| mark.is_in(chunk))
    };
    let still_lost: PositionSet = reconciliation.resealed.iter().filter(is_still_lost).collect();
    reconciliation.resealed = reconciliation.resealed - still_lost;
    reconciliation.lost = reconciliation.lost | still_lost;
    let mut data = handle.with(|state| settled::known_rows(state, &rows, &mut reconciliation));
    if !reconciliation.lost.is_empty() && !has_versions {
        // Without versions only the marks tell, after another crash, what this crash lost: they must be written before
        // the parities that count them.
        let lost = reconciliation.lost;
        let entries = rows.evidence.rows[..data.len()].iter().map(|row| row.entry).collect();
        let flushed = rows.flushed;
        let mut resolved = StripeContent {
            rows: data,
            entries,
            lost,
            is_clean: false,
            flushed,
            loss_evidence: LossEvidence::Exhausted,
        };
        rows.recycle(handle);
        if handle.with(|state| !state.membership.is_broken) {
            marks::write_lost_marks(handle, stripe, &mut resolved).await;
            handle.with(|state| state.maps.note_written(stripe));
        }
        resolved.recycle(handle);
        handle.with(|state| state.note_loss(stripe, true));
        persist::commit_losses(handle).await;
        report(handle, stripe, lost);
        report_damaged(handle, stripe, not_lost(damaged, lost), Vec::new()).await;
        return;
    }
    // 6. Give every chunk that is resealed or is lost a new version (under Hybrid-1 also those that go back), so that nothing older
    // can pass for it.
    let recounted = reused_versions(&rows.evidence, &reconciliation);
    let is_renewed = !(reconciliation.lost | reconciliation.resealed | recounted).is_empty();
    let number = if is_renewed { persist::next_write_number(handle).await } else { 0 };
    let (writes, superseded) = handle.with(|state| {
        let mut entries: Vec<ListEntry> = StripePosition::first(data.len())
            .map(|position| {
                let own = rows.evidence.rows[position].entry;
                if reconciliation.rebuilt.contains(position) { reconciliation.expected[position] } else { own }
            })
            .collect();
        if state.geometry.scheme.has_versions() {
            reconciliation.resealed.iter().for_each(|position| entries[position].version = Version(number));
            for position in recounted.iter() {
                let is_lost = entries[position].version.is_lost();
                entries[position].version = if is_lost { Version(number).lost() } else { Version(number) };
            }
            reconciliation.lost.iter().for_each(|position| entries[position].version = Version(number).lost());
        }
        for position in reconciliation.lost.iter() {
            let mut row = state.io.pool.take_zeroed(state.row_bytes());
            state.mark(stripe, position).fill(&mut row[..chunk_bytes]);
            data[position] = Some(row);
        }
        let superseded = taken_back::superseded(&rows.evidence, &entries);
        (settled::changed(state, stripe, data, entries, &rows), superseded)
    });
    // Of a broken volume nothing is decided: what seems lost may be on the members that are gone.
    if handle.with(|state| state.membership.is_broken) {
        let buffers = writes.into_iter().filter_map(|(_, op)| op.buffer());
        handle.with(|state| state.io.recycle(buffers));
        rows.recycle(handle);
        return;
    }
    // 7. Write what changed. A member that refuses a write fails.
    let damaged = not_lost(damaged, reconciliation.lost);
    let (mut written, taken_back) = handle.with(|state| {
        let damaged: PositionSet = damaged.iter().map(|&(position, _)| position).collect();
        (settled::copies(state, stripe, damaged, &writes), settled::copies(state, stripe, superseded, &writes))
    });
    let members: BTreeSet<MemberIndex> = writes.iter().map(|(member, _)| *member).collect();
    let done = handle.ops_twice(writes).await;
    for (disk, reason) in persist::failed(handle, done) {
        persist::fail_member(handle, disk, reason).await;
    }
    if !reconciliation.lost.is_empty() {
        handle.with(|state| state.note_loss(stripe, true));
        persist::commit_losses(handle).await;
        // A chunk once reported as lost stays lost, whatever crashes: the marks are durable before any reply.
        let done = handle.ops(members.into_iter().map(|member| (member, OpKind::Flush)).collect()).await;
        for (disk, reason) in persist::failed(handle, done) {
            persist::fail_member(handle, disk, reason).await;
        }
    }
    rows.recycle(handle);
    // 8. A row that names what was taken back would pass for the newest one if its write was lost.
    taken_back::make_sure(handle, stripe, taken_back, &mut written).await;
    handle.with(|state| {
        state.maps.note_written(stripe);
        state.shape().data_positions().for_each(|position| state.maps.note_write(stripe, position));
    });
    report(handle, stripe, reconciliation.lost);
    report_damaged(handle, stripe, damaged, written).await;
}

/// Those of these rows whose chunks are not lost: lost chunks are reported as such.
fn not_lost(damaged: Vec<(StripePosition, RowStatus)>, lost: PositionSet) -> Vec<(StripePosition, RowStatus)> {
    damaged.into_iter().filter(|&(position, _)| !lost.contains(position)).collect()
}

/// The rows of an already written stripe that are in a state that no crash leaves: a write that was cut short leaves an
/// appendix of the old row or of the new one, and both can be read and belong in this place. (Some disks cannot read a sector
/// whose write lost power: such a sector is reported as unreadable, though a crash made it so.)
fn damaged_not_by_crash(evidence: &Evidence) -> Vec<(StripePosition, RowStatus)> {
    let is_damaged = |status| {
        matches!(status, RowStatus::Unreadable | RowStatus::Corrupt | RowStatus::Elsewhere { is_whole: true, .. })
    };
    let was_written = evidence.was_written();
    let is_evidence = |status| evidence.scheme.checks_itself() && (was_written || status == RowStatus::Unreadable);
    let all = evidence.shape.positions().map(|position| (position, evidence.rows[position].status));
    all.filter(|&(_, status)| is_evidence(status) && is_damaged(status)).collect()
}

/// Reports which of these rows the resync repaired, and blames their members, as a repair does. First it flushes and
/// reads the rows back: each must equal its copy in `written`, or, without a copy, be sound.
async fn report_damaged(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    damaged: Vec<(StripePosition, RowStatus)>,
    written: Vec<(StripePosition, Buffer)>,
) {
    let positions: PositionSet = damaged.iter().map(|&(position, _)| position).collect();
    let present = handle.with(|state| positions - state.membership.missing(stripe));
    if present.is_empty() {
        return;
    }
    let is_right = |read: &Rows, position: StripePosition| match written.iter().find(|(at, _)| *at == position) {
        Some((_, row)) => read.buffers[position].as_deref() == Some(&row[..]),
        None => read.evidence.rows[position].is_sound(),
    };
    let right = stripe_repair::flush_and_read_back(handle, stripe, present, is_right).await;
    let present = handle.with(|state| {
        state.io.recycle(written.into_iter().map(|(_, row)| row));
        present - state.membership.missing(stripe)
    });
    for (position, status) in damaged.into_iter().filter(|&(position, _)| present.contains(position)) {
        let is_repaired = right.contains(position);
        let end = if is_repaired { Resolution::Repaired } else { Resolution::Reconstructed };
        let (kind, place) = handle.with(|state| {
            let kind = kind_of(status, false, &state.geometry);
            stripe_repair::record(state, stripe, position, kind, end);
            (kind, state.geometry.place(stripe, position))
        });
        persist::blame(handle, place.member, place.row);
        if let (FindingKind::MisdirectedWrite { member, offset }, true) = (kind, is_repaired) {
            handle.with(|state| state.suspect(member, offset));
        }
    }
}

/// Chunks of which some row or list names a later version than the one that they go back to. Hybrid-1 counts versions
/// by the chunk, so the chunk's next write would take that number again. If a second crash then left a row of the first
/// write, one number would name two contents, and nothing could tell them apart.
fn reused_versions(evidence: &Evidence, reconciliation: &Reconciliation) -> PositionSet {
    if evidence.scheme != Scheme::Hybrid1 {
        return PositionSet::NONE;
    }
    let is_taken_back = |&position: &StripePosition| {
        let own = evidence.rows[position].entry;
        let kept = if reconciliation.rebuilt.contains(position) { reconciliation.expected[position] } else { own };
        let mut named = evidence.claims(position).map(|(_, entry)| entry).chain([own]);
        named.any(|entry| entry.version.number() > kept.version.number())
    };
    evidence.shape.data_positions().filter(is_taken_back).collect()
}

/// Reports the chunks of a stripe that were lost by the crash.
fn report(handle: &VolumeHandle, stripe: StripeIndex, lost: PositionSet) {
    handle.with(|state| {
        lost.iter().for_each(|position| {
            stripe_repair::record(state, stripe, position, FindingKind::HalfWritten, Resolution::Lost)
        })
    });
}

/// Does no appendix of this stripe, which the written map calls unwritten, show a write since the map's page was
/// written? Then there was no first write either, or nothing is left of it. Two reads must agree: a misdirected read
/// shows nothing, and the appendix it hid would be there again after the next crash.
pub async fn is_unwritten(handle: &VolumeHandle, stripe: StripeIndex) -> bool {
    let present = handle.with(|state| PositionSet::range(0, state.shape().width()) - state.membership.missing(stripe));
    for _ in 0..2 {
        let mut rows = rows::read(handle, stripe, PositionSet::NONE, present).await;
        handle.with(|state| discard_trimmed_rows(state, stripe, &mut rows));
        let is_unwritten = rows.evidence.sound().is_empty();
        rows.recycle(handle);
        if !is_unwritten {
            return false;
        }
    }
    true
}

/// Writes a stripe whose first write was cut short: it was never acknowledged as durable, so the stripe holds zeros. From
/// the next flush on, the remains of that write cannot be believed after another crash, whichever members are missing then.
async fn write_zeros(handle: &VolumeHandle, stripe: StripeIndex) {
    let version = stripe_write::version(handle).await;
    let rows = stripe_write::first(handle, stripe, &[], version);
    if put::put(handle, stripe, rows, false).await.is_ok() {
        handle.with(|state| state.maps.note_written(stripe));
    }
}

/// Where rows do not prove themselves, and more rows are there than data chunks, the surplus parities tell whether the
/// stripe is whole: if they equal what the other rows encode to, it is, and the missing chunks are known. But where two
/// chunks or more are free, rows of different times may fit each other, too (of three data and three parity chunks: the
/// first two chunks missing, and two of the parities one write ahead). A list's checksum of a missing chunk rules that out.
fn decide_by_parity(state: &mut VolumeState, rows: &Rows, reconciliation: &mut Reconciliation) {
    let (shape, chunk_bytes) = (state.shape(), state.chunk_bytes());
    let sound = rows.evidence.sound();
    if state.geometry.scheme.checks_itself() || sound.count() <= shape.data {
        return;
    }
    let mut all: Vec<Option<Buffer>> = (0..shape.width()).map(|_| None).collect();
    for position in sound.iter() {
        all[position] = rows.buffers[position].as_ref().map(|row| {
            let mut copy = state.io.pool.take(row.len());
            copy.copy_from_slice(row);
            copy
        });
    }
    let using: Vec<StripePosition> = sound.iter().take(shape.data).collect();
    let gone = shape.data_set() - sound;
    if !gone.is_empty() {
        stripe_repair::decode(state, &mut all, gone, &using);
    }
    let parities = stripe_repair::encode(state, &all[..shape.data]);
    let fits = (sound & shape.parity_set()).iter().all(|position| {
        let row = rows.content(position, chunk_bytes);
        row == Some(&parities[position.get() - shape.data][..chunk_bytes])
    });
    let sum = |row: &Option<Buffer>| row.as_ref().map_or(0, |row| crc32c(&row[..chunk_bytes]));
    let is_listed =
        |position: StripePosition| rows.evidence.lists().any(|(_, list)| list[position].sum == sum(&all[position]));
    let is_proven = match state.geometry.scheme.lists_sums() {
        true => gone.iter().all(is_listed),
        false => gone.count() <= 1,
    };
    let expected = all[..shape.data].iter().map(|row| ListEntry { sum: sum(row), ..ListEntry::default() }).collect();
    state.io.recycle(parities.into_iter().chain(all.into_iter().flatten()));
    if fits && is_proven {
        let parities = sound & shape.parity_set();
        *reconciliation =
            Reconciliation { rebuilt: gone, parities, expected, resealed: PositionSet::NONE, lost: PositionSet::NONE };
    }
}

/// Where rows do not check themselves, a misdirected read looks like a half-written row: only a row that is the same in
/// two reads in a row is believed.
async fn read_until_alike(handle: &VolumeHandle, stripe: StripeIndex, rows: &mut Rows) {
    let scheme = rows.evidence.scheme;
    if scheme.checks_itself() || !scheme.has_appendix() || judge(&rows.evidence).is_clean() {
        return;
    }
    let mut doubtful = rows.evidence.sound();
    for _ in 0..READS_MAX {
        let mut again = rows::read(handle, stripe, doubtful, PositionSet::NONE).await;
        let differs =
            |position: &StripePosition| rows.buffers[*position].as_deref() != again.buffers[*position].as_deref();
        doubtful = doubtful.iter().filter(differs).collect();
        for position in doubtful.iter() {
            std::mem::swap(&mut rows.buffers[position], &mut again.buffers[position]);
            std::mem::swap(&mut rows.evidence.rows[position], &mut again.evidence.rows[position]);
        }
        again.recycle(handle);
    }
    doubtful.iter().for_each(|position| rows.evidence.rows[position] = RowEvidence::with_status(RowStatus::Unreadable));
}

/// In a stripe that the written map calls unwritten, only rows at or above the page's trim horizon count: older rows were
/// forgotten by a trim, and stay so.
fn discard_trimmed_rows(state: &VolumeState, stripe: StripeIndex, rows: &mut Rows) {
    let page = state.geometry.written_page_of(stripe);
    let trim_horizon = state.maps.written_trim_horizons[page as usize];
    for row in &mut rows.evidence.rows {
        let least = match &row.list {
            Some(list) => list.iter().map(|entry| entry.version.number()).min().unwrap_or(0),
            None => row.entry.version.number(),
        };
        if least < trim_horizon {
            *row = RowEvidence::with_status(RowStatus::Corrupt);
        }
    }
}
