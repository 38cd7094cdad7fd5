//! Rebuilds a replaced or returned member: online, stripe by stripe, resumed where it stopped; each row is read back.

use crate::buffer::Buffer;
use crate::index::{StripeIndex, StripePosition};
use crate::position_set::PositionSet;
use crate::units::{MemberOffset, Nanos};
use crate::volume::disk::PlacedDisk;
use crate::volume::durable::persist;
use crate::volume::format::intent::IntentBit;
use crate::volume::format::superblock::{FailureReason, MemberState};
use crate::volume::format::uuid::Uuid;
use crate::volume::member::{MemberIndex, OpKind};
use crate::volume::repair::marks;
use crate::volume::repair::resync;
use crate::volume::repair::stripe_repair::{self, LossEvidence};
use crate::volume::request::seal::sum_and_seal;
use crate::volume::tasks::handle::{EndedOp, VolumeHandle};
use crate::volume::tasks::scheduler::WaitList;
use crate::volume::tasks::state::VolumeState;
use std::cell::Cell;
use std::rc::Rc;

/// Stripes rebuilt between two flushes of the member.
const WINDOW_STRIPES: u64 = 64;
/// Stripes rebuilt concurrently.
const STRIPES_AT_ONCE: usize = 8;
/// Windows between two superblocks that record the progress.
const WINDOWS_PER_SUPERBLOCK: u64 = 16;

/// Resumes every rebuild that was under way when the volume was stopped.
pub fn resume(handle: &VolumeHandle) {
    let unfinished: Vec<MemberIndex> = handle.with(|state| {
        let is_writable = !state.options.is_read_only;
        let members = state.membership.members.iter().enumerate().map(|(index, member)| (MemberIndex(index), member));
        let rebuilding = |state| matches!(state, MemberState::Rebuilding { .. });
        members.filter(|(_, member)| is_writable && rebuilding(member.state)).map(|(member, _)| member).collect()
    });
    for member in unfinished {
        let disk = handle.with(|state| state.membership.disk(member));
        start(handle, disk);
    }
}

/// Takes a disk in as member `member`: it gets the maps, then its rows, while the volume serves. A returned member
/// (`is_back`) keeps the regions that were not written since it left.
pub async fn take_in(handle: VolumeHandle, member: MemberIndex, uuid: Uuid, is_back: bool) {
    let is_open = handle.with(|state| {
        state.membership.take_in_pending.remove(member);
        state.membership.is_serving()
    });
    if !is_open {
        return taken_in(&handle);
    }
    handle.with(|state| {
        state.membership.members[member].state = MemberState::Rebuilding { stripes_done: 0 };
        state.membership.members[member].is_unrecorded = true;
        state.membership.members[member].has_maps = false;
        state.membership.members[member].generation_known = 0;
        state.membership.members[member].rebuilt_out_of_order.clear();
        state.membership.members[member].lacks = is_back.then(|| state.maps.intents.while_out.clone());
        // The bits of earlier reads say nothing of this disk; nor of a new one, which may be the old one, wiped at its ends only.
        state.maps.read_status.clear_all();
        state.membership.members[member].rebuild_checkpoint = 0;
        state.membership.members[member].faults.clear();
        state.membership.members[member].fault_stretch = None;
        state.membership.members[member].cache.replace_disk();
        state.membership.superblock.members[member].uuid = uuid;
        state.membership.superblock.members[member].term += 1;
        state.membership.superblock.members[member].faults = 0;
        state.membership.superblock.members[member].departure_generation = 0;
    });
    let disk = handle.with(|state| state.membership.disk(member));
    maps(&handle, disk).await;
    handle.with(|state| {
        if state.membership.is_current(disk) {
            state.membership.members[member].has_maps = true;
        }
    });
    persist::commit(&handle, |_| ()).await;
    start(&handle, disk);
    taken_in(&handle);
}

/// The take-in is over: a stop waits for it no longer.
fn taken_in(handle: &VolumeHandle) {
    handle.with(|state| {
        state.scheduler.unfinished -= 1;
        state.scheduler.wake(WaitList::Idle);
    });
}

