//! The figures of one step: latencies, errors, their course in time, and the traffic of other programs meanwhile.

use super::plan::BenchStep;
use crate::stats::DurationHistogram;
use crate::units::Nanos;

/// Buckets per octave of the latency histogram: 1.1 % wide, 42 KiB per step.
const BUCKETS_PER_OCTAVE: u32 = 64;
/// Failed requests of a step that are kept one by one, at most.
pub const FAULTS_KEPT_MAX: usize = 64;
/// Bins of the course in time; later requests count in the last one.
const BINS: usize = 50;

/// A request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchFault {
    /// Its first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The kernel's error.
    pub errno: i32,
}

/// The disk's traffic from other programs during a step, as the kernel counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignTraffic {
    /// The number of their requests; 0 if the kernel splits the benchmark's own requests, whose parts look like others'.
    pub requests: u64,
    /// The number of sectors that they read and wrote.
    pub sectors: u64,
}

/// One bin of a step's course in time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TraceBin {
    /// The number of requests that were completed in it.
    pub requests: u64,
    /// The sum of their latencies, in seconds.
    pub latency_sum: f64,
    /// The longest latency.
    pub latency_max: Nanos,
}

/// The figures of one step, as far as it came.
#[derive(Clone, Debug)]
pub struct StepFigures {
    /// The step as planned.
    pub step: BenchStep,
    /// The time that was measured: from the full queue to the step's end.
    pub window: Nanos,
    /// The number of requests that succeeded in this time.
    pub requests: u64,
    /// Their latencies, each from the submission to the kernel to the completion as seen.
    pub latency: DurationHistogram,
    /// The shortest of these latencies.
    pub latency_min: Nanos,
    /// The longest of these latencies.
    pub latency_max: Nanos,
    /// The number of requests that failed, those before the queue was full included.
    pub fault_count: u64,
    /// The first of the failed requests, at most [`FAULTS_KEPT_MAX`].
    pub faults: Vec<BenchFault>,
    /// The number of all requests sent, those that are not measured included.
    pub sent: u64,
    /// The bytes of all completed requests, failed ones included: what the kernel will have counted.
    pub bytes_moved: u64,
    /// The number of requests whose data were checked for zeroes.
    pub checked_for_zeroes: u64,
    /// The number of these whose data were all zeroes.
    pub zeroes: u64,
    /// The course in time: requests by the bin in which they were completed.
    pub trace: Vec<TraceBin>,
    /// The length of each bin.
    pub bin: Nanos,
    /// The traffic of other programs; `None`: it cannot be seen.
    pub others: Option<ForeignTraffic>,
    /// Was the disk so small that places were used again?
    pub is_repeating: bool,
    /// Did the step run to its end?
    pub is_complete: bool,
    /// Mean and standard deviation of the latency in seconds, if another program has reported them more exactly than its buckets.
    pub reported: Option<(f64, f64)>,
}

impl StepFigures {
    /// A step without any requests yet.
    pub fn new(step: BenchStep) -> StepFigures {
        StepFigures {
            step,
            window: Nanos::ZERO,
            requests: 0,
            latency: DurationHistogram::with_resolution(BUCKETS_PER_OCTAVE),
            latency_min: Nanos::MAX,
            latency_max: Nanos::ZERO,
            fault_count: 0,
            faults: Vec::new(),
            sent: 0,
            bytes_moved: 0,
            checked_for_zeroes: 0,
            zeroes: 0,
            trace: Vec::new(),
            bin: Nanos((step.time.0 / BINS as u64).max(1)),
            others: None,
            is_repeating: false,
            is_complete: false,
            reported: None,
        }
    }

    /// Adds a request that succeeded, completed `since_start` after the window began.
    pub fn add(&mut self, latency: Nanos, since_start: Nanos) {
        self.requests += 1;
        self.latency.add(latency);
        self.latency_min = self.latency_min.min(latency);
        self.latency_max = self.latency_max.max(latency);
        self.trace_only(latency, since_start);
    }

    /// Adds a request to the course in time only, because the other figures are known already.
    pub fn trace_only(&mut self, latency: Nanos, since_start: Nanos) {
        let bin = ((since_start.0 / self.bin.0) as usize).min(BINS - 1);
        if self.trace.len() <= bin {
            self.trace.resize(bin + 1, TraceBin::default());
        }
        let bin = &mut self.trace[bin];
        bin.requests += 1;
        bin.latency_sum += latency.as_secs_f64();
        bin.latency_max = bin.latency_max.max(latency);
    }

    /// Adds a request that failed.
    pub fn add_fault(&mut self, fault: BenchFault) {
        self.fault_count += 1;
        if self.faults.len() < FAULTS_KEPT_MAX {
            self.faults.push(fault);
        }
    }

    /// Requests per second; zero without a window.
    pub fn iops(&self) -> f64 {
        if self.window == Nanos::ZERO { 0.0 } else { self.requests as f64 / self.window.as_secs_f64() }
    }

