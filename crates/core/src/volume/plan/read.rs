//! Plans of reads, and parts shared with writes: which list to read, and how to reconstruct a missing chunk.

use super::stripe::{PlanMode, StripePlan, StripeState};
use crate::layout::Shape;
use crate::position_set::PositionSet;
use crate::volume::integrity::scheme::Scheme;

/// The plan of a read of these data chunks.
pub(super) fn plan(scheme: Scheme, shape: Shape, wanted: PositionSet, state: StripeState) -> Option<StripePlan> {
    if !(wanted & state.missing).is_empty() {
        let (read_chunks, read_appendices) = survivors(scheme, shape, state)?;
        return Some(of_reads(PlanMode::Reconstruct, read_chunks, read_appendices));
    }
    let list = match needs_list(scheme, shape, wanted, state) {
        true => list(shape, state),
        false => PositionSet::NONE,
    };
    Some(of_reads(PlanMode::Read, wanted, list))
}

/// k of the remaining chunks, data first, and the lists of all other parities; `None` when fewer than k remain.
pub(super) fn survivors(scheme: Scheme, shape: Shape, state: StripeState) -> Option<(PositionSet, PositionSet)> {
    let mut chunks = shape.data_set() - state.missing;
    let mut other_parities = shape.parity_set() - state.missing;
    for _ in chunks.count()..shape.data {
        let parity = other_parities.first()?;
        other_parities.remove(parity);
        chunks.insert(parity);
    }
    Some((chunks, if scheme.has_appendix() { other_parities } else { PositionSet::NONE }))
}

/// The parity whose list is read, if one remains.
pub(super) fn list(shape: Shape, state: StripeState) -> PositionSet {
    if state.missing.is_empty() && shape.parity > 0 {
        return PositionSet::one(shape.parity_position(state.list_rotation % shape.parity));
    }
    let left = shape.parity_set() - state.missing;
    match left.count() {
        0 => PositionSet::NONE,
        count => left.iter().nth(state.list_rotation % count).into_iter().collect(),
    }
}

/// Do these chunks, all present, need a list to be trusted?
fn needs_list(scheme: Scheme, shape: Shape, wanted: PositionSet, state: StripeState) -> bool {
    if scheme.has_buddies() && shape.data > 1 && wanted.count() == shape.data {
        return false; // each one's checksum is in the next one's appendix
    }
    match scheme {
        Scheme::None => false,
        Scheme::Pure => true,
        Scheme::Hybrid1 | Scheme::Hybrid2 | Scheme::Stamp => !wanted.is_subset(state.is_read),
    }
}

fn of_reads(mode: PlanMode, read_chunks: PositionSet, read_appendices: PositionSet) -> StripePlan {
    StripePlan {
        mode,
        read_chunks,
        read_appendices,
        write_chunks: PositionSet::NONE,
        write_appendices: PositionSet::NONE,
    }
}