/// Waits until everything that a crash left is resynced.
async fn wait_for_resync(handle: &VolumeHandle) {
    while handle.with(|state| state.membership.is_serving() && state.maps.pending_resync.regions().len() > 0) {
        handle.park(WaitList::Idle).await;
    }
}

/// Writes the intents and the written map to a new member, which is attached already.
async fn maps(handle: &VolumeHandle, disk: PlacedDisk) {
    // Hold all pages of the intents, so that no other task writes them meanwhile.
    while handle.with(|state| !state.maps.intents.pages_busy.is_empty()) {
        handle.park(WaitList::Intent).await;
    }
    let pages: Vec<(MemberOffset, Buffer)> = handle.with(|state| {
        let all = 0..state.geometry.intent_pages;
        state.maps.intents.pages_busy.extend(all.clone());
        let both = |page| [IntentBit::Dirty, IntentBit::WhileOut].map(|kind| persist::region_page(state, kind, page));
        all.flat_map(both).collect()
    });
    let write = |(offset, buffer)| (disk.member, OpKind::Write { offset, buffer, is_durable: true });
    let done = handle.ops_twice(pages.into_iter().map(write).collect()).await;
    handle.with(|state| {
        state.maps.intents.pages_busy.clear();
        state.scheduler.wake(WaitList::Intent);
    });
    for (disk, reason) in persist::failed(handle, done) {
        persist::fail_member(handle, disk, reason).await;
    }
    // The written map is written again on all members, so that each version of a page goes to the same place everywhere.
    handle.with(|state| {
        let all = 0..state.geometry.written_pages;
        state.maps.written_changed.extend(all.clone());
        state.maps.pages_in_one_place.extend(all);
        state.maps.flushes_both_places = true; // the other place may hold foreign data
    });
    persist::flush(handle).await;
}

fn start(handle: &VolumeHandle, disk: PlacedDisk) {
    let is_new = handle.with(|state| state.membership.rebuilds.insert(disk));
    if is_new {
        let own = handle.clone();
        handle.spawn(async move {
            run(&own, disk).await;
            own.with(|state| {
                state.membership.rebuilds.remove(&disk);
                state.scheduler.wake(WaitList::Idle);
            });
        });
    }
}

/// How the rebuild of a run of stripes ended. Ordered from best to worst: of several tasks the worst end counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RebuildEnd {
    /// The disk holds all of them.
    Done,
    /// The disk holds all but some that could not be marked as lost: try again.
    RetryLater,
    /// The disk refuses writes, or is no longer in its place, or the volume stops.
    Ended,
}

/// Pause before a stripe that could not be decided is tried again.
const UNDECIDED_PAUSE: Nanos = Nanos::from_secs(5);

