//! Step 3: which chunks of the pattern lie on the same disk (Denehy et al. 2004, section 2.3.3).

use super::cluster;
use super::trial::{Halt, Parameters, by_turns, mean, reads_at};
use crate::probe::bench::Bench;
use crate::probe::known::Claim;
use crate::probe::library::canonical;
use crate::rng::Rng;

/// More chunks are not compared, each with each: half a million pairs.
pub const CHUNKS_MAX: usize = 1024;

/// The chunks of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// How many: 1 to [`CHUNKS_MAX`].
    pub count: usize,
    /// The size of each.
    pub bytes: u64,
    /// Where the first one begins.
    pub phase_bytes: u64,
}

/// The mean time of every pair of chunks, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// A row for each chunk; the same above the diagonal as below.
    pub rows: Vec<Vec<f64>>,
}

/// For each pair of chunks, a chunk with itself included: a block in the one in N random patterns, in the other in N others.
///
/// # Errors
/// When nothing is left to spend, or requests fail again and again.
pub async fn scan<K>(bench: &Bench<K>, parameters: &Parameters, chunks: Chunks, rng: &mut Rng) -> Result<Matrix, Halt> {
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
    /// Every pair once, with its time.
    pub fn pairs(&self) -> impl Iterator<Item = ((usize, usize), f64)> + '_ {
        let row = |(one, row): (usize, &'_ Vec<f64>)| {
            row.iter().enumerate().skip(one).map(|(other, &time)| ((one, other), time)).collect::<Vec<_>>()
        };
        self.rows.iter().enumerate().flat_map(row)
    }

    /// The mean time of a chunk with itself.
    pub fn diagonal_mean(&self) -> f64 {
        self.diagonal().iter().sum::<f64>() / self.rows.len().max(1) as f64
    }

    /// The time of each chunk with itself.
    pub fn diagonal(&self) -> Vec<f64> {
        self.rows.iter().enumerate().map(|(chunk, row)| row[chunk]).collect()
    }

    /// The classes: chunks of slow pairs lie together. The diagonal is among the values, so that there are slow ones where no
    /// two chunks lie together. As sure as the share of pairs that agree with the classes.
    pub fn classes(&self) -> Claim<Vec<usize>> {
        let pairs: Vec<((usize, usize), f64)> = self.pairs().collect();
        let clusters = cluster::two(&pairs.iter().map(|&(_, time)| time).collect::<Vec<f64>>());
        let slow = clusters.means.len() - 1;
        let is_slow = |index: usize| clusters.labels[index] == slow;
        let mut classes: Vec<usize> = (0..self.rows.len()).collect();
        for (index, &((one, other), _)) in pairs.iter().enumerate() {
            if is_slow(index) && classes[one] != classes[other] {
                let (kept, gone) = (classes[one].min(classes[other]), classes[one].max(classes[other]));
                classes.iter_mut().filter(|class| **class == gone).for_each(|class| *class = kept);
            }
        }
        let agrees = |(index, pair): (usize, &((usize, usize), f64))| {
            let (one, other) = pair.0;
            is_slow(index) == (classes[one] == classes[other])
        };
        let agreeing = pairs.iter().enumerate().filter(|&pair| agrees(pair)).count();
        Claim::new(canonical(&classes), agreeing as f64 / pairs.len().max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many times as a disk has more to do than half of all.
    fn matrix(disks: &[usize]) -> Matrix {
        let time = |one: &usize, other: &usize| if one == other { 2.0 } else { 1.05 };
        Matrix { rows: disks.iter().map(|one| disks.iter().map(|other| time(one, other)).collect()).collect() }
    }

    #[test]
    fn slow_pairs_lie_together() {
        let claim = matrix(&[5, 1, 1, 5, 0]).classes();
        assert_eq!((claim.value, claim.confidence), (vec![0, 1, 1, 0, 2], 1.0));
        assert_eq!(matrix(&[0, 1, 2, 3]).classes().value, [0, 1, 2, 3], "none but the diagonal");
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
