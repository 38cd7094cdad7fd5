//! Seals rows: the one place where a row gets its appendix, for all writers.

use crate::index::{StripeIndex, StripePosition};
use crate::volume::integrity::tag::{self, ListEntry};
use crate::volume::tasks::state::VolumeState;
use scrubjay_code::crc32c;
use std::borrow::Cow;

/// Writes the appendix of a row whose content has the CRC-32C `sum`, in schemes that have appendices. `entries` hold
/// the versions of all data chunks, and the sums of all except perhaps this row's own.
pub fn seal(
    state: &VolumeState,
    stripe: StripeIndex,
    position: StripePosition,
    row: &mut [u8],
    sum: u32,
    entries: &[ListEntry],
) {
    if !state.geometry.scheme.has_appendix() {
        return;
    }
    let (chunk_bytes, identity) = (state.chunk_bytes(), state.identity(stripe, position));
    if state.shape().is_data(position) {
        let entry = state.sealed(ListEntry { sum, ..entries[position] });
        tag::seal_data(row, chunk_bytes, identity, entry, predecessor_sum(state, position, entries));
    } else {
        let entries = match state.geometry.scheme.has_versions() {
            true => Cow::Borrowed(entries),
            false => entries.iter().map(|&entry| state.sealed(entry)).collect(),
        };
        tag::seal_parity(row, chunk_bytes, identity, sum, &entries);
    }
}

/// Computes the sum of a row's content, and seals the row with it ([`seal`]).
pub fn sum_and_seal(
    state: &VolumeState,
    stripe: StripeIndex,
    position: StripePosition,
    row: &mut [u8],
    entries: &[ListEntry],
) {
    if state.geometry.scheme.has_appendix() {
        let sum = crc32c(&row[..state.chunk_bytes()]);
        seal(state, stripe, position, row, sum, entries);
    }
}

/// The sum that a data chunk's appendix copies from the chunk before it; 0 in schemes without such copies.
pub fn predecessor_sum(state: &VolumeState, position: StripePosition, entries: &[ListEntry]) -> u32 {
    let before = state.shape().before(position);
    if state.geometry.scheme.has_buddies() && before != position { entries[before].sum } else { 0 }
}
