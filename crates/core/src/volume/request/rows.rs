//! Reads rows of stripes from their members, and opens them.

use crate::buffer::Buffer;
use crate::index::{StripeIndex, StripePosition, indexed};
use crate::position_set::PositionSet;
use crate::volume::disk::PlacedDisk;
use crate::volume::durable::persist;
use crate::volume::integrity::evidence::{Evidence, RowEvidence};
use crate::volume::integrity::scheme::Scheme;
use crate::volume::integrity::tag::{self, ListEntry, RowStatus, Version};
use crate::volume::member::{DiskFault, MemberIndex, OpKind};
use crate::volume::options::SeededBug;
use crate::volume::tasks::handle::{EndedOp, VolumeHandle};
use crate::volume::tasks::state::VolumeState;
use scrubjay_code::crc32c;

/// The rows read of a stripe: buffers and evidence.
pub struct Rows {
    /// By position: whole rows, or appendices where only these were read.
    pub buffers: Vec<Option<Buffer>>,
    pub evidence: Evidence,
    /// The positions whose rows are part of the evidence.
    pub read: PositionSet,
    /// Those of which only the appendix was read.
    pub appendices: PositionSet,
    /// The data rows that came from the medium itself, not perhaps from a cache.
    pub flushed: PositionSet,
}

indexed!(StripePosition: Option<Buffer>);

impl Rows {
    /// The content of a whole row that was read.
    pub fn content(&self, position: StripePosition, chunk_bytes: usize) -> Option<&[u8]> {
        self.buffers[position].as_ref().filter(|row| row.len() >= chunk_bytes).map(|row| &row[..chunk_bytes])
    }

    /// Returns the buffers to the pool.
    pub fn recycle(self, handle: &VolumeHandle) {
        handle.with(|state| state.io.recycle(self.buffers.into_iter().flatten()));
    }
}

/// Rows of one stripe to be read: some whole, of others the appendices alone.
#[derive(Clone, Copy)]
pub struct WantedRows {
    pub stripe: StripeIndex,
    pub chunks: PositionSet,
    pub appendices: PositionSet,
}

impl WantedRows {
    /// The positions, in the order in which their reads are submitted.
    fn positions(&self) -> impl Iterator<Item = StripePosition> {
        self.chunks.iter().chain(self.appendices.iter())
    }
}

/// Reads these rows, whole or their appendices alone. A member that does not answer is taken out of the volume. The row
/// of a member that does not hold the stripe is missing: on a new disk anything may lie in that place.
pub async fn read(handle: &VolumeHandle, stripe: StripeIndex, chunks: PositionSet, appendices: PositionSet) -> Rows {
    let mut rows = read_together(handle, &[WantedRows { stripe, chunks, appendices }]).await;
    rows.pop().expect("one for the one")
}

/// Reads rows of several stripes at once, as [`read`] does those of one.
pub async fn read_together(handle: &VolumeHandle, wanted: &[WantedRows]) -> Vec<Rows> {
    let (ops, requested) = handle.with(|state| {
        let mut ops = Vec::with_capacity(wanted.iter().map(|want| want.chunks.count() + want.appendices.count()).sum());
        let requested: Vec<RequestedRows> = wanted.iter().map(|want| queue_reads(state, *want, &mut ops)).collect();
        (ops, requested)
    });
    let mut done = handle.ops(ops).await.into_iter();
    let mut gone = Vec::new();
    let rows =
        handle.with(|state| requested.iter().map(|request| collect(state, request, &mut done, &mut gone)).collect());
    for disk in gone {
        persist::fail_member(handle, disk, crate::volume::format::superblock::FailureReason::Gone).await;
    }
    rows
}

/// Rows whose reads were submitted.
struct RequestedRows {
    all: WantedRows,
    /// Those whose members hold the stripe: only these are read.
    held: WantedRows,
    /// The data rows that a read gets from the medium itself.
    flushed: PositionSet,
}

fn queue_reads(state: &mut VolumeState, all: WantedRows, ops: &mut Vec<(MemberIndex, OpKind)>) -> RequestedRows {
    let missing = state.membership.missing(all.stripe);
    let held = WantedRows { chunks: all.chunks - missing, appendices: all.appendices - missing, ..all };
    for position in held.positions() {
        let place = state.geometry.place(held.stripe, position);
        let start = state.geometry.chunk_offset(place.row);
        let skipped = if held.chunks.contains(position) { 0 } else { state.chunk_bytes() };
        let buffer = state.io.pool.take(state.row_bytes() - skipped);
        ops.push((place.member, OpKind::Read { offset: start + skipped as u64, buffer }));
    }
    RequestedRows { all, held, flushed: state.flushed(all.stripe) }
}