async fn run(handle: &VolumeHandle, disk: PlacedDisk) {
    let mut windows = 0;
    // The recorded progress depends on the written map, of which some pages are held back until the resync is done.
    wait_for_resync(handle).await;
    // A returned member may hold rows of a first write that a crash cut short. All pages get a newer generation, so
    // that after the next crash these rows are not taken for newer than the map.
    handle.with(|state| {
        if state.geometry.scheme.has_versions() {
            state.maps.written_changed.extend(0..state.geometry.written_pages);
        }
    });
    while let Some(from) = handle.with(|state| skip(state, disk)) {
        let member = disk.member;
        let end = handle.with(|state| state.geometry.all_stripes().end);
        if from >= end {
            if checkpoint(handle, disk).await {
                handle.with(|state| {
                    state.membership.members[member].state = MemberState::Active;
                    state.membership.members[member].lacks = None;
                    if !state.membership.is_any_member_out() {
                        state.maps.intents.note_all_back();
                    }
                });
                persist::commit(handle, |_| ()).await;
            }
            return;
        }
        let to = (from + WINDOW_STRIPES).min(end);
        let end = window(handle, disk, from, to).await;
        let flushed = handle.ops(vec![(member, OpKind::Flush)]).await;
        let is_flushed = flushed.iter().all(|flushed| flushed.result.is_ok());
        // Also while the volume stops: what the disk's cache may have dropped is not on it, and no later flush would report that.
        if !is_flushed {
            persist::fail_member(handle, disk, FailureReason::Refused).await;
            return;
        }
        if end == RebuildEnd::RetryLater {
            let now = handle.with(|state| state.scheduler.now);
            handle.sleep_until(now.saturating_add(UNDECIDED_PAUSE)).await;
            continue;
        }
        if handle.with(|state| stripes_done(state, disk)).is_none() {
            return;
        }
        if end == RebuildEnd::Ended {
            persist::fail_member(handle, disk, FailureReason::Refused).await;
            return;
        }
        handle.with(|state| {
            let member = &mut state.membership.members[member];
            member.state = MemberState::Rebuilding { stripes_done: to.get() };
            member.rebuilt_out_of_order.clear();
        });
        windows += 1;
        if windows % WINDOWS_PER_SUPERBLOCK == 0 && checkpoint(handle, disk).await {
            persist::commit(handle, |_| ()).await;
        }
    }
}

/// Skips the stripes that a returned member holds already. Returns the first stripe that it does not hold.
fn skip(state: &mut VolumeState, disk: PlacedDisk) -> Option<StripeIndex> {
    let (done, end) = (StripeIndex(stripes_done(state, disk)?), state.geometry.all_stripes().end);
    let next = match &state.membership.members[disk.member].lacks {
        Some(lacks) if done < end => {
            let region = state.geometry.region_of(done);
            let next = lacks.iter().find(|&lacked| lacked >= region);
            next.map_or(end, |next| state.geometry.stripes_of_region(next).start.max(done))
        }
        _ => done,
    };
    if next > done {
        state.membership.members[disk.member].state = MemberState::Rebuilding { stripes_done: next.get() };
    }
    Some(next)
}

/// A checkpoint of a rebuild: makes the written map durable before a superblock records the progress. A stripe that was
/// trimmed meanwhile was left out, and a crash must not bring it back with a row that was never written. Returns true
/// if the disk is still being rebuilt.
async fn checkpoint(handle: &VolumeHandle, disk: PlacedDisk) -> bool {
    let done = handle.with(|state| stripes_done(state, disk));
    persist::flush(handle).await;
    handle.with(|state| {
        let is_rebuilt = stripes_done(state, disk).is_some();
        if let Some(done) = done.filter(|_| is_rebuilt) {
            state.membership.members[disk.member].rebuild_checkpoint = done;
        }
        is_rebuilt
    })
}

/// The disk's progress in stripes, if it is still in its place and being rebuilt, and the volume serves.
fn stripes_done(state: &VolumeState, disk: PlacedDisk) -> Option<u64> {
    match state.membership.members[disk.member].state {
        MemberState::Rebuilding { stripes_done }
            if state.membership.is_serving() && state.membership.disk(disk.member) == disk =>
        {
            Some(stripes_done)
        }
        _ => None,
    }
}

/// Rebuilds those of the stripes `from..to` that the disk does not hold yet.
async fn window(handle: &VolumeHandle, disk: PlacedDisk, from: StripeIndex, to: StripeIndex) -> RebuildEnd {
    let next = Rc::new(Cell::new(from));
    let running = Rc::new(Cell::new(STRIPES_AT_ONCE));
    let end = Rc::new(Cell::new(RebuildEnd::Done));
    let task = handle.current();
    for _ in 0..STRIPES_AT_ONCE {
        let (own, next, running, end) = (handle.clone(), next.clone(), running.clone(), end.clone());
        handle.spawn(async move {
            while next.get() < to && end.get() != RebuildEnd::Ended {
                if own.with(|state| stripes_done(state, disk)).is_none() {
                    end.set(RebuildEnd::Ended);
                    break;
                }
                let stripe = next.replace(next.get() + 1);
                let stripe_end = rebuild(&own, disk, stripe).await;
                end.set(end.get().max(stripe_end));
            }
            running.set(running.get() - 1);
            own.with(|state| state.scheduler.ready.push_back(task));
        });
    }
    while running.get() > 0 {
        handle.pause().await;
    }
    end.get()
}

