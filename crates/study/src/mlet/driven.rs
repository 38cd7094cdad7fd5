//! The latent error time in hours, with a tour that advances in the idle time of a trace.

use super::pace::Pace;
use super::sample::{EscalationScope, Mlet};
use super::sweep::{MODELS, REGION, SEGMENT, ScanCase, SweepSetup};
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::idle::{Goal, Waiting};
use scrubjay_core::scrub::tour::OrderKind;
use scrubjay_core::units::Bytes;
use scrubjay_sim::tune::{self, Pair, Tuner};
use scrubjay_trace::Periods;

/// A trace, the scrub in it, and how long errors stay unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Driven {
    /// The trace's name.
    pub name: String,
    /// What the foreground may lose.
    pub goal: Goal,
    /// The wait and the size of a request that read most within it.
    pub pair: Pair,
    /// How the tour advances.
    pub pace: Pace,
    /// In hours: sequential and staggered, with each escalation.
    pub cases: Vec<ScanCase>,
}

impl Driven {
    /// Tunes Waiting to `goal`, plays it on the trace and draws the disks of `setup`. `requests` are those that `periods`
    /// are made of. `None`: within that goal nothing can be read.
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
