//! The benchmark's work: encoding and summing a set of stripes by this crate and, if the machine has it, by ISA-L. The
//! caller keeps the time.

use crate::isal::{Isal, Tables};
use crate::{Code, crc32c};
use std::fmt;
use std::hint::black_box;

/// The alignment of rows in bytes: a page, as for buffers of direct I/O.
const ALIGNMENT: usize = 4096;

/// The maximum number of data chunks of a measured stripe: few, so that the lists of chunks take no cache to speak of.
pub const DATA_MAX: usize = 32;

/// The maximum number of parities of a code.
const PARITY_MAX: usize = 6;

/// An implementation to measure, and what it does with each stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// Copies the first half of the chunks over the second half: the limit that memory sets.
    Copy,
    /// [`Code::encode`].
    Parity,
    /// [`Code::encode_summed`].
    Fused,
    /// [`Code::encode`], then [`crc32c`] (always by the machine's best path) of each chunk, stripe by stripe.
    ParityThenSums,
    /// [`crc32c`] of each data chunk.
    Sums,
    /// ISA-L's `ec_encode_data`.
    IsalParity,
    /// ISA-L's `pq_gen`, for two parities.
    IsalTwo,
    /// ISA-L's `ec_encode_data`, then its `crc32_iscsi` of each chunk, stripe by stripe.
    IsalParityThenSums,
    /// ISA-L's `crc32_iscsi` of each data chunk.
    IsalSums,
}

impl Contender {
    /// The contenders that need ISA-L.
    pub const ISAL: [Contender; 4] =
        [Contender::IsalParity, Contender::IsalTwo, Contender::IsalParityThenSums, Contender::IsalSums];

    /// The bytes of each stripe that count as processed: its data or, for a copy, the bytes copied.
    pub fn data_bytes(self, code: &Code, chunk: usize) -> usize {
        chunk * if self == Contender::Copy { code.slots() / 2 } else { code.data() }
    }

    /// Processes one stripe.
    ///
    /// # Panics
    /// If the contender needs ISA-L and `rival` is `None`, or if it needs two parities and the code has another number.
    pub fn work(self, rival: Option<&Rival>, stripe: &mut BenchStripe) {
        let rival = || rival.expect("ISA-L is there");
        if self == Contender::Copy {
            let (first, second) = stripe.rows.split_at_mut(stripe.rows.len() / 2);
            first.iter().zip(second).for_each(|(from, to)| to[..stripe.chunk].copy_from_slice(&from[..stripe.chunk]));
            return;
        }
        stripe.with_chunks(|code, data, parity| match self {
            Contender::Copy => {}
            Contender::Parity => code.encode(data, parity),
            Contender::Fused => {
                let mut sums = [0; DATA_MAX + PARITY_MAX];
                code.encode_summed(data, parity, &mut sums[..code.slots()]);
                black_box(sums);
            }
            Contender::ParityThenSums => {
                code.encode(data, parity);
                sum_all(data, parity, crc32c);
            }
            Contender::Sums => sum_all(data, &[], crc32c),
            Contender::IsalParity => rival().isal.encode(&rival().tables, data, parity),
            Contender::IsalTwo => rival().isal.encode_two(data, parity),
            Contender::IsalParityThenSums => {
                rival().isal.encode(&rival().tables, data, parity);
                sum_all(data, parity, |chunk| rival().isal.crc32c(chunk));
            }
            Contender::IsalSums => sum_all(data, &[], |chunk| rival().isal.crc32c(chunk)),
        });
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Contender::Copy => "memcpy",
            Contender::Parity => "parity",
            Contender::Fused => "parity and sums, fused",
            Contender::ParityThenSums => "parity, then sums",
            Contender::Sums => "sums of the data",
            Contender::IsalParity => "ec_encode_data",
            Contender::IsalTwo => "pq_gen",
            Contender::IsalParityThenSums => "ec_encode_data, then crc32_iscsi",
            Contender::IsalSums => "crc32_iscsi of the data",
        })
    }
}

