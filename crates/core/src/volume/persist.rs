//! What a volume keeps on its members beside the rows: superblocks, intents, the written map; and flushes.
//!
//! Each is written in rounds: whoever wants something durable waits for a round that began after the wish, and one
//! round serves all who wait. The orders that matter after a crash are here: an intent before the writes it announces;
//! rows, then a flush, then the written map that vouches for them; a member's failure before the first write that
//! goes without it is acknowledged.

use super::disk::PlacedDisk;
use super::handle::{EndedOp, VolumeHandle};
use super::membership::VolumePhase;
use super::options::SeededBug;
use super::rounds::{RoundTurn, Rounds};
use super::scheduler::WaitList;
use super::state::VolumeState;
use super::wipe;
use crate::buffer::Buffer;
use crate::index::{RegionIndex, RowIndex};
use crate::position_set::MemberSet;
use crate::units::{MemberOffset, Nanos};
use crate::volume::format::intent::{self, IntentBit};
use crate::volume::format::superblock::Superblock;
use crate::volume::format::superblock::{FailureReason, MemberState};
use crate::volume::format::written;
use crate::volume::member::{DiskFault, MemberIndex, OpKind};
use std::collections::{BTreeMap, BTreeSet};

/// Pages of the written map written by one step of a flush. (In tests, whose volumes have a page, one: so they have steps.)
const PAGES_AT_ONCE: usize = if cfg!(test) { 1 } else { 256 };
/// Rows so near to the last faulty one are counted with it: a few stripes are verified at once, and not in order.
const NEIGHBOURHOOD_ROWS: u64 = 16;

/// A number that no write had before. The superblock's mark is raised in time.
pub(super) async fn next_write_number(handle: &VolumeHandle) -> u64 {
    loop {
        let number = handle.with(|state| {
            let number = state.maps.write_number;
            let is_hasty = state.is_planted(SeededBug::UseUnreservedNumbers);
            let end = if is_hasty { state.membership.superblock.write_mark } else { state.maps.write_numbers_end };
            (number < end).then(|| {
                state.maps.write_number += 1;
                number
            })
        });
        if let Some(number) = number {
            return number;
        }
        let mark = handle.with(|state| {
            state.membership.superblock.write_mark.max(state.maps.write_number) + state.options.write_numbers
        });
        commit(handle, |superblock| superblock.write_mark = mark).await;
        handle.with(|state| state.maps.write_numbers_end = state.maps.write_numbers_end.max(mark));
    }
}

/// Changes the superblock, and waits until all attached members have it. A volume that is broken or open for reading only
/// writes nothing: then this returns at once, and only this run knows of the change. Who acknowledges anything after it
/// asks whether the volume is broken first.
pub(super) async fn commit(handle: &VolumeHandle, change: impl FnOnce(&mut Superblock)) {
    let wanted = handle.with(|state| {
        change(&mut state.membership.superblock);
        state.membership.superblock_rounds.ask()
    });
    known(handle, wanted).await;
}

/// Waits until this round of superblocks is over.
async fn known(handle: &VolumeHandle, wanted: u64) {
    rounds(handle, wanted, |state| &mut state.membership.superblock_rounds, WaitList::Superblock, superblock_round)
        .await;
}

/// Waits until it is durable which members are out by now: what is acknowledged without them rests on that.
pub(super) async fn wait_failures_durable(handle: &VolumeHandle) {
    let wanted = handle.with(|state| state.membership.superblock_rounds.wanted);
    known(handle, wanted).await;
}

/// Waits for round `wanted`, running rounds if nobody else does.
async fn rounds(
    handle: &VolumeHandle,
    wanted: u64,
    of: fn(&mut VolumeState) -> &mut Rounds,
    queue: WaitList,
    round: impl AsyncFn(&VolumeHandle),
) {
    loop {
        match handle.with(|state| of(state).take(wanted)) {
            RoundTurn::Over => return,
            RoundTurn::Others => {
                handle.park(queue).await;
                continue;
            }
            RoundTurn::Mine => (),
        }
        let covered = handle.with(|state| of(state).wanted);
        round(handle).await;
        handle.with(|state| {
            of(state).end(covered);
            state.scheduler.wake(queue);
        });
    }
}

