//! The source of all binary formats: lets a reader look ahead, and tracks the byte offset.

use crate::error::{SourcePlace, TraceError};
use crate::reader::Stream;
use std::io::{ErrorKind, Read};

/// The size of the buffer, in bytes: four times the longest record of any format here.
const BUFFER_BYTES: usize = 256 << 10;

/// A stream whose next bytes can be examined before they are consumed.
pub struct BinarySource {
    source: Stream,
    buffer: Vec<u8>,
    /// The buffer's bytes `start..end` were read and not yet consumed.
    start: usize,
    end: usize,
    /// The offset of `start` in the source.
    offset: u64,
    is_ended: bool,
}

impl BinarySource {
    /// A source that begins at the beginning of `source`.
    pub fn new(source: Stream) -> BinarySource {
        BinarySource { source, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0, offset: 0, is_ended: false }
    }

    /// The place of the next byte.
    pub fn place(&self) -> SourcePlace {
        SourcePlace::Byte(self.offset)
    }

    /// The next bytes, at least `wanted` of them; if there are fewer, the source ends after them.
    ///
    /// # Errors
    /// If the source fails.
    ///
    /// # Panics
    /// If more than 256 KiB are wanted.
    pub fn peek(&mut self, wanted: usize) -> Result<&[u8], TraceError> {
        assert!(wanted <= BUFFER_BYTES, "no record is that long");
        if self.end - self.start < wanted && !self.is_ended {
            self.fill(wanted)?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Consumes `count` bytes.
    ///
    /// # Panics
    /// If [`BinarySource::peek`] has not returned them all.
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.end - self.start, "consumed before it was read");
        self.start += count;
        self.offset += count as u64;
    }

    fn fill(&mut self, wanted: usize) -> Result<(), TraceError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted && !self.is_ended {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.is_ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn every_byte_comes_once_and_in_order() {
        let bytes: Vec<u8> = (0..1_000_003u32).map(|i| (i % 251) as u8).collect();
        let mut source = BinarySource::new(Box::new(Cursor::new(bytes.clone())));
        let (mut seen, mut step) = (Vec::new(), 1);
        loop {
            let held = source.peek(step).unwrap();
            let count = held.len().min(step);
            seen.extend_from_slice(&held[..count]);
            if count < step {
                break;
            }
            source.consume(count);
            step = step * 7 % 65_521;
        }
        assert!(seen == bytes);
    }

    #[test]
    fn the_place_is_that_of_the_next_byte() {
        let mut source = BinarySource::new(Box::new(Cursor::new(b"abcdef".to_vec())));
        assert_eq!(source.peek(4).unwrap()[..4], *b"abcd");
        source.consume(4);
        assert_eq!((source.place(), source.peek(4).unwrap()), (SourcePlace::Byte(4), &b"ef"[..]));
    }
}