/// The rows of one stripe, from the next ends in `done`. Adds the disks that did not answer to `gone`.
fn collect(
    state: &mut VolumeState,
    requested: &RequestedRows,
    done: &mut impl Iterator<Item = EndedOp>,
    gone: &mut Vec<PlacedDisk>,
) -> Rows {
    let (shape, WantedRows { stripe, chunks, appendices }) = (state.shape(), requested.all);
    let mut rows = Rows {
        buffers: (0..shape.width()).map(|_| None).collect(),
        evidence: Evidence {
            scheme: state.geometry.scheme,
            shape,
            rows: vec![RowEvidence::with_status(RowStatus::NotRead); shape.width()],
        },
        read: chunks | appendices,
        appendices,
        flushed: requested.flushed & chunks,
    };
    for (position, done) in requested.held.positions().zip(done) {
        rows.evidence.rows[position] = match (done.result, &done.buffer) {
            (Ok(()), Some(buffer)) => open(state, stripe, position, buffer),
            (Ok(()), None) => unreachable!("a read that is done brings its buffer back"),
            (Err(DiskFault::Medium), _) => RowEvidence::with_status(RowStatus::Unreadable),
            (Err(DiskFault::Gone), _) => {
                gone.push(done.disk);
                RowEvidence::with_status(RowStatus::NotRead)
            }
        };
        // An appendix alone cannot prove its chunk: it is taken out of the evidence; its buffer is kept to be changed.
        let is_neighbour = appendices.contains(position) && rows.evidence.scheme.has_buddies();
        if is_neighbour && shape.is_data(position) && rows.evidence.rows[position].is_sound() {
            rows.evidence.rows[position] = RowEvidence::with_status(RowStatus::NotRead);
            rows.read.remove(position);
        }
        match done.result {
            Ok(()) => rows.buffers[position] = done.buffer,
            Err(_) => state.io.recycle(done.buffer),
        }
    }
    rows
}

/// Opens a row, or an appendix alone: its status, and the entries that it carries.
pub fn open(state: &VolumeState, stripe: StripeIndex, position: StripePosition, buffer: &[u8]) -> RowEvidence {
    let scheme = state.geometry.scheme;
    let chunk_bytes = state.chunk_bytes();
    let is_marked = |content: &[u8]| state.shape().is_data(position) && state.is_marked(stripe, position, content);
    if scheme == Scheme::None {
        let mut seen = RowEvidence::with_status(RowStatus::Sound);
        seen.entry.version = if is_marked(buffer) { Version(0).lost() } else { Version(0) };
        return seen;
    }
    let is_full = buffer.len() > state.geometry.appendix_bytes as usize;
    let (content, appendix) = buffer.split_at(if is_full { chunk_bytes } else { 0 });
    let sum = is_full.then(|| crc32c(content));
    let identity = state.identity(stripe, position);
    let mut seen = if state.shape().is_data(position) {
        let mut tag = tag::open_data(appendix, identity, sum);
        if state.is_planted(SeededBug::BelieveSpoiltVersions) {
            tag.entry.version = tag::written_version(appendix);
        }
        RowEvidence { entry: tag.entry, predecessor_sum: tag.predecessor_sum, ..RowEvidence::with_status(tag.status) }
    } else {
        let mut entries = vec![ListEntry::default(); state.shape().data];
        let (status, is_list_sound) = tag::open_parity(appendix, identity, sum, &mut entries);
        let is_believed = is_list_sound || !scheme.checks_itself();
        let entry = ListEntry { sum: sum.unwrap_or(0), ..ListEntry::default() };
        RowEvidence { entry, list: is_believed.then_some(entries), ..RowEvidence::with_status(status) }
    };
    if !scheme.checks_itself() {
        seen.status = RowStatus::Sound;
    }
    // Where the scheme writes no version, the bytes in its place mean nothing (in a row that does not check itself they
    // may be anything).
    if !scheme.has_versions() {
        let entries = seen.list.iter_mut().flatten().chain([&mut seen.entry]);
        entries.for_each(|entry| entry.version = Version(0));
        if is_marked(content) {
            seen.entry.version = Version(0).lost();
        }
    }
    seen
}