/// Sums all chunks; [`black_box`] keeps the compiler from dropping a sum as unused.
fn sum_all(data: &[&[u8]], parity: &[&mut [u8]], sum: impl Fn(&[u8]) -> u32) {
    for chunk in data.iter().copied().chain(parity.iter().map(|chunk| &**chunk)) {
        black_box(sum(chunk));
    }
}

/// ISA-L, with its tables for one code.
pub struct Rival {
    isal: Isal,
    tables: Tables,
}

impl Rival {
    /// ISA-L with the tables for `code`; `None` if the machine lacks the library.
    pub fn load(code: &Code) -> Option<Rival> {
        let isal = Isal::load()?;
        let tables = isal.tables(code.data(), code.parity(), |row, column| code.coefficient(row, column));
        Some(Rival { isal, tables })
    }
}

/// Memory for stripes, filled with a fixed pattern, so that every page is present before anything is measured.
pub struct Memory {
    bytes: Vec<u8>,
    start: usize,
    /// Where the next run continues, in bytes. Runs do not restart at 0, so none finds in the cache what the previous
    /// one left.
    next: usize,
}

impl Memory {
    /// Allocates and fills `bytes` bytes.
    pub fn new(bytes: usize) -> Memory {
        let mut bytes = vec![0; bytes + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        // Multiples of the golden ratio: their high bits repeat after 2^32 bytes.
        let pattern = |at: usize| ((at as u32).wrapping_mul(0x9e37_79b1) >> 24) as u8;
        bytes[start..].iter_mut().enumerate().for_each(|(at, byte)| *byte = pattern(at));
        Memory { bytes, start, next: 0 }
    }

    /// As many stripes of `code` as touch at most `touched` bytes, and fit, but at least one. Every chunk has `chunk`
    /// bytes and is followed by `appendix` more.
    ///
    /// # Errors
    /// The number of bytes that a single stripe takes, if there is no room for one.
    ///
    /// # Panics
    /// When the code has more than [`DATA_MAX`] data slots.
    pub fn stripes(&mut self, code: Code, chunk: usize, appendix: usize, touched: usize) -> Result<Stripes<'_>, usize> {
        assert!(code.data() <= DATA_MAX, "few enough data slots");
        let row = chunk + appendix;
        // Without appendices, chunks are packed; otherwise rows are aligned as a volume's buffers are.
        let pitch = if appendix == 0 { chunk } else { row.next_multiple_of(ALIGNMENT) };
        let memory = &mut self.bytes[self.start..];
        let count = (touched / (row * code.slots())).max(1).min(memory.len() / (pitch * code.slots()));
        match count {
            0 => Err(pitch * code.slots()),
            _ => Ok(Stripes { memory, next: &mut self.next, code, chunk, row, pitch, count }),
        }
    }
}

/// A set of stripes, stored row after row and stripe after stripe, to be processed in a circle.
pub struct Stripes<'m> {
    memory: &'m mut [u8],
    /// The offset behind the stripe that was processed last.
    next: &'m mut usize,
    code: Code,
    chunk: usize,
    row: usize,
    /// The distance between the starts of two rows, in bytes.
    pitch: usize,
    count: usize,
}

/// One stripe to be processed.
pub struct BenchStripe<'s, 'm> {
    /// The stripe's code.
    pub code: &'s Code,
    /// The bytes of a chunk.
    pub chunk: usize,
    /// The chunks with their appendices, data first.
    pub rows: &'s mut [&'m mut [u8]],
}

