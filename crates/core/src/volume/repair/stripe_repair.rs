//! Repairs a stripe in which something is wrong: read whole, judged, rebuilt, written, and read back.
//!
//! The calling task holds the stripe alone.

use crate::buffer::Buffer;
use crate::finding::{FindingKind, Judgement, Resolution};
use crate::index::{StripeIndex, StripePosition};
use crate::position_set::PositionSet;
use crate::volume::durable::persist;
use crate::volume::finding::{FindingPlace, VolumeFinding, kind_of};
use crate::volume::integrity::judge::{Diagnosis, judge};
use crate::volume::integrity::tag::{ListEntry, RowStatus};
use crate::volume::member::OpKind;
use crate::volume::request::rows::{self, Rows};
use crate::volume::request::seal::sum_and_seal;
use crate::volume::tasks::handle::{EndedOp, VolumeHandle};
use crate::volume::tasks::state::VolumeState;
use scrubjay_code::crc32c;

/// A stripe, as far as its content is proven.
pub struct StripeContent {
    /// The whole row of each data chunk (its appendix may be stale); `None` where no right content can be proven.
    pub rows: Vec<Option<Buffer>>,
    /// Version and sum of each data chunk, as far as the scheme has them.
    pub entries: Vec<ListEntry>,
    /// Data chunks of which no right content can be proven. (Those already marked as lost have rows, which hold the mark.)
    pub lost: PositionSet,
    /// Was every row there, sound and consistent, so that nothing needed repair?
    pub is_clean: bool,
    /// The data rows that were read from the medium itself, not perhaps from a cache.
    pub flushed: PositionSet,
    /// Whether more evidence may come of the lost chunks.
    pub loss_evidence: LossEvidence,
}

/// Whether more evidence may come of lost chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossEvidence {
    /// No: each wrong row was read and is silently wrong, or one write is claimed to have two contents.
    Exhausted,
    /// Perhaps: a member is missing, or a row cannot be read now. The rows are to be discarded: stale or torn ones, which a
    /// resync after a crash could take for half-written ones.
    MayReturn(PositionSet),
}

impl StripeContent {
    /// The data chunks that cannot be read: those just found lost, and those marked earlier.
    pub fn all_lost(&self) -> PositionSet {
        let marked = StripePosition::numbered(&self.entries).filter(|(_, entry)| entry.version.is_lost());
        self.lost | marked.map(|(position, _)| position).collect()
    }

    /// Returns the buffers to the pool.
    pub fn recycle(self, handle: &VolumeHandle) {
        handle.with(|state| state.io.recycle(self.rows.into_iter().flatten()));
    }
}

/// Reads every row that is there, finds what is wrong, and repairs it on the members too.
pub async fn repair(handle: &VolumeHandle, stripe: StripeIndex) -> StripeContent {
    let mut rows = read_all(handle, stripe).await;
    retry(handle, stripe, &mut rows).await;
    let diagnosis = judge(&rows.evidence);
    let mut stripe_rows = rebuild(handle, stripe, &rows, &diagnosis);
    check_parity(handle, &rows, &mut stripe_rows);
    // Later reads of wrong chunks must consult the lists, whether the chunks can be repaired or not.
    handle.with(|state| {
        let shape = state.shape();
        for position in (stripe_rows.erased | stripe_rows.lost).iter().filter(|&position| shape.is_data(position)) {
            let chunk = state.maps.chunk(stripe, position);
            state.maps.read_status.clear(chunk);
        }
    });

    let is_clean = stripe_rows.erased.is_empty() && stripe_rows.lost.is_empty() && stripe_rows.mismatched.is_empty();
    let (present, is_writable) = handle.with(|state| {
        // A member that returned since the rows were read is not blamed for its missing row.
        let was_there = |&position: &StripePosition| rows.evidence.rows[position].status != RowStatus::NotRead;
        let present: PositionSet = state.shape().positions().filter(was_there).collect();
        (present - state.membership.missing(stripe), state.is_writable())
    });
    // Where no checksum proves a chunk, and the parities contradict each other, a chunk rebuilt from one of them is no
    // repair. Parities of data that prove themselves may be renewed.
    let may_write = handle.with(|state| {
        let are_data_whole = (stripe_rows.rebuilt & state.shape().data_set()).is_empty();
        state.geometry.scheme.lists_sums()
            || stripe_rows.mismatched.is_empty()
            || state.geometry.scheme.checks_itself() && are_data_whole
    });
    let wanted = if may_write { stripe_rows.rebuilt & present } else { PositionSet::NONE };
    let repaired = if is_writable && !wanted.is_empty() {
        write_rebuilt(handle, stripe, &mut stripe_rows, wanted).await
    } else {
        PositionSet::NONE
    };
    report(handle, stripe, &rows, &diagnosis, &stripe_rows, Reported { present, repaired });
    let flushed = rows.flushed;
    let loss_evidence = loss_evidence(&rows, &diagnosis, stripe_rows.lost & present);
    rows.recycle(handle);
    let Rebuilt { rows: all, entries, lost, .. } = stripe_rows;
    let mut all = all;
    let parities = all.split_off(entries.len());
    handle.with(|state| state.io.recycle(parities.into_iter().flatten()));
    StripeContent { rows: all, entries, lost, is_clean, flushed, loss_evidence }
}

