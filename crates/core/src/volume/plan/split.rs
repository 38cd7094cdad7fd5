//! Splits a request of bytes into the parts that it touches of each stripe.

use crate::index::{StripeIndex, StripePosition};
use crate::layout::Shape;
use crate::position_set::PositionSet;
use crate::units::VolumeOffset;

/// The part of a request in one stripe: one run of data chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripePart {
    /// The stripe's number.
    pub stripe: StripeIndex,
    /// The first position touched.
    pub start: StripePosition,
    /// The position after the last one touched.
    pub end: StripePosition,
    /// Does the request leave some bytes of the first touched chunk unchanged?
    pub is_head_partial: bool,
    /// Does the request leave some bytes of the last touched chunk unchanged? (For a single chunk, either flag may say so.)
    pub is_tail_partial: bool,
}

impl StripePart {
    /// The data chunks that the part touches.
    pub fn touched(&self) -> PositionSet {
        PositionSet::range(self.start.get(), self.end.get())
    }

    /// The touched chunks of which some bytes stay unchanged.
    pub fn partial(&self) -> PositionSet {
        let ends = [(self.is_head_partial, self.start), (self.is_tail_partial, StripePosition(self.end.get() - 1))];
        ends.into_iter().filter_map(|(is_partial, position)| is_partial.then_some(position)).collect()
    }
}

/// The stripes touched by `len` bytes from byte `offset` on, in ascending order, for an array with this shape and chunk
/// size. Empty when `len` is 0.
///
/// # Panics
/// When a chunk has no bytes, a stripe no data, or the request ends beyond 2^64.
pub fn split(shape: Shape, chunk_bytes: u64, offset: VolumeOffset, len: u64) -> impl Iterator<Item = StripePart> {
    let offset = offset.get();
    let end = offset.checked_add(len).expect("the request ends inside the numbers");
    let data = shape.data as u64;
    // Data chunks, numbered through all stripes: the first one touched, and the first one after it not touched.
    let (first, last) = (offset / chunk_bytes, end.div_ceil(chunk_bytes));
    let is_head_partial = first * chunk_bytes != offset;
    let is_tail_partial = !end.is_multiple_of(chunk_bytes);
    let (mut next, mut stripe, mut start) = (if len == 0 { last } else { first }, first / data, first % data);
    std::iter::from_fn(move || {
        if next >= last {
            return None;
        }
        let count = (last - next).min(data - start);
        let part = StripePart {
            stripe: StripeIndex(stripe),
            start: StripePosition(start as usize),
            end: StripePosition((start + count) as usize),
            is_head_partial: is_head_partial && next == first,
            is_tail_partial: is_tail_partial && next + count == last,
        };
        (next, stripe, start) = (next + count, stripe + 1, 0);
        Some(part)
    })
}
