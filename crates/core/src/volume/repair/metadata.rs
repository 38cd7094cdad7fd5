//! Verifies and repairs the metadata on every member.
//!
//! That is: all copies of the superblock, the intents, the regions written while a member was out, and both places of each
//! page of the written map. What is wrong is written again, and counts as a fault of its member. Otherwise small damage would
//! add up unseen, because a volume reads its metadata only when it starts.

use crate::buffer::Buffer;
use crate::finding::{FindingKind, Resolution};
use crate::index::RegionIndex;
use crate::layout::DISKS_MAX;
use crate::units::{MemberOffset, Nanos};
use crate::volume::durable::persist;
use crate::volume::durable::rounds::Rounds;
use crate::volume::finding::{FindingPlace, VolumeFinding};
use crate::volume::format::geometry::{MetadataArea, PagePlace, SUPERBLOCK_BYTES};
use crate::volume::format::intent::{self, IntentBit};
use crate::volume::format::superblock::{FailureReason, MemberState, Superblock};
use crate::volume::format::written;
use crate::volume::member::{DiskFault, MemberIndex, OpKind};
use crate::volume::tasks::handle::VolumeHandle;
use crate::volume::tasks::ops::GROUP_OPS_MAX;
use crate::volume::tasks::scheduler::WaitList;
use crate::volume::tasks::state::VolumeState;
use std::ops::Range;

/// Pages of the written map read at once from each member, in both versions: 1 MiB.
pub const PAGES_AT_ONCE: u64 = 128;
const _: () = assert!(PAGES_AT_ONCE as usize * 2 * DISKS_MAX <= GROUP_OPS_MAX);

/// A block of metadata that is not as it was written.
#[derive(Clone, Copy, PartialEq, Eq)]
struct MetadataDamage {
    member: MemberIndex,
    offset: MemberOffset,
    place: FindingPlace,
    /// `None`: the disk did not answer, and nothing is known of the block.
    kind: Option<FindingKind>,
}

impl MetadataDamage {
    /// The finding for this damage, with its resolution; `None` if nothing is known of the block.
    fn finding(&self, at: Nanos, end: Resolution) -> Option<VolumeFinding> {
        let MetadataDamage { member, offset, place, kind } = *self;
        Some(VolumeFinding { at, place, member, offset, kind: kind?, resolution: end })
    }
}

/// Records a finding for each damaged block, with the resolution from `end`, and counts it as a fault of its member.
fn record(
    state: &mut VolumeState,
    damaged: &[MetadataDamage],
    end: impl Fn(&VolumeState, &MetadataDamage) -> Resolution,
) {
    for damage in damaged {
        if let Some(finding) = damage.finding(state.scheduler.now, end(state, damage)) {
            state.findings.record(finding);
            persist::count_fault(state, damage.member);
        }
    }
}

/// A block to read, and what it should hold.
struct WantedBlock {
    member: MemberIndex,
    offset: MemberOffset,
    len: usize,
    place: FindingPlace,
    /// 0: the place of even generations; 1: of odd ones. (Of intents, which have one place: 0.)
    turn: u64,
}

/// Verifies all metadata, and repairs what is wrong.
pub async fn verify(handle: &VolumeHandle) {
    let mut is_writable = handle.with(|state| state.is_writable());
    let mut damaged = superblocks(handle).await;
    if is_writable && !damaged.is_empty() {
        // Generations take turns between the places: two of them write all four copies.
        persist::commit(handle, |_| ()).await;
        persist::commit(handle, |_| ()).await;
    }
    damaged.extend(intents(handle, is_writable).await);
    let in_map = map(handle, MapCheck::Open).await;
    if is_writable && !in_map.is_empty() {
        handle.with(|state| {
            let pages = in_map.iter().filter_map(|damage| damage.place.page());
            state.maps.written_changed.extend(pages);
            state.maps.flushes_both_places = true;
        });
        is_writable &= persist::flush(handle).await;
    }
    damaged.extend(in_map);
    if damaged.is_empty() {
        return;
    }
    let mut left = Vec::new();
    if is_writable {
        left = [superblocks(handle).await, intents(handle, false).await, map(handle, MapCheck::Open).await].concat();
    }
    let is_left = |damage: &MetadataDamage| {
        left.iter().any(|other| (other.member, other.offset) == (damage.member, damage.offset))
    };
    // A member that refused the repair is out by now, and still damaged: the second check does not read it.
    let end = |state: &VolumeState, damage: &MetadataDamage| {
        let is_repaired = is_writable && state.membership.is_attached(damage.member) && !is_left(damage);
        if is_repaired { Resolution::Repaired } else { Resolution::Reconstructed }
    };
    handle.with(|state| record(state, &damaged, end));
}

/// Reports damage of the map of a volume that was stopped in order, and has the start overwrite it. (A start overwrites
/// superblocks too; but a crash in the last moment of a stop, or in the first of a start, leaves half a copy of these, which
/// is no damage.)
pub async fn report_before_start(handle: &VolumeHandle, matches_sum: bool) {
    let damaged = map(handle, MapCheck::BeforeStart { matches_sum }).await;
    handle.with(|state| {
        record(state, &damaged, |_, _| Resolution::Reconstructed);
        // The start writes both places of these pages: otherwise the next one would find and count the same damage.
        state.maps.written_changed.extend(damaged.iter().filter_map(|damage| damage.place.page()));
        state.maps.flushes_both_places |= !damaged.is_empty();
    });
}

