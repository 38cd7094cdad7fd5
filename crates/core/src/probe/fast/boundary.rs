//! The third step: where chunks begin, by galloping and bisection from some place to the end of its chunk.

use super::evidence::Doubt;
use super::hammer::Hammer;
use super::sampler::{EarlyEnd, Sampler};
use super::strides::greatest_common_divisor;

/// Probes of one search step: more of them could lie on one other disk and hold each other up.
const PROBES: u64 = 3;
/// By how much each probe of a gallop lies farther than the one before.
const STRIDE: u64 = 4;
/// Boundaries that are searched,
const BOUNDARIES: usize = 3;
/// in at most so many searches.
const SEARCHES_MAX: usize = 16;
/// Chunks of which the start, the middle and the end are compared: of chunks that are in truth two or three, at most half
/// lie together by chance.
const CHECKED: usize = 6;
/// No chunk is claimed that is less sure.
const CONFIDENCE_MIN: f64 = 0.5;
/// After so many corrections no chunk is claimed.
const CORRECTIONS_MAX: usize = 8;

/// What was found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkResult {
    /// Its size in bytes.
    pub bytes: u64,
    /// The first byte of the device at which one begins.
    pub phase: u64,
    /// How sure that is.
    pub confidence: f64,
}

/// Finds it out for a pattern of several classes. Nothing when the tests contradict each other.
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn find(sampler: &mut Sampler, hammer: Hammer) -> Result<Option<ChunkResult>, EarlyEnd> {
    let block = sampler.device().block;
    let mut search = BoundarySearch { hammer, block, doubt: Doubt::default() };
    let mut boundaries = Vec::new();
    let anywhere = |sampler: &mut Sampler| sampler.rng.below(hammer.pattern / block) * block;
    let mut at = anywhere(sampler);
    for _ in 0..SEARCHES_MAX {
        let before = search.doubt;
        match search.end_of(sampler, at).await? {
            Some(next) if search.is_boundary(sampler, next).await? => boundaries.push(next),
            // A chunk that waits for all others, or lies together with what was asked for by chance; or some answer on the
            // way was wrong. Nothing rests on that.
            _ => {
                search.doubt = before;
                at = anywhere(sampler);
                continue;
            }
        }
        // One boundary found again and again is none: a pattern of several classes has several chunks.
        let is_one = spacing(&boundaries, hammer.pattern) == hammer.pattern;
        if boundaries.len() >= BOUNDARIES && !is_one {
            break;
        }
        at = if boundaries.len() >= BOUNDARIES { anywhere(sampler) } else { boundaries[boundaries.len() - 1] };
    }
    if boundaries.len() < BOUNDARIES || spacing(&boundaries, hammer.pattern) == hammer.pattern {
        return Ok(None);
    }
    for _ in 0..CORRECTIONS_MAX {
        let bytes = spacing(&boundaries, hammer.pattern);
        match search.broken(sampler, bytes, boundaries[0] % bytes).await? {
            None => {
                let confidence = search.doubt.confidence();
                // What is sooner wrong than right is no answer: somebody would make a file system after it.
                let chunk = ChunkResult { bytes, phase: boundaries[0] % bytes, confidence };
                return Ok((confidence >= CONFIDENCE_MIN).then_some(chunk));
            }
            Some(boundary) => boundaries.push(boundary),
        }
    }
    Ok(None)
}

/// The greatest chunk at whose multiples all boundaries lie, apart from their phase; the pattern is whole chunks, too.
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
    /// The first boundary behind a place. It may be beyond the pattern's end. Nothing when all of it seems to be one chunk.
    async fn end_of(&mut self, sampler: &mut Sampler, at: u64) -> Result<Option<u64>, EarlyEnd> {
        // Of a pattern of a few blocks half at most.
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

    /// The boundary between two distances from a place, of which the first lies together with it and the second does not.
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

    /// The first of some distances that does not lie together with a place.
    async fn first_apart(&mut self, sampler: &mut Sampler, at: u64, steps: &[u64]) -> Result<Option<usize>, EarlyEnd> {
        let places: Vec<u64> = steps.iter().map(|step| at + step).collect();
        let odds = self.hammer.compare(sampler, at % self.hammer.pattern, &places).await?;
        let first = odds.iter().position(|odds| *odds <= 0.0);
        odds[..first.map_or(odds.len(), |first| first + 1)].iter().for_each(|odds| self.doubt.add(*odds));
        Ok(first)
    }

    /// Is there a boundary just before this place? Asked anew, whatever led here: one wrong answer on the way would make all
    /// chunks as small as its error.
    async fn is_boundary(&mut self, sampler: &mut Sampler, place: u64) -> Result<bool, EarlyEnd> {
        let before = (place + self.hammer.pattern - self.block) % self.hammer.pattern;
        Ok(self.first_apart(sampler, before, &[self.block]).await?.is_some())
    }

    /// Compares the start, the middle and the end of some chunks: a boundary inside of one, if there is any.
    async fn broken(&mut self, sampler: &mut Sampler, bytes: u64, phase: u64) -> Result<Option<u64>, EarlyEnd> {
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