/// In this order, each step after the one before has ended:
/// 1. The copies at the starts of the active members.
/// 2. Those at their ends. If a member missed the last generation, both of its valid copies lie where this one goes: one of them is
///    whole at any time.
/// 3. Members that are being rebuilt. A superblock that only they have must not fail anybody: alone they do not speak for the
///    array (`format::assemble`).
/// 4. Members that are joining. The others must know them first: else, after a crash, each would call the other failed.
async fn superblock_round(handle: &VolumeHandle) {
    if handle.with(|state| state.membership.superblock_written.is_none() && !state.options.is_read_only) {
        let torn = wipe::torn_superblocks(handle).await;
        write_all(handle, torn).await;
    }
    let copies = handle.with(|state| {
        state.membership.superblock.generation += 1;
        for (record, member) in state.membership.superblock.members.iter_mut().zip(&state.membership.members) {
            record.state = match member.state {
                MemberState::Rebuilding { .. } => MemberState::Rebuilding { stripes_done: member.stripes_vouched },
                state => state,
            };
        }
        // A member more than can be spared is not called out: nothing is acknowledged without it, and it is needed again.
        if state.options.is_read_only || state.membership.is_broken {
            return Vec::new();
        }
        state.membership.superblock_written = Some(state.membership.superblock.clone());
        let bytes = state.geometry.member_bytes;
        let blocks = |state: &VolumeState, member: MemberIndex| {
            let superblock = state.membership.superblock.of_member(member);
            let size = state.options.bytes_of(member).unwrap_or(bytes);
            superblock.places(size).map(|offset| (state.membership.disk(member), write(offset, superblock.encode())))
        };
        let has_maps = |member: &MemberIndex| state.membership.members[*member].has_maps;
        state.membership.attached().into_iter().filter(has_maps).map(|member| blocks(state, member)).collect::<Vec<_>>()
    });
    let generation = handle.with(|state| state.membership.superblock.generation);
    let is_joining = |disk: PlacedDisk| handle.with(|state| state.membership.members[disk.member].is_joining);
    let is_active = |disk: PlacedDisk| {
        handle.with(|state| state.membership.superblock.members[disk.member].state == MemberState::Active)
    };
    let (active, rest): (Vec<_>, Vec<_>) = copies.into_iter().partition(|[(disk, _), _]| is_active(*disk));
    let (new, known): (Vec<_>, Vec<_>) = rest.into_iter().partition(|[(disk, _), _]| is_joining(*disk));
    let joining: Vec<PlacedDisk> = new.iter().map(|[(disk, _), _]| *disk).collect();
    let halves = |copies: Vec<[(PlacedDisk, OpKind); 2]>| -> (Vec<_>, Vec<_>) {
        copies.into_iter().map(|[start, end]| (start, end)).unzip()
    };
    let groups = [active, known, new].map(halves);
    let written: Vec<PlacedDisk> = groups.iter().flat_map(|(starts, _)| starts.iter().map(|(disk, _)| *disk)).collect();
    let mut failed = MemberSet::NONE;
    for copies in groups.into_iter().flat_map(|(starts, ends)| [starts, ends]) {
        let is_current = |disk: PlacedDisk| handle.with(|state| state.membership.is_current(disk));
        let copies = copies.into_iter().filter(|(disk, _)| is_current(*disk));
        failed = failed | write_all(handle, copies.map(|(disk, copy)| (disk.member, copy)).collect()).await;
    }
    handle.with(|state| {
        // Only disks that were written to, and are still in their places.
        let told = written.into_iter().filter(|disk| !failed.contains(disk.member));
        for disk in told.filter(|disk| state.membership.is_current(*disk)).collect::<Vec<_>>() {
            state.membership.members[disk.member].generation_known = generation;
            if joining.contains(&disk) {
                state.membership.members[disk.member].is_joining = false;
            }
        }
    });
}

fn write(offset: MemberOffset, buffer: Buffer) -> OpKind {
    OpKind::Write { offset, buffer, is_durable: true }
}

/// Does writes to several members. Those that fail are out when this returns, and that is made known by a later round: whoever
/// acknowledges anything waits for it ([`wait_failures_durable`]). Returns them.
pub(super) async fn write_all(handle: &VolumeHandle, ops: Vec<(MemberIndex, OpKind)>) -> MemberSet {
    let done = handle.ops_twice(ops).await;
    let failed = failed(handle, done);
    let members = failed.keys().map(|disk| disk.member).collect();
    for (disk, why) in failed {
        let wanted = handle.with(|state| {
            let is_to_be_told = detach_or_break(state, disk, why);
            is_to_be_told.then(|| state.membership.superblock_rounds.ask())
        });
        if let Some(wanted) = wanted {
            let own = handle.clone();
            handle.spawn(async move { known(&own, wanted).await });
        }
    }
    members
}

