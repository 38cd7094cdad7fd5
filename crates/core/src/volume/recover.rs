//! Opening a volume: its maps are read, and what a crash left in dirty regions is settled, before anything is served.

use super::handle::Handle;
use super::lost;
use super::ops::GROUP_OPS_MAX;
use super::persist;
use super::resolve;
use super::rows::{self, Rows};
use super::state::{Life, Queue, State};
use crate::buffer::Buffer;
use crate::format::geometry::WRITTEN_PAGE_BYTES;
use crate::format::superblock::Why;
use crate::format::{intent, written};
use crate::integrity::evidence::Seen;
use crate::integrity::judge::judge;
use crate::integrity::settle::{Settlement, settle};
use crate::integrity::tag::{Entry, Standing, Version};
use crate::layout::DISKS_MAX;
use crate::member::{OpKind, Slot};
use crate::slots::Slots;
use scrubjay_code::crc32c;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

/// Pages of the written map asked for at once, of each member, both versions: 1 MiB.
const PAGES_AT_ONCE: u64 = 128;
const _: () = assert!(PAGES_AT_ONCE as usize * 2 * DISKS_MAX <= GROUP_OPS_MAX);
/// So often rows are read again that say nothing of themselves, until two reads agree.
const READS_MAX: usize = 16;
/// Stripes settled at once.
const STRIPES_AT_ONCE: usize = 16;

/// Reads the maps, settles what is dirty, and opens the volume.
pub(super) async fn open(handle: Handle) {
    let dirty = read_intents(&handle).await;
    read_written(&handle).await;
    let is_writable = handle.with(|state| {
        let newest = state.written_generations.iter().max().copied().unwrap_or(0);
        state.write_number = state.write_number.max(newest);
        state.intents = super::intents::Intents::new(dirty);
        !state.options.is_read_only
    });
    let is_dirty = handle.with(|state| state.intents.is_any_dirty());
    if is_writable && handle.with(|state| state.life == Life::Opening) {
        let today = handle.with(|state| state.options.today);
        persist::commit(&handle, |superblock| {
            superblock.is_clean = false;
            superblock.last_started = today;
            superblock.write_mark += persist::WRITE_NUMBERS_RESERVED;
        })
        .await;
        if is_dirty {
            persist::announce_again(&handle).await;
            settle_all(&handle).await;
        }
    }
    handle.with(|state| {
        if state.life == Life::Opening {
            // What is dirty and cannot be settled may be read where it needs no rebuilding: see `unresolved`.
            if !is_writable {
                let regions: Vec<u64> = state.intents.dirty.iter().collect();
                let stripes = regions.into_iter().flat_map(|region| state.geometry.stripes_of_region(region));
                let stripes: Vec<u64> = stripes.filter(|&stripe| state.written.get(stripe)).collect();
                state.unresolved.extend(stripes);
            }
            state.life = Life::Open;
        }
        state.wake(Queue::Open);
    });
    persist::clean_later(&handle);
    super::rebuild::resume(&handle);
}

async fn read_intents(handle: &Handle) -> crate::format::bits::Bits {
    let pages = handle.with(|state| state.geometry.intent_pages);
    let places: Vec<(u64, u64, usize)> = handle.with(|state| {
        (0..pages)
            .map(|page| (page, state.geometry.intent_page_offset(page), state.geometry.block_bytes as usize))
            .collect()
    });
    let found = read_pages(handle, &places).await;
    handle.with(|state| {
        let array = state.superblock.array;
        let sound = found.iter().filter_map(|(page, block)| intent::Page::decode(block, array, *page).ok());
        let mut union = intent::Union::new(&state.geometry);
        sound.for_each(|page| union.add(&page));
        union.dirty()
    })
}

