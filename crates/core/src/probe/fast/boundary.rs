//! The third step: where chunks begin, by galloping and bisection from a random place to the end of its chunk.

use super::evidence::Doubt;
use super::hammer::Hammer;
use super::sampler::{EarlyEnd, Sampler};
use super::strides::greatest_common_divisor;

/// Probes of one search step: with more of them, several could lie on one other disk and delay each other.
const PROBES: u64 = 3;
/// The factor by which each probe of a gallop lies farther than the one before.
const STRIDE: u64 = 4;
/// Boundaries that are needed.
const BOUNDARIES: usize = 3;
/// Searches for these boundaries, at most.
const SEARCHES_MAX: usize = 16;
/// Chunks of which start, middle and end are compared: if a supposed chunk is in truth two or three, at most half of
/// them pass by chance.
const CHECKED: usize = 6;
/// The least confidence for which a chunk is claimed.
const CONFIDENCE_MIN: f64 = 0.5;
/// Corrections after which no chunk is claimed.
const CORRECTIONS_MAX: usize = 8;

/// The chunk that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkResult {
    /// The size of the chunk in bytes.
    pub bytes: u64,
    /// The first byte of the device at which a chunk begins.
    pub phase: u64,
    /// The confidence of both, 0.5 to 1.
    pub confidence: f64,
}

/// Determines the chunk for a pattern of several classes; `None` when the tests contradict each other.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn find(sampler: &mut Sampler, hammer: Hammer) -> Result<Option<ChunkResult>, EarlyEnd> {
    let block = sampler.device().block;
    let mut search = BoundarySearch { hammer, block, doubt: Doubt::default() };
    let mut boundaries = Vec::new();
    let random_place = |sampler: &mut Sampler| sampler.rng.below(hammer.pattern / block) * block;
    let mut at = random_place(sampler);
    for _ in 0..SEARCHES_MAX {
        let before = search.doubt;
        match search.end_of(sampler, at).await? {
            Some(next) if search.is_boundary(sampler, next).await? => boundaries.push(next),
            // The place waits for all others, or seems to by chance, or an answer on the way was wrong. The search is discarded.
            _ => {
                search.doubt = before;
                at = random_place(sampler);
                continue;
            }
        }
        // A single boundary found again and again is none: a pattern of several classes has several chunks.
        let is_one = spacing(&boundaries, hammer.pattern) == hammer.pattern;
        if boundaries.len() >= BOUNDARIES && !is_one {
            break;
        }
        at = if boundaries.len() >= BOUNDARIES { random_place(sampler) } else { boundaries[boundaries.len() - 1] };
    }
    if boundaries.len() < BOUNDARIES || spacing(&boundaries, hammer.pattern) == hammer.pattern {
        return Ok(None);
    }
    for _ in 0..CORRECTIONS_MAX {
        let bytes = spacing(&boundaries, hammer.pattern);
        match search.boundary_inside(sampler, bytes, boundaries[0] % bytes).await? {
            None => {
                let confidence = search.doubt.confidence();
                // A chunk that is rather wrong than right must not be claimed: users build file systems by it.
                let chunk = ChunkResult { bytes, phase: boundaries[0] % bytes, confidence };
                return Ok((confidence >= CONFIDENCE_MIN).then_some(chunk));
            }
            Some(boundary) => boundaries.push(boundary),
        }
    }
    Ok(None)
}

/// The greatest chunk size by which all boundaries have the same phase; it divides the pattern.
fn spacing(boundaries: &[u64], pattern: u64) -> u64 {
    boundaries
        .iter()
        .fold(pattern, |spacing, boundary| greatest_common_divisor(spacing, boundary.abs_diff(boundaries[0])))
}

struct BoundarySearch {
    hammer: Hammer,
    block: u64,
    doubt: Doubt,
}