/// When the map is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MapCheck {
    /// After a stop in order, before this start has written anything.
    BeforeStart {
        /// Whether the map is the one that the superblock vouches for. Otherwise stripes count as written that no page names.
        matches_sum: bool,
    },
    /// While the volume is open.
    Open,
}

/// Members whose metadata should be complete: named by all others, and, before this run's first superblock, part of the last start.
fn complete_members(state: &VolumeState) -> Vec<MemberIndex> {
    let is_in_last_start = |member: MemberIndex| {
        state.membership.superblock_written.is_some() || state.membership.in_last_start.contains(member)
    };
    let is_complete =
        |&member: &MemberIndex| !state.membership.members[member].is_unrecorded && is_in_last_start(member);
    state.membership.attached().into_iter().filter(is_complete).collect()
}

/// Checks the copies of the superblock: those that are not whole or not current.
async fn superblocks(handle: &VolumeHandle) -> Vec<MetadataDamage> {
    hold(handle, |state| &mut state.membership.superblock_rounds, WaitList::Superblock).await;
    let wanted: Vec<WantedBlock> = handle.with(|state| {
        let copies = |&member: &MemberIndex| {
            let size = state.options.bytes_of(member).unwrap_or(state.geometry.member_bytes);
            let offsets = Superblock::offsets(size).expect("a member has room for its superblocks");
            let generation = state.membership.superblock.generation;
            // A new volume, and a member that was just taken in, have copies of one generation only.
            let is_first =
                generation < 4 || matches!(state.membership.members[member].state, MemberState::Rebuilding { .. });
            let is_there = move |index: usize| !is_first || index as u64 % 2 == generation % 2;
            let copies = offsets.into_iter().enumerate().filter(move |&(index, _)| is_there(index));
            let wanted = |(index, offset)| {
                let (len, turn) = (SUPERBLOCK_BYTES, index as u64 % 2);
                WantedBlock { member, offset, len, place: FindingPlace::Superblock, turn }
            };
            copies.map(wanted).collect::<Vec<_>>()
        };
        complete_members(state).iter().flat_map(copies).collect()
    });
    let damaged = read(handle, wanted, |state, wanted, block| {
        let Ok(superblock) = Superblock::decode(block) else { return Some(FindingKind::Corrupt) };
        let is_own = superblock.array == state.membership.superblock.array && superblock.member == wanted.member;
        let newest =
            state.membership.superblock_written.as_ref().filter(|written| wanted.turn == written.generation % 2);
        let is_right = newest.is_none_or(|written| superblock == written.of_member(wanted.member));
        (!is_own || !is_right).then_some(if is_own { FindingKind::LostWrite } else { FindingKind::Corrupt })
    })
    .await;
    release(handle, |state| &mut state.membership.superblock_rounds, WaitList::Superblock);
    damaged
}

/// Checks the pages of the intents and of the regions written while a member was out: those that are not whole, or lack
/// regions that they should name. If `repairs`, and any is damaged, all are written again.
async fn intents(handle: &VolumeHandle, repairs: bool) -> Vec<MetadataDamage> {
    while handle.with(|state| !state.maps.intents.pages_busy.is_empty()) {
        handle.park(WaitList::Intent).await;
    }
    handle.with(|state| state.maps.intents.pages_busy.extend(0..state.geometry.intent_pages));
    let mut damaged = Vec::new();
    for kind in [IntentBit::Dirty, IntentBit::WhileOut] {
        damaged.extend(pages_of_kind(handle, kind).await);
    }
    if repairs && !damaged.is_empty() {
        persist::mark_dirty_again(handle).await;
    }
    handle.with(|state| {
        state.maps.intents.pages_busy.clear();
        state.scheduler.wake(WaitList::Intent);
    });
    damaged
}

/// Checks the pages of one kind. The caller keeps them from being written meanwhile.
async fn pages_of_kind(handle: &VolumeHandle, kind: IntentBit) -> Vec<MetadataDamage> {
    let wanted = handle.with(|state| wanted_pages(state, kind.area(), 0..state.geometry.intent_pages));
    read(handle, wanted, |state, wanted, block| {
        let index = wanted.place.page().expect("it is a page");
        let Ok(page) = intent::IntentPage::decode(block, state.membership.superblock.array, kind, index) else {
            return Some(FindingKind::Corrupt);
        };
        let regions = state.geometry.regions_of_page(index);
        let start = regions.start;
        let is_recorded =
            |region: RegionIndex| !state.maps.intents.durable_of(kind).get(region) || page.contains(region - start);
        let is_right = state.options.is_read_only || RegionIndex::each(regions).all(is_recorded);
        (!is_right).then_some(FindingKind::LostWrite)
    })
    .await
}

