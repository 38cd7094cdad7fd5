//! A summary of a trace, in one pass and constant memory: request counts, sizes, rates and idle intervals.

mod sizes;

pub use sizes::{SizeShare, SizeTable};

use crate::record::{DeviceId, Record, RequestKind};
use crate::service::{ServiceQueue, ServiceSource};
use scrubjay_core::stats::DurationHistogram;
use scrubjay_core::units::{Bytes, Nanos};

/// Histogram buckets per octave of all durations: 1.1 % wide.
const RESOLUTION: u32 = 64;
/// The number of most frequent sizes in the summary.
const SIZES_SHOWN: usize = 8;
/// The share of the longest idle intervals whose part of the idle time is given (Amvrosiadis, Oprea & Schroeder,
/// DSN'12, section V-A: they hold more than 80 % of it).
const LONGEST_SHARE: f64 = 0.15;
/// The thresholds above which idle intervals are counted exactly.
const THRESHOLDS: [Nanos; 5] =
    [Nanos::ZERO, Nanos::from_millis(10), Nanos::from_millis(100), Nanos::from_secs(1), Nanos::from_secs(10)];
/// All kinds, in the order of [`RequestKind`].
const KINDS: [RequestKind; 4] = [RequestKind::Read, RequestKind::Write, RequestKind::Discard, RequestKind::Flush];

/// The summary of the records so far: about 200 KiB, and 24 bytes for each device. Records must come in order of
/// arrival.
#[derive(Clone, Debug)]
pub struct TraceSummary {
    service: ServiceSource,
    queue: ServiceQueue,
    requests: u64,
    first: Nanos,
    last: Nanos,
    kinds: [KindFacts; 4],
    sizes: SizeTable,
    sequential: u64,
    adjacent: u64,
    /// The device of the last read or write.
    device_last: DeviceId,
    gaps: DurationHistogram,
    responses: DurationHistogram,
    idle: DurationHistogram,
    beyond: [IdleTail; 5],
    devices: Vec<DeviceSummary>,
}

/// The figures of a trace; all durations in seconds, all shares in 0..=1.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFacts {
    /// The number of requests of all kinds.
    pub requests: u64,
    /// The arrival of the first request.
    pub first: Nanos,
    /// The time from the first arrival to the last.
    pub span_seconds: f64,
    /// Requests per second of the span; zero if it has none.
    pub rate: f64,
    /// The share of reads among reads and writes.
    pub read_share: f64,
    /// Requests and bytes by kind: reads, writes, discards, flushes.
    pub kinds: [KindFacts; 4],
    /// The bytes read and written, together.
    pub bytes: Bytes,
    /// The sizes of reads and writes.
    pub sizes: SizeFacts,
    /// The share of reads and writes that begin where the previous one of their device ended.
    pub sequential_share: f64,
    /// The share of reads and writes that do so with no read or write of another device in between. With one device it
    /// equals `sequential_share`; with several, it is what a study of their merged stream finds.
    pub adjacent_share: f64,
    /// The times from one arrival to the next.
    pub gaps: DurationSpread,
    /// The times from arrival to completion; `count` of them are in the trace.
    pub responses: DurationSpread,
    /// The idle intervals.
    pub idle: IdleFacts,
    /// The devices with their numbers of requests, the busiest first.
    pub devices: Vec<(DeviceId, u64)>,
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindFacts {
    /// The kind.
    pub kind: RequestKind,
    /// Number of requests.
    pub requests: u64,
    /// The sum of their lengths.
    pub bytes: Bytes,
}

/// The sizes of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeFacts {
    /// The mean, in bytes.
    pub mean_bytes: f64,
    /// The most frequent sizes, at most eight.
    pub most_frequent: Vec<SizeShare>,
    /// The median.
    pub p50: Bytes,
    /// The 90th percentile.
    pub p90: Bytes,
    /// The 99th percentile.
    pub p99: Bytes,
    /// The largest.
    pub max: Bytes,
}