/// Rebuilds the member's rows of one stripe, writes them and reads them back, twice at most.
async fn rebuild(handle: &VolumeHandle, disk: PlacedDisk, stripe: StripeIndex) -> RebuildEnd {
    let member = disk.member;
    resync::ensure_resynced(handle, stripe).await;
    let _guard = handle.lock(stripe, true).await;
    if handle.with(|state| !state.membership.is_current(disk)) {
        return RebuildEnd::Ended;
    }
    let own_positions: PositionSet = handle.with(|state| {
        let disk = |position| state.geometry.place(stripe, position).member;
        state.shape().positions().filter(|&position| disk(position) == member).collect()
    });
    let is_written = handle.with(|state| state.maps.written.get(stripe));
    if handle.with(|state| state.membership.holds(member, stripe)) {
        return RebuildEnd::Done;
    }
    if own_positions.is_empty() || !is_written {
        handle.with(|state| state.membership.members[member].rebuilt_out_of_order.insert(stripe));
        return RebuildEnd::Done;
    }
    let missing = || handle.with(|state| state.membership.missing(stripe));
    let before = missing();
    let has_come_back = || !(before - missing()).is_empty();
    let mut resolved = marks::repair_and_mark(handle, stripe).await;
    if !resolved.lost.is_empty() {
        // A member that returned while the others were read may have the row that was missing: nothing is decided without it.
        if has_come_back() || handle.with(|state| is_waited_for(state, stripe, own_positions)) {
            resolved.recycle(handle);
            return RebuildEnd::RetryLater;
        }
        let (checks_itself, is_exhausted) = (
            handle.with(|state| state.geometry.scheme.checks_itself()),
            matches!(resolved.loss_evidence, LossEvidence::Exhausted),
        );
        if checks_itself && !is_exhausted {
            resolved.recycle(handle);
            return mark_unrebuildable(handle, disk, stripe, own_positions).await;
        }
        // Where rows do not prove themselves, an unknown chunk must not be made to look right: it is marked as lost,
        // and then the content of the new disk is known like that of the others.
        if !checks_itself {
            marks::write_lost_marks(handle, stripe, &mut resolved).await;
        }
        resolved.recycle(handle);
        // With the lost chunks marked, the stripe may be whole.
        resolved = marks::repair_and_mark(handle, stripe).await;
        if !resolved.lost.is_empty() {
            resolved.recycle(handle);
            let is_final = checks_itself && !has_come_back();
            return if is_final {
                mark_unrebuildable(handle, disk, stripe, own_positions).await
            } else {
                RebuildEnd::RetryLater
            };
        }
    }
    let entries = resolved.entries.clone();
    let mut data = resolved.rows;
    let (positions, rows) = handle.with(|state| {
        let parities = stripe_repair::encode(state, &data);
        let mut all: Vec<_> = data.iter_mut().filter_map(Option::take).chain(parities).collect();
        let mut rows = Vec::new();
        for (position, mut row) in StripePosition::numbered(all.drain(..)) {
            if own_positions.contains(position) {
                sum_and_seal(state, stripe, position, &mut row, &entries);
                rows.push(row);
            } else {
                state.io.pool.give(row);
            }
        }
        (own_positions.iter().collect::<Vec<_>>(), rows)
    });
    let mut is_right = false;
    for _ in 0..2 {
        let ops = handle.with(|state| {
            let place = |position: StripePosition| state.geometry.place(stripe, position);
            let write = |(&position, row): (&StripePosition, &crate::buffer::Buffer)| {
                let offset = state.geometry.chunk_offset(place(position).row);
                (member, OpKind::Write { offset, buffer: row.clone(), is_durable: true })
            };
            positions.iter().zip(&rows).map(write).collect::<Vec<_>>()
        });
        let done = handle.ops_twice(ops).await;
        if done.iter().any(|done| done.result.is_err()) {
            break;
        }
        is_right = are_on_disk(handle, disk, stripe, positions.iter().copied().zip(&rows)).await;
        if is_right {
            break;
        }
    }
    handle.with(|state| {
        state.io.recycle(rows);
        if !is_right || !state.membership.is_current(disk) {
            return RebuildEnd::Ended;
        }
        state.membership.members[member].rebuilt_out_of_order.insert(stripe);
        RebuildEnd::Done
    })
}

