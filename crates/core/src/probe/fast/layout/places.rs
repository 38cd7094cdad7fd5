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

    /// Some block of a chunk of any pattern of the device.
    pub fn anywhere(&self, sampler: &mut Sampler, chunk: usize) -> u64 {
        let pattern = sampler.rng.below(self.patterns(sampler));
        self.of_pattern(sampler, pattern, chunk)
    }

    /// Some block of a chunk of this pattern.
    pub fn of_pattern(&self, sampler: &mut Sampler, pattern: u64, chunk: usize) -> u64 {
        // Not wrapped round: chunks of one pattern are those behind its phase.
        let last = sampler.device().bytes - sampler.device().block;
        (pattern * self.pattern + self.whole(sampler, chunk)).min(last)
    }

    /// Whole patterns of the device, chunks that begin in one and end in the next among them.
    pub fn patterns(&self, sampler: &Sampler) -> u64 {
        (sampler.device().bytes / self.pattern).saturating_sub(1).max(1)
    }

    fn whole(&self, sampler: &mut Sampler, chunk: usize) -> u64 {
        let block = sampler.device().block;
        let within = sampler.rng.below(self.chunk.bytes / block) * block;
        self.chunk.phase + chunk as u64 * self.chunk.bytes + within
    }

    /// Some block of each of these chunks.
    pub fn some_of_each(&self, sampler: &mut Sampler, chunks: &[usize]) -> Vec<u64> {
        chunks.iter().map(|&chunk| self.some(sampler, chunk)).collect()
    }
}
