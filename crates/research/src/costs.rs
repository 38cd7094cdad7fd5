//! Figures of a simulated scrub, as fields of JSON.

use crate::workload::DeviceLoad;
use scrubjay_core::units::Nanos;
use scrubjay_sim::exact::ScrubFigures;
use serde::Serialize;

/// What a scrub read, and the slowdown that it caused, as JSON.
#[derive(Debug, Serialize)]
pub struct CostDocument {
    scrub_requests: u64,
    scrub_bytes: u64,
    scrub_bytes_per_second: f64,
    mean_slowdown_seconds: f64,
    max_slowdown_seconds: f64,
    collisions: u64,
    collision_rate: f64,
    idle_used_ratio: f64,
}

impl From<&ScrubFigures> for CostDocument {
    fn from(outcome: &ScrubFigures) -> CostDocument {
        CostDocument {
            scrub_requests: outcome.scrub_requests,
            scrub_bytes: outcome.scrub_bytes,
            scrub_bytes_per_second: outcome.bytes_per_second(),
            mean_slowdown_seconds: outcome.slowdown_mean_seconds(),
            max_slowdown_seconds: outcome.slowdown_max.as_secs_f64(),
            collisions: outcome.collisions,
            collision_rate: outcome.collision_rate(),
            idle_used_ratio: outcome.used_ratio(),
        }
    }
}

/// The figures of the trace itself, as JSON.
#[derive(Debug, Serialize)]
pub struct TraceSummaryDocument {
    requests: u64,
    span_seconds: f64,
    intervals: u64,
    idle_seconds: f64,
    /// Where the foreground's service times are from.
    service: &'static str,
}

impl TraceSummaryDocument {
    /// The figures of a load, of which `outcome` is one.
    pub fn new(load: &DeviceLoad, outcome: &ScrubFigures) -> TraceSummaryDocument {
        TraceSummaryDocument {
            requests: outcome.requests,
            span_seconds: outcome.span.as_secs_f64(),
            intervals: outcome.intervals,
            idle_seconds: outcome.idle_total.as_secs_f64(),
            service: load.service.name(),
        }
    }
}

/// The mean slowdown of foreground requests.
pub fn slowdown_mean(outcome: &ScrubFigures) -> Nanos {
    Nanos::from_secs_f64(outcome.slowdown_mean_seconds())
}
