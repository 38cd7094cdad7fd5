//! Trials, the common part of all four steps: a batch of random requests, repeated, and its mean time.

use crate::probe::io::{ProbeIo, ProbeRequest, Spent};
use crate::rng::Rng;

/// How batches of writes grow until they no longer fit in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteGrowth {
    /// Each batch has twice as many writes (Denehy et al. 2004, section 2.3.4).
    Doubling,
    /// Each batch has this many more writes (the same source, section 4).
    Fixed(usize),
}

/// The parameters that the paper leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialParameters {
    /// N: the requests of a trial (in steps 2 and 3, twice as many).
    pub requests: usize,
    /// R: the trials of a point.
    pub repeats: usize,
    /// The size of a read in bytes, a multiple of the device's block.
    pub block_bytes: u64,
    /// The largest pattern that is tried, in bytes.
    pub pattern_bytes_max: u64,
    /// The difference between patterns that are tried, in bytes: a multiple of the block.
    pub step_bytes: u64,
    /// The region of step 4, from the start of the device on, in bytes (section 4: as small as possible).
    pub region_bytes: u64,
    /// How writes grow in step 4, which writes data that lie there already; `None`: step 4 is not taken.
    pub writes: Option<WriteGrowth>,
    /// The seed of all random places.
    pub seed: u64,
}

impl TrialParameters {
    /// Close to the paper, which only states "approximately 500 outstanding requests" (section 2.3) and blocks of 4 KiB
    /// (section 2.3.1), and does not state R. Ten repeats reproduce Figure 7's "few millions" and "few days".
    pub const PUBLISHED: TrialParameters = TrialParameters {
        requests: 500,
        repeats: 10,
        block_bytes: 4096,
        pattern_bytes_max: 1 << 20,
        step_bytes: 4096,
        region_bytes: 1 << 30,
        writes: Some(WriteGrowth::Doubling),
        seed: 1506,
    };
}

/// One point of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanPoint {
    /// The pattern size that was assumed, or the place in the pattern, in bytes.
    pub bytes: u64,
    /// The mean time of a trial, in seconds.
    pub seconds: f64,
}

/// Why a step ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The budget is spent, or a stop was asked for.
    Spent,
    /// A trial failed in each attempt.
    Failed,
}

impl From<Spent> for Halt {
    fn from(_: Spent) -> Halt {
        Halt::Spent
    }
}

/// Attempts at a trial in which a request fails, the first included.
const TRIES_MAX: usize = 3;

/// The time of one trial, in seconds.
///
/// # Errors
/// When the budget is spent, or a request fails in each attempt.
pub async fn makespan<K>(bench: &ProbeIo<K>, requests: Vec<ProbeRequest>) -> Result<f64, Halt> {
    for _ in 0..TRIES_MAX {
        let answers = bench.run(requests.clone()).await?;
        if answers.timings.iter().all(|timing| !timing.is_failed) {
            return Ok(answers.makespan().as_secs_f64());
        }
    }
    Err(Halt::Failed)
}

/// The mean time of `repeats` trials in seconds, each with requests of its own.
///
/// # Errors
/// Those of [`makespan`].
pub async fn mean<K>(
    bench: &ProbeIo<K>,
    repeats: usize,
    mut trial: impl FnMut() -> Vec<ProbeRequest>,
) -> Result<f64, Halt> {
    let mut sum = 0.0;
    for _ in 0..repeats {
        sum += makespan(bench, trial()).await?;
    }
    Ok(sum / repeats.max(1) as f64)
}

/// N reads of a block at `offset` in random segments of this size; the segments are consecutive and begin at `start`.
/// (They are drawn with replacement: among thousands of segments, a repetition is rare.)
///
/// # Panics
/// When the device has no room for a segment.
pub fn reads_at<K>(
    bench: &ProbeIo<K>,
    parameters: &TrialParameters,
    rng: &mut Rng,
    (start, segment_bytes): (u64, u64),
    mut offset: impl FnMut(&mut Rng) -> u64,
) -> Vec<ProbeRequest> {
    let segments = (bench.device().bytes - start) / segment_bytes;
    let mut read = || {
        let begin = start + rng.below(segments) * segment_bytes;
        ProbeRequest::read(begin + offset(rng), parameters.block_bytes)
    };
    (0..parameters.requests).map(|_| read()).collect()
}

/// Merges both lists by turns. Requests "in parallel" have no order, but a mirror that gives each to its idler copy
/// would balance one list after the other, and not both together.
pub fn by_turns(one: Vec<ProbeRequest>, other: Vec<ProbeRequest>) -> Vec<ProbeRequest> {
    one.into_iter().zip(other).flat_map(|(one, other)| [one, other]).collect()
}
