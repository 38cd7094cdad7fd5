//! Step 3: which chunks of the pattern lie on the same disk (Denehy et al. 2004, section 2.3.3).

use super::cluster;
use super::trial::{Halt, TrialParameters, by_turns, mean, reads_at};
use crate::probe::io::ProbeIo;
use crate::probe::known::Claim;
use crate::probe::library::canonical;
use crate::rng::Rng;

/// Chunks that are compared with each other, at most: half a million pairs.
pub const CHUNKS_MAX: usize = 1024;

/// The chunks of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// The number of chunks: 1 to [`CHUNKS_MAX`].
    pub count: usize,
    /// The size of each, in bytes.
    pub bytes: u64,
    /// The first byte of the first chunk.
    pub phase_bytes: u64,
}

/// A chunk is lost, not merely slow, if its pairs with all others take more than this share of its own time: its reads
/// go to every other disk, so that both chunks of a pair load each other's disks. Pairs of a slow disk take 0.54 of its
/// own time behind an elevator (two disks instead of one), those of the lost disk of figure 19 as modelled 0.72 or 1;
/// this is the middle of 0.54 and 0.72.
const LOST_MIN: f64 = 0.63;

/// The mean time of every pair of chunks, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// One row per chunk; symmetric.
    pub rows: Vec<Vec<f64>>,
}

/// Measures each pair of chunks (also of a chunk with itself): a block of one in N random patterns, of the other in N others.
///
/// # Errors
/// When the budget is spent, or requests fail repeatedly.
pub async fn scan<K>(
    bench: &ProbeIo<K>,
    parameters: &TrialParameters,
    chunks: Chunks,
    rng: &mut Rng,
) -> Result<Matrix, Halt> {
    let Chunks { count, bytes, phase_bytes } = chunks;
    let segments = (phase_bytes, count as u64 * bytes);
    let reads = |chunk: usize, rng: &mut Rng| {
        let within = |rng: &mut Rng| rng.below(bytes / parameters.block_bytes) * parameters.block_bytes;
        reads_at(bench, parameters, rng, segments, |rng| chunk as u64 * bytes + within(rng))
    };
    let mut rows = vec![vec![0.0; count]; count];
    for (one, other) in (0..count).flat_map(|one| (one..count).map(move |other| (one, other))) {
        let trial = || {
            let of_one = reads(one, rng);
            by_turns(of_one, reads(other, rng))
        };
        let seconds = mean(bench, parameters.repeats, trial).await?;
        (rows[one][other], rows[other][one]) = (seconds, seconds);
    }
    Ok(Matrix { rows })
}

