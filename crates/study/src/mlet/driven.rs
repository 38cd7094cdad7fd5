//! The latent error time in hours, for a tour that advances in the idle time of a trace.

use super::pace::Pace;
use super::sample::{EscalationScope, Mlet};
use super::sweep::{MODELS, REGION, SEGMENT, ScanCase, SweepSetup};
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::idle::{Goal, Waiting};
use scrubjay_core::scrub::tour::OrderKind;
use scrubjay_core::units::Bytes;
use scrubjay_sim::tune::{self, Pair, Tuner};
use scrubjay_trace::Periods;

/// A trace, the scrub in its idle time, and the latent error times that result.
#[derive(Clone, Debug, PartialEq)]
pub struct Driven {
    /// The trace's name.
    pub name: String,
    /// The slowdown that the scrub may cause.
    pub goal: Goal,
    /// The wait and the request size that read most within the goal.
    pub pair: Pair,
    /// How the tour advances over time.
    pub pace: Pace,
    /// The latent error times in hours: sequential and staggered, with each escalation.
    pub cases: Vec<ScanCase>,
}

impl Driven {
    /// Tunes Waiting to `goal`, plays it on the trace and draws the disks of `setup`. `periods` must be made from
    /// `requests`. `None`: nothing can be read within the goal.
    pub fn of(
        name: &str,
        requests: &[ForegroundRequest],
        periods: &Periods,
        disk: ServiceModel,
        goal: Goal,
        setup: SweepSetup,
    ) -> Option<Driven> {
        let sizes = tune::SIZES.map(|step| Bytes::kib(64 * step));
        let pair = tune::best(&Tuner::new(periods, disk).candidates(sizes, goal))?;
        let pace = Pace::of(requests, disk, &mut Waiting { wait: pair.wait, size: pair.size })?;
        let grid = setup.grid(REGION, SEGMENT);
        let case = |order, escalation| {
            let mlet = |model| Mlet::sample_paced(order, &grid, model, escalation, setup.disks, setup.seed, &pace);
            let (nearline, enterprise) = (mlet(&MODELS[0].0), mlet(&MODELS[1].0));
            ScanCase { order, region: REGION, segment: SEGMENT, escalation, nearline, enterprise }
        };
        let orders = [OrderKind::SEQUENTIAL, OrderKind::STAGGERED];
        let cases = orders
            .into_iter()
            .flat_map(|order| EscalationScope::ALL.iter().map(move |&(escalation, _)| case(order, escalation)))
            .collect();
        Some(Driven { name: name.to_owned(), goal, pair, pace, cases })
    }
}
