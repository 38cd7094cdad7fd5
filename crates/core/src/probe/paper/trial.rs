//! Trials: what all four steps have in common. A batch of requests at random places, again and again, and its mean time.

use crate::probe::io::{ProbeIo, ProbeRequest, Spent};
use crate::rng::Rng;

/// How writes become more, until they no longer vanish in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteGrowth {
    /// Twice as many (Denehy et al. 2004, section 2.3.4).
    Doubling,
    /// So many more (the same, section 4).
    Fixed(usize),
}

/// What the paper leaves to whoever runs it.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialParameters {
    /// N: requests of a trial (in steps 2 and 3, twice as many).
    pub requests: usize,
    /// R: trials of a point.
    pub repeats: usize,
    /// A block, which is what is read: a multiple of the device's.
    pub block_bytes: u64,
    /// The largest pattern that is tried.
    pub pattern_bytes_max: u64,
    /// From one pattern that is tried to the next: a multiple of the block.
    pub step_bytes: u64,
    /// Step 4 stays in so many bytes from the start of the device (section 4: as few as possible).
    pub region_bytes: u64,
    /// Whether step 4 is taken, which writes (what lies there already), and how writes become more.
    pub writes: Option<WriteGrowth>,
    /// Of all places.
    pub seed: u64,
}

impl TrialParameters {
    /// About as the paper has it, which says no more than "approximately 500 outstanding requests" (section 2.3) and leaves
    /// R out; blocks of 4 KiB (section 2.3.1). Ten repeats make Figure 7's "few millions" and "few days" come out.
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
    /// The pattern that was assumed, or the place in it.
    pub bytes: u64,
    /// The mean time of a trial.
    pub seconds: f64,
}

/// Why a step ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// Nothing is left to spend.
    Spent,
    /// A trial failed again and again.
    Failed,
}

impl From<Spent> for Halt {
    fn from(_: Spent) -> Halt {
        Halt::Spent
    }
}

/// A trial in which a request failed is done again, so often.
const TRIES_MAX: usize = 3;

/// The time of one trial, in seconds.
///
/// # Errors
/// When nothing is left to spend, or requests of it failed each time.
pub async fn makespan<K>(bench: &ProbeIo<K>, requests: Vec<ProbeRequest>) -> Result<f64, Halt> {
    for _ in 0..TRIES_MAX {
        let answers = bench.run(requests.clone()).await?;
        if answers.timings.iter().all(|timing| !timing.is_failed) {
            return Ok(answers.makespan().as_secs_f64());
        }
    }
    Err(Halt::Failed)
}

/// The mean time of so many trials, each with requests of its own.
///
/// # Errors
/// As [`makespan`].
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

/// So many reads of a block at `offset` in each of as many random ones of the consecutive segments of this size that begin
/// at `start`. (With replacement: of thousands of segments, twice the same is rare.)
///
/// # Panics
/// When not even one segment lies on the device.
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

/// Both lists as one, by turns: requests "in parallel" have no order, and a mirror that gives each to its idler copy would
/// balance one list after the other, and not both.
pub fn by_turns(one: Vec<ProbeRequest>, other: Vec<ProbeRequest>) -> Vec<ProbeRequest> {
    one.into_iter().zip(other).flat_map(|(one, other)| [one, other]).collect()
}