/// Whether more evidence may come of a stripe's lost chunks. `lost`: those on members that are there.
fn loss_evidence(rows: &Rows, diagnosis: &Diagnosis, lost: PositionSet) -> LossEvidence {
    let status = |position: StripePosition| rows.evidence.rows[position].status;
    let is_silent = |position: StripePosition| !matches!(status(position), RowStatus::NotRead | RowStatus::Unreadable);
    // A version with two contents stays ambiguous, whichever member returns. Where sums contradict each other, another list may decide.
    let is_ambiguous = rows.evidence.scheme.has_versions() && !(diagnosis.lost - diagnosis.erased).is_empty();
    if is_ambiguous || diagnosis.erased.iter().all(is_silent) {
        return LossEvidence::Exhausted;
    }
    let is_discarded = |&position: &StripePosition| match status(position) {
        RowStatus::Torn => true,
        RowStatus::Sound => diagnosis.stale.contains(position),
        _ => false,
    };
    LossEvidence::MayReturn(lost.iter().filter(is_discarded).collect())
}

/// Reads every row whose member is there.
pub async fn read_all(handle: &VolumeHandle, stripe: StripeIndex) -> Rows {
    let present = handle.with(|state| PositionSet::range(0, state.shape().width()) - state.membership.missing(stripe));
    rows::read(handle, stripe, present, PositionSet::NONE).await
}

/// Reads unsound rows once more: a misdirected read is right the second time, and is recorded as one. No other task writes
/// the stripe meanwhile; but a member may have been replaced, and what the new disk has in that place is not a row.
pub async fn retry(handle: &VolumeHandle, stripe: StripeIndex, rows: &mut Rows) {
    let is_doubtful = |&position: &StripePosition| {
        !matches!(rows.evidence.rows[position].status, RowStatus::Sound | RowStatus::NotRead)
    };
    let doubtful: PositionSet = StripePosition::first(rows.evidence.rows.len()).filter(is_doubtful).collect();
    let doubtful = doubtful - handle.with(|state| state.membership.missing(stripe));
    if doubtful.is_empty() {
        return;
    }
    let whole = doubtful - rows.appendices;
    let mut again = rows::read(handle, stripe, whole, doubtful - whole).await;
    for position in doubtful.iter() {
        let first = rows.evidence.rows[position].status;
        // An appendix that was read alone proves only its body: see `rows::collect`.
        let is_whole_neighbour = again.buffers[position].is_some() && !again.read.contains(position);
        let second = if is_whole_neighbour { RowStatus::Sound } else { again.evidence.rows[position].status };
        if second == RowStatus::Sound {
            handle.with(|state| {
                // A row that names another place shows where the read went astray. Other wrong bytes may have come about on their way.
                let kind = match kind_of(first, false, &state.geometry) {
                    FindingKind::MisdirectedWrite { .. } => FindingKind::MisdirectedRead,
                    kind => kind,
                };
                record(state, stripe, position, kind, Resolution::Transient);
            });
            // No member is blamed for a sector that can be read only at the second try.
            if first != RowStatus::Unreadable {
                let place = handle.with(|state| state.geometry.place(stripe, position));
                persist::blame(handle, place.member, place.row);
            }
        }
        // The second read may go astray where the first one did not.
        if credibility(second) >= credibility(first) {
            rows.evidence.rows[position] = again.evidence.rows[position].clone();
            std::mem::swap(&mut rows.buffers[position], &mut again.buffers[position]);
        }
    }
    rows.read = (rows.read - doubtful) | (again.read & doubtful);
    again.recycle(handle);
}

