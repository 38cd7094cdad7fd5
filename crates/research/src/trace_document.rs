//! The figures of a trace as JSON: schema 1. Fields are added, never renamed or taken away, within a schema.

use scrubjay_trace::Trace;
use scrubjay_trace::formats::ClockOrigin;
use scrubjay_trace::summary::{DurationSpread, IdleFacts, KindFacts, TraceFacts};
use serde::Serialize;

/// The JSON object of one trace. Ratios are from 0 to 1.
#[derive(Debug, Serialize)]
pub struct TraceDocument {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    files: Vec<String>,
    /// The SHA-256 of each, if they are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sha256: Vec<String>,
    format: &'static str,
    /// `absolute` (since 1970) or `relative`, depending on the format.
    clock: &'static str,
    /// When the first request arrived, by that clock.
    first_arrival_seconds: f64,
    span_seconds: f64,
    requests: u64,
    requests_per_second: f64,
    /// Reads, as a share of reads and writes.
    read_ratio: f64,
    /// Bytes read and written.
    bytes: u64,
    reads: RequestsDocument,
    writes: RequestsDocument,
    discards: RequestsDocument,
    flushes: RequestsDocument,
    /// Sizes of reads and writes.
    sizes: SizesDocument,
    /// The share of reads and writes that begin where the last one of their device ended.
    sequential_ratio: f64,
    /// The share of reads and writes that are sequential, with no request to another device in between.
    adjacent_ratio: f64,
    /// From one arrival to the next.
    interarrival: Durations,
    /// From arrival to completion, where it is known.
    response: Durations,
    idle: Idle,
    /// The busiest first.
    devices: Vec<DeviceDocument>,
    /// Records that could not be understood, and were left out.
    malformed: u64,
}

#[derive(Debug, Serialize)]
struct RequestsDocument {
    requests: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct SizesDocument {
    mean_bytes: f64,
    p50_bytes: u64,
    p90_bytes: u64,
    p99_bytes: u64,
    max_bytes: u64,
    most_frequent: Vec<SizeDocument>,
}

#[derive(Debug, Serialize)]
struct SizeDocument {
    bytes: u64,
    ratio: f64,
}

/// Percentiles are good to 1.1 %, the rest is exact.
#[derive(Debug, Serialize)]
struct Durations {
    count: u64,
    mean_seconds: f64,
    /// The coefficient of variation: the standard deviation divided by the mean.
    cv: f64,
    p1_seconds: f64,
    p50_seconds: f64,
    p90_seconds: f64,
    p99_seconds: f64,
    max_seconds: f64,
}

#[derive(Debug, Serialize)]
struct Idle {
    /// Where the ends of requests come from: `recorded` or `model`.
    service: &'static str,
    model_positioning_seconds: f64,
    model_seconds_per_mib: f64,
    #[serde(flatten)]
    lengths: Durations,
    /// Idle time as a share of the span.
    ratio: f64,
    /// The share of the idle time in the longest 15 % of the intervals.
    held_by_longest_ratio: f64,
    beyond: Vec<TailDocument>,
}

#[derive(Debug, Serialize)]
struct TailDocument {
    threshold_seconds: f64,
    /// Intervals longer than the threshold.
    count: u64,
    /// How much longer than the threshold they last, in the mean.
    residual_mean_seconds: f64,
}

#[derive(Debug, Serialize)]
struct DeviceDocument {
    name: String,
    requests: u64,
}

impl TraceDocument {
    /// Makes the document of a trace that was read to its end.
    pub fn new(trace: &Trace, facts: &TraceFacts) -> TraceDocument {
        let [reads, writes, discards, flushes] = facts.kinds.map(|kind| RequestsDocument::new(&kind));
        let devices = facts.devices.iter();
        TraceDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            files: trace.input_names().to_vec(),
            sha256: Vec::new(),
            format: trace.format().name,
            clock: match trace.format().clock {
                ClockOrigin::Absolute => "absolute",
                ClockOrigin::Relative => "relative",
            },
            first_arrival_seconds: facts.first.as_secs_f64(),
            span_seconds: facts.span_seconds,
            requests: facts.requests,
            requests_per_second: facts.rate,
            read_ratio: facts.read_share,
            bytes: facts.bytes.0,
            reads,
            writes,
            discards,
            flushes,
            sizes: SizesDocument::new(facts),
            sequential_ratio: facts.sequential_share,
            adjacent_ratio: facts.adjacent_share,
            interarrival: Durations::new(&facts.gaps),
            response: Durations::new(&facts.responses),
            idle: Idle::new(&facts.idle),
            devices: devices
                .map(|&(id, requests)| DeviceDocument { name: trace.devices().name(id).to_owned(), requests })
                .collect(),
            malformed: trace.malformed().count,
        }
    }
}

impl RequestsDocument {
    fn new(facts: &KindFacts) -> RequestsDocument {
        RequestsDocument { requests: facts.requests, bytes: facts.bytes.0 }
    }
}

impl SizesDocument {
    fn new(facts: &TraceFacts) -> SizesDocument {
        let sizes = &facts.sizes;
        SizesDocument {
            mean_bytes: sizes.mean_bytes,
            p50_bytes: sizes.p50.0,
            p90_bytes: sizes.p90.0,
            p99_bytes: sizes.p99.0,
            max_bytes: sizes.max.0,
            most_frequent: sizes
                .most_frequent
                .iter()
                .map(|size| SizeDocument { bytes: size.size.0, ratio: size.share })
                .collect(),
        }
    }
}

impl Durations {
    fn new(spread: &DurationSpread) -> Durations {
        Durations {
            count: spread.count,
            mean_seconds: spread.mean,
            cv: spread.variation,
            p1_seconds: spread.p1,
            p50_seconds: spread.p50,
            p90_seconds: spread.p90,
            p99_seconds: spread.p99,
            max_seconds: spread.max,
        }
    }
}

impl Idle {
    fn new(idle: &IdleFacts) -> Idle {
        let model = idle.service.model();
        Idle {
            service: idle.service.name(),
            model_positioning_seconds: model.positioning.as_secs_f64(),
            model_seconds_per_mib: model.per_mib.as_secs_f64(),
            lengths: Durations::new(&idle.lengths),
            ratio: idle.share,
            held_by_longest_ratio: idle.held_by_longest,
            beyond: idle
                .beyond
                .iter()
                .map(|beyond| TailDocument {
                    threshold_seconds: beyond.threshold.as_secs_f64(),
                    count: beyond.count,
                    residual_mean_seconds: beyond.residual_mean(),
                })
                .collect(),
        }
    }
}