/// A distribution of durations, in seconds. Percentiles are accurate to 1.1 %, the rest is exact; all zero if there are
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DurationSpread {
    /// The number of durations.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation divided by the mean.
    pub variation: f64,
    /// The 1st percentile.
    pub p1: f64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// Idle intervals: from the completion of all requests so far to the next arrival, if that is later.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleFacts {
    /// Where the service times come from that determine when the disk was done.
    pub service: ServiceSource,
    /// The distribution of their lengths.
    pub lengths: DurationSpread,
    /// Their share of the span.
    pub share: f64,
    /// The intervals longer than 0, 10 ms, 100 ms, 1 s and 10 s; exact.
    pub beyond: [IdleTail; 5],
    /// The share of the idle time that the longest 15 % of the intervals hold.
    pub held_by_longest: f64,
}

/// The idle intervals longer than a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdleTail {
    /// The threshold.
    pub threshold: Nanos,
    /// The number of longer intervals.
    pub count: u64,
    /// The sum of their times beyond the threshold, in seconds.
    pub residual: f64,
}

impl IdleTail {
    /// The mean remaining length of intervals that reach the threshold, in seconds; zero if there are none.
    pub fn residual_mean(&self) -> f64 {
        if self.count > 0 { self.residual / self.count as f64 } else { 0.0 }
    }
}

/// The state kept for each device.
#[derive(Clone, Copy, Debug)]
struct DeviceSummary {
    requests: u64,
    /// The end of its last read or write.
    end: Option<u64>,
}

impl TraceSummary {
    /// An empty summary; `service` determines the service times.
    pub fn new(service: ServiceSource) -> TraceSummary {
        let histogram = || DurationHistogram::with_resolution(RESOLUTION);
        TraceSummary {
            service,
            queue: ServiceQueue::new(service),
            requests: 0,
            first: Nanos::ZERO,
            last: Nanos::ZERO,
            kinds: KINDS.map(|kind| KindFacts { kind, requests: 0, bytes: Bytes(0) }),
            sizes: SizeTable::default(),
            sequential: 0,
            adjacent: 0,
            device_last: DeviceId(0),
            gaps: histogram(),
            responses: histogram(),
            idle: histogram(),
            beyond: THRESHOLDS.map(|threshold| IdleTail { threshold, count: 0, residual: 0.0 }),
            devices: Vec::new(),
        }
    }

    /// Adds the next record, in order of arrival.
    pub fn add(&mut self, record: &Record) {
        if self.requests == 0 {
            self.first = record.arrival;
        } else {
            self.gaps.add(record.arrival.since(self.last));
            self.add_idle(record.arrival.since(self.queue.free()));
        }
        self.requests += 1;
        self.last = self.last.max(record.arrival);
        self.queue.serve(record);
        if let Some(response) = record.response {
            self.responses.add(response);
        }
        self.add_request_facts(record);
    }

    fn add_idle(&mut self, idle: Nanos) {
        if idle == Nanos::ZERO {
            return;
        }
        self.idle.add(idle);
        for beyond in self.beyond.iter_mut().take_while(|beyond| idle > beyond.threshold) {
            beyond.count += 1;
            beyond.residual += idle.since(beyond.threshold).as_secs_f64();
        }
    }

    fn add_request_facts(&mut self, record: &Record) {
        let facts = &mut self.kinds[record.kind as usize];
        facts.requests += 1;
        facts.bytes = Bytes(facts.bytes.0.saturating_add(record.length.0));
        let index = record.device.0 as usize;
        if index >= self.devices.len() {
            self.devices.resize(index + 1, DeviceSummary { requests: 0, end: None });
        }
        let device = &mut self.devices[index];
        device.requests += 1;
        if matches!(record.kind, RequestKind::Read | RequestKind::Write) {
            self.sizes.add(record.length);
            let sequential = device.end == Some(record.offset.0);
            self.sequential += u64::from(sequential);
            self.adjacent += u64::from(sequential && self.device_last == record.device);
            self.device_last = record.device;
            device.end = Some(record.offset.0.saturating_add(record.length.0));
        }
    }

