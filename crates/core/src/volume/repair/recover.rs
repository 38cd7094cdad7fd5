//! Opens a volume: reads its maps, then serves. What a crash left in dirty regions is resynced meanwhile (`resync`).

use crate::buffer::Buffer;
use crate::index::RegionIndex;
use crate::volume::durable::intents::Intents;
use crate::volume::durable::persist;
use crate::volume::format::bits::Bits;
use crate::volume::format::geometry::{MetadataArea, PagePlace};
use crate::volume::format::intent::{self, IntentBit};
use crate::volume::format::page::PageError;
use crate::volume::format::written;
use crate::volume::integrity::tag::NUMBER_WRITABLE_END;
use crate::volume::member::{MemberIndex, OpKind};
use crate::volume::membership::VolumePhase;
use crate::volume::options::VolumeOptions;
use crate::volume::repair::metadata::{self, PAGES_AT_ONCE};
use crate::volume::repair::pending_resync::PendingResync;
use crate::volume::repair::resync;
use crate::volume::repair::wipe;
use crate::volume::tasks::handle::VolumeHandle;
use crate::volume::tasks::scheduler::WaitList;
use crate::volume::tasks::state::VolumeState;
use std::collections::BTreeSet;
use std::ops::Range;

/// Reads the maps, and opens the volume.
///
/// If the newest superblock records that the volume was stopped in order, no region is dirty, whatever the intents say:
/// rows are judged, never resynced.
pub async fn open(handle: VolumeHandle) {
    let (was_clean, is_vouched_for) = handle.with(|state| {
        let superblock = &state.membership.superblock;
        (superblock.is_clean, superblock.is_clean || superblock.map_sum != 0)
    });
    let recorded_dirty = read_intents(&handle, IntentBit::Dirty).await;
    let while_out = match handle.with(|state| state.membership.is_any_member_out()) {
        true => Some(read_intents(&handle, IntentBit::WhileOut).await),
        false => None,
    };
    let disputed = read_written(&handle).await;
    let matches_sum = is_vouched_for && handle.with(|state| compare_with_map_sum(state, &disputed));
    let is_writable = handle.with(|state| {
        let newest = state.maps.written_generations.iter().max().copied().unwrap_or(0);
        state.maps.write_number = state.maps.write_number.max(newest);
        if newest >= NUMBER_WRITABLE_END {
            state.options.is_read_only = true;
            // Nothing is written from here on, so no flush may owe a page.
            state.maps.written_changed.clear();
            state.maps.pages_in_one_place.clear();
        }
        let dirty = if was_clean { Bits::zeros(state.geometry.regions()) } else { recorded_dirty.clone() };
        state.maps.pending_resync = PendingResync::new(&dirty);
        state.maps.intents = Intents::new(dirty);
        if let Some(while_out) = while_out {
            state.maps.intents.while_out = while_out;
            state.maps.intents.note_member_out();
        }
        !state.options.is_read_only
    });
    if is_writable && handle.with(|state| state.membership.phase == VolumePhase::Opening && !state.membership.is_broken)
    {
        if was_clean {
            metadata::report_before_start(&handle, matches_sum).await;
        }
        let is_any_region_recorded =
            recorded_dirty.count() > 0 || handle.with(|state| state.maps.intents.while_out.count() > 0);
        // Before the superblocks cease to record "stopped in order": from then on the intents count after a crash.
        if was_clean && is_any_region_recorded {
            persist::mark_dirty_again(&handle).await;
        }
        // The disks may hold unflushed writes of a killed server: if a disk drops one later, it must not be taken for a
        // lost write of this server.
        if !was_clean {
            persist::flush(&handle).await;
        }
        // The superblock keeps its map sum until the corrected pages are durable: if a crash comes before, the next start
        // compares the map with it again.
        let owes_pages = handle.with(|state| !state.maps.written_changed.is_empty());
        let VolumeOptions { today, start_number, write_numbers, .. } = handle.with(|state| state.options.clone());
        persist::commit(&handle, |superblock| {
            superblock.is_clean = false;
            superblock.map_sum = if owes_pages { superblock.map_sum } else { 0 };
            superblock.begin_start(start_number);
            superblock.last_started = today;
            superblock.write_mark += write_numbers;
        })
        .await;
        handle.with(|state| state.maps.write_numbers_end = state.membership.superblock.write_mark);
        if owes_pages {
            persist::flush(&handle).await;
        }
        // The next generation, too: a crash may have left half a superblock in the places that the first one does not overwrite.
        persist::commit(&handle, |superblock| superblock.map_sum = 0).await;
        if !was_clean && is_any_region_recorded {
            persist::mark_dirty_again(&handle).await;
        }
    }
    handle.with(|state| {
        if state.membership.phase == VolumePhase::Opening {
            // Without a resync, dirty stripes may be read where nothing needs to be reconstructed (`VolumeMaps::is_undecided`).
            if !is_writable {
                state.maps.leave_undecided();
            }
            state.membership.phase = VolumePhase::Open;
        }
        state.scheduler.wake(WaitList::Open);
    });
    resync::start(&handle);
    persist::clean_later(&handle);
    crate::volume::repair::rebuild::resume(&handle);
}

