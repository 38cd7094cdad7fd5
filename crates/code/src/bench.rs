//! What is measured: work on a set of stripes by us and, if it is there, by ISA-L. The clock is the caller's.

use crate::isal::{Isal, Tables};
use crate::{Code, crc32c};
use std::fmt;
use std::hint::black_box;

/// Where rows begin: on a page, as buffers for direct I/O do.
const ALIGNMENT: usize = 4096;

/// Most data chunks of a stripe that is measured: few, so that the tables of chunks weigh nothing.
pub const DATA_MAX: usize = 32;

/// As many parities as a code has at most.
const PARITY_MAX: usize = 6;

/// Who does what with each stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// The first half of the chunks, copied over the second half: what memory allows.
    Copy,
    /// [`Code::encode`].
    Parity,
    /// [`Code::encode_summed`].
    Fused,
    /// [`Code::encode`], then [`crc32c`] (which is always by the machine's best path) of each chunk, stripe by stripe.
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
    /// Those of ISA-L.
    pub const ISAL: [Contender; 4] =
        [Contender::IsalParity, Contender::IsalTwo, Contender::IsalParityThenSums, Contender::IsalSums];

    /// How many bytes of each stripe count as worked on: its data, or what is copied of it.
    pub fn data_bytes(self, code: &Code, chunk: usize) -> usize {
        chunk * if self == Contender::Copy { code.slots() / 2 } else { code.data() }
    }

    /// What it does to one stripe.
    ///
    /// # Panics
    /// When it takes ISA-L, and there is none, or two parities, and there are not.
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

/// No sum may be left out as unused.
fn sum_all(data: &[&[u8]], parity: &[&mut [u8]], sum: impl Fn(&[u8]) -> u32) {
    for chunk in data.iter().copied().chain(parity.iter().map(|chunk| &**chunk)) {
        black_box(sum(chunk));
    }
}

/// ISA-L, and what it knows of one code.
pub struct Rival {
    isal: Isal,
    tables: Tables,
}

impl Rival {
    /// For this code; `None` without the library.
    pub fn load(code: &Code) -> Option<Rival> {
        let isal = Isal::load()?;
        let tables = isal.tables(code.data(), code.parity(), |row, column| code.coefficient(row, column));
        Some(Rival { isal, tables })
    }
}

/// Bytes for stripes, filled with a fixed pattern: every page of them is there before anything is measured.
pub struct Memory {
    bytes: Vec<u8>,
    start: usize,
    /// Where work goes on: as nothing begins again at the beginning, nobody finds in the cache what others left there.
    next: usize,
}

impl Memory {
    /// So many bytes.
    pub fn new(bytes: usize) -> Memory {
        let mut bytes = vec![0; bytes + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        // Multiples of the golden ratio: their high bits repeat after 2^32 bytes.
        let pattern = |at: usize| ((at as u32).wrapping_mul(0x9e37_79b1) >> 24) as u8;
        bytes[start..].iter_mut().enumerate().for_each(|(at, byte)| *byte = pattern(at));
        Memory { bytes, start, next: 0 }
    }

    /// As many stripes of `code` as touch no more than `touched` bytes, and fit. Chunks have `chunk` bytes and lie each
    /// before `appendix` more.
    ///
    /// # Errors
    /// How many bytes it takes, if there is not room for a single stripe.
    ///
    /// # Panics
    /// When the code has more than [`DATA_MAX`] data slots.
    pub fn stripes(&mut self, code: Code, chunk: usize, appendix: usize, touched: usize) -> Result<Stripes<'_>, usize> {
        assert!(code.data() <= DATA_MAX, "few enough data slots");
        let row = chunk + appendix;
        // Chunks with nothing between them may be packed; rows begin where a volume's buffers do.
        let pitch = if appendix == 0 { chunk } else { row.next_multiple_of(ALIGNMENT) };
        let memory = &mut self.bytes[self.start..];
        let count = (touched / (row * code.slots())).max(1).min(memory.len() / (pitch * code.slots()));
        match count {
            0 => Err(pitch * code.slots()),
            _ => Ok(Stripes { memory, next: &mut self.next, code, chunk, row, pitch, count }),
        }
    }
}

/// A set of stripes, row after row, stripe after stripe, to be worked on round and round.
pub struct Stripes<'m> {
    memory: &'m mut [u8],
    /// The byte behind the stripe that was worked on last.
    next: &'m mut usize,
    code: Code,
    chunk: usize,
    row: usize,
    /// From the beginning of a row to that of the next one.
    pitch: usize,
    count: usize,
}

/// One stripe to be worked on.
pub struct BenchStripe<'s, 'm> {
    /// Its code.
    pub code: &'s Code,
    /// Bytes of a chunk.
    pub chunk: usize,
    /// Chunks with their appendices, the data first.
    pub rows: &'s mut [&'m mut [u8]],
}

impl Stripes<'_> {
    /// How many bytes of memory are touched when all stripes are worked on.
    pub fn bytes(&self) -> usize {
        self.count * self.row * self.code.slots()
    }

    /// How many stripes there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Does `work` to the next `stripes`, in a circle.
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
    /// Does `work` with the code, the data chunks and the parity chunks.
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

    /// The parities that a contender leaves in stripes whose parities were something else.
    fn parities(who: Contender, appendix: usize) -> Vec<Vec<u8>> {
        let code = Code::new(5, 2).unwrap();
        let rival = Rival::load(&code);
        let mut memory = Memory::new(1 << 20);
        let mut stripes = memory.stripes(code, CHUNK, appendix, 7 * 3 * (CHUNK + appendix)).unwrap();
        assert_eq!(stripes.bytes(), 3 * 7 * (CHUNK + appendix));
        stripes.run(3, |stripe| who.work(rival.as_ref(), stripe));
        let mut made = Vec::new();
        stripes.run(3, |stripe| {
            assert!(stripe.rows.len() == 7 && stripe.rows.iter().all(|row| row.len() == CHUNK + appendix));
            stripe.with_chunks(|_, _, parity| made.extend(parity.iter().map(|chunk| chunk.to_vec())));
        });
        made
    }

    #[test]
    fn all_contenders_make_the_same_parities() {
        for appendix in [0, 512] {
            let right = parities(Contender::Parity, appendix);
            assert!(right.len() == 6 && right != parities(Contender::Sums, appendix), "sums leave them alone");
            let mut makers = vec![Contender::Fused, Contender::ParityThenSums];
            if Isal::load().is_some() {
                makers.extend([Contender::IsalParity, Contender::IsalTwo, Contender::IsalParityThenSums]);
            }
            makers.into_iter().for_each(|who| assert!(parities(who, appendix) == right, "{who}"));
        }
    }

    #[test]
    fn a_set_is_as_large_as_wished_if_there_is_room() {
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