impl BoundarySearch {
    /// The first boundary behind `at`; it may lie beyond the pattern's end. `None` when all of the pattern seems to be one chunk.
    async fn end_of(&mut self, sampler: &mut Sampler, at: u64) -> Result<Option<u64>, EarlyEnd> {
        // The first step is at most half of the pattern.
        let (mut low, mut step) = (0, (STRIDE * self.block).min(self.hammer.pattern / self.block / 2 * self.block));
        loop {
            let pattern = self.hammer.pattern;
            let steps: Vec<u64> =
                (0..PROBES as u32).map(|i| step * STRIDE.pow(i)).filter(|&step| step < pattern).collect();
            if steps.is_empty() {
                return Ok(None);
            }
            match self.first_apart(sampler, at, &steps).await? {
                Some(0) => return Ok(Some(self.between(sampler, at, low, steps[0]).await?)),
                Some(index) => return Ok(Some(self.between(sampler, at, steps[index - 1], steps[index]).await?)),
                None => {
                    low = steps[steps.len() - 1];
                    step = low * STRIDE;
                    if step >= pattern && low < pattern / 2 {
                        step = pattern / 2 / self.block * self.block;
                    }
                }
            }
        }
    }

    /// The boundary between two distances from `at`, of which the first lies on its disk and the second does not.
    async fn between(&mut self, sampler: &mut Sampler, at: u64, low: u64, high: u64) -> Result<u64, EarlyEnd> {
        let (mut low, mut high) = (low / self.block, high / self.block);
        while high - low > 1 {
            let mut steps: Vec<u64> = (1..=PROBES).map(|i| low + (high - low) * i / (PROBES + 1)).collect();
            steps.retain(|&step| step > low && step < high);
            steps.dedup();
            let places: Vec<u64> = steps.iter().map(|step| step * self.block).collect();
            match self.first_apart(sampler, at, &places).await? {
                Some(0) => high = steps[0],
                Some(index) => (low, high) = (steps[index - 1], steps[index]),
                None => low = steps[steps.len() - 1],
            }
        }
        Ok(at + high * self.block)
    }

    /// The index of the first distance that does not lie on the same disk as `at`.
    async fn first_apart(&mut self, sampler: &mut Sampler, at: u64, steps: &[u64]) -> Result<Option<usize>, EarlyEnd> {
        let places: Vec<u64> = steps.iter().map(|step| at + step).collect();
        let odds = self.hammer.compare(sampler, at % self.hammer.pattern, &places).await?;
        let first = odds.iter().position(|odds| *odds <= 0.0);
        odds[..first.map_or(odds.len(), |first| first + 1)].iter().for_each(|odds| self.doubt.add(*odds));
        Ok(first)
    }

    /// Whether there is a boundary just before `place`, by a test of its own: one wrong answer on the way would make
    /// all chunks as small as its error.
    async fn is_boundary(&mut self, sampler: &mut Sampler, place: u64) -> Result<bool, EarlyEnd> {
        let before = (place + self.hammer.pattern - self.block) % self.hammer.pattern;
        Ok(self.first_apart(sampler, before, &[self.block]).await?.is_some())
    }

    /// Compares start, middle and end of some chunks; returns a boundary inside of one, if there is any.
    async fn boundary_inside(
        &mut self,
        sampler: &mut Sampler,
        bytes: u64,
        phase: u64,
    ) -> Result<Option<u64>, EarlyEnd> {
        if bytes == self.block {
            return Ok(None);
        }
        let chunks = self.hammer.pattern / bytes;
        for _ in 0..CHECKED.min(chunks as usize) {
            let start = sampler.rng.below(chunks) * bytes + phase;
            let steps = [bytes / self.block / 2 * self.block, bytes - self.block];
            let before = self.doubt;
            let (low, high) = match self.first_apart(sampler, start, &steps).await? {
                None => continue,
                Some(0) => (0, steps[0]),
                Some(_) => (steps[0], steps[1]),
            };
            let boundary = self.between(sampler, start, low, high).await?;
            if self.is_boundary(sampler, boundary).await? {
                return Ok(Some(boundary));
            }
            self.doubt = before;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spacing_divides_all_distances_and_the_pattern() {
        assert_eq!(spacing(&[1536, 1536 + 4096, 1536 + 12288], 1 << 20), 4096);
        assert_eq!(spacing(&[100, 100 + 3072], 16384), 1024, "no chunk of which the pattern is not made");
        assert_eq!(spacing(&[5], 64), 64);
    }
}