/// Should the rebuild wait at this stripe? Yes if another of its members is out, and not replaced, that may prove the
/// lost chunk when it returns. Where rows prove themselves, going on destroys nothing: the rebuild waits only if more
/// rows are missing than there are parities.
fn is_waited_for(state: &VolumeState, stripe: StripeIndex, own_positions: PositionSet) -> bool {
    let is_out =
        |position: StripePosition| !state.membership.is_attached(state.geometry.place(stripe, position).member);
    let is_another_out =
        state.shape().positions().any(|position| !own_positions.contains(position) && is_out(position));
    let can_go_on =
        state.geometry.scheme.checks_itself() && state.membership.missing(stripe).count() <= state.shape().parity;
    is_another_out && !can_go_on
}

/// Reads these rows back from the disk, which does not count as holding them yet: do all have the content that was written?
async fn are_on_disk(
    handle: &VolumeHandle,
    disk: PlacedDisk,
    stripe: StripeIndex,
    rows: impl Iterator<Item = (StripePosition, &Buffer)>,
) -> bool {
    let (positions, rows): (Vec<StripePosition>, Vec<&Buffer>) = rows.unzip();
    let ops = handle.with(|state| {
        let read = |position: StripePosition| {
            let offset = state.geometry.chunk_offset(state.geometry.place(stripe, position).row);
            (disk.member, OpKind::Read { offset, buffer: state.io.pool.take(state.row_bytes()) })
        };
        positions.into_iter().map(read).collect()
    });
    let again = handle.ops(ops).await;
    let is_on_disk = |(done, row): (&EndedOp, &&Buffer)| {
        done.disk == disk && done.result.is_ok() && done.buffer.as_deref() == Some(&row[..])
    };
    let are_on_disk = again.iter().zip(&rows).all(is_on_disk);
    handle.with(|state| state.io.recycle(again.into_iter().filter_map(|done| done.buffer)));
    are_on_disk
}

/// Where a row cannot be rebuilt and rows prove themselves: writes a lost mark without an appendix in its place. Otherwise
/// a row that a crash left half rebuilt would look half written; and on a returned disk the old row would look whole.
async fn mark_unrebuildable(
    handle: &VolumeHandle,
    disk: PlacedDisk,
    stripe: StripeIndex,
    own_positions: PositionSet,
) -> RebuildEnd {
    if handle.with(|state| !state.membership.is_current(disk)) {
        return RebuildEnd::Ended;
    }
    let ops = handle.with(|state| {
        let write = |position| {
            let offset = state.geometry.chunk_offset(state.geometry.place(stripe, position).row);
            let mut buffer = Buffer::zeroed(state.row_bytes());
            state.mark(stripe, position).fill(&mut buffer[..state.chunk_bytes()]);
            (disk.member, OpKind::Write { offset, buffer, is_durable: true })
        };
        own_positions.iter().map(write).collect()
    });
    let done = handle.ops_twice(ops).await;
    if !persist::failed(handle, done).is_empty() || handle.with(|state| !state.membership.is_current(disk)) {
        return RebuildEnd::Ended;
    }
    handle.with(|state| state.note_loss(stripe, true));
    persist::commit_losses(handle).await;
    handle.with(|state| state.membership.members[disk.member].rebuilt_out_of_order.insert(stripe));
    RebuildEnd::Done
}