    /// Bytes per second; zero without a window.
    pub fn bytes_per_second(&self) -> f64 {
        self.iops() * self.step.request as f64
    }

    /// The mean latency, in seconds.
    pub fn mean(&self) -> f64 {
        self.reported.map_or_else(|| self.latency.moments().mean(), |reported| reported.0)
    }

    /// The standard deviation of the latency, in seconds.
    pub fn deviation(&self) -> f64 {
        let moments = self.latency.moments();
        self.reported.map_or_else(|| moments.variation() * moments.mean(), |reported| reported.1)
    }

    /// The latency that a share (0..=1) of the requests does not exceed; never more than the longest.
    pub fn quantile(&self, share: f64) -> Nanos {
        Nanos::from_secs_f64(self.latency.quantile(share))
            .clamp(self.latency_min.min(self.latency_max), self.latency_max)
    }

    /// The share (0..=1) of other programs in the disk's requests or sectors, whichever is larger; `None`: it cannot be seen.
    pub fn others_share(&self) -> Option<f64> {
        let others = self.others?;
        let own_sectors = (self.bytes_moved / 512) as f64;
        let of_sectors = others.sectors as f64 / (others.sectors as f64 + own_sectors).max(1.0);
        let of_requests = others.requests as f64 / (others.requests as f64 + self.sent as f64).max(1.0);
        Some(of_sectors.max(of_requests))
    }

    /// The share (0..=1) of requests whose data were all zeroes; `None` if fewer than 8 were checked.
    pub fn zero_share(&self) -> Option<f64> {
        (self.checked_for_zeroes >= 8).then(|| self.zeroes as f64 / self.checked_for_zeroes as f64)
    }

    /// The rates of the first and the last third of the step, if they differ by more than chance: four standard
    /// deviations of a count.
    pub fn drift(&self) -> Option<RateDrift> {
        let third = self.trace.len() / 3;
        if !self.is_complete || third < 3 {
            return None;
        }
        let of = |bins: &[TraceBin]| bins.iter().map(|bin| bin.requests).sum::<u64>() as f64;
        // The last bin may be cut short, so it is left out.
        let end = self.trace.len() - 1;
        let (first, last) = (of(&self.trace[..third]), of(&self.trace[end - third..end]));
        let seconds = self.bin.as_secs_f64() * third as f64;
        let is_certain = (first - last).abs() > 4.0 * (first + last).sqrt();
        is_certain.then_some(RateDrift { first: first / seconds, last: last / seconds })
    }
}

/// The change of a step's rate from its first third to its last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateDrift {
    /// Requests per second in the first third.
    pub first: f64,
    /// Requests per second in the last third.
    pub last: f64,
}

#[cfg(test)]
mod tests {
    use super::super::plan::BenchPattern;
    use super::*;

    fn result() -> StepFigures {
        let time = Nanos::from_secs(5);
        StepFigures::new(BenchStep { pattern: BenchPattern::Random, depth: 1, request: 4096, time })
    }

    #[test]
    fn figures_are_those_of_the_requests() {
        let mut result = result();
        for millis in [10, 12, 14] {
            result.add(Nanos::from_millis(millis), Nanos::from_millis(millis));
        }
        result.window = Nanos::from_millis(36);
        assert!((result.iops() - 83.333).abs() < 0.01);
        assert!((result.mean() - 0.012).abs() < 1e-9 && (result.deviation() - 0.001_633).abs() < 1e-5);
        assert_eq!((result.latency_min, result.quantile(1.0)), (Nanos::from_millis(10), Nanos::from_millis(14)));
        assert_eq!((result.others_share(), result.zero_share(), result.drift()), (None, None, None));
    }

    #[test]
    fn traffic_of_others_is_a_share_of_all_traffic() {
        let mut result = result();
        (result.sent, result.bytes_moved) = (100, 100 * 4096);
        result.others = Some(ForeignTraffic { requests: 0, sectors: 0 });
        assert_eq!(result.others_share(), Some(0.0));
        result.others = Some(ForeignTraffic { requests: 100, sectors: 8 });
        assert_eq!(result.others_share(), Some(0.5), "many small ones");
        result.others = Some(ForeignTraffic { requests: 1, sectors: 800 });
        assert_eq!(result.others_share(), Some(0.5), "a large one");
    }

    #[test]
    fn a_rate_that_falls_is_seen_and_chance_is_not() {
        let run = |rate: fn(u64) -> u64| {
            let mut result = result();
            for bin in 0..50u64 {
                (0..rate(bin)).for_each(|_| result.add(Nanos(100_000), Nanos(bin * result.bin.0)));
            }
            result.is_complete = true;
            result.drift()
        };
        let drift = run(|bin| if bin < 25 { 300 } else { 100 }).expect("a burst that is used up");
        assert!((drift.first - 3000.0).abs() < 1.0 && (drift.last - 1000.0).abs() < 1.0, "{drift:?}");
        assert_eq!(run(|bin| 8 + bin % 3), None);
    }
}
