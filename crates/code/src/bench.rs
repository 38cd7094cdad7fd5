//! What is measured: passes over a set of stripes by us and, if it is there, by ISA-L. The clock is the caller's.

use crate::isal::{Isal, Tables};
use crate::{Code, crc32c};
use std::fmt;

/// Where chunks begin: on a page, as buffers for direct I/O do.
const ALIGNMENT: usize = 4096;

/// Most data chunks of a stripe that is measured: few, so that the tables of chunks weigh nothing.
const DATA_MAX: usize = 32;

/// Who does what with each stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
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

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Contender::Parity => "parity",
            Contender::Fused => "parity and sums, fused",
            Contender::ParityThenSums => "parity, then sums",
            Contender::Sums => "sums of the data",
            Contender::IsalParity => "ISA-L ec_encode_data",
            Contender::IsalTwo => "ISA-L pq_gen",
            Contender::IsalParityThenSums => "ISA-L ec_encode_data, then crc32_iscsi",
            Contender::IsalSums => "ISA-L crc32_iscsi of the data",
        })
    }
}

/// A set of stripes, chunk after chunk, stripe after stripe.
pub struct Stripes {
    code: Code,
    chunk: usize,
    buffer: Vec<u8>,
    start: usize,
    count: usize,
    isal: Option<(Isal, Tables)>,
    /// All sums ever made, mixed: so that none can be left out as unused.
    pub mixed: u32,
}

impl Stripes {
    /// As many stripes of `code` with chunks of `chunk` bytes as fit in `bytes`, at least one, filled with a fixed pattern.
    pub fn new(code: Code, chunk: usize, bytes: usize) -> Stripes {
        let count = (bytes / (code.slots() * chunk)).max(1);
        let mut buffer = vec![0_u8; count * code.slots() * chunk + ALIGNMENT];
        let start = buffer.as_ptr().align_offset(ALIGNMENT);
        buffer.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at as u32).wrapping_mul(0x9e37_79b1) as u8);
        let isal =
            Isal::load().map(|isal| (isal, isal.tables(code.data(), code.parity(), |r, c| code.coefficient(r, c))));
        Stripes { code, chunk, buffer, start, count, isal, mixed: 0 }
    }

    /// Who can run on this machine and with this code.
    pub fn contenders(&self) -> Vec<Contender> {
        use Contender::*;
        let ours = [Parity, Fused, ParityThenSums, Sums];
        let theirs = [IsalParity, IsalTwo, IsalParityThenSums, IsalSums];
        let can = |&who: &Contender| self.isal.is_some() && (who != IsalTwo || self.code.parity() == 2);
        ours.into_iter().chain(theirs.into_iter().filter(can)).collect()
    }

    /// One pass over all stripes; how many bytes of data there were.
    ///
    /// # Panics
    /// When `who` is not among [`Stripes::contenders`], or the code has more than 32 data slots.
    pub fn pass(&mut self, who: Contender) -> usize {
        let (data_count, chunk) = (self.code.data(), self.chunk);
        assert!(data_count <= DATA_MAX, "few enough data slots");
        let stripe_bytes = self.code.slots() * chunk;
        let mut sums = vec![0; self.code.slots()];
        for stripe in self.buffer[self.start..][..self.count * stripe_bytes].chunks_exact_mut(stripe_bytes) {
            let (data, parity) = stripe.split_at_mut(data_count * chunk);
            let mut sources: [&[u8]; DATA_MAX] = [&[]; DATA_MAX];
            sources.iter_mut().zip(data.chunks_exact(chunk)).for_each(|(place, source)| *place = source);
            let mut outs: [&mut [u8]; 6] = Default::default();
            outs.iter_mut().zip(parity.chunks_exact_mut(chunk)).for_each(|(place, out)| *place = out);
            let outs = &mut outs[..self.code.parity()];
            self.mixed ^= work(who, &self.code, self.isal.as_ref(), &sources[..data_count], outs, &mut sums);
        }
        self.count * data_count * chunk
    }
}

fn work(
    who: Contender,
    code: &Code,
    isal: Option<&(Isal, Tables)>,
    data: &[&[u8]],
    parity: &mut [&mut [u8]],
    sums: &mut [u32],
) -> u32 {
    let isal = || isal.expect("ISA-L is there");
    let mixed = |sums: &[u32]| sums.iter().fold(0, |mixed, sum| mixed ^ sum);
    match who {
        Contender::Parity => code.encode(data, parity),
        Contender::Fused => code.encode_summed(data, parity, sums),
        Contender::ParityThenSums => {
            code.encode(data, parity);
            let chunks = data.iter().copied().chain(parity.iter().map(|chunk| &**chunk));
            sums.iter_mut().zip(chunks).for_each(|(sum, chunk)| *sum = crc32c(chunk));
        }
        Contender::Sums => sums.iter_mut().zip(data).for_each(|(sum, chunk)| *sum = crc32c(chunk)),
        Contender::IsalParity => isal().0.encode(&isal().1, data, parity),
        Contender::IsalTwo => isal().0.encode_two(data, parity),
        Contender::IsalParityThenSums => {
            isal().0.encode(&isal().1, data, parity);
            let chunks = data.iter().copied().chain(parity.iter().map(|chunk| &**chunk));
            sums.iter_mut().zip(chunks).for_each(|(sum, chunk)| *sum = isal().0.crc32c(chunk));
        }
        Contender::IsalSums => sums.iter_mut().zip(data).for_each(|(sum, chunk)| *sum = isal().0.crc32c(chunk)),
    }
    mixed(sums)
}