    /// The figures so far.
    pub fn facts(&self) -> TraceFacts {
        let [reads, writes, ..] = self.kinds;
        let transfers = reads.requests + writes.requests;
        let span_seconds = self.last.since(self.first).as_secs_f64();
        TraceFacts {
            requests: self.requests,
            first: self.first,
            span_seconds,
            rate: ratio(self.requests as f64, span_seconds),
            read_share: ratio(reads.requests as f64, transfers as f64),
            kinds: self.kinds,
            bytes: Bytes(reads.bytes.0.saturating_add(writes.bytes.0)),
            sizes: self.size_facts(),
            sequential_share: ratio(self.sequential as f64, transfers as f64),
            adjacent_share: ratio(self.adjacent as f64, transfers as f64),
            gaps: spread(&self.gaps),
            responses: spread(&self.responses),
            idle: self.idle_facts(span_seconds),
            devices: self.busiest(),
        }
    }

    fn size_facts(&self) -> SizeFacts {
        let quantile = |share| self.sizes.quantile(share);
        SizeFacts {
            mean_bytes: self.sizes.mean(),
            most_frequent: self.sizes.most_frequent(SIZES_SHOWN),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: quantile(1.0),
        }
    }

    fn idle_facts(&self, span_seconds: f64) -> IdleFacts {
        IdleFacts {
            service: self.service,
            lengths: spread(&self.idle),
            share: ratio(self.idle.moments().sum, span_seconds),
            beyond: self.beyond,
            held_by_longest: self.idle.held_by_longest(LONGEST_SHARE),
        }
    }

    fn busiest(&self) -> Vec<(DeviceId, u64)> {
        let seen = (0..).zip(&self.devices).filter(|(_, device)| device.requests > 0);
        let mut busiest: Vec<_> = seen.map(|(id, device)| (DeviceId(id), device.requests)).collect();
        busiest.sort_by_key(|&(id, requests)| (std::cmp::Reverse(requests), id));
        busiest
    }
}

/// The distribution of the durations in a histogram.
fn spread(histogram: &DurationHistogram) -> DurationSpread {
    let moments = histogram.moments();
    DurationSpread {
        count: moments.count as u64,
        mean: moments.mean(),
        variation: moments.variation(),
        p1: histogram.quantile(0.01),
        p50: histogram.quantile(0.5),
        p90: histogram.quantile(0.9),
        p99: histogram.quantile(0.99),
        max: moments.max,
    }
}