/// Reads torn-looking pages once more, as a read may have gone astray: pages that are torn will be overwritten.
async fn read_again(handle: &VolumeHandle, found: &mut [FoundPage], is_torn: impl Fn(&&FoundPage) -> bool) {
    let torn: BTreeSet<PagePlace> = found.iter().filter(&is_torn).map(|found| found.place).collect();
    if torn.is_empty() {
        return;
    }
    for again in read_pages(handle, &torn.into_iter().collect::<Vec<_>>()).await {
        let is_same_place = |found: &&mut FoundPage| found.member == again.member && found.place == again.place;
        if let Some(first) = found.iter_mut().find(is_same_place)
            && is_torn(&&*first)
        {
            *first = again;
        }
    }
}

async fn read_intents(handle: &VolumeHandle, kind: IntentBit) -> Bits<RegionIndex> {
    let pages = handle.with(|state| state.geometry.intent_pages);
    let places = handle.with(|state| state.geometry.area(kind.area()).page_places(0..pages).collect::<Vec<_>>());
    let found = read_pages(handle, &places).await;
    handle.with(|state| {
        let array = state.membership.superblock.array;
        let sound = found.iter().filter_map(|found| {
            let page = intent::IntentPage::decode(&found.block, array, kind, found.place.page).ok()?;
            Some((found.is_in_last_start, page))
        });
        let mut union = intent::Union::new(&state.geometry);
        believed_pages(sound.collect(), |page| page.index).iter().for_each(|page| union.add(page));
        union.dirty()
    })
}

/// Reads the written map. Returns the pages whose sound versions differ.
async fn read_written(handle: &VolumeHandle) -> Vec<u64> {
    let mut disputed = Vec::new();
    let (pages, array) = handle.with(|state| (state.geometry.written_pages, state.membership.superblock.array));
    for start in (0..pages).step_by(PAGES_AT_ONCE as usize) {
        let chosen = start..(start + PAGES_AT_ONCE).min(pages);
        let map = handle.with(|state| state.geometry.area(MetadataArea::WrittenMap));
        let mut found = read_pages(handle, &map.page_places(chosen).collect::<Vec<_>>()).await;
        let is_torn = |FoundPage { place, block, .. }: &&FoundPage| {
            // A page with a right checksum was not cut short.
            let decoded = written::WrittenPage::decode(block, array, place.page);
            matches!(decoded, Err(PageError::Foreign | PageError::Damaged)) && block.iter().any(|&byte| byte != 0)
        };
        read_again(handle, &mut found, is_torn).await;
        if handle.with(|state| !state.options.is_read_only && !state.membership.superblock.is_clean) {
            let torn = found.iter().filter(is_torn).map(|found| (found.member, found.place.offset, found.place.len));
            persist::write_all(handle, torn.map(wipe::zeros).collect()).await;
        }
        handle.with(|state| {
            let sound = found.iter().filter_map(|found| {
                let page = written::WrittenPage::decode(&found.block, array, found.place.page).ok()?;
                Some((found.is_in_last_start, page))
            });
            let sound = believed_pages(sound.collect(), |page| page.index);
            let mut map = written::WrittenMap {
                stripes: state.maps.written.clone(),
                generations: std::mem::take(&mut state.maps.written_generations),
                trim_horizons: std::mem::take(&mut state.maps.written_trim_horizons),
            };
            sound.iter().for_each(|page| map.add(&state.geometry, page));
            let differs = |page: &&written::WrittenPage<'_>| {
                sound.iter().any(|other| other.index == page.index && !other.is_alike(page))
            };
            disputed.extend(sound.iter().filter(differs).map(|page| page.index));
            (state.maps.written, state.maps.written_generations, state.maps.written_trim_horizons) =
                (map.stripes, map.generations, map.trim_horizons);
            if !state.options.is_read_only {
                if !state.membership.superblock.is_clean {
                    // Overwrite what the crash left of a version that it cut short.
                    let torn: Vec<u64> = found.iter().filter(is_torn).map(|found| found.place.page).collect();
                    state.maps.written_changed.extend(&torn);
                    state.maps.pages_in_one_place.extend(&torn);
                }
                let not_on_all = pages_not_on_all(state, start..(start + PAGES_AT_ONCE).min(pages), &sound);
                state.maps.written_changed.extend(not_on_all);
                state.maps.pages_in_one_place.extend(&disputed);
            }
        });
    }
    disputed
}

