//! Step 4: the cost of writes (Denehy et al. 2004, sections 2.3.4 and 4).

use super::trial::{Halt, TrialParameters, WriteGrowth, makespan, reads_at};
use crate::probe::io::{ProbeAccess, ProbeIo, ProbeRequest};
use crate::rng::Rng;

/// The measured times of reads and writes.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRedundancy {
    /// The time of a read, in seconds: the batch's makespan divided by the number of its requests.
    pub read_seconds: f64,
    /// Number of writes and time of one write in seconds, for each batch that was tried.
    pub writes: Vec<(usize, f64)>,
}

/// Writes that take less than this share of the time of reads go to a cache. The paper says "significantly" and that
/// the threshold is difficult; without redundancy writes take as long as reads, so it must be well below 1.
const CACHED_BELOW: f64 = 0.7;

/// The largest batch of writes, in multiples of N: a cache that takes all of them is not overcome.
const GROWTH_MAX: usize = 256;

impl WriteGrowth {
    /// The number of writes of the batch after one of `writes`.
    pub fn next(self, writes: usize) -> usize {
        match self {
            WriteGrowth::Doubling => writes * 2,
            WriteGrowth::Fixed(more) => writes + more.max(1),
        }
    }
}

impl MeasuredRedundancy {
    /// The time of a write relative to a read, in the last and largest batch of writes.
    pub fn ratio(&self) -> f64 {
        self.writes.last().map_or(f64::NAN, |(_, seconds)| seconds / self.read_seconds)
    }
}

/// Measures N random reads, then as many writes, and more as long as a cache takes them.
///
/// # Errors
/// When the budget is spent, or requests fail repeatedly.
pub async fn measure<K>(
    bench: &ProbeIo<K>,
    parameters: &TrialParameters,
    growth: WriteGrowth,
    rng: &mut Rng,
) -> Result<MeasuredRedundancy, Halt> {
    let block = parameters.block_bytes;
    let blocks = (parameters.region_bytes.min(bench.device().bytes) / block).max(1);
    let random = |kind: ProbeAccess, count: usize, rng: &mut Rng| -> Vec<ProbeRequest> {
        (0..count).map(|_| ProbeRequest { kind, ..ProbeRequest::read(rng.below(blocks) * block, block) }).collect()
    };
    let per_request = |seconds: f64, count: usize| seconds / count.max(1) as f64;
    let reads = makespan(bench, random(ProbeAccess::Read, parameters.requests, rng)).await?;
    let read_seconds = per_request(reads, parameters.requests);
    let mut found = MeasuredRedundancy { read_seconds, writes: Vec::new() };
    let mut count = parameters.requests;
    while count <= parameters.requests * GROWTH_MAX {
        // Untimed reads all over the device, so that nothing of the last batch is left in a cache.
        let traffic = reads_at(bench, parameters, rng, (0, block), |_| 0);
        makespan(bench, traffic).await?;
        let seconds = per_request(makespan(bench, random(ProbeAccess::Rewrite, count, rng)).await?, count);
        found.writes.push((count, seconds));
        if seconds >= CACHED_BELOW * read_seconds {
            break;
        }
        count = growth.next(count);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::io::{Answers, ProbeBudget, ProbedDevice, Prober, RequestTiming};
    use crate::units::Nanos;

    /// A disk on which a read takes 10 ms, a write 40 ms, but the first `cached` writes of each batch no time.
    fn measured(growth: WriteGrowth, cached: usize) -> MeasuredRedundancy {
        let device = ProbedDevice { bytes: 1 << 30, block: 512, depth: usize::MAX };
        let parameters = TrialParameters { requests: 100, ..TrialParameters::PUBLISHED };
        let mut prober = Prober::new(device, ProbeBudget::UNLIMITED, None, move |bench| async move {
            let found = measure(&bench, &parameters, growth, &mut Rng::new(1)).await;
            bench.note(|known| *known = found.ok());
            Ok(())
        });
        while let Some(batch) = prober.poll_batch() {
            let (mut now, mut cached_left) = (Nanos::ZERO, cached);
            let serve = |request: &ProbeRequest| {
                let is_cached = request.kind == ProbeAccess::Rewrite && cached_left > 0;
                cached_left -= usize::from(is_cached);
                let millis = if is_cached {
                    0
                } else if request.kind == ProbeAccess::Rewrite {
                    40
                } else {
                    10
                };
                now += Nanos::from_millis(millis);
                RequestTiming { issued: Nanos::ZERO, done: now, is_failed: false }
            };
            prober.handle(Answers { timings: batch.requests.iter().map(serve).collect(), is_disturbed: false });
        }
        prober.known().expect("it ends")
    }

    #[test]
    fn without_a_cache_one_batch_of_writes_shows_the_ratio() {
        let found = measured(WriteGrowth::Doubling, 0);
        assert_eq!((found.writes.len(), found.ratio()), (1, 4.0));
    }

    #[test]
    fn writes_become_more_by_either_rule_until_they_reach_the_disk() {
        let counts = |found: &MeasuredRedundancy| found.writes.iter().map(|&(count, _)| count).collect::<Vec<_>>();
        let doubled = measured(WriteGrowth::Doubling, 700);
        assert_eq!(counts(&doubled), [100, 200, 400, 800, 1600], "100 of 800 at 40 ms are half the time of reads");
        assert!((doubled.ratio() - 4.0 * 900.0 / 1600.0).abs() < 1e-9, "{}", doubled.ratio());
        let fixed = measured(WriteGrowth::Fixed(100), 700);
        assert_eq!(counts(&fixed), [100, 200, 300, 400, 500, 600, 700, 800, 900]);
        assert!((fixed.ratio() - 4.0 * 200.0 / 900.0).abs() < 1e-9, "what the threshold leaves: {}", fixed.ratio());
    }

    #[test]
    fn measuring_ends_at_the_largest_batch_if_a_cache_takes_all_writes() {
        let found = measured(WriteGrowth::Doubling, usize::MAX);
        assert_eq!(found.writes.last().map(|&(count, _)| count), Some(100 * GROWTH_MAX));
        assert_eq!(found.ratio(), 0.0);
    }
}
