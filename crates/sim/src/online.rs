//! The shipped scrubber on a trace: plays policies that learn as they go, request by request.

use crate::disk::SimulatedDisk;
use crate::exact::ScrubFigures;
use crate::pump::{ForegroundSight, SimulatedPump};
use scrubjay_core::scrub::coverage::Coverage;
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::idle::IdlePolicy;
use scrubjay_core::scrub::tour::{Grid, OrderKind};
use scrubjay_core::scrub::{Config, Pass, Scrub};
use scrubjay_core::units::{Bytes, Nanos, UnixSeconds};
use scrubjay_trace::Periods;

/// A disk that no run finishes: 4 PiB, in regions so large that no request is cut at the end of one.
const DISK: Bytes = Bytes::gib(4 << 20);
const REGION: Bytes = Bytes::gib(4 << 10);

/// Plays `policy` with the shipped scrubber from the first request to the end of the last one.
pub fn play(requests: &[ForegroundRequest], disk: ServiceModel, policy: Box<dyn IdlePolicy>) -> ScrubFigures {
    let Some(first) = requests.first().map(|request| request.at) else { return ScrubFigures::default() };
    let periods: Periods = requests.iter().copied().collect();
    let grid = Grid::new(DISK.sectors(), REGION.sectors(), REGION.sectors());
    let config = Config {
        range: grid.disk(),
        granule: 8,
        depth: 1,
        held_max: None,
        started: Nanos::ZERO,
        today: UnixSeconds(1),
    };
    let order = OrderKind::SEQUENTIAL.order(&[]);
    let mut scrub = Scrub::new(config, order, policy, Coverage::new(grid), Pass::default());
    // Times are shifted to start at zero, so that nothing is scrubbed before the first request.
    let foreground = requests.iter().map(|request| ForegroundRequest { at: request.at - first, ..*request });
    let pump =
        SimulatedPump::new(SimulatedDisk::new(grid.disk().count(), disk), foreground).sight(ForegroundSight::Live);
    let report = pump.until(periods.span()).run(&mut scrub).report;
    ScrubFigures {
        requests: periods.requests_total(),
        span: periods.span(),
        intervals: periods.intervals().len() as u64,
        idle_total: periods.idle_total(),
        collisions: report.scrub.ops_hit,
        scrub_requests: report.scrub.ops,
        scrub_bytes: report.scrub.bytes.0,
        used: report.scrub.busy,
        slowdown_total: u128::from(report.foreground.slowdown_total.0),
        slowdown_max: report.foreground.slowdown_max,
    }
}