impl Matrix {
    /// Each pair once, with its time in seconds.
    pub fn pairs(&self) -> impl Iterator<Item = ((usize, usize), f64)> + '_ {
        let row = |(one, row): (usize, &'_ Vec<f64>)| {
            row.iter().enumerate().skip(one).map(|(other, &time)| ((one, other), time)).collect::<Vec<_>>()
        };
        self.rows.iter().enumerate().flat_map(row)
    }

    /// The time of each chunk with itself, in seconds.
    pub fn diagonal(&self) -> Vec<f64> {
        self.rows.iter().enumerate().map(|(chunk, row)| row[chunk]).collect()
    }

    /// The classes: chunks of slow pairs lie on the same disk. The diagonal is among the values, so that there are slow
    /// ones even where no two chunks share a disk. The confidence is the share of pairs that agree with the classes.
    pub fn classes(&self) -> Claim<Vec<usize>> {
        self.grouped().0
    }

    /// The class of the chunks that are slow with every other one, because their disk is missing; `None` if there is
    /// none. (The chunks of two missing disks form one class; the method cannot separate them.)
    pub fn lost(&self) -> Option<usize> {
        self.grouped().1
    }

    fn grouped(&self) -> (Claim<Vec<usize>>, Option<usize>) {
        let pairs: Vec<((usize, usize), f64)> = self.pairs().collect();
        let clusters = cluster::two(&pairs.iter().map(|&(_, time)| time).collect::<Vec<f64>>());
        let slow: Vec<bool> = clusters.labels.iter().map(|&label| label + 1 == clusters.means.len()).collect();
        let lost = self.lost_chunks(&pairs, &slow);
        let mut classes: Vec<usize> = (0..self.rows.len()).collect();
        for (_, &((one, other), _)) in slow.iter().zip(&pairs).filter(|&(&is_slow, _)| is_slow) {
            if lost[one] == lost[other] && classes[one] != classes[other] {
                let (kept, merged) = (classes[one].min(classes[other]), classes[one].max(classes[other]));
                classes.iter_mut().filter(|class| **class == merged).for_each(|class| *class = kept);
            }
        }
        let together = |(one, other): (usize, usize)| classes[one] == classes[other] || lost[one] || lost[other];
        let agreeing = slow.iter().zip(&pairs).filter(|&(&is_slow, &(pair, _))| is_slow == together(pair)).count();
        let confidence = agreeing as f64 / pairs.len().max(1) as f64;
        let classes = canonical(&classes);
        let class = lost.iter().position(|&is_lost| is_lost).map(|first| classes[first]);
        (Claim::new(classes, confidence), class)
    }

    /// Marks the chunks that are slow with every other one, unless all chunks are.
    fn lost_chunks(&self, pairs: &[((usize, usize), f64)], slow: &[bool]) -> Vec<bool> {
        let mut lost = vec![true; self.rows.len()];
        for (&((one, other), seconds), &is_slow) in pairs.iter().zip(slow) {
            for chunk in [one, other] {
                lost[chunk] &= is_slow && seconds > LOST_MIN * self.rows[chunk][chunk];
            }
        }
        if lost.iter().all(|&is_lost| is_lost) { vec![false; lost.len()] } else { lost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times by the disk of each chunk: 2 on the same disk, 1.05 on different ones.
    fn matrix(disks: &[usize]) -> Matrix {
        let time = |one: &usize, other: &usize| if one == other { 2.0 } else { 1.05 };
        Matrix { rows: disks.iter().map(|one| disks.iter().map(|other| time(one, other)).collect()).collect() }
    }

    #[test]
    fn chunks_of_slow_pairs_are_in_one_class() {
        let claim = matrix(&[5, 1, 1, 5, 0]).classes();
        assert_eq!((claim.value, claim.confidence), (vec![0, 1, 1, 0, 2], 1.0));
        assert_eq!(matrix(&[0, 1, 2, 3]).classes().value, [0, 1, 2, 3], "none but the diagonal");
    }

    /// As [`matrix`], but reads of the lost disk go to all others, and waiting in the host makes them slower by `factor`.
    fn degraded(disks: &[usize], lost: usize, factor: f64) -> Matrix {
        let time = |one: &usize, other: &usize| match (*one == lost, *other == lost) {
            (true, true) => 2.0 * factor,
            (true, false) | (false, true) => 2.0,
            _ if one == other => 2.0,
            _ => 1.05,
        };
        Matrix { rows: disks.iter().map(|one| disks.iter().map(|other| time(one, other)).collect()).collect() }
    }

    #[test]
    fn chunks_that_are_slow_with_every_other_chunk_are_lost() {
        for (disks, lost, class) in [(&[0, 1, 2, 3][..], 2, 2), (&[0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3], 3, 3)] {
            for factor in [1.0, 1.4] {
                let matrix = degraded(disks, lost, factor);
                assert_eq!((matrix.classes().value, matrix.lost()), (canonical(disks), Some(class)), "{factor}");
                assert_eq!(matrix.classes().confidence, 1.0);
            }
        }
        assert_eq!(matrix(&[0, 1, 2, 3]).lost(), None);
        assert_eq!(matrix(&[0]).lost(), None, "one disk is slow with all there is");
        // The disk is so slow that its pairs are in the slow cluster: half of its own time each, because two disks
        // share the reads.
        let mut slow = matrix(&[0, 1, 2, 3]);
        (0..4).for_each(|chunk| (slow.rows[1][chunk], slow.rows[chunk][1]) = (2.1, 2.1));
        slow.rows[1][1] = 4.0;
        assert_eq!(slow.lost(), None);
    }

    #[test]
    fn a_pair_that_disagrees_costs_confidence() {
        let mut doubtful = matrix(&[0, 0, 0, 1]);
        (doubtful.rows[0][2], doubtful.rows[2][0]) = (1.0, 1.0);
        let claim = doubtful.classes();
        assert_eq!(claim.value, [0, 0, 0, 1]);
        assert_eq!(claim.confidence, 0.9, "nine of ten pairs");
    }
}