/// Gives the buffers back; the disks whose operations failed, and why they are to be taken out.
pub(super) fn failed(handle: &VolumeHandle, done: Vec<EndedOp>) -> BTreeMap<PlacedDisk, FailureReason> {
    let why = |fault| if fault == DiskFault::Medium { FailureReason::Refused } else { FailureReason::Gone };
    let failed = done.iter().filter_map(|done| Some((done.disk, why(done.result.err()?)))).collect();
    handle.with(|state| state.io.recycle(done.into_iter().filter_map(|done| done.buffer)));
    failed
}

/// Takes a member out of the volume, and returns once the others know it durably. What it held is rebuilt from the
/// others from now on. When that is too much to lose, the volume writes no more.
pub(super) async fn fail_member(handle: &VolumeHandle, disk: PlacedDisk, why: FailureReason) {
    if handle.with(|state| detach_or_break(state, disk, why)) {
        commit(handle, |_| ()).await;
    }
}

/// From here on nobody counts on this disk; where it cannot be spared, the volume is broken. True: the superblocks have to say so.
fn detach_or_break(state: &mut VolumeState, disk: PlacedDisk, why: FailureReason) -> bool {
    let member = disk.member;
    if state.membership.disk(member) != disk {
        return false; // what an old disk says does not concern the one that is in its place now
    }
    if !state.membership.is_attached(member) {
        return true; // somebody else is at it: it is known when the next round is over
    }
    if state.membership.can_spare(member) {
        state.membership.members[member].state = MemberState::Failed(why);
        state.membership.members[member].ahead.clear();
        state.membership.members[member].lacks = None;
        state.membership.superblock.members[member].left = state.membership.members[member].generation_known;
        if !state.is_planted(SeededBug::ForgetWhatWasUnderWay) {
            state.maps.intents.goes_away();
        }
        let tasks = state.io.groups.give_up(disk);
        state.scheduler.ready.extend(tasks);
        state.io.syncs.forget(disk);
        state.scheduler.wake(WaitList::Sync);
    } else {
        state.membership.is_broken = true; // it stays, to be read as far as it can be
    }
    true
}

/// Makes a region dirty on all members before something is written into it; ended by [`VolumeState::intents`]' `end`.
pub(super) async fn mark_dirty(handle: &VolumeHandle, region: RegionIndex) {
    handle.with(|state| state.maps.intents.begin(region));
    loop {
        let is_durable = handle.with(|state| {
            let is_anybody_out = state.membership.is_anybody_out();
            if is_anybody_out {
                state.maps.intents.away.set(region, true);
            }
            state.maps.intents.is_announced(region, is_anybody_out)
        });
        if is_durable {
            return;
        }
        let page = handle.with(|state| state.geometry.intent_page_of(region));
        if handle.with(|state| state.maps.intents.pages_busy.insert(page)) {
            write_intents(handle, &[page], true).await;
            handle.with(|state| {
                state.maps.intents.pages_busy.remove(&page);
                state.scheduler.wake(WaitList::Intent);
            });
        } else {
            handle.park(WaitList::Intent).await;
        }
    }
}

/// Writes all pages of the intents to all members, and those of what was written while a member was out: after a crash a
/// bit may be on one of them only, and go with it, and a page be half written.
pub(super) async fn mark_dirty_again(handle: &VolumeHandle) {
    let pages: Vec<u64> = (0..handle.with(|state| state.geometry.intent_pages)).collect();
    for told in [IntentBit::Dirty, IntentBit::WhileOut] {
        write_regions(handle, told, &pages, true).await;
    }
}

async fn write_intents(handle: &VolumeHandle, pages: &[u64], is_durable: bool) {
    write_regions(handle, IntentBit::Dirty, pages, is_durable).await;
    if handle.with(|state| state.membership.is_anybody_out()) {
        write_regions(handle, IntentBit::WhileOut, pages, is_durable).await;
    }
}

/// Writes pages of what is told of regions to all members. Nobody else writes these pages meanwhile.
async fn write_regions(handle: &VolumeHandle, told: IntentBit, pages: &[u64], is_durable: bool) {
    let (ops, written) = handle.with(|state| {
        let members = state.membership.attached();
        let mut ops = Vec::new();
        for &page in pages {
            let (offset, buffer) = region_page(state, told, page);
            ops.extend(
                members.iter().map(|&member| (member, OpKind::Write { offset, buffer: buffer.clone(), is_durable })),
            );
        }
        let is_here = |region: &RegionIndex| pages.contains(&state.geometry.intent_page_of(*region));
        (ops, state.maps.intents.of(told).iter().filter(is_here).collect::<Vec<_>>())
    });
    write_all(handle, ops).await;
    // A bit that was cleared meanwhile does not count as durable: the page may be written again without it.
    handle.with(|state| written.into_iter().for_each(|region| state.maps.intents.note_durable(told, region)));
}

