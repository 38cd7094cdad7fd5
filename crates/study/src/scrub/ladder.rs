//! Growing requests in closed form, for searches that try thousands of patterns.
//!
//! The effect of a pattern in an interval follows from the interval's length and a short list that is the same for all
//! intervals. The results equal the general simulator's.

use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{IdlePattern, RequestGrowth};
use scrubjay_core::units::Nanos;
use scrubjay_sim::exact::{Firing, ScrubFigures};
use scrubjay_trace::Periods;

/// A pattern as runs of requests of one size; the last run has no end.
#[derive(Debug)]
pub struct Ladder {
    wait: Nanos,
    runs: Vec<LadderRun>,
}

/// A run of requests of one size. Times are nanoseconds since the end of the wait.
#[derive(Clone, Copy, Debug)]
struct LadderRun {
    start: u64,
    end: u64,
    requests_before: u64,
    bytes_before: u64,
    size: u64,
    each: u64,
}

impl Ladder {
    /// The ladder of a pattern on a disk.
    pub fn new(pattern: &IdlePattern, disk: ServiceModel) -> Ladder {
        let each = |size| disk.service(size).0.max(1);
        let mut size = pattern.first;
        let first = LadderRun { start: 0, end: 0, requests_before: 0, bytes_before: 0, size: size.0, each: each(size) };
        let mut runs = vec![first];
        loop {
            let run = runs.last_mut().expect("there is a first");
            let (next, count) = match pattern.growth {
                RequestGrowth::Fixed => (size, 0),
                RequestGrowth::By { .. } => (pattern.next_size(Some(size), pattern.wait), 1),
                RequestGrowth::Swap { after, to } => (to, after.since(pattern.wait).0.div_ceil(run.each)),
            };
            if next == size {
                run.end = u64::MAX;
                return Ladder { wait: pattern.wait, runs };
            }
            run.end = run.start + count * run.each;
            let (start, requests_before) = (run.end, run.requests_before + count);
            let bytes_before = run.bytes_before + count * run.size;
            size = next;
            runs.push(LadderRun { start, end: 0, requests_before, bytes_before, size: size.0, each: each(size) });
        }
    }

    /// The effect of the pattern in an interval of this length.
    fn firing(&self, idle: Nanos) -> Firing {
        let over = idle.since(self.wait).0;
        if over == 0 {
            return Firing::default();
        }
        let run = self.runs[self.runs.partition_point(|run| run.end < over)];
        let count = (over - run.start).div_ceil(run.each);
        Firing {
            requests: run.requests_before + count,
            bytes: run.bytes_before + count * run.size,
            used: Nanos(over),
            residual: Nanos(run.start + count * run.each - over),
        }
    }

    /// Plays the pattern on a trace. `None`: aborted, because all requests together would lose more than `lost_max`
    /// nanoseconds.
    pub fn play(&self, periods: &Periods, lost_max: u128) -> Option<ScrubFigures> {
        let mut outcome = ScrubFigures {
            requests: periods.requests_total(),
            span: periods.span(),
            intervals: periods.intervals().len() as u64,
            idle_total: periods.idle_total(),
            ..ScrubFigures::default()
        };
        let mut delay = Nanos::ZERO;
        for (&idle, &count) in periods.idle_before().iter().zip(periods.requests_by_period()).skip(1) {
            if delay == Nanos::ZERO && idle <= self.wait {
                continue;
            }
            if idle > delay {
                let firing = self.firing(idle - delay);
                outcome.scrub_requests += firing.requests;
                outcome.scrub_bytes += firing.bytes;
                outcome.used += firing.used;
                outcome.collisions += u64::from(firing.residual > Nanos::ZERO);
                delay = firing.residual;
            } else {
                delay = delay - idle;
            }
            outcome.slowdown_total += u128::from(delay.0) * u128::from(count);
            outcome.slowdown_max = outcome.slowdown_max.max(delay);
            if outcome.slowdown_total > lost_max {
                return None;
            }
        }
        Some(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use scrubjay_core::scrub::disk_server::ForegroundRequest;
    use scrubjay_core::scrub::idle::GrowingRequests;
    use scrubjay_core::units::Bytes;
    use scrubjay_sim::exact::simulate;

    fn growths() -> impl Strategy<Value = RequestGrowth> {
        let max = Bytes::mib(4);
        prop_oneof![
            Just(RequestGrowth::Fixed),
            (1.0..3.0f64, 0u64..100).prop_map(move |(factor, kib)| RequestGrowth::By {
                factor,
                plus: Bytes::kib(kib),
                max
            }),
            (0u64..400).prop_map(move |millis| RequestGrowth::Swap { after: Nanos::from_millis(millis), to: max }),
        ]
    }

    proptest! {
        #[test]
        fn the_ladder_gives_the_result_of_the_general_simulator(
            drawn in prop::collection::vec((0u64..400_000_000, 0u64..20_000_000), 1..60),
            wait in 0u64..100_000_000,
            step in 1u64..=64,
            growth in growths(),
        ) {
            let mut at = Nanos::ZERO;
            let requests = drawn.into_iter().map(|(gap, service)| {
                at += Nanos(gap);
                ForegroundRequest { at, service: Nanos(service) }
            });
            let (periods, disk): (Periods, _) = (requests.collect(), ServiceModel::ULTRASTAR_15K450);
            let pattern = IdlePattern { wait: Nanos(wait), first: Bytes::kib(64 * step), growth };
            let outcome = simulate(&periods, disk, &mut GrowingRequests { pattern });
            let ladder = Ladder::new(&pattern, disk);
            prop_assert_eq!(ladder.play(&periods, u128::MAX), Some(outcome));
            prop_assert_eq!(ladder.play(&periods, outcome.slowdown_total), Some(outcome));
            if let Some(less) = outcome.slowdown_total.checked_sub(1) {
                prop_assert_eq!(ladder.play(&periods, less), None);
            }
        }
    }
}
