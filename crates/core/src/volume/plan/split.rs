//! A request of bytes, cut into what it wants of each stripe.

use crate::index::{StripeIndex, StripePosition};
use crate::layout::Shape;
use crate::position_set::PositionSet;
use crate::units::VolumeOffset;

/// What a request touches of one stripe: one run of its data chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripePart {
    /// The stripe's number.
    pub stripe: StripeIndex,
    /// The first position touched.
    pub start: StripePosition,
    /// The position behind the last one touched.
    pub end: StripePosition,
    /// Does the request leave some bytes of the first one alone, ...
    pub is_head_partial: bool,
    /// ... and of the last one? (Of a single chunk, either says so.)
    pub is_tail_partial: bool,
}

impl StripePart {
    /// The data chunks it touches.
    pub fn touched(&self) -> PositionSet {
        PositionSet::range(self.start.get(), self.end.get())
    }

    /// Those of them of which it leaves some bytes alone.
    pub fn partial(&self) -> PositionSet {
        let ends = [(self.is_head_partial, self.start), (self.is_tail_partial, StripePosition(self.end.get() - 1))];
        ends.into_iter().filter_map(|(is_partial, position)| is_partial.then_some(position)).collect()
    }
}

/// The stripes touched by `len` bytes from byte `offset` of an array of these shape and chunk on, ascending. Nothing
/// for no bytes.
///
/// # Panics
/// When a chunk has no bytes, a stripe no data, or the request ends beyond 2^64.
pub fn split(shape: Shape, chunk_bytes: u64, offset: VolumeOffset, len: u64) -> impl Iterator<Item = StripePart> {
    let offset = offset.get();
    let end = offset.checked_add(len).expect("the request ends inside the numbers");
    let data = shape.data as u64;
    // Chunks of data, numbered through: first touched, first not touched.
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