/// A page of what is told of regions now, and where it lies.
pub(super) fn region_page(state: &VolumeState, told: IntentBit, page: u64) -> (MemberOffset, Buffer) {
    let (geometry, array) = (&state.geometry, state.membership.superblock.array);
    (told.offset(geometry, page), intent::encode(geometry, array, told, page, state.maps.intents.of(told)))
}

/// Cleans idle regions from time to time while there are dirty ones. What nobody may write nobody resyncs: it stays dirty.
pub(super) fn clean_later(handle: &VolumeHandle) {
    let is_mine = handle
        .with(|state| !state.options.is_read_only && !std::mem::replace(&mut state.maps.intents.is_cleaning, true));
    if !is_mine {
        return;
    }
    let own = handle.clone();
    handle.spawn(async move {
        while own.with(|state| {
            state.membership.is_serving() && state.maps.intents.dirty.iter().any(|at| state.is_decided(at))
        }) {
            let (now, idle) = own.with(|state| (state.scheduler.now, state.options.intent_idle));
            own.sleep_until(now.saturating_add(idle)).await;
            if own.with(|state| state.membership.is_serving()) {
                clean(&own, Nanos(now.0)).await;
            }
        }
        own.with(|state| state.maps.intents.is_cleaning = false);
    });
}

/// Flushes, then makes those regions clean that were not written since `before`.
pub(super) async fn clean(handle: &VolumeHandle, before: Nanos) {
    // The list is made before the flush: a region whose last stripe is resynced, or trimmed, during the flush is not durable yet.
    let covered: Vec<RegionIndex> = handle.with(|state| {
        let covered = state.maps.intents.flush_begins();
        covered.into_iter().filter(|&region| state.is_decided(region)).collect()
    });
    // Where nothing is dirty any more, an older version of a page would be believed if the newest were damaged.
    handle.with(|state| state.maps.writes_twice = true);
    if !flush(handle).await {
        return;
    }
    // A page that is being written for a new intent must not be overtaken by an older one.
    let per_page = handle.with(|state| state.geometry.regions_per_page());
    while handle.with(|state| !state.maps.intents.pages_busy.is_empty()) {
        handle.park(WaitList::Intent).await;
    }
    // What a member that is out may lack is durable before it is dirty no more.
    if handle.with(|state| state.membership.is_anybody_out()) {
        let pages: BTreeSet<u64> =
            handle.with(|state| covered.iter().map(|&region| state.geometry.intent_page_of(region)).collect());
        let pages: Vec<u64> = pages.into_iter().collect();
        handle.with(|state| state.maps.intents.pages_busy.extend(&pages));
        write_regions(handle, IntentBit::WhileOut, &pages, true).await;
        handle.with(|state| state.maps.intents.pages_busy.retain(|page| !pages.contains(page)));
    }
    let pages = handle.with(|state| {
        let pages = state.maps.intents.clean(&covered, before, per_page);
        state.maps.intents.pages_busy.extend(&pages);
        pages
    });
    write_intents(handle, &pages, true).await;
    handle.with(|state| {
        state.maps.intents.pages_busy.retain(|page| !pages.contains(page));
        state.scheduler.wake(WaitList::Intent);
    });
}

/// Everything acknowledged before this was called survives a loss of power once it returns true. A broken volume writes
/// nothing, and cannot promise that: false.
pub(super) async fn flush(handle: &VolumeHandle) -> bool {
    if handle.with(|state| state.membership.is_broken) {
        return false;
    }
    let wanted = handle.with(|state| state.maps.flush_rounds.ask());
    rounds(handle, wanted, |state| &mut state.maps.flush_rounds, WaitList::Flush, flush_round).await;
    wait_failures_durable(handle).await;
    handle.with(|state| !state.membership.is_broken && state.membership.life != VolumePhase::Stopped)
}