/// A quotient; zero if the divisor is zero.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::scrub::disk_server::ServiceModel;

    const MILLI: u64 = 1_000_000;

    fn record(at: u64, response: Option<u64>, kind: RequestKind, offset: u64, length: u64, device: u32) -> Record {
        Record {
            arrival: Nanos(at),
            response: response.map(Nanos),
            offset: Bytes(offset),
            length: Bytes(length),
            device: DeviceId(device),
            kind,
        }
    }

    fn facts(service: ServiceSource, records: &[Record]) -> TraceFacts {
        let mut summary = TraceSummary::new(service);
        records.iter().for_each(|record| summary.add(record));
        summary.facts()
    }

    fn recorded() -> ServiceSource {
        ServiceSource::Recorded(ServiceModel::default())
    }

    #[test]
    fn five_requests_by_hand() {
        let start = 5_000 * MILLI;
        let found = facts(
            recorded(),
            &[
                record(start, Some(4 * MILLI), RequestKind::Read, 0, 4096, 0),
                // While the first is served, on another device: no idle interval before it, and not sequential.
                record(start + 2 * MILLI, Some(4 * MILLI), RequestKind::Write, 4096, 4096, 1),
                // 20 ms after all was done, and where device 0 left off.
                record(start + 26 * MILLI, Some(2 * MILLI), RequestKind::Write, 4096, 8192, 0),
                // At the moment all was done; flushes and discards do not count in the sequence.
                record(start + 28 * MILLI, Some(0), RequestKind::Flush, 0, 0, 0),
                record(start + 2028 * MILLI, Some(MILLI), RequestKind::Read, 12288, 4096, 0),
            ],
        );
        assert_eq!((found.requests, found.first, found.span_seconds), (5, Nanos(start), 2.028));
        assert_eq!((found.read_share, found.sequential_share, found.bytes), (0.5, 0.5, Bytes(20480)));
        assert_eq!(found.adjacent_share, 0.25, "a write to device 1 came before the first of them");
        assert_eq!(found.kinds.map(|kind| (kind.requests, kind.bytes.0)), [(2, 8192), (2, 12288), (0, 0), (1, 0)]);
        assert!(found.kinds.iter().enumerate().all(|(place, facts)| facts.kind as usize == place));
        assert_eq!(found.devices, [(DeviceId(0), 4), (DeviceId(1), 1)]);
        assert_eq!(found.sizes.most_frequent[0], SizeShare { size: Bytes(4096), share: 0.75 });
        assert_eq!((found.sizes.mean_bytes, found.sizes.p50, found.sizes.max), (5120.0, Bytes(4096), Bytes(8192)));
        assert_eq!((found.gaps.count, found.gaps.mean, found.gaps.max), (4, 0.507, 2.0));
        assert_eq!((found.responses.count, found.responses.max), (5, 0.004));
        let idle = &found.idle;
        assert_eq!((idle.lengths.count, idle.lengths.mean, idle.lengths.max), (2, 1.01, 2.0));
        assert!((idle.share - 2.02 / 2.028).abs() < 1e-12);
        assert_eq!(idle.beyond.map(|beyond| beyond.count), [2, 2, 1, 1, 0]);
        let residuals = idle.beyond.map(|beyond| beyond.residual_mean());
        for (reached, expected) in residuals.into_iter().zip([1.01, 1.0, 1.9, 1.0, 0.0]) {
            assert!((reached - expected).abs() < 1e-9, "{residuals:?}");
        }
        assert!((idle.held_by_longest - 0.3 * 2.0 / 2.02).abs() < 1e-9);
    }

    #[test]
    fn without_responses_the_service_model_determines_the_idle_time() {
        let model = ServiceModel { positioning: Nanos(10 * MILLI), per_mib: Nanos(0) };
        let records = [
            record(0, None, RequestKind::Read, 0, 512, 0),
            record(15 * MILLI, Some(9 * MILLI), RequestKind::Read, 0, 512, 0),
            record(25 * MILLI, None, RequestKind::Read, 0, 512, 0),
        ];
        let idle = |service| facts(service, &records).idle.lengths;
        assert_eq!((idle(ServiceSource::Recorded(model)).count, idle(ServiceSource::Recorded(model)).mean), (2, 0.003));
        assert_eq!((idle(ServiceSource::Model(model)).count, idle(ServiceSource::Model(model)).mean), (1, 0.005));
    }

    #[test]
    fn no_request_and_one_request_have_figures() {
        let empty = facts(recorded(), &[]);
        assert_eq!((empty.requests, empty.rate, empty.read_share), (0, 0.0, 0.0));
        assert_eq!((empty.idle.share, empty.gaps), (0.0, DurationSpread::default()));
        let single = facts(recorded(), &[record(7, None, RequestKind::Discard, 0, 1 << 40, 3)]);
        assert_eq!((single.requests, single.span_seconds, single.rate, single.bytes), (1, 0.0, 0.0, Bytes(0)));
        assert_eq!(single.devices, [(DeviceId(3), 1)]);
    }
}
