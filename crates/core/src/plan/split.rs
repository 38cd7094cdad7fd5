//! A request of bytes, cut into what it wants of each stripe.

use super::stripe::Shape;
use crate::slots::Slots;

/// What a request touches of one stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The stripe's number.
    pub stripe: u64,
    /// The data chunks it touches: one run.
    pub touched: Slots,
    /// Those of them of which it leaves some bytes alone: at most the first and the last.
    pub partial: Slots,
}

/// The stripes touched by `len` bytes from byte `offset` of an array of these shape and chunk on, ascending. Nothing
/// for no bytes.
///
/// # Panics
/// When a chunk has no bytes, a stripe no data, or the request ends beyond 2^64.
pub fn split(shape: Shape, chunk_bytes: u64, offset: u64, len: u64) -> impl Iterator<Item = Part> {
    let end = offset.checked_add(len).expect("the request ends inside the numbers");
    let data = shape.data as u64;
    // Chunks of data, numbered through: first touched, first not touched.
    let (first, last) = (offset / chunk_bytes, end.div_ceil(chunk_bytes));
    let head = (!offset.is_multiple_of(chunk_bytes)).then_some(first);
    let tail = (!end.is_multiple_of(chunk_bytes)).then(|| end / chunk_bytes);
    let mut next = if len == 0 { last } else { first };
    std::iter::from_fn(move || {
        if next >= last {
            return None;
        }
        let (stripe, start) = (next / data, next % data);
        let count = (last - next).min(data - start);
        let slot = |chunk: u64| (next..next + count).contains(&chunk).then(|| (chunk - next + start) as usize);
        let mut partial = Slots::NONE;
        [head, tail].into_iter().flatten().filter_map(slot).for_each(|slot| partial.insert(slot));
        let touched = Slots::range(start as usize, (start + count) as usize);
        next += count;
        Some(Part { stripe, touched, partial })
    })
}
