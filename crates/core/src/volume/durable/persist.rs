//! Makes durable what a volume keeps on its members besides the rows: superblocks, intents, the written map; and flushes.
//!
//! Superblocks and flushes are done in rounds: a task that needs something durable waits for a round that began after
//! its request, and one round serves all waiting tasks. This file keeps the orders that matter after a crash: an intent
//! before the writes it announces; rows, then a flush, then the written map that vouches for them; the record of a
//! member's failure before the acknowledgement of the first write that omits that member.

use crate::buffer::Buffer;
use crate::index::{RegionIndex, RowIndex};
use crate::position_set::MemberSet;
use crate::units::{MemberOffset, Nanos};
use crate::volume::disk::PlacedDisk;
use crate::volume::durable::rounds::{RoundRole, Rounds};
use crate::volume::format::geometry::MetadataArea;
use crate::volume::format::intent::{self, IntentBit};
use crate::volume::format::superblock::Superblock;
use crate::volume::format::superblock::{FailureReason, MemberState};
use crate::volume::format::written;
use crate::volume::member::{DiskFault, MemberIndex, OpKind};
use crate::volume::membership::VolumePhase;
use crate::volume::options::SeededBug;
use crate::volume::repair::wipe;
use crate::volume::tasks::handle::{EndedOp, VolumeHandle};
use crate::volume::tasks::scheduler::WaitList;
use crate::volume::tasks::state::VolumeState;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Pages of the written map that one step of a flush writes. (1 in tests, whose volumes have few pages, so that their
/// flushes have steps.)
const PAGES_AT_ONCE: usize = if cfg!(test) { 1 } else { 256 };
/// A fault at most this many rows from a stretch of faults is counted with it: stripes are verified a few at a time, and
/// out of order.
const NEIGHBOURHOOD_ROWS: u64 = 16;
/// Rows of one stretch, at most. One mishap may damage many rows in a row; without a limit, a disk that is bad from one end to
/// the other would have one fault.
const STRETCH_ROWS: u64 = 1024;

/// Returns a write number that no write had before. Reserves more numbers in the superblock first where needed.
pub async fn next_write_number(handle: &VolumeHandle) -> u64 {
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

/// Changes the superblock, and waits until all attached members have it durably. A volume that is broken or open for
/// reading only writes nothing: then this returns at once, and the change exists in memory only. So a caller that
/// acknowledges anything afterwards must check first that the volume is not broken.
pub async fn commit(handle: &VolumeHandle, change: impl FnOnce(&mut Superblock)) {
    let wanted = handle.with(|state| {
        change(&mut state.membership.superblock);
        state.membership.superblock_rounds.request()
    });
    wait_superblock_round(handle, wanted).await;
}

/// Makes the register of losses durable, if it has changed.
pub async fn commit_losses(handle: &VolumeHandle) {
    let is_changed =
        handle.with(|state| state.is_writable() && std::mem::replace(&mut state.findings.are_losses_unwritten, false));
    if is_changed {
        commit(handle, |_| ()).await;
    }
}

/// Waits until this round of superblocks is over.
async fn wait_superblock_round(handle: &VolumeHandle, wanted: u64) {
    rounds(handle, wanted, |state| &mut state.membership.superblock_rounds, WaitList::Superblock, superblock_round)
        .await;
}

/// Waits until the superblocks record durably which members are out now. What is acknowledged without those members
/// depends on that record.
pub async fn wait_failures_durable(handle: &VolumeHandle) {
    let wanted = handle.with(|state| state.membership.superblock_rounds.wanted);
    wait_superblock_round(handle, wanted).await;
}

/// Waits for round `wanted`; runs rounds itself while no other task does.
async fn rounds(
    handle: &VolumeHandle,
    wanted: u64,
    rounds_of: fn(&mut VolumeState) -> &mut Rounds,
    queue: WaitList,
    round: impl AsyncFn(&VolumeHandle),
) {
    loop {
        match handle.with(|state| rounds_of(state).take(wanted)) {
            RoundRole::Over => return,
            RoundRole::Wait => {
                handle.park(queue).await;
                continue;
            }
            RoundRole::Run => (),
        }
        let covered = handle.with(|state| rounds_of(state).wanted);
        round(handle).await;
        handle.with(|state| {
            rounds_of(state).end(covered);
            state.scheduler.wake(queue);
        });
    }
}

/// A round that writes a generation of the superblock.
struct SuperblockRound {
    /// The generation.
    generation: u64,
    /// The copies, each step to be written after the one before has ended:
    /// - to the starts of the active members;
    /// - to their ends. If a member missed the last generation, both of its valid copies lie where this one goes: one of them is
    ///   whole at any time;
    /// - to the starts and the ends of members that are being rebuilt. A superblock that only they have must not fail another member:
    ///   alone they do not speak for the array (`format::assemble`);
    /// - to those of members that the others do not name yet. They must know them first: otherwise, after a crash, each side would
    ///   call the other failed.
    steps: [Vec<(PlacedDisk, OpKind)>; 6],
    /// The members that the others do not name yet.
    unrecorded: Vec<PlacedDisk>,
}

/// Begins a generation: no step has a copy where none may be written.
fn plan_round(state: &mut VolumeState) -> SuperblockRound {
    let (membership, options) = (&mut state.membership, &state.options);
    membership.superblock.generation += 1;
    for (record, member) in membership.superblock.members.iter_mut().zip(&membership.members) {
        record.state = match member.state {
            MemberState::Rebuilding { .. } => MemberState::Rebuilding { stripes_done: member.rebuild_checkpoint },
            state => state,
        };
    }
    let generation = membership.superblock.generation;
    let mut round = SuperblockRound { generation, steps: Default::default(), unrecorded: Vec::new() };
    // Here more members failed than can be spared. The last one is not recorded as failed: nothing is acknowledged
    // without it, and the array needs it to start again.
    if options.is_read_only || membership.is_broken {
        return round;
    }
    membership.superblock_written = Some(membership.superblock.clone());
    for member in membership.attached().into_iter().filter(|member| membership.members[*member].has_maps) {
        let disk = membership.disk(member);
        let group = match membership.superblock.members[member].state {
            MemberState::Active => 0,
            _ if membership.members[member].is_unrecorded => 2,
            _ => 1,
        };
        if group == 2 {
            round.unrecorded.push(disk);
        }
        let superblock = membership.superblock.of_member(member);
        let places = superblock.places(options.bytes_of(member).unwrap_or(state.geometry.member_bytes));
        for (step, offset) in round.steps[2 * group..].iter_mut().zip(places) {
            step.push((disk, write(offset, superblock.encode())));
        }
    }
    round
}

/// Writes a generation of the superblock.
async fn superblock_round(handle: &VolumeHandle) {
    if handle.with(|state| state.membership.superblock_written.is_none() && !state.options.is_read_only) {
        let torn = wipe::torn_superblocks(handle).await;
        write_all(handle, torn).await;
    }
    let SuperblockRound { generation, steps, unrecorded } = handle.with(plan_round);
    let written: Vec<PlacedDisk> = steps.iter().step_by(2).flatten().map(|(disk, _)| *disk).collect();
    let mut failed = MemberSet::NONE;
    for step in steps {
        let is_current = |disk: PlacedDisk| handle.with(|state| state.membership.is_current(disk));
        let copies = step.into_iter().filter(|(disk, _)| is_current(*disk));
        failed = failed | write_all(handle, copies.map(|(disk, copy)| (disk.member, copy)).collect()).await;
    }
    handle.with(|state| {
        // Only disks that were written to, and are still in their places.
        let holders = written.into_iter().filter(|disk| !failed.contains(disk.member));
        for disk in holders.filter(|disk| state.membership.is_current(*disk)).collect::<Vec<_>>() {
            state.membership.members[disk.member].generation_known = generation;
            if unrecorded.contains(&disk) {
                state.membership.members[disk.member].is_unrecorded = false;
            }
        }
    });
}

fn write(offset: MemberOffset, buffer: Buffer) -> OpKind {
    OpKind::Write { offset, buffer, is_durable: true }
}

/// Writes to several members. Members that fail are out when this returns, or, where one cannot be
/// spared, the volume is broken, and it stays; a later superblock round records the former, so a
/// task waits for it before it acknowledges anything ([`wait_failures_durable`]). Returns the members that failed.
pub async fn write_all(handle: &VolumeHandle, ops: Vec<(MemberIndex, OpKind)>) -> MemberSet {
    let done = handle.ops_twice(ops).await;
    let failed = failed(handle, done);
    let members = failed.keys().map(|disk| disk.member).collect();
    for (disk, reason) in failed {
        let wanted = handle.with(|state| {
            let must_be_recorded = detach_or_break(state, disk, reason);
            must_be_recorded.then(|| state.membership.superblock_rounds.request())
        });
        if let Some(wanted) = wanted {
            let own = handle.clone();
            handle.spawn(async move { wait_superblock_round(&own, wanted).await });
        }
    }
    members
}

/// Takes the buffers back. Returns the disks whose operations failed, each with the reason for taking it out.
pub fn failed(handle: &VolumeHandle, done: Vec<EndedOp>) -> BTreeMap<PlacedDisk, FailureReason> {
    let reason = |fault| if fault == DiskFault::Medium { FailureReason::Refused } else { FailureReason::Gone };
    let failed = done.iter().filter_map(|done| Some((done.disk, reason(done.result.err()?)))).collect();
    handle.with(|state| state.io.recycle(done.into_iter().filter_map(|done| done.buffer)));
    failed
}

/// Takes a member out of the volume, and returns when the other members' superblocks record it durably. From then on its
/// chunks are reconstructed from the other members. If the member cannot be spared, the volume is broken and stops writing.
pub async fn fail_member(handle: &VolumeHandle, disk: PlacedDisk, reason: FailureReason) {
    if handle.with(|state| detach_or_break(state, disk, reason)) {
        commit(handle, |_| ()).await;
    }
}

/// Stops using this disk; if it cannot be spared, marks the volume broken. Returns true if the superblocks have to record it.
fn detach_or_break(state: &mut VolumeState, disk: PlacedDisk, reason: FailureReason) -> bool {
    let member = disk.member;
    if state.membership.disk(member) != disk {
        return false; // an earlier disk's failure does not concern the disk that is in its place now
    }
    if !state.membership.is_attached(member) {
        return true; // another task is taking it out; the next round records it
    }
    if state.membership.can_spare(member) {
        state.membership.members[member].state = MemberState::Failed(reason);
        state.membership.members[member].rebuilt_out_of_order.clear();
        state.membership.members[member].lacks = None;
        state.membership.superblock.members[member].departure_generation =
            state.membership.members[member].generation_known;
        if !state.is_planted(SeededBug::ForgetWhatWasUnderWay) {
            state.maps.intents.note_member_out();
        }
        let tasks = state.io.groups.give_up(disk);
        state.scheduler.ready.extend(tasks);
        state.io.syncs.forget(disk);
        state.scheduler.wake(WaitList::Sync);
    } else {
        state.membership.is_broken = true; // it stays attached, to be read as far as possible
    }
    true
}

/// Makes a region dirty on all members before something is written into it. The caller ends the write with `Intents::end`.
pub async fn mark_dirty(handle: &VolumeHandle, region: RegionIndex) {
    handle.with(|state| state.maps.intents.begin(region));
    loop {
        let is_durable = handle.with(|state| {
            let is_any_member_out = state.membership.is_any_member_out();
            if is_any_member_out {
                state.maps.intents.while_out.set(region, true);
            }
            state.maps.intents.is_announced(region, is_any_member_out)
        });
        if is_durable {
            return;
        }
        let page = handle.with(|state| state.geometry.intent_page_of(region));
        if handle.with(|state| state.maps.intents.pages_busy.insert(page)) {
            write_intents(handle, &[page]).await;
            handle.with(|state| {
                state.maps.intents.pages_busy.remove(&page);
                state.scheduler.wake(WaitList::Intent);
            });
        } else {
            handle.park(WaitList::Intent).await;
        }
    }
}

/// Writes all pages of the intents, and of the regions written while a member was out, to all members. After a crash a
/// bit may be on one member only, and be lost with that member; or a page may be half written.
pub async fn mark_dirty_again(handle: &VolumeHandle) {
    let pages: Vec<u64> = (0..handle.with(|state| state.geometry.intent_pages)).collect();
    for kind in [IntentBit::Dirty, IntentBit::WhileOut] {
        write_regions(handle, kind, &pages).await;
    }
}

async fn write_intents(handle: &VolumeHandle, pages: &[u64]) {
    write_regions(handle, IntentBit::Dirty, pages).await;
    if handle.with(|state| state.membership.is_any_member_out()) {
        write_regions(handle, IntentBit::WhileOut, pages).await;
    }
}

/// Writes these pages of one kind of region bit to all members. The caller holds them in `pages_busy`, or the volume is not
/// open yet, so no other task writes them meanwhile.
async fn write_regions(handle: &VolumeHandle, kind: IntentBit, pages: &[u64]) {
    let (ops, written) = handle.with(|state| {
        let members = state.membership.attached();
        let mut ops = Vec::new();
        for &page in pages {
            let (offset, buffer) = region_page(state, kind, page);
            ops.extend(members.iter().map(|&member| (member, write(offset, buffer.clone()))));
        }
        let is_on_these_pages = |region: &RegionIndex| pages.contains(&state.geometry.intent_page_of(*region));
        (ops, state.maps.intents.bits_of(kind).iter().filter(is_on_these_pages).collect::<Vec<_>>())
    });
    write_all(handle, ops).await;
    // A bit that was cleared meanwhile does not count as durable: the page may have been written again without it.
    handle.with(|state| written.into_iter().for_each(|region| state.maps.intents.note_durable(kind, region)));
}

/// The current content of a page of one kind of region bit, and its offset on each member.
pub fn region_page(state: &VolumeState, kind: IntentBit, page: u64) -> (MemberOffset, Buffer) {
    let (geometry, array) = (&state.geometry, state.membership.superblock.array);
    (
        geometry.page_offset(kind.area(), page, 0),
        intent::encode(geometry, array, kind, page, state.maps.intents.bits_of(kind)),
    )
}

/// Starts a task, unless it runs already, that makes idle regions clean from time to time while any dirty region can
/// become clean. A volume open for reading only starts none: nothing is resynced there, and its dirty regions stay dirty.
pub fn clean_later(handle: &VolumeHandle) {
    let is_new = handle
        .with(|state| !state.options.is_read_only && !std::mem::replace(&mut state.maps.intents.is_cleaning, true));
    if !is_new {
        return;
    }
    let own = handle.clone();
    handle.spawn(async move {
        while own.with(|state| {
            state.membership.is_serving() && state.maps.intents.dirty.iter().any(|at| state.is_region_resynced(at))
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

/// Flushes, then makes clean the fully resynced regions whose last write ended at `before` or earlier ([`Nanos::MAX`]: whenever).
pub async fn clean(handle: &VolumeHandle, before: Nanos) {
    // The list is made before the flush: a region whose last stripe is resynced, or trimmed, during the flush is not durable yet.
    let covered: Vec<RegionIndex> = handle.with(|state| {
        let covered = state.maps.intents.flush_begins();
        covered.into_iter().filter(|&region| state.is_region_resynced(region)).collect()
    });
    // Once no region is dirty, a start that finds the newest version of a page damaged would believe the older one: write both places.
    handle.with(|state| state.maps.flushes_both_places = true);
    if !flush(handle).await {
        return;
    }
    // An older version of a page must not overtake one that is being written for a new intent.
    let per_page = handle.with(|state| state.geometry.regions_per_page());
    while handle.with(|state| !state.maps.intents.pages_busy.is_empty()) {
        handle.park(WaitList::Intent).await;
    }
    // What an absent member may lack is durable in the other bits before the dirty bit is cleared.
    if handle.with(|state| state.membership.is_any_member_out()) {
        let pages: BTreeSet<u64> =
            handle.with(|state| covered.iter().map(|&region| state.geometry.intent_page_of(region)).collect());
        let pages: Vec<u64> = pages.into_iter().collect();
        handle.with(|state| state.maps.intents.pages_busy.extend(&pages));
        write_regions(handle, IntentBit::WhileOut, &pages).await;
        handle.with(|state| state.maps.intents.pages_busy.retain(|page| !pages.contains(page)));
    }
    let pages = handle.with(|state| {
        let pages = state.maps.intents.clean(&covered, before, per_page);
        state.maps.intents.pages_busy.extend(&pages);
        pages
    });
    write_intents(handle, &pages).await;
    handle.with(|state| {
        state.maps.intents.pages_busy.retain(|page| !pages.contains(page));
        state.scheduler.wake(WaitList::Intent);
    });
}

/// Flushes. Once it returns true, everything acknowledged before the call survives a loss of power. A broken volume
/// writes nothing and cannot promise that: false.
pub async fn flush(handle: &VolumeHandle) -> bool {
    if handle.with(|state| state.membership.is_broken) {
        return false;
    }
    let wanted = handle.with(|state| state.maps.flush_rounds.request());
    rounds(handle, wanted, |state| &mut state.maps.flush_rounds, WaitList::Flush, flush_round).await;
    wait_failures_durable(handle).await;
    handle.with(|state| !state.membership.is_broken && state.membership.phase != VolumePhase::Stopped)
}

async fn flush_round(handle: &VolumeHandle) {
    handle.with(|state| {
        if !state.is_planted(SeededBug::SetReadBitWithoutFlush) {
            state.maps.unflushed.begin();
        }
    });
    let flushes_both_places = handle.with(|state| std::mem::take(&mut state.maps.flushes_both_places));
    // Pages that change from now on are left to the next round: under a load of first writes this round would never end.
    let mut owed = handle.with(|state| state.maps.written_changed.clone()).into_iter();
    loop {
        // The map is encoded before the flush: so it vouches only for rows whose writes have ended, which the flush covers.
        let first: Vec<u64> = owed.by_ref().take(PAGES_AT_ONCE).collect();
        let pages: Vec<(MemberOffset, Buffer)> = handle.with(|state| {
            first.iter().for_each(|page| assert!(state.maps.written_changed.remove(page), "it was there"));
            first.iter().map(|&page| written_page(state, page)).collect()
        });
        flush_members(handle).await;
        // Members that are out were not flushed: until the superblocks record that, the map must not vouch for rows that they lack.
        wait_failures_durable(handle).await;
        if handle.with(|state| state.membership.is_broken) {
            // A member that cannot be spared was not flushed, and stays: the map must not vouch for what its disk may have dropped.
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
    if flushes_both_places {
        write_again(handle).await;
    }
    handle.with(|state| state.maps.unflushed.end());
}

/// Writes once more the pages whose two places may differ, so that both hold the same bits.
async fn write_again(handle: &VolumeHandle) {
    loop {
        let pages: Vec<(MemberOffset, Buffer)> = handle.with(|state| {
            let is_ready = |page: &u64| !state.maps.written_changed.contains(page);
            let first: Vec<u64> =
                state.maps.pages_in_one_place.iter().copied().filter(is_ready).take(PAGES_AT_ONCE).collect();
            let again = |page: u64| {
                let block = written_page(state, page);
                state.maps.pages_in_one_place.remove(&page);
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

/// Has all members flush their caches. A member whose flush fails is taken out.
async fn flush_members(handle: &VolumeHandle) {
    let ops = handle.with(|state| if state.options.is_read_only { Vec::new() } else { state.membership.attached() });
    let done = handle.ops(ops.into_iter().map(|member| (member, OpKind::Flush)).collect()).await;
    for (disk, reason) in failed(handle, done) {
        // After a failed flush nothing is known of what is on the medium: the member cannot be trusted any more.
        fail_member(handle, disk, reason).await;
    }
}

/// The next version of a page of the written map, encoded from the bits of now, and its offset. To be written after a flush.
fn written_page(state: &mut VolumeState, page: u64) -> (MemberOffset, Buffer) {
    let generation = state.maps.next_generation(page);
    state.maps.pages_in_one_place.insert(page);
    if !state.maps.is_held_back(page) {
        state.maps.written_trim_horizons[page as usize] = generation;
    }
    let trim_horizon = state.maps.written_trim_horizons[page as usize];
    let block = written::encode(
        &state.geometry,
        state.membership.superblock.array,
        page,
        generation,
        trim_horizon,
        &state.maps.written,
    );
    (state.geometry.page_offset(MetadataArea::WrittenMap, page, generation), block)
}

/// Counts a fault located in a row of a member, unless the row continues the stretch of the member's last faults: these
/// have one cause, something that damaged that part of the disk once. A member with too many faults in a short time is
/// called unreliable but stays: a wrong row is no worse than a missing one, and its other rows prove themselves.
pub fn blame(handle: &VolumeHandle, member: MemberIndex, row: RowIndex) {
    if handle.with(|state| state.is_planted(SeededBug::TakeOutForFaults) && state.is_unreliable(member)) {
        let (own, disk) = (handle.clone(), handle.with(|state| state.membership.disk(member)));
        handle.spawn(async move { fail_member(&own, disk, FailureReason::Refused).await });
    }
    handle.with(|state| {
        let stretch = &mut state.membership.members[member].fault_stretch;
        match stretch.as_ref().and_then(|stretch| continued(stretch, row)) {
            Some(longer) => *stretch = Some(longer),
            None => {
                *stretch = Some(row..=row);
                count_fault(state, member);
            }
        }
    });
}

/// The stretch with this row, if the row continues it.
fn continued(stretch: &RangeInclusive<RowIndex>, row: RowIndex) -> Option<RangeInclusive<RowIndex>> {
    let (first, last) = (stretch.start().get(), stretch.end().get());
    let near = first.saturating_sub(NEIGHBOURHOOD_ROWS)..=last.saturating_add(NEIGHBOURHOOD_ROWS);
    let (first, last) = (first.min(row.get()), last.max(row.get()));
    (near.contains(&row.get()) && last - first < STRETCH_ROWS).then_some(RowIndex(first)..=RowIndex(last))
}

/// Counts one fault of a member, in the superblock and among its recent faults.
pub fn count_fault(state: &mut VolumeState, member: MemberIndex) {
    state.membership.superblock.members[member].faults =
        state.membership.superblock.members[member].faults.saturating_add(1);
    let faults = &mut state.membership.members[member].faults;
    faults.push_back(state.scheduler.now);
    if faults.len() > state.options.faults_max {
        faults.pop_front();
    }
}