/// Records a finding about one row.
pub fn record(
    state: &mut VolumeState,
    stripe: StripeIndex,
    position: StripePosition,
    kind: FindingKind,
    end: Resolution,
) {
    let place = state.geometry.place(stripe, position);
    let offset = state.geometry.chunk_offset(place.row);
    let (at, member) = (state.scheduler.now, place.member);
    state.findings.record(VolumeFinding {
        at,
        place: FindingPlace::Row { stripe, position },
        member,
        offset,
        kind,
        resolution: end,
    });
}

/// Rank of a read's outcome: of two reads of one place, the higher is more likely to show what lies there.
fn credibility(status: RowStatus) -> u8 {
    match status {
        RowStatus::NotRead => 0,
        RowStatus::Corrupt => 1,
        RowStatus::Elsewhere { .. } => 2,
        RowStatus::Unreadable => 3,
        RowStatus::Torn => 4,
        RowStatus::Sound => 5,
    }
}

/// The rows of a stripe as they should be.
pub struct Rebuilt {
    /// Data, then parities; `None` where the content is not known.
    rows: Vec<Option<Buffer>>,
    entries: Vec<ListEntry>,
    lost: PositionSet,
    erased: PositionSet,
    /// Rows computed from the others, to be written.
    rebuilt: PositionSet,
    /// Parities whose content is not what the data encode to. Where rows prove themselves, they are in `erased`, too.
    mismatched: PositionSet,
}

/// Rebuilds the erased rows, as far as the result can be proven.
fn rebuild(handle: &VolumeHandle, stripe: StripeIndex, read: &Rows, diagnosis: &Diagnosis) -> Rebuilt {
    handle.with(|state| {
        let shape = state.shape();
        let chunk_bytes = state.chunk_bytes();
        let data = shape.data_set();
        let mut rows: Vec<Option<Buffer>> = (0..shape.width()).map(|_| None).collect();
        for position in (PositionSet::range(0, shape.width()) - diagnosis.erased).iter() {
            let mut copy = state.io.pool.take(state.row_bytes());
            copy.copy_from_slice(read.buffers[position].as_ref().expect("a sound row was read"));
            rows[position] = Some(copy);
        }
        let mut lost = diagnosis.lost;
        let mut rebuilt = PositionSet::NONE;
        let wanted = diagnosis.erased & (data - diagnosis.lost);
        let using: Vec<StripePosition> = (PositionSet::range(0, shape.width()) - diagnosis.erased - diagnosis.lost)
            .iter()
            .take(shape.data)
            .collect();
        if !wanted.is_empty() && using.len() == shape.data {
            let expected = |position: StripePosition| diagnosis.expected[position];
            for position in decode(state, &mut rows, wanted, &using).iter() {
                let row = rows[position].as_mut().expect("it was decoded");
                let is_proven = !state.geometry.scheme.lists_sums()
                    || expected(position).is_some_and(|entry| entry.sum == crc32c(&row[..chunk_bytes]));
                if is_proven {
                    rebuilt.insert(position);
                } else {
                    lost.insert(position);
                }
            }
        } else {
            lost = lost | wanted;
        }
        let entries: Vec<ListEntry> = shape
            .data_positions()
            .map(|position| {
                if !diagnosis.erased.contains(position) {
                    return read.evidence.rows[position].entry;
                }
                let entry = diagnosis.expected[position].unwrap_or_default();
                let is_marked = |row: &Buffer| state.is_marked(stripe, position, &row[..chunk_bytes]);
                let version =
                    if rows[position].as_ref().is_some_and(is_marked) { entry.version.lost() } else { entry.version };
                ListEntry { version, ..entry }
            })
            .collect();
        for position in lost.iter() {
            rows[position] = None;
        }
        let mut all = Rebuilt { rows, entries, lost, erased: diagnosis.erased, rebuilt, mismatched: PositionSet::NONE };
        if lost.is_empty() {
            all.renew_parities(state, diagnosis.erased - data);
        }
        all
    })
}

/// Decodes `wanted` from the rows of `using`, into new rows. Returns `wanted`.
pub fn decode(
    state: &mut VolumeState,
    rows: &mut [Option<Buffer>],
    wanted: PositionSet,
    using: &[StripePosition],
) -> PositionSet {
    let chunk_bytes = state.chunk_bytes();
    let missing: Vec<StripePosition> = wanted.iter().collect();
    let decoder = state.code.decoder(&numbers(&missing), &numbers(using)).expect("as many survivors as data chunks");
    let mut out: Vec<Buffer> = missing.iter().map(|_| state.io.pool.take(state.row_bytes())).collect();
    {
        let survivors: Vec<&[u8]> = using
            .iter()
            .map(|&position| &rows[position].as_ref().expect("a survivor was read")[..chunk_bytes])
            .collect();
        let mut chunks: Vec<&mut [u8]> = out.iter_mut().map(|row| &mut row[..chunk_bytes]).collect();
        decoder.decode(&survivors, &mut chunks);
    }
    for (position, row) in missing.into_iter().zip(out) {
        rows[position] = Some(row);
    }
    wanted
}