impl Stripes<'_> {
    /// The bytes of memory touched when all stripes are processed.
    pub fn bytes(&self) -> usize {
        self.count * self.row * self.code.slots()
    }

    /// The number of stripes.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Calls `work` on the next `stripes` stripes, in a circle.
    pub fn run(&mut self, stripes: usize, mut work: impl FnMut(&mut BenchStripe)) {
        let stripe_pitch = self.pitch * self.code.slots();
        for _ in 0..stripes {
            let index = *self.next / stripe_pitch % self.count;
            let stripe = &mut self.memory[index * stripe_pitch..][..stripe_pitch];
            let mut pitches = stripe.chunks_exact_mut(self.pitch);
            let mut rows: [&mut [u8]; DATA_MAX + PARITY_MAX] =
                std::array::from_fn(|_| pitches.next().map(|row| &mut row[..self.row]).unwrap_or_default());
            work(&mut BenchStripe { code: &self.code, chunk: self.chunk, rows: &mut rows[..self.code.slots()] });
            *self.next = (index + 1) * stripe_pitch;
        }
    }
}

impl BenchStripe<'_, '_> {
    /// Calls `work` with the code, the data chunks and the parity chunks.
    pub fn with_chunks(&mut self, work: impl FnOnce(&Code, &[&[u8]], &mut [&mut [u8]])) {
        let (data, parity) = self.rows.split_at_mut(self.code.data());
        let mut sources: [&[u8]; DATA_MAX] = [&[]; DATA_MAX];
        sources.iter_mut().zip(&*data).for_each(|(place, row)| *place = &row[..self.chunk]);
        let mut outs: [&mut [u8]; PARITY_MAX] = Default::default();
        outs.iter_mut().zip(&mut *parity).for_each(|(place, row)| *place = &mut row[..self.chunk]);
        work(self.code, &sources[..self.code.data()], &mut outs[..self.code.parity()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: usize = 4096;

    /// The parities that a contender writes; the stripes' parities were something else before.
    fn parities(contender: Contender, appendix: usize) -> Vec<Vec<u8>> {
        let code = Code::new(5, 2).unwrap();
        let rival = Rival::load(&code);
        let mut memory = Memory::new(1 << 20);
        let mut stripes = memory.stripes(code, CHUNK, appendix, 7 * 3 * (CHUNK + appendix)).unwrap();
        assert_eq!(stripes.bytes(), 3 * 7 * (CHUNK + appendix));
        stripes.run(3, |stripe| contender.work(rival.as_ref(), stripe));
        let mut written = Vec::new();
        stripes.run(3, |stripe| {
            assert!(stripe.rows.len() == 7 && stripe.rows.iter().all(|row| row.len() == CHUNK + appendix));
            stripe.with_chunks(|_, _, parity| written.extend(parity.iter().map(|chunk| chunk.to_vec())));
        });
        written
    }

    #[test]
    fn all_contenders_make_the_same_parities() {
        for appendix in [0, 512] {
            let right = parities(Contender::Parity, appendix);
            assert!(right.len() == 6 && right != parities(Contender::Sums, appendix), "sums leave them alone");
            let mut contenders = vec![Contender::Fused, Contender::ParityThenSums];
            if Isal::load().is_some() {
                contenders.extend([Contender::IsalParity, Contender::IsalTwo, Contender::IsalParityThenSums]);
            }
            contenders.into_iter().for_each(|contender| assert!(parities(contender, appendix) == right, "{contender}"));
        }
    }

    #[test]
    fn a_set_touches_as_many_bytes_as_asked_if_there_is_room() {
        let mut memory = Memory::new(100 << 10);
        let mut bytes = |chunk, appendix, touched| {
            let stripes = memory.stripes(Code::new(4, 1).unwrap(), chunk, appendix, touched);
            stripes.map(|stripes| stripes.bytes())
        };
        assert_eq!(bytes(4096, 0, 41_000), Ok(40_960));
        assert_eq!(bytes(4096, 0, 1), Ok(20_480), "one at least");
        assert_eq!(bytes(4096, 512, usize::MAX), Ok(2 * 5 * 4608), "rows begin at pages: two stripes fit");
        assert_eq!(bytes(64 << 10, 0, usize::MAX), Err(320 << 10));
    }
}
