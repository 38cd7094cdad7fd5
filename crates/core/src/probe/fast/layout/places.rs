//! The places of the chunks of a pattern, for hammers and bursts.

use crate::probe::fast::boundary::ChunkResult;
use crate::probe::fast::sampler::Sampler;

/// The chunks of a pattern, numbered from its phase on.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// The size of a chunk, and where the first one begins.
    pub chunk: ChunkResult,
    /// The size of the pattern in bytes: whole chunks.
    pub pattern: u64,
}

impl Places {
    /// The number of chunks in a pattern.
    pub fn chunks(&self) -> usize {
        (self.pattern / self.chunk.bytes) as usize
    }

    /// A random block of a chunk, as bytes of the pattern.
    pub fn random_offset(&self, sampler: &mut Sampler, chunk: usize) -> u64 {
        self.unwrapped_offset(sampler, chunk) % self.pattern
    }

    /// A random block of a chunk in a random pattern of the device.
    pub fn random_block(&self, sampler: &mut Sampler, chunk: usize) -> u64 {
        let pattern = sampler.rng.below(self.patterns(sampler));
        self.of_pattern(sampler, pattern, chunk)
    }

    /// A random block of a chunk in this pattern.
    pub fn of_pattern(&self, sampler: &mut Sampler, pattern: u64, chunk: usize) -> u64 {
        // Without wrapping round: the chunks of one pattern follow its phase.
        let last = sampler.device().bytes - sampler.device().block;
        (pattern * self.pattern + self.unwrapped_offset(sampler, chunk)).min(last)
    }

    /// The number of whole patterns on the device, counted from the phase on; at least 1.
    pub fn patterns(&self, sampler: &Sampler) -> u64 {
        (sampler.device().bytes / self.pattern).saturating_sub(1).max(1)
    }

    fn unwrapped_offset(&self, sampler: &mut Sampler, chunk: usize) -> u64 {
        let block = sampler.device().block;
        let within = sampler.rng.below(self.chunk.bytes / block) * block;
        self.chunk.phase + chunk as u64 * self.chunk.bytes + within
    }

    /// A random block of each of these chunks, as bytes of the pattern.
    pub fn random_offsets(&self, sampler: &mut Sampler, chunks: &[usize]) -> Vec<u64> {
        chunks.iter().map(|&chunk| self.random_offset(sampler, chunk)).collect()
    }
}
