//! Bytes to send to a client: small ones that were copied, and buffers that are sent without a copy.

use scrubjay_core::buffer::Buffer;
use std::ops::Range;

/// Zeros to send, repeatedly if need be.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Bytes to send, in order, together with the memory they lie in.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// All copied bytes.
    copied: Vec<u8>,
    pieces: Vec<OutgoingPiece>,
    len: usize,
}

#[derive(Debug)]
enum OutgoingPiece {
    /// A part of `copied`.
    Copied(Range<usize>),
    /// A part of a buffer.
    Lent(Buffer, Range<usize>),
    /// This many zeros.
    Zeros(usize),
}

impl Outgoing {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes to send.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a copy of `bytes`.
    pub fn push_copy(&mut self, bytes: &[u8]) {
        let start = self.copied.len();
        self.copied.extend_from_slice(bytes);
        self.len += bytes.len();
        match self.pieces.last_mut() {
            Some(OutgoingPiece::Copied(range)) => range.end = self.copied.len(),
            _ => self.pieces.push(OutgoingPiece::Copied(start..self.copied.len())),
        }
    }

    /// Adds a part of a buffer, without copying it.
    ///
    /// # Panics
    /// When the range is not inside the buffer.
    pub fn push_buffer(&mut self, buffer: Buffer, range: Range<usize>) {
        assert!(range.start <= range.end && range.end <= buffer.len(), "a part of the buffer");
        self.len += range.len();
        self.pieces.push(OutgoingPiece::Lent(buffer, range));
    }

    /// Adds `count` zeros.
    pub fn push_zeros(&mut self, count: usize) {
        self.len += count;
        self.pieces.push(OutgoingPiece::Zeros(count));
    }

    /// The bytes, slice by slice.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().flat_map(|piece| {
            let (slice, zeros) = match piece {
                OutgoingPiece::Copied(range) => (&self.copied[range.clone()], 0),
                OutgoingPiece::Lent(buffer, range) => (&buffer[range.clone()], 0),
                OutgoingPiece::Zeros(count) => (&[][..], *count),
            };
            let whole = std::iter::repeat_n(&ZEROS[..], zeros / ZEROS.len());
            std::iter::once(slice).chain(whole).chain([&ZEROS[..zeros % ZEROS.len()]]).filter(|slice| !slice.is_empty())
        })
    }

    /// Empties it, keeping its capacity, and hands out the buffers.
    pub fn clear(&mut self, mut take_back: impl FnMut(Buffer)) {
        self.copied.clear();
        self.len = 0;
        for piece in self.pieces.drain(..) {
            if let OutgoingPiece::Lent(buffer, _) = piece {
                take_back(buffer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_in_the_order_they_went_in() {
        let mut outgoing = Outgoing::default();
        assert!(outgoing.is_empty() && outgoing.slices().next().is_none());
        outgoing.push_copy(b"he");
        outgoing.push_copy(b"ad");
        outgoing.push_buffer(Buffer::copy_of(b"xbodyx"), 1..5);
        outgoing.push_zeros(ZEROS.len() + 3);
        outgoing.push_copy(b"end");
        let expected = [b"head".as_slice(), b"body", &vec![0; ZEROS.len() + 3], b"end"].concat();
        assert_eq!(outgoing.slices().collect::<Vec<_>>().concat(), expected);
        assert_eq!(outgoing.len(), expected.len());
        assert_eq!(outgoing.slices().next(), Some(&b"head"[..]), "copies that touch are one");

        let mut buffers = Vec::new();
        outgoing.clear(|buffer| buffers.push(buffer));
        assert_eq!((buffers.len(), outgoing.len()), (1, 0));
        outgoing.push_copy(b"again");
        assert_eq!(outgoing.slices().collect::<Vec<_>>().concat(), b"again");
    }
}