/// Positions as the erasure code takes them.
fn numbers(positions: &[StripePosition]) -> Vec<usize> {
    positions.iter().map(|position| position.get()).collect()
}

impl Rebuilt {
    /// Computes these parities again, from all data.
    fn renew_parities(&mut self, state: &mut VolumeState, parities: PositionSet) {
        if parities.is_empty() {
            return;
        }
        let (data, rest) = self.rows.split_at_mut(self.entries.len());
        let all = encode(state, data);
        for (index, row) in all.into_iter().enumerate() {
            let position = state.shape().parity_position(index);
            if parities.contains(position) {
                rest[index] = Some(row);
                self.rebuilt.insert(position);
            } else {
                state.io.pool.give(row);
            }
        }
    }
}

/// All parities of these data rows, without their appendices.
pub fn encode(state: &mut VolumeState, data: &[Option<Buffer>]) -> Vec<Buffer> {
    let chunk_bytes = state.chunk_bytes();
    let mut parities: Vec<Buffer> = (0..state.shape().parity).map(|_| state.io.pool.take(state.row_bytes())).collect();
    let sources: Vec<&[u8]> =
        data.iter().map(|row| &row.as_ref().expect("all data are known")[..chunk_bytes]).collect();
    let mut out: Vec<&mut [u8]> = parities.iter_mut().map(|row| &mut row[..chunk_bytes]).collect();
    state.code.encode(&sources, &mut out);
    parities
}

/// Compares the parities that were read with those encoded from the data. Where rows do not prove themselves, nothing
/// tells which side is wrong.
fn check_parity(handle: &VolumeHandle, read: &Rows, stripe: &mut Rebuilt) {
    handle.with(|state| {
        let chunk_bytes = state.chunk_bytes();
        if !stripe.lost.is_empty() || state.shape().parity == 0 {
            return;
        }
        let data = stripe.entries.len();
        let parities = encode(state, &stripe.rows[..data]);
        for (index, parity) in parities.iter().enumerate() {
            let position = state.shape().parity_position(index);
            let Some(row) = read.content(position, chunk_bytes).filter(|_| !stripe.erased.contains(position)) else {
                continue;
            };
            if row != &parity[..chunk_bytes] {
                stripe.mismatched.insert(position);
                // Data that prove themselves make the parity wrong. It was read, and its checksum is right, but it
                // counts as erased all the same: so it is rebuilt like a row that could not be read.
                if state.geometry.scheme.checks_itself() {
                    stripe.rebuilt.insert(position);
                    stripe.erased.insert(position);
                    let mut right = state.io.pool.take(state.row_bytes());
                    right[..chunk_bytes].copy_from_slice(&parity[..chunk_bytes]);
                    stripe.rows[position].replace(right).into_iter().for_each(|wrong| state.io.pool.give(wrong));
                }
            }
        }
        state.io.recycle(parities);
    });
}

/// Writes rebuilt rows, flushes, and reads them back. Returns those that read back right.
async fn write_rebuilt(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    rebuilt: &mut Rebuilt,
    wanted: PositionSet,
) -> PositionSet {
    let region = handle.with(|state| state.geometry.region_of(stripe));
    persist::mark_dirty(handle, region).await;
    let ops: Vec<_> = handle.with(|state| {
        let entries = rebuilt.entries.clone();
        wanted
            .iter()
            .map(|position| {
                let row = rebuilt.rows[position].as_mut().expect("what is written was rebuilt");
                sum_and_seal(state, stripe, position, row, &entries);
                let place = state.geometry.place(stripe, position);
                let mut buffer = state.io.pool.take(state.row_bytes());
                buffer.copy_from_slice(row);
                let offset = state.geometry.chunk_offset(place.row);
                (place.member, OpKind::Write { offset, buffer, is_durable: false })
            })
            .collect()
    });
    let done = handle.ops(ops).await;
    handle.with(|state| state.io.recycle(done.into_iter().flat_map(|done| done.buffer)));
    let is_same =
        |read: &Rows, position: StripePosition| read.buffers[position].as_deref() == rebuilt.rows[position].as_deref();
    let right = flush_and_read_back(handle, stripe, wanted, is_same).await;
    handle.with(|state| {
        let (now, shape) = (state.scheduler.now, state.shape());
        state.maps.intents.end(region, now);
        right.iter().filter(|&position| shape.is_data(position)).for_each(|position| {
            let chunk = state.maps.chunk(stripe, position);
            state.maps.read_status.clear(chunk);
        });
    });
    persist::clean_later(handle);
    right
}

