//! Plans of writes: read-modify-write or reconstruct-write, whichever takes fewer I/Os.

use super::read;
use super::stripe::{PlanMode, StripePlan, StripeState};
use crate::index::StripePosition;
use crate::layout::Shape;
use crate::position_set::PositionSet;
use crate::volume::integrity::scheme::Scheme;

/// The plan of a write to these data chunks, some of them in part.
pub(super) fn plan(
    scheme: Scheme,
    shape: Shape,
    touched: PositionSet,
    partial: PositionSet,
    state: StripeState,
) -> Option<StripePlan> {
    let missing = state.missing;
    if !missing.is_empty() && missing.count() > shape.parity {
        return None;
    }
    let buddies = match scheme.has_buddies() && shape.parity > 0 {
        true => buddies(shape, touched) - missing,
        false => PositionSet::NONE,
    };
    let parities = shape.parity_set() - missing;
    let (mode, (read_chunks, read_appendices)) = match parities.is_empty() {
        true => (PlanMode::ReconstructWrite, plain(scheme, shape, touched - missing, partial, buddies)),
        false => cheaper(StripeWrite { scheme, shape, touched, partial, buddies, parities, state })?,
    };
    let mode = match mode == PlanMode::ReconstructWrite && read_chunks.is_empty() && touched.count() == shape.data {
        true => PlanMode::FullStripe,
        false => mode,
    };
    let write_chunks = (touched - missing) | parities;
    Some(StripePlan { mode, read_chunks, read_appendices, write_chunks, write_appendices: buddies })
}

/// Chunks read, and appendices read alone.
type Reads = (PositionSet, PositionSet);

/// A write to a stripe that has a parity left.
struct StripeWrite {
    scheme: Scheme,
    shape: Shape,
    touched: PositionSet,
    partial: PositionSet,
    /// The present chunks whose copies of checksums change.
    buddies: PositionSet,
    /// The parities that are left.
    parities: PositionSet,
    state: StripeState,
}

/// The way that reads less, and its reads. (Both ways write the same.)
fn cheaper(write: StripeWrite) -> Option<(PlanMode, Reads)> {
    let count = |(chunks, appendices): Reads| (chunks | appendices).count(); // They are disjoint.
    let reconstruct = reconstruct(&write)?;
    if !(write.touched & write.state.missing).is_empty() {
        return Some((PlanMode::ReconstructWrite, reconstruct));
    }
    let modify = modify(&write);
    Some(match count(modify) <= count(reconstruct) {
        true => (PlanMode::ReadModifyWrite, modify),
        false => (PlanMode::ReconstructWrite, reconstruct),
    })
}

/// The reads of a read-modify-write. The checks need no others.
fn modify(write: &StripeWrite) -> Reads {
    (write.touched | write.parities, buddies_read(write.scheme, write.buddies))
}

/// The reads of a reconstruct-write, or of a write of the full stripe.
fn reconstruct(write: &StripeWrite) -> Option<Reads> {
    let &StripeWrite { scheme, shape, touched, partial, state, .. } = write;
    let chunks = (shape.data_set() - touched) | partial;
    if !(chunks & state.missing).is_empty() {
        return read::survivors(scheme, shape, state);
    }
    // The buddies are among the chunks: they are not touched.
    let old_versions = match scheme == Scheme::Hybrid1 {
        true => touched - chunks - state.missing,
        false => PositionSet::NONE,
    };
    let needs_list = match scheme {
        Scheme::None => false,
        Scheme::Pure => !chunks.is_empty(),
        Scheme::Hybrid1 => !chunks.is_subset(state.is_read) || !(touched & state.missing).is_empty(),
        Scheme::Hybrid2 | Scheme::Stamp => !chunks.is_subset(state.is_read),
    };
    let list = if needs_list { read::list(shape, state) } else { PositionSet::NONE };
    Some((chunks, old_versions | list))
}

/// The reads of a write when no parity is left. The first chunk of each run carries the checksum of a chunk that stays,
/// which no list has any more: only the first chunk's own old appendix does.
fn plain(scheme: Scheme, shape: Shape, touched: PositionSet, partial: PositionSet, buddies: PositionSet) -> Reads {
    let is_head = |position: &StripePosition| !touched.contains(shape.before(*position));
    let heads: PositionSet = match scheme.has_buddies() && shape.data > 1 && shape.parity > 0 {
        true => touched.iter().filter(is_head).collect(),
        false => PositionSet::NONE,
    };
    (partial, buddies_read(scheme, buddies) | (heads - partial))
}

/// Hybrid-2 reads a buddy's appendix before it writes it: the appendix holds more than the copy.
fn buddies_read(scheme: Scheme, buddies: PositionSet) -> PositionSet {
    if scheme == Scheme::Hybrid2 { buddies } else { PositionSet::NONE }
}

/// The neighbour, round the ring of the data chunks, of the last chunk of each run.
fn buddies(shape: Shape, touched: PositionSet) -> PositionSet {
    let mut buddies = PositionSet::NONE;
    for position in touched.iter() {
        let next = shape.after(position);
        if !touched.contains(next) {
            buddies.insert(next);
        }
    }
    buddies
}