/// Checks the pages of the written map: those that are not whole or not current.
async fn map(handle: &VolumeHandle, when: MapCheck) -> Vec<MetadataDamage> {
    hold(handle, |state| &mut state.maps.flush_rounds, WaitList::Flush).await;
    let pages = handle.with(|state| state.geometry.written_pages);
    let mut damaged = Vec::new();
    for start in (0..pages).step_by(PAGES_AT_ONCE as usize) {
        let chosen = start..(start + PAGES_AT_ONCE).min(pages);
        let wanted = handle.with(|state| wanted_pages(state, MetadataArea::WrittenMap, chosen));
        let found = read(handle, wanted, |state, wanted, block| {
            let index = wanted.place.page().expect("it is a page");
            let newest = state.maps.written_generations[index as usize];
            let is_newest = wanted.turn == newest % 2;
            let is_open = when == MapCheck::Open;
            let is_changed = is_open && state.maps.written_changed.contains(&index);
            let is_in_one_place = is_open && state.maps.pages_in_one_place.contains(&index);
            let Ok(page) = written::WrittenPage::decode(block, state.membership.superblock.array, index) else {
                // The other place of a page that was written once holds nothing yet. After a crash either place may hold half
                // a page; that is known, and the page is written again.
                let is_once = is_in_one_place || block.iter().all(|&byte| byte == 0);
                let is_known = is_changed || !is_newest && is_once;
                return (!is_known).then_some(FindingKind::Corrupt);
            };
            let has_bits_of_map = || {
                let array = state.membership.superblock.array;
                let (generation, trim_horizon) = (page.generation, page.trim_horizon);
                let now = written::encode(&state.geometry, array, index, generation, trim_horizon, &state.maps.written);
                now[..] == *block
            };
            let is_right = match is_newest {
                true => {
                    let horizon = state.maps.written_trim_horizons[index as usize];
                    page.generation == newest && (!is_open || page.trim_horizon == horizon && has_bits_of_map())
                }
                // An older version has the same bits, unless the page was written once since it changed. After a stop in order none
                // was. (A volume open for reading only after a crash does not know which pages were.)
                false => {
                    let may_differ = match when {
                        MapCheck::BeforeStart { matches_sum } => !matches_sum,
                        MapCheck::Open => is_in_one_place || state.options.is_read_only,
                    };
                    may_differ || page.generation < newest && has_bits_of_map()
                }
            };
            (!is_right && !is_changed).then_some(FindingKind::LostWrite)
        });
        damaged.extend(found.await);
    }
    release(handle, |state| &mut state.maps.flush_rounds, WaitList::Flush);
    damaged
}

/// These pages of an area, on all members whose metadata should be complete.
fn wanted_pages(state: &VolumeState, area: MetadataArea, pages: Range<u64>) -> Vec<WantedBlock> {
    let members = complete_members(state);
    let on_all = |PagePlace { page, turn, offset, len }| {
        let place = FindingPlace::Page { area, page };
        members.iter().map(move |&member| WantedBlock { member, offset, len, place, turn })
    };
    state.geometry.area(area).page_places(pages).flat_map(on_all).collect()
}

/// Reads blocks, and has `damage` judge each. Of a block whose disk is gone nothing is known.
async fn read(
    handle: &VolumeHandle,
    wanted: Vec<WantedBlock>,
    damage: impl Fn(&VolumeState, &WantedBlock, &[u8]) -> Option<FindingKind>,
) -> Vec<MetadataDamage> {
    let ops = wanted.iter().map(|wanted| {
        let buffer = Buffer::zeroed(wanted.len);
        (wanted.member, OpKind::Read { offset: wanted.offset, buffer })
    });
    let done = handle.ops(ops.collect()).await;
    let mut damaged = Vec::new();
    let mut gone = Vec::new();
    handle.with(|state| {
        for (done, wanted) in done.iter().zip(&wanted) {
            let kind = match (done.result, &done.buffer) {
                (Ok(()), Some(block)) => damage(state, wanted, block).map(Some),
                (Err(DiskFault::Medium), _) => Some(Some(FindingKind::Unreadable(None))),
                _ => {
                    gone.push(done.disk);
                    Some(None)
                }
            };
            let WantedBlock { member, offset, place, .. } = *wanted;
            damaged.extend(kind.map(|kind| MetadataDamage { member, offset, place, kind }));
        }
    });
    gone.dedup();
    for disk in gone {
        // Not awaited: the round that records a member's failure may have to wait until the caller calls [`release`].
        let own = handle.clone();
        handle.spawn(async move { persist::fail_member(&own, disk, FailureReason::Gone).await });
    }
    damaged
}

/// Waits for a running round to end, and keeps others from running until [`release`].
async fn hold(handle: &VolumeHandle, rounds_of: fn(&mut VolumeState) -> &mut Rounds, queue: WaitList) {
    while handle.with(|state| std::mem::replace(&mut rounds_of(state).is_running, true)) {
        handle.park(queue).await;
    }
}

fn release(handle: &VolumeHandle, rounds_of: fn(&mut VolumeState) -> &mut Rounds, queue: WaitList) {
    handle.with(|state| {
        rounds_of(state).is_running = false;
        state.scheduler.wake(queue);
    });
}
