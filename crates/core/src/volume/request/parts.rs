//! Cuts a request into pieces: one for each chunk it touches, stripe by stripe.

use crate::index::{StripeIndex, StripePosition};
use crate::units::VolumeOffset;
use std::ops::Range;

/// A byte range of one chunk, as a piece of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkBytes {
    /// Which data chunk of the stripe.
    pub position: StripePosition,
    /// The bytes within the chunk; never empty.
    pub range: Range<usize>,
    /// Offset of these bytes in the request.
    pub at: usize,
}

/// The stripes that a request touches, in order, each with its pieces in order. `len` is at least 1; `data` is the
/// number of data chunks in a stripe.
pub fn cut(
    offset: VolumeOffset,
    len: u64,
    chunk_bytes: u64,
    data: usize,
) -> impl Iterator<Item = (StripeIndex, Vec<ChunkBytes>)> {
    let (offset, stripe_bytes) = (offset.get(), chunk_bytes * data as u64);
    let end = offset + len;
    (offset / stripe_bytes..=(end - 1) / stripe_bytes).map(move |stripe| {
        let start = stripe * stripe_bytes;
        let pieces = StripePosition::first(data).filter_map(|position| {
            let chunk = start + position.get() as u64 * chunk_bytes;
            let (from, to) = (chunk.max(offset), (chunk + chunk_bytes).min(end));
            (from < to).then(|| ChunkBytes {
                position,
                range: (from - chunk) as usize..(to - chunk) as usize,
                at: (from - offset) as usize,
            })
        });
        (StripeIndex(stripe), pieces.collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_request_exactly_and_in_order() {
        for (offset, len) in [(0, 1), (0, 32), (7, 1), (3, 90), (31, 2), (32, 64), (63, 1), (8, 8)] {
            let mut at = 0;
            for (stripe, pieces) in cut(VolumeOffset(offset), len, 8, 4) {
                for piece in pieces {
                    let start = stripe.get() * 32 + piece.position.get() as u64 * 8 + piece.range.start as u64;
                    assert_eq!((start, piece.at as u64), (offset + at, at));
                    assert!(piece.range.end <= 8 && !piece.range.is_empty());
                    at += piece.range.len() as u64;
                }
            }
            assert_eq!(at, len);
        }
    }
}
