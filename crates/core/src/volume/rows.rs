//! Rows of one stripe, read from their members and opened.

use super::handle::Handle;
use super::persist;
use super::state::State;
use crate::buffer::Buffer;
use crate::integrity::evidence::{Evidence, Seen};
use crate::integrity::scheme::Scheme;
use crate::integrity::tag::{self, Entry, Standing, Version};
use crate::member::{Fault, OpKind};
use crate::slots::Slots;
use scrubjay_code::crc32c;

/// What was read of a stripe: buffers for evidence.
pub(super) struct Rows {
    /// Whole rows, by slot; appendices alone for those that were read so.
    pub buffers: Vec<Option<Buffer>>,
    pub evidence: Evidence,
    /// The rows that the evidence speaks of.
    pub read: Slots,
    /// Those of which only the appendix was read.
    pub appendices: Slots,
    /// The data rows that came from the medium itself, not perhaps from a cache.
    pub settled: Slots,
}

impl Rows {
    /// The content of a whole row that was read.
    pub fn content(&self, slot: usize, chunk_bytes: usize) -> Option<&[u8]> {
        self.buffers[slot].as_ref().filter(|row| row.len() >= chunk_bytes).map(|row| &row[..chunk_bytes])
    }

    /// Gives back what is left.
    pub fn recycle(self, handle: &Handle) {
        handle.with(|state| state.recycle(self.buffers.into_iter().flatten()));
    }
}

/// Reads these rows, whole or their appendices alone. A member that does not answer is taken out of the volume.
pub(super) async fn read(handle: &Handle, stripe: u64, chunks: Slots, appendices: Slots) -> Rows {
    let (ops, slots) = handle.with(|state| {
        let mut ops = Vec::with_capacity(chunks.count() + appendices.count());
        let mut slots = Vec::with_capacity(ops.capacity());
        for slot in chunks.iter().chain(appendices.iter()) {
            let place = state.geometry.layout.place(stripe, slot);
            let start = state.geometry.chunk_offset(place.row);
            let is_whole = chunks.contains(slot);
            let skipped = if is_whole { 0 } else { state.chunk_bytes() };
            let buffer = state.pool.take(state.row_bytes() - skipped);
            ops.push((place.disk, OpKind::Read { offset: start + skipped as u64, buffer }));
            slots.push(slot);
        }
        (ops, slots)
    });
    let settled = handle.with(|state| state.settled(stripe));
    let done = handle.ops(ops).await;

    let mut rows = handle.with(|state| Rows {
        buffers: (0..state.shape().slots()).map(|_| None).collect(),
        evidence: Evidence {
            scheme: state.geometry.scheme,
            shape: state.shape(),
            rows: vec![Seen::nothing(Standing::Missing); state.shape().slots()],
        },
        read: chunks | appendices,
        appendices,
        settled: settled & chunks,
    });
    let mut gone = Vec::new();
    for (done, slot) in done.into_iter().zip(slots) {
        let buffer = done.buffer.expect("a read brings its buffer back");
        rows.evidence.rows[slot] = match done.result {
            Ok(()) => handle.with(|state| open(state, stripe, slot, &buffer)),
            Err(Fault::Medium) => Seen::nothing(Standing::Unreadable),
            Err(Fault::Gone) => {
                gone.push(done.disk);
                Seen::nothing(Standing::Missing)
            }
        };
        // The appendix of a neighbour, read to be changed: whole or not is all it tells without its content.
        let is_neighbour = appendices.contains(slot) && rows.evidence.scheme.has_buddies();
        if is_neighbour && slot < rows.evidence.shape.data && rows.evidence.rows[slot].is_sound() {
            rows.evidence.rows[slot] = Seen::nothing(Standing::Missing);
            rows.read.remove(slot);
        }
        match done.result {
            Ok(()) => rows.buffers[slot] = Some(buffer),
            Err(_) => handle.with(|state| state.pool.give(buffer)),
        }
    }
    for disk in gone {
        persist::take_out(handle, disk, crate::format::superblock::Why::Gone).await;
    }
    rows
}

/// What a row, or an appendix alone, says.
pub(super) fn open(state: &State, stripe: u64, slot: usize, buffer: &[u8]) -> Seen {
    let scheme = state.geometry.scheme;
    if scheme == Scheme::None {
        return Seen::nothing(Standing::Sound);
    }
    let chunk_bytes = state.chunk_bytes();
    let is_whole = buffer.len() > state.geometry.appendix_bytes as usize;
    let (content, appendix) = buffer.split_at(if is_whole { chunk_bytes } else { 0 });
    let sum = is_whole.then(|| crc32c(content));
    let identity = state.identity(stripe, slot);
    let mut seen = if slot < state.shape().data {
        let tag = tag::open_data(appendix, identity, sum);
        Seen { entry: tag.entry, neighbour: tag.neighbour, ..Seen::nothing(tag.standing) }
    } else {
        let mut entries = vec![Entry::default(); state.shape().data];
        let (standing, is_list_sound) = tag::open_parity(appendix, identity, sum, &mut entries);
        let is_believed = is_list_sound || !scheme.checks_itself();
        let entry = Entry { sum: sum.unwrap_or(0), ..Entry::default() };
        Seen { entry, list: is_believed.then_some(entries), ..Seen::nothing(standing) }
    };
    if !scheme.checks_itself() {
        seen.standing = Standing::Sound;
    }
    // Where no version is written, what lies in its place (of a row that does not check itself: anything) is none.
    if !scheme.has_versions() {
        let entries = seen.list.iter_mut().flatten().chain([&mut seen.entry]);
        entries.for_each(|entry| entry.version = Version(0));
    }
    seen
}
