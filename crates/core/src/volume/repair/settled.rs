//! The rows of a stripe as a resync settled them: data as decided, parities computed anew, all sealed.

use crate::buffer::Buffer;
use crate::index::{StripeIndex, StripePosition};
use crate::position_set::PositionSet;
use crate::volume::integrity::reconcile::Reconciliation;
use crate::volume::integrity::tag::ListEntry;
use crate::volume::member::{MemberIndex, OpKind};
use crate::volume::repair::stripe_repair;
use crate::volume::request::rows::Rows;
use crate::volume::request::seal::sum_and_seal;
use crate::volume::tasks::state::VolumeState;
use scrubjay_code::crc32c;

/// Copies of the data rows that are known. Chunks that cannot be rebuilt after all become lost.
pub fn known_rows(state: &mut VolumeState, rows: &Rows, reconciliation: &mut Reconciliation) -> Vec<Option<Buffer>> {
    let shape = state.shape();
    let chunk_bytes = state.chunk_bytes();
    let data = shape.data_set();
    let kept = data - reconciliation.rebuilt - reconciliation.lost;
    let mut all: Vec<Option<Buffer>> = (0..shape.width()).map(|_| None).collect();
    for position in (kept | reconciliation.parities).iter() {
        let Some(row) = &rows.buffers[position] else { continue };
        let mut copy = state.io.pool.take(state.row_bytes());
        copy.copy_from_slice(row);
        all[position] = Some(copy);
    }
    if !reconciliation.rebuilt.is_empty() {
        let using: Vec<StripePosition> = (kept | reconciliation.parities).iter().take(shape.data).collect();
        stripe_repair::decode(state, &mut all, reconciliation.rebuilt, &using);
        let wrong: PositionSet = reconciliation
            .rebuilt
            .iter()
            .filter(|&position| {
                let row = all[position].as_ref().expect("it was decoded");
                state.geometry.scheme.lists_sums()
                    && crc32c(&row[..chunk_bytes]) != reconciliation.expected[position].sum
            })
            .collect();
        reconciliation.rebuilt = reconciliation.rebuilt - wrong;
        for position in wrong.iter() {
            // A parity that does not check itself may be torn: then the row stays as it was read.
            let row = rows.buffers[position].as_ref().filter(|_| !state.geometry.scheme.checks_itself());
            match (row, &mut all[position]) {
                (Some(row), Some(copy)) => copy.copy_from_slice(row),
                (_, decoded) => {
                    decoded.take().into_iter().for_each(|decoded| state.io.pool.give(decoded));
                    reconciliation.lost.insert(position);
                }
            }
        }
    }
    let parities = all.split_off(shape.data);
    state.io.recycle(parities.into_iter().flatten());
    all
}

/// Encodes and seals all rows as they should be. Returns writes of those that differ from their members' rows.
pub fn changed(
    state: &mut VolumeState,
    stripe: StripeIndex,
    mut data: Vec<Option<Buffer>>,
    mut entries: Vec<ListEntry>,
    rows: &Rows,
) -> Vec<(MemberIndex, OpKind)> {
    let chunk_bytes = state.chunk_bytes();
    for (row, entry) in data.iter().zip(&mut entries) {
        entry.sum = crc32c(&row.as_ref().expect("all data are known or zeros")[..chunk_bytes]);
    }
    let parities = stripe_repair::encode(state, &data);
    let all: Vec<Buffer> = data.iter_mut().filter_map(Option::take).chain(parities).collect();
    let missing = state.membership.missing(stripe);
    let mut writes = Vec::new();
    for (position, mut row) in StripePosition::numbered(all) {
        sum_and_seal(state, stripe, position, &mut row, &entries);
        if missing.contains(position) || rows.buffers[position].as_deref() == Some(&row[..]) {
            state.io.pool.give(row);
            continue;
        }
        let place = state.geometry.place(stripe, position);
        let offset = state.geometry.chunk_offset(place.row);
        writes.push((place.member, OpKind::Write { offset, buffer: row, is_durable: false }));
    }
    writes
}

/// Copies of the buffers in `writes` that replace whole rows at these positions.
pub fn copies(
    state: &VolumeState,
    stripe: StripeIndex,
    positions: PositionSet,
    writes: &[(MemberIndex, OpKind)],
) -> Vec<(StripePosition, Buffer)> {
    let copy = |position: StripePosition| {
        let place = state.geometry.place(stripe, position);
        let start = state.geometry.chunk_offset(place.row);
        writes.iter().find_map(|(member, op)| match op {
            OpKind::Write { offset, buffer, .. } if (*member, *offset) == (place.member, start) => {
                Some((position, buffer.clone()))
            }
            _ => None,
        })
    };
    positions.iter().filter_map(copy).collect()
}