async fn flush_round(handle: &VolumeHandle) {
    handle.with(|state| {
        if !state.is_planted(SeededBug::SetReadBitWithoutFlush) {
            state.maps.unflushed.begin();
        }
    });
    let is_twice = handle.with(|state| std::mem::take(&mut state.maps.writes_twice));
    // What changes from now on is for the next round: under a load of first writes this one would not end.
    let mut owed = handle.with(|state| state.maps.written_changed.clone()).into_iter();
    loop {
        // The written map as it is now vouches for rows whose writes have ended: those that the flush covers.
        let first: Vec<u64> = owed.by_ref().take(PAGES_AT_ONCE).collect();
        let pages: Vec<(MemberOffset, Buffer)> = handle.with(|state| {
            first.iter().for_each(|page| assert!(state.maps.written_changed.remove(page), "it was there"));
            first.iter().map(|&page| written_page(state, page)).collect()
        });
        flush_members(handle).await;
        // Who is out was not flushed: before that is known the map must not vouch for rows that such a member lacks.
        wait_failures_durable(handle).await;
        if handle.with(|state| state.membership.is_broken) {
            // A member that cannot be spared was not flushed, and stays: what its disk may have dropped is not vouched for.
            handle.with(|state| state.maps.written_changed.extend(first.into_iter().chain(owed)));
            return;
        }
        let is_last = owed.len() == 0;
        write_pages(handle, pages).await;
        if handle.with(|state| state.membership.is_broken) {
            return;
        }
        if is_last {
            break;
        }
    }
    if is_twice {
        write_again(handle).await;
    }
    handle.with(|state| state.maps.unflushed.end());
}

/// Writes pages of which one place may say something else than the other once more.
async fn write_again(handle: &VolumeHandle) {
    loop {
        let pages: Vec<(MemberOffset, Buffer)> = handle.with(|state| {
            let is_ready = |page: &u64| !state.maps.written_changed.contains(page);
            let first: Vec<u64> =
                state.maps.written_once.iter().copied().filter(is_ready).take(PAGES_AT_ONCE).collect();
            let again = |page: u64| {
                let block = written_page(state, page);
                state.maps.written_once.remove(&page);
                block
            };
            first.into_iter().map(again).collect()
        });
        if pages.is_empty() {
            return;
        }
        write_pages(handle, pages).await;
    }
}

/// Writes pages of the written map to all members.
async fn write_pages(handle: &VolumeHandle, pages: Vec<(MemberOffset, Buffer)>) {
    let ops = handle.with(|state| {
        let members = state.membership.attached();
        let on_all = |(offset, block): &(MemberOffset, Buffer)| {
            members.iter().map(|&member| (member, write(*offset, block.clone()))).collect::<Vec<_>>()
        };
        pages.iter().flat_map(on_all).collect()
    });
    write_all(handle, ops).await;
}

/// Has all members flush their caches.
async fn flush_members(handle: &VolumeHandle) {
    let ops = handle.with(|state| if state.options.is_read_only { Vec::new() } else { state.membership.attached() });
    let done = handle.ops(ops.into_iter().map(|member| (member, OpKind::Flush)).collect()).await;
    for (disk, why) in failed(handle, done) {
        // A flush that failed says nothing about what is on the medium: the member cannot be trusted any more.
        fail_member(handle, disk, why).await;
    }
}

/// The written map's page as it is now, as its next version, and where that lies. To be written after a flush.
fn written_page(state: &mut VolumeState, page: u64) -> (MemberOffset, Buffer) {
    let generation = state.maps.next_generation(page);
    state.maps.written_once.insert(page);
    if !state.maps.is_held_back(page) {
        state.maps.written_sinces[page as usize] = generation;
    }
    let since = state.maps.written_sinces[page as usize];
    let block = written::encode(
        &state.geometry,
        state.membership.superblock.array,
        page,
        generation,
        since,
        &state.maps.written,
    );
    (state.geometry.written_page_offset(page, generation), block)
}

/// A fault was located in a row of a member. Rows beside the last one belong to the same mishap: something went over a
/// stretch of the disk, once. One with too many of them in a short time is called unreliable, and stays: a row that is
/// wrong counts for no more than one that is missing, and all of its other rows prove themselves.
pub(super) fn blame(handle: &VolumeHandle, member: MemberIndex, row: RowIndex) {
    if handle.with(|state| state.is_planted(SeededBug::TakeOutForFaults) && state.is_unreliable(member)) {
        let (own, disk) = (handle.clone(), handle.with(|state| state.membership.disk(member)));
        handle.spawn(async move { fail_member(&own, disk, FailureReason::Refused).await });
    }
    handle.with(|state| {
        let last = state.membership.members[member].fault_row.replace(row);
        if last.is_some_and(|last| last.get().abs_diff(row.get()) <= NEIGHBOURHOOD_ROWS) {
            return;
        }
        count_fault(state, member);
    });
}

/// Something was wrong on a member, once.
pub(super) fn count_fault(state: &mut VolumeState, member: MemberIndex) {
    state.membership.superblock.members[member].faults =
        state.membership.superblock.members[member].faults.saturating_add(1);
    let faults = &mut state.membership.members[member].faults;
    faults.push_back(state.scheduler.now);
    if faults.len() > state.options.faults_max {
        faults.pop_front();
    }
}