/// Holds the map against the superblock's map sum. If they differ, the newest version of a page is gone, and what is left is older: in
/// the pages that two versions dispute, or in all pages if there are none, every stripe counts as written. Zeros are never invented.
/// Returns whether they match.
fn compare_with_map_sum(state: &mut VolumeState, disputed: &[u64]) -> bool {
    if written::sum(&state.geometry, &state.maps.written) == state.membership.superblock.map_sum {
        return true;
    }
    let all: Vec<u64> = (0..state.geometry.written_pages).collect();
    let mut map = written::WrittenMap::new(&state.geometry);
    map.stripes = state.maps.written.clone();
    for &page in if disputed.is_empty() { &all } else { disputed } {
        map.assume_written(&state.geometry, page);
        if !state.options.is_read_only {
            state.maps.written_changed.insert(page);
        }
    }
    state.maps.written = map.stripes;
    false
}

/// Pages whose newest version is not on all members: after a crash it may be on a few only, and would be lost with
/// them. The next flush writes a newer version to all.
fn pages_not_on_all(state: &VolumeState, pages: Range<u64>, sound: &[written::WrittenPage<'_>]) -> Vec<u64> {
    let mut copies = vec![0; (pages.end - pages.start) as usize];
    for page in sound.iter().filter(|page| page.generation == state.maps.written_generations[page.index as usize]) {
        copies[(page.index - pages.start) as usize] += 1;
    }
    let members = state.membership.attached().len();
    pages.zip(copies).filter(|&(_, copies)| copies < members).map(|(page, _)| page).collect()
}

/// A page as read from one member.
struct FoundPage {
    /// Where it was read, and from which member.
    place: PagePlace,
    member: MemberIndex,
    /// Did the member take part in the last start?
    is_in_last_start: bool,
    block: Buffer,
}

/// The sound pages to believe: those of members that took part in the last start; the pages of others only where none
/// of these has the page. Another member's page may be of any time: from a copy that was put back, or a disk that was
/// away; or a crash came between the writing of one superblock and the next.
fn believed_pages<T>(sound: Vec<(bool, T)>, index: fn(&T) -> u64) -> Vec<T> {
    let indices_in_last_start: BTreeSet<u64> =
        sound.iter().filter(|(is_in_last_start, _)| *is_in_last_start).map(|(_, page)| index(page)).collect();
    let is_believed =
        |(is_in_last_start, page): &(bool, T)| *is_in_last_start || !indices_in_last_start.contains(&index(page));
    sound.into_iter().filter(is_believed).map(|(_, page)| page).collect()
}

/// Reads pages from every member with a disk. Returns those that could be read.
async fn read_pages(handle: &VolumeHandle, places: &[PagePlace]) -> Vec<FoundPage> {
    let members = handle.with(|state| state.membership.attached());
    let read = |&PagePlace { offset, len, .. }: &PagePlace| {
        let read = move |&member: &MemberIndex| (member, OpKind::Read { offset, buffer: Buffer::zeroed(len) });
        members.iter().map(read)
    };
    let done = handle.ops(places.iter().flat_map(read).collect()).await;
    let of_done = places.iter().flat_map(|&place| members.iter().map(move |_| place));
    let read = done.into_iter().zip(of_done).filter(|(done, _)| done.result.is_ok());
    let in_last_start = handle.with(|state| state.membership.in_last_start);
    read.filter_map(|(done, place)| {
        let member = done.disk.member;
        Some(FoundPage { place, member, is_in_last_start: in_last_start.contains(member), block: done.buffer? })
    })
    .collect()
}
