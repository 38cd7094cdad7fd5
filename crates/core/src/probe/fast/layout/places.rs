//! Where the chunks of a pattern are, for hammers and bursts.

use crate::probe::fast::boundary::ChunkResult;
use crate::probe::fast::sampler::Sampler;

/// The chunks of a pattern, numbered from its phase on.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// What one is.
    pub chunk: ChunkResult,
    /// The pattern's size in bytes: whole chunks.
    pub pattern: u64,
}

impl Places {
    /// How many chunks a pattern has.
    pub fn chunks(&self) -> usize {
        (self.pattern / self.chunk.bytes) as usize
    }

    /// Some block of a chunk, as bytes of the pattern.
    pub fn some(&self, sampler: &mut Sampler, chunk: usize) -> u64 {
        self.whole(sampler, chunk) % self.pattern
    }

    /// The same, counted from the first pattern's first byte: chunks that begin in one pattern may end in the next.
    pub fn whole(&self, sampler: &mut Sampler, chunk: usize) -> u64 {
        let block = sampler.device().block;
        let within = sampler.rng.below(self.chunk.bytes / block) * block;
        self.chunk.phase + chunk as u64 * self.chunk.bytes + within
    }

    /// Some block of each of these chunks.
    pub fn some_of_each(&self, sampler: &mut Sampler, chunks: &[usize]) -> Vec<u64> {
        chunks.iter().map(|&chunk| self.some(sampler, chunk)).collect()
    }
}