/// Has the members of these rows flush, and reads the rows back, twice at most, because a read may go astray where the write did not.
/// Returns the rows whose members flushed, and that `is_right` accepts.
pub async fn flush_and_read_back(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    positions: PositionSet,
    is_right: impl Fn(&Rows, StripePosition) -> bool,
) -> PositionSet {
    let member = |position| handle.with(|state| state.geometry.place(stripe, position).member);
    let done = handle.ops(positions.iter().map(|position| (member(position), OpKind::Flush)).collect()).await;
    let is_flushed = |(position, done): (StripePosition, &EndedOp)| done.result.is_ok().then_some(position);
    let flushed: PositionSet = positions.iter().zip(&done).filter_map(is_flushed).collect();
    for (disk, reason) in persist::failed(handle, done) {
        persist::fail_member(handle, disk, reason).await; // no later flush would report what was lost with this one
    }
    let mut right = PositionSet::NONE;
    for _ in 0..2 {
        let again = rows::read(handle, stripe, flushed - right, PositionSet::NONE).await;
        right = right | (flushed - right).iter().filter(|&position| is_right(&again, position)).collect();
        again.recycle(handle);
        if right == flushed {
            break;
        }
    }
    right
}

/// Did the volume itself lay its mark of a lost chunk over this row, which proves nothing?
pub fn is_own_mark(state: &VolumeState, stripe: StripeIndex, position: StripePosition, rows: &Rows) -> bool {
    let chunk = rows.content(position, state.chunk_bytes());
    rows.evidence.rows[position].status == RowStatus::Corrupt
        && chunk.is_some_and(|chunk| state.mark(stripe, position).is_in(chunk))
}

struct Reported {
    present: PositionSet,
    repaired: PositionSet,
}

/// Records what was found, counts it as faults of the members concerned, and has those places verified that were named
/// as the true targets of misdirected writes.
fn report(
    handle: &VolumeHandle,
    stripe: StripeIndex,
    rows: &Rows,
    diagnosis: &Diagnosis,
    rebuilt: &Rebuilt,
    Reported { present, repaired }: Reported,
) {
    let mut found: Vec<(StripePosition, FindingKind, Resolution)> = Vec::new();
    let geometry = handle.with(|state| state.geometry);
    for position in (rebuilt.erased & present).iter() {
        let kind = kind_of(rows.evidence.rows[position].status, diagnosis.stale.contains(position), &geometry);
        let end = match (repaired.contains(position), rebuilt.rebuilt.contains(position)) {
            (true, _) => Resolution::Repaired,
            (false, true) => Resolution::Reconstructed,
            (false, false) => Resolution::Lost,
        };
        found.push((position, kind, end));
    }
    for position in ((rebuilt.lost & rebuilt.erased) - present).iter() {
        found.push((position, FindingKind::Unreadable(None), Resolution::Lost));
    }
    for position in (rebuilt.lost - rebuilt.erased).iter() {
        found.push((position, FindingKind::Mismatch(Judgement::Undecided), Resolution::Lost));
    }
    for position in (rebuilt.mismatched - rebuilt.erased).iter() {
        found.push((position, FindingKind::Mismatch(Judgement::Undecided), Resolution::Lost));
    }
    let was_written = rows.evidence.was_written();
    for (position, kind, end) in found {
        let (place, is_own) = handle.with(|state| {
            record(state, stripe, position, kind, end);
            (state.geometry.place(stripe, position), is_own_mark(state, stripe, position, rows))
        });
        let is_evidence = was_written || kind == FindingKind::Unreadable(None);
        if is_evidence && !is_own && kind != FindingKind::Mismatch(Judgement::Undecided) && present.contains(position) {
            persist::blame(handle, place.member, place.row);
        }
        // Only after a repair: two places that name each other and cannot be repaired would be verified for ever.
        if let (FindingKind::MisdirectedWrite { member, offset }, Resolution::Repaired) = (kind, end) {
            handle.with(|state| state.suspect(member, offset));
        }
    }
}