async fn read_written(handle: &Handle) {
    let (pages, array) = handle.with(|state| (state.geometry.written_pages, state.superblock.array));
    for start in (0..pages).step_by(PAGES_AT_ONCE as usize) {
        let places: Vec<(u64, u64, usize)> = handle.with(|state| {
            let pages = start..(start + PAGES_AT_ONCE).min(pages);
            let both = |page: u64| {
                [0, 1].map(|turn| (page, state.geometry.written_page_offset(page, turn), WRITTEN_PAGE_BYTES as usize))
            };
            pages.flat_map(both).collect()
        });
        let found = read_pages(handle, &places).await;
        handle.with(|state| {
            let sound = found.iter().filter_map(|(page, block)| written::Page::decode(block, array, *page).ok());
            let sound: Vec<written::Page> = sound.collect();
            let mut map = written::Map {
                stripes: state.written.clone(),
                generations: std::mem::take(&mut state.written_generations),
            };
            sound.iter().for_each(|page| map.add(&state.geometry, page));
            (state.written, state.written_generations) = (map.stripes, map.generations);
            if !state.options.is_read_only {
                let rare = rare_pages(state, start..(start + PAGES_AT_ONCE).min(pages), &sound);
                state.written_changed.extend(rare);
            }
        });
    }
}

