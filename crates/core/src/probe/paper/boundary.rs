//! Step 2: the boundaries between disks, and from them the chunk (Denehy et al. 2004, section 2.3.2).

use super::cluster;
use super::pattern::PatternScan;
use super::trial::{Halt, ScanPoint, TrialParameters, by_turns, mean, reads_at};
use crate::probe::io::ProbeIo;
use crate::rng::Rng;

/// The boundaries of chunks, and what follows from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Boundaries {
    /// Their places in the pattern, in bytes.
    pub places: Vec<u64>,
    /// The chunk in bytes: the greatest common divisor of their differences. (The paper calls it "the difference",
    /// which is not the chunk at the ends of ZIGZAG's stripes.)
    pub chunk_bytes: u64,
    /// The first boundary modulo the chunk, in bytes.
    pub phase_bytes: u64,
    /// The mean silhouette of all points, 0 to 1.
    pub confidence: f64,
}

/// The greatest ratio of fast to slow times for which there are boundaries: two clusters are found in any noise. The
/// least contrast is chained declustering's, with 2:3.
const CONTRAST_MAX: f64 = 0.85;

/// On one disk, 2 N reads take at least this many times as long as N; an elevator makes it less than 2. On two disks
/// they take as long as N on one.
const ONE_DISK_MIN: f64 = 1.4;

/// Measures each place in the pattern: that block in N random patterns, and the block before it in N others.
///
/// # Errors
/// When the budget is spent, or requests fail repeatedly.
pub async fn scan<K>(
    bench: &ProbeIo<K>,
    parameters: &TrialParameters,
    pattern_bytes: u64,
    rng: &mut Rng,
) -> Result<Vec<ScanPoint>, Halt> {
    let mut samples = Vec::new();
    for bytes in (0..pattern_bytes / parameters.block_bytes).map(|block| block * parameters.block_bytes) {
        let before = (bytes + pattern_bytes - parameters.block_bytes) % pattern_bytes;
        let trial = || {
            let at_place = reads_at(bench, parameters, rng, (0, pattern_bytes), |_| bytes);
            by_turns(at_place, reads_at(bench, parameters, rng, (0, pattern_bytes), |_| before))
        };
        samples.push(ScanPoint { bytes, seconds: mean(bench, parameters.repeats, trial).await? });
    }
    Ok(samples)
}

/// The boundaries: the fast cluster of two. Where all places are alike, all of them are boundaries if they are fast,
/// and none otherwise; the pattern of step 1 gives the time of N reads of one disk.
pub fn boundaries(samples: &[ScanPoint], pattern: &PatternScan) -> Option<Boundaries> {
    let seconds: Vec<f64> = samples.iter().map(|sample| sample.seconds).collect();
    let clusters = cluster::two(&seconds);
    let places: Vec<u64> = match clusters.means[..] {
        [fast, slow] if fast <= slow * CONTRAST_MAX => clusters.members(0).map(|at| samples[at].bytes).collect(),
        _ if samples.len() > 1 && seconds.iter().all(|&seconds| seconds < ONE_DISK_MIN * pattern.seconds) => {
            samples.iter().map(|sample| sample.bytes).collect()
        }
        _ => return None,
    };
    let first = *places.first()?;
    let chunk_bytes = cluster::gcd(places.iter().map(|place| place - first).chain([pattern.bytes]));
    let confidence = clusters.silhouette_mean(&seconds, 0..seconds.len()).max(0.0);
    Some(Boundaries { phase_bytes: first % chunk_bytes, places, chunk_bytes, confidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(fast: &[u64], blocks: u64, contrast: f64) -> Option<(u64, u64)> {
        let seconds = |block: &u64| if fast.contains(block) { contrast } else { 1.0 };
        let samples: Vec<ScanPoint> =
            (0..blocks).map(|block| ScanPoint { bytes: block * 4096, seconds: seconds(&block) }).collect();
        let pattern = PatternScan { bytes: blocks * 4096, seconds: 0.55, confidence: 1.0 };
        boundaries(&samples, &pattern).map(|found| (found.chunk_bytes / 4096, found.phase_bytes / 4096))
    }

    #[test]
    fn chunks_lie_between_boundaries() {
        assert_eq!(found(&[0, 4, 8, 12], 16, 0.5), Some((4, 0)));
        assert_eq!(found(&[3, 7, 11, 15], 16, 0.5), Some((4, 3)), "a partition that begins within a chunk");
        // ZIGZAG on three disks, with chunks of two blocks: no boundary where the direction turns.
        assert_eq!(found(&[2, 4, 8, 10], 12, 0.5), Some((2, 0)));
        assert_eq!(found(&[0, 2, 4], 6, 2.0 / 3.0), Some((2, 0)), "chained");
    }

    #[test]
    fn without_contrast_there_are_no_boundaries() {
        assert_eq!(found(&[0, 4], 8, 0.95), None);
        assert_eq!(found(&[], 8, 1.0), None);
        assert_eq!(found(&[0, 1, 2, 3], 4, 0.5), Some((1, 0)), "each block is a chunk");
    }
}
