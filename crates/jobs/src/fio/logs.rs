//! Results as fio writes them: one JSON file a step (json+), and logs of latency, IOPS and bandwidth over time.
//!
//! File names are those that bench-fio gives and fio-plot looks for: `randread-8-1.json`,
//! `randread-iodepth-8-numjobs-1_lat.1.log`.

use crate::bench::BenchOutcome;
use scrubjay_core::bench::plan::BenchPattern;
use scrubjay_core::bench::step_result::StepFigures;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Upper edges of fio's coarse buckets, in their unit.
const EDGES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// The percentiles that fio reports by default.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// A file that is still to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioFile {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The files of a result. `processor`: the share of one processor that the run took, in user mode and in the kernel.
pub fn files(outcome: &BenchOutcome, processor: (f64, f64)) -> Vec<FioFile> {
    let steps = outcome.record.results.iter().filter(|result| result.requests > 0);
    steps
        .filter(|result| result.step.pattern != BenchPattern::Positions)
        .flat_map(|result| step(outcome, result, processor))
        .collect()
}

fn step(outcome: &BenchOutcome, result: &StepFigures, processor: (f64, f64)) -> Vec<FioFile> {
    let is_write = outcome.record.plan.is_write;
    let operation = if is_write { "write" } else { "read" };
    let pattern =
        if result.step.pattern == BenchPattern::Random { format!("rand{operation}") } else { operation.to_owned() };
    let depth = result.step.depth;
    let document = document(outcome, result, &pattern, operation, processor);
    let mut files = vec![FioFile {
        name: format!("{pattern}-{depth}-1.json"),
        text: format!("{}\n", serde_json::to_string_pretty(&document).expect("a tree of values")),
    }];
    let seconds = result.bin.as_secs_f64();
    for kind in ["lat", "iops", "bw"] {
        let mut text = String::new();
        for (index, bin) in result.trace.iter().enumerate().filter(|(_, bin)| bin.requests > 0) {
            let at = ((index as f64 + 1.0) * seconds * 1e3).round() as u64;
            let rate = bin.requests as f64 / seconds;
            let value = match kind {
                "lat" => bin.latency_sum / bin.requests as f64 * 1e9,
                "bw" => rate * result.step.request as f64 / 1024.0,
                _ => rate,
            };
            // Time in ms, value, direction, bytes of a request, offset.
            let _ = writeln!(text, "{at}, {value:.0}, {}, {}, 0", u8::from(is_write), result.step.request);
        }
        files.push(FioFile { name: format!("{pattern}-iodepth-{depth}-numjobs-1_{kind}.1.log"), text });
    }
    files
}

fn document(
    outcome: &BenchOutcome,
    result: &StepFigures,
    pattern: &str,
    operation: &str,
    processor: (f64, f64),
) -> Value {
    let nothing = json!({"iops": 0.0, "bw": 0, "bw_bytes": 0, "io_bytes": 0, "total_ios": 0, "runtime": 0, "iops_stddev": 0.0,
        "lat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}});
    let (read, write) = if operation == "read" { (direction(result), nothing) } else { (nothing, direction(result)) };
    let [nanos, micros, millis] = coarse(result);
    json!({
        "fio version": format!("scrubjay-{}", env!("CARGO_PKG_VERSION")),
        "timestamp": outcome.at.0,
        "global options": {"direct": "1", "ioengine": "io_uring", "filename": outcome.target},
        "jobs": [{
            "jobname": pattern,
            "error": 0,
            "job options": {
                "rw": pattern,
                "iodepth": result.step.depth.to_string(),
                "numjobs": "1",
                "bs": size(result.step.request),
                "runtime": format!("{}ms", result.step.time.0 / 1_000_000),
            },
            "read": read,
            "write": write,
            "usr_cpu": processor.0 * 100.0,
            "sys_cpu": processor.1 * 100.0,
            "latency_ns": nanos,
            "latency_us": micros,
            "latency_ms": millis,
            "total_err": result.fault_count,
        }],
    })
}

/// A size as fio names it: `4k`, `1m`, `512`.
fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{}m", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}k", bytes >> 10),
        _ => bytes.to_string(),
    }
}

fn direction(result: &StepFigures) -> Value {
    let percentiles: Map<String, Value> = PERCENTILES
        .iter()
        .map(|&percent| (format!("{percent:.6}"), json!(result.quantile(percent / 100.0).0)))
        .collect();
    let bins: Map<String, Value> =
        result.latency.buckets().map(|(edge, count)| (format!("{:.0}", edge * 1e9), json!(count as u64))).collect();
    let latency = json!({
        "min": result.latency_min.0, "max": result.latency_max.0, "mean": result.mean() * 1e9,
        "stddev": result.deviation() * 1e9, "N": result.requests, "percentile": percentiles, "bins": bins,
    });
    // Only whole bins are in the trace.
    let rates: Vec<f64> = result.trace.iter().map(|bin| bin.requests as f64 / result.bin.as_secs_f64()).collect();
    let rates = &rates[..rates.len().saturating_sub(1)];
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let spread = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / rates.len().max(1) as f64;
    json!({
        "io_bytes": result.requests * result.step.request,
        "bw_bytes": result.bytes_per_second().round() as u64,
        "bw": (result.bytes_per_second() / 1024.0).round() as u64,
        "iops": result.iops(),
        "runtime": result.window.0 / 1_000_000,
        "total_ios": result.requests,
        "iops_mean": mean,
        "iops_stddev": spread.sqrt(),
        "iops_samples": rates.len(),
        "lat_ns": latency.clone(),
        "clat_ns": latency,
        "slat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0},
    })
}

/// Percent of requests by fio's coarse buckets: in ns, us and ms.
fn coarse(result: &StepFigures) -> [Map<String, Value>; 3] {
    let mut units = [1e-9, 1e-6, 1e-3].map(|unit| {
        let edges = EDGES.iter().map(move |&edge| (edge as f64 * unit, edge.to_string()));
        edges.map(|(edge, name)| (edge, name, 0.0)).collect::<Vec<(f64, String, f64)>>()
    });
    units[2].extend([(2.0, "2000".to_owned(), 0.0), (f64::INFINITY, ">=2000".to_owned(), 0.0)]);
    for (edge, count) in result.latency.buckets() {
        let bucket = units.iter_mut().flatten().find(|(limit, _, _)| edge <= *limit).expect("the last has no limit");
        bucket.2 += count * 100.0 / result.requests as f64;
    }
    units.map(|buckets| buckets.into_iter().map(|(_, name, percent)| (name, json!(percent))).collect())
}