/// Pages whose newest version is not on all members: a crash left it on some, and it would go with them. The next flush
/// writes another one to all.
fn rare_pages(state: &State, pages: Range<u64>, sound: &[written::Page<'_>]) -> Vec<u64> {
    let mut copies = vec![0; (pages.end - pages.start) as usize];
    for page in sound.iter().filter(|page| page.generation == state.written_generations[page.index as usize]) {
        copies[(page.index - pages.start) as usize] += 1;
    }
    let members = state.attached().len();
    pages.zip(copies).filter(|&(_, copies)| copies < members).map(|(page, _)| page).collect()
}

/// Reads pages from every member with a disk; those that could be read. (One that is being rebuilt has had its maps
/// before it was called that, and what they say will count when it is active.)
async fn read_pages(handle: &Handle, places: &[(u64, u64, usize)]) -> Vec<(u64, Buffer)> {
    let (ops, pages): (Vec<(Slot, OpKind)>, Vec<u64>) = handle.with(|state| {
        let members = state.attached();
        places
            .iter()
            .flat_map(|&(page, offset, len)| {
                let member = |&slot: &Slot| ((slot, OpKind::Read { offset, buffer: Buffer::zeroed(len) }), page);
                members.iter().map(member).collect::<Vec<_>>()
            })
            .unzip()
    });
    let done = handle.ops(ops).await;
    let read = done.into_iter().zip(pages).filter(|(done, _)| done.result.is_ok());
    read.filter_map(|(done, page)| Some((page, done.buffer?))).collect()
}

/// Settles every stripe of every dirty region, some at a time.
async fn settle_all(handle: &Handle) {
    let stripes: Vec<u64> = handle
        .with(|state| state.intents.dirty.iter().flat_map(|region| state.geometry.stripes_of_region(region)).collect());
    let next = Rc::new(Cell::new(0));
    let running = Rc::new(Cell::new(STRIPES_AT_ONCE));
    let stripes = Rc::new(stripes);
    let task = handle.current();
    for _ in 0..STRIPES_AT_ONCE {
        let (own, next, running, stripes) = (handle.clone(), next.clone(), running.clone(), stripes.clone());
        handle.spawn(async move {
            while let Some(&stripe) = stripes.get(next.replace(next.get() + 1)) {
                settle_stripe(&own, stripe).await;
            }
            running.set(running.get() - 1);
            own.with(|state| state.ready.push_back(task));
        });
    }
    while running.get() > 0 {
        handle.pause().await;
    }
}

/// Makes one stripe what it may be, and whole.
async fn settle_stripe(handle: &Handle, stripe: u64) {
    let _guard = handle.lock(stripe, true).await;
    let is_written = handle.with(|state| state.written.get(stripe));
    if !is_written && !handle.with(|state| state.geometry.scheme.has_versions()) {
        return;
    }
    let mut rows = resolve::read_all(handle, stripe).await;
    resolve::retry(handle, stripe, &mut rows).await;
    read_alike(handle, stripe, &mut rows).await;
    if !is_written {
        handle.with(|state| disown_forgotten(state, stripe, &mut rows));
    }
    let mut settlement = settle(&rows.evidence);
    if !is_written && (!settlement.lost.is_empty() || !settlement.resealed.is_empty()) {
        // Its first write did not come to its end: it was never acknowledged as durable, and it holds zeros. So it will
        // after the next crash: what there is of that write is forgotten with the next flush, like what was trimmed.
        handle.with(|state| state.written_changed.insert(stripe / state.geometry.stripes_per_page()));
        rows.recycle(handle);
        return;
    }
    let is_marking = handle.with(|state| state.geometry.scheme.has_versions());
    let chunk_bytes = handle.with(|state| state.chunk_bytes());
    let is_hollow = |&slot: &usize| rows.content(slot, chunk_bytes).is_some_and(lost::is_in);
    let hollow: Slots = settlement.resealed.iter().filter(is_hollow).collect();
    settlement.resealed = settlement.resealed - hollow;
    settlement.lost = settlement.lost | hollow;
    let mut data = handle.with(|state| known_rows(state, &rows, &mut settlement));
    if !settlement.lost.is_empty() && !is_marking {
        // Nothing is written: what this stripe was cannot be told, and must not be made to look right.
        handle.with(|state| {
            state.unresolved.insert(stripe);
            state.recycle(data.into_iter().flatten());
        });
        rows.recycle(handle);
        return;
    }
    let is_renewed = !(settlement.lost | settlement.resealed).is_empty();
    let number = if is_renewed { persist::next_write_number(handle).await } else { 0 };
    let writes = handle.with(|state| {
        let mut entries: Vec<Entry> = (0..data.len())
            .map(|slot| {
                let own = rows.evidence.rows[slot].entry;
                if settlement.rebuilt.contains(slot) { settlement.truth[slot] } else { own }
            })
            .collect();
        if state.geometry.scheme.has_versions() {
            settlement.resealed.iter().for_each(|slot| entries[slot].version = Version(number));
            settlement.lost.iter().for_each(|slot| entries[slot].version = Version(number).lost());
        }
        for slot in settlement.lost.iter() {
            let mut row = state.pool.take_zeroed(state.row_bytes());
            lost::fill(&mut row[..state.geometry.chunk_bytes as usize]);
            data[slot] = Some(row);
        }
        changed(state, stripe, data, entries, &rows)
    });
    // What seems lost may be on members that went just now: it is found again when they come back.
    if handle.with(|state| state.life == Life::Broken) {
        let buffers = writes.into_iter().filter_map(|(_, op)| op.buffer());
        handle.with(|state| state.recycle(buffers));
        rows.recycle(handle);
        return;
    }
    let done = handle.ops(writes).await;
    for disk in persist::failed(handle, done) {
        persist::take_out(handle, disk, Why::Gone).await;
    }
    rows.recycle(handle);
    handle.with(|state| {
        state.note_written(stripe);
        (0..state.shape().data).for_each(|slot| state.note_write(stripe, slot));
    });
}

/// Where rows say nothing of themselves, one that was read astray looks like one that was half written: only what two
/// reads in a row show alike is believed.
async fn read_alike(handle: &Handle, stripe: u64, rows: &mut Rows) {
    let scheme = rows.evidence.scheme;
    if scheme.checks_itself() || !scheme.has_appendix() || judge(&rows.evidence).is_clean() {
        return;
    }
    let mut doubtful = rows.evidence.sound();
    for _ in 0..READS_MAX {
        let mut again = rows::read(handle, stripe, doubtful, Slots::NONE).await;
        let differs = |slot: &usize| rows.buffers[*slot].as_deref() != again.buffers[*slot].as_deref();
        doubtful = doubtful.iter().filter(differs).collect();
        for slot in doubtful.iter() {
            std::mem::swap(&mut rows.buffers[slot], &mut again.buffers[slot]);
            std::mem::swap(&mut rows.evidence.rows[slot], &mut again.evidence.rows[slot]);
        }
        again.recycle(handle);
    }
    doubtful.iter().for_each(|slot| rows.evidence.rows[slot] = Seen::nothing(Standing::Unreadable));
}

/// Of a stripe that the written map calls unwritten, only rows that were written after the map's page count: older
/// ones were forgotten by a trim, and stay so.
fn disown_forgotten(state: &State, stripe: u64, rows: &mut Rows) {
    let page = stripe / state.geometry.stripes_per_page();
    let generation = state.written_generations[page as usize];
    for row in &mut rows.evidence.rows {
        let least = match &row.list {
            Some(list) => list.iter().map(|entry| entry.version.number()).min().unwrap_or(0),
            None => row.entry.version.number(),
        };
        if least < generation {
            *row = Seen::nothing(Standing::Garbled);
        }
    }
}

/// Copies of the data rows that are known; those that cannot be rebuilt after all become lost.
fn known_rows(state: &mut State, rows: &Rows, settlement: &mut Settlement) -> Vec<Option<Buffer>> {
    let shape = state.shape();
    let chunk_bytes = state.chunk_bytes();
    let data = shape.data_slots();
    let kept = data - settlement.rebuilt - settlement.lost;
    let mut all: Vec<Option<Buffer>> = (0..shape.slots()).map(|_| None).collect();
    for slot in (kept | settlement.parities).iter() {
        let Some(row) = &rows.buffers[slot] else { continue };
        let mut copy = state.pool.take(state.row_bytes());
        copy.copy_from_slice(row);
        all[slot] = Some(copy);
    }
    if !settlement.rebuilt.is_empty() {
        let using: Vec<usize> = (kept | settlement.parities).iter().take(shape.data).collect();
        resolve::decode(state, &mut all, settlement.rebuilt, &using);
        let wrong: Slots = settlement
            .rebuilt
            .iter()
            .filter(|&slot| {
                let row = all[slot].as_ref().expect("it was decoded");
                state.geometry.scheme.lists_sums() && crc32c(&row[..chunk_bytes]) != settlement.truth[slot].sum
            })
            .collect();
        settlement.rebuilt = settlement.rebuilt - wrong;
        for slot in wrong.iter() {
            // A parity that says nothing of itself may be torn: then what is there stays.
            let row = rows.buffers[slot].as_ref().filter(|_| !state.geometry.scheme.checks_itself());
            match (row, &mut all[slot]) {
                (Some(row), Some(copy)) => copy.copy_from_slice(row),
                (_, decoded) => {
                    decoded.take().into_iter().for_each(|decoded| state.pool.give(decoded));
                    settlement.lost.insert(slot);
                }
            }
        }
    }
    let parities = all.split_off(shape.data);
    state.recycle(parities.into_iter().flatten());
    all
}

/// All rows as they should be, sealed; those that differ from what is on their members, to be written.
fn changed(
    state: &mut State,
    stripe: u64,
    mut data: Vec<Option<Buffer>>,
    mut entries: Vec<Entry>,
    rows: &Rows,
) -> Vec<(Slot, OpKind)> {
    let chunk_bytes = state.chunk_bytes();
    for (row, entry) in data.iter().zip(&mut entries) {
        entry.sum = crc32c(&row.as_ref().expect("all data are known or zeros")[..chunk_bytes]);
    }
    let parities = resolve::encode(state, &data);
    let all: Vec<Buffer> = data.iter_mut().filter_map(Option::take).chain(parities).collect();
    let missing = state.missing(stripe);
    let mut writes = Vec::new();
    for (slot, mut row) in all.into_iter().enumerate() {
        resolve::seal(state, stripe, slot, &mut row, &entries);
        if missing.contains(slot) || rows.buffers[slot].as_deref() == Some(&row[..]) {
            state.pool.give(row);
            continue;
        }
        let place = state.geometry.layout.place(stripe, slot);
        let offset = state.geometry.chunk_offset(place.row);
        writes.push((place.disk, OpKind::Write { offset, buffer: row, is_durable: false }));
    }
    writes
}
