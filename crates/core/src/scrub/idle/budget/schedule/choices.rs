//! The requests that can be sent at each age, and their outcome: bytes read, and delay caused.

use super::super::ages::{Ages, Spot, Weighted};
use crate::scrub::idle::AccessPattern;
use crate::scrub::idle::service::{Overrun, ServiceCase, ServiceEstimate};
use crate::units::Bytes;

/// The places in a cell, as shares of its width, that stand for all moments at which a request may be sent in it.
pub(super) const PLACES: [f64; 3] = [1.0 / 6.0, 3.0 / 6.0, 5.0 / 6.0];
/// Where a request takes longer than `NARROW` widths of the cell, the middle alone stands for all.
pub(super) const MIDDLE: [f64; 1] = [1.0 / 2.0];
pub(super) const NARROW: f64 = 8.0;

/// A request that could be sent at some age.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scrub::idle::budget) struct PlannedRequest {
    /// The size of the request.
    pub(in crate::scrub::idle::budget) size: Bytes,
    /// Its service time, by [`AccessPattern`]; `None`: it must not be sent.
    pub(in crate::scrub::idle::budget) services: [Option<ServiceEstimate>; 2],
    /// By [`AccessPattern`]: the share of such requests that exceeds the max goal, and for how many seconds an arrival loses
    /// more than that; and the same for the p99 goal.
    pub(in crate::scrub::idle::budget) overruns: [[Overrun; 2]; 2],
}

/// The choices for one access pattern, with their outcomes.
#[derive(Clone, Debug)]
pub(super) struct PlanSide {
    pub(super) choices: Vec<Choice>,
    /// By cell and choice; none for the last cell, in which nothing is sent.
    pub(super) outcomes: Vec<CellOutcome>,
}

/// A request that may be sent.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// The index of the [`PlannedRequest`].
    pub(super) index: u8,
    pub(super) bytes: f64,
    pub(super) service: ServiceEstimate,
    /// For the max goal, and for the p99 goal.
    pub(super) penalties: [Penalty; 2],
    /// The ends of intervals, each weighted by the delay of all requests together as a multiple of that of the one that ends it.
    pub(super) ends: Weighted,
}

/// What an arrival costs that loses more than a goal allows for most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Penalty {
    /// For how many seconds from the request's start an arrival loses more than the goal, if this request takes that long.
    pub(super) window: f64,
    /// The share of such requests times the penalty for one arrival that meets them, in seconds.
    pub(super) cost: f64,
}

/// The outcome of a request that is sent in a cell, from its middle on, summed over all intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellOutcome {
    /// Bytes read.
    pub(super) gain: f64,
    /// The expected delay of the foreground, plus the penalties, in seconds.
    pub(super) cost: f64,
    /// The penalty within `cost` for breaking the max goal, in seconds.
    pub(super) broken: f64,
    /// The age at which the next request is sent.
    pub(super) next_age: AgePlace,
}

/// The cells in which a request sent at one age ended, as starting points of the search for the next age.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hints {
    /// For the mean service time.
    pub(super) next_age: usize,
    /// For each place in the cell and each case of the service time.
    pub(super) ends: [[usize; 2]; PLACES.len()],
}

/// An age relative to the cells: `share` of the way (0..=1) from the middle of `cell` to the middle of the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgePlace {
    pub(super) cell: usize,
    pub(super) share: f64,
}

impl AgePlace {
    /// The value at this age, interpolated between the middles of cells.
    pub(super) fn of(self, values: impl Fn(usize) -> f64) -> f64 {
        let (near, far) = (values(self.cell), values(self.cell + 1));
        near + (far - near) * self.share
    }
}

/// The middle of a cell, in seconds; for the last cell, its beginning.
pub(super) fn middle(ages: &Ages, cell: usize) -> f64 {
    let cells = ages.cells();
    cells.get(cell + 1).map_or(cells[cell].start, |next| 0.5 * (cells[cell].start + next.start))
}

/// Where an age lies between the middles of cells.
pub(super) fn place(ages: &Ages, Spot { age, cell: at, .. }: Spot) -> AgePlace {
    let cell = if age < middle(ages, at) { at.saturating_sub(1) } else { at };
    if cell + 1 >= ages.cells().len() {
        return AgePlace { cell, share: 0.0 };
    }
    let (near, far) = (middle(ages, cell), middle(ages, cell + 1));
    AgePlace { cell, share: ((age - near) / (far - near)).clamp(0.0, 1.0) }
}

impl PlanSide {
    pub(super) fn new(
        ages: &Ages,
        requests: &[PlannedRequest],
        penalties: [f64; 2],
        access: AccessPattern,
        queue_factor: &impl Fn(f64, f64) -> f64,
    ) -> PlanSide {
        let choices = (0..).zip(requests).filter_map(|(index, request)| {
            let service = request.services[access as usize]?;
            let ends = ages.weighted(|age| queue_factor(age, service.mean));
            let [of_max, of_p99] = request.overruns[access as usize];
            let penalties = [(of_max, penalties[0]), (of_p99, penalties[1])]
                .map(|(Overrun { window, share }, penalty)| Penalty { window, cost: share * penalty });
            Some(Choice { index, bytes: request.size.0 as f64, service, penalties, ends })
        });
        let choices: Vec<Choice> = choices.collect();
        let mut hints = vec![Hints::default(); choices.len()];
        // Nothing is known of ages beyond the last cell.
        let inner = ages.cells().len().saturating_sub(1);
        let mut outcomes = Vec::with_capacity(inner * choices.len());
        for cell in 0..inner {
            let of = |(choice, hints)| CellOutcome::of(ages, cell, choice, access, hints);
            outcomes.extend(choices.iter().zip(&mut hints).map(of));
        }
        PlanSide { outcomes, choices }
    }

    /// The outcomes of all choices in a cell.
    pub(super) fn outcomes(&self, cell: usize) -> &[CellOutcome] {
        &self.outcomes[cell * self.choices.len()..][..self.choices.len()]
    }

    /// The choice with its outcome in a cell, if the act is one.
    pub(super) fn outcome(&self, cell: usize, act: u8) -> Option<(&Choice, &CellOutcome)> {
        Some((self.choices.get(usize::from(act))?, &self.outcomes(cell)[usize::from(act)]))
    }
}

impl Choice {
    /// The delay caused if it is sent at an age, in seconds, summed over all intervals.
    pub(super) fn lost(&self, ages: &Ages, at: Spot, hints: &mut [usize; 2]) -> f64 {
        let cases = self.service.cases.iter().zip(hints).filter(|(case, _)| case.share > 0.0);
        let lost = |(case, hint): (&ServiceCase, &mut usize)| {
            let remaining = ages.remaining(&self.ends, at, ages.spot_near(at.age + case.service, hint));
            let full = self.service.full_hold_time(case.service);
            let beyond = if full > 0.0 { ages.remaining(&self.ends, at, ages.spot(at.age + full)) } else { 0.0 };
            case.share * (remaining - beyond)
        };
        cases.map(lost).sum()
    }

    /// The expected penalties, in seconds, for arrivals that lose more than the goals.
    pub(super) fn broken(&self, ages: &Ages, at: Spot) -> [f64; 2] {
        self.penalties.map(|Penalty { window, cost }| match cost > 0.0 {
            true => cost * ages.ends(&self.ends, at, ages.spot(at.age + window)),
            false => 0.0,
        })
    }

    /// The mean delay of an arrival at a random moment of such requests, in seconds: longer ones are met more often.
    pub(super) fn mean_delay(&self) -> f64 {
        let all = |of: &dyn Fn(f64) -> f64| -> f64 {
            self.service.cases.iter().map(|case| case.share * of(case.service)).sum()
        };
        let lost = |service: f64| 0.5 * (service.powi(2) - self.service.full_hold_time(service).powi(2));
        all(&lost) / all(&|service| service)
    }
}

impl CellOutcome {
    pub(super) fn of(
        ages: &Ages,
        cell: usize,
        choice: &Choice,
        access: AccessPattern,
        hints: &mut Hints,
    ) -> CellOutcome {
        let cells = ages.cells();
        let (start, width) = (cells[cell].start, cells[cell + 1].start - cells[cell].start);
        let next = AgePlace { cell: cell + 1, share: 0.0 };
        let (bytes, service) = (choice.bytes * ages.reach(middle(ages, cell)), choice.service.mean);
        let next_age = place(ages, ages.spot_near(middle(ages, cell) + service, &mut hints.next_age));
        if service < width {
            // An arrival in the cell meets one of the requests that fill it, or, if the access is random, perhaps the only one.
            let over = choice.penalties.map(|penalty| penalty.cost * penalty.window / service);
            let sum = |each: f64| (ages.reach(start) - ages.reach(start + width)) * choice.ends.weight(cell) * each;
            let [cost, broken] = [choice.mean_delay() + over[0] + over[1], over[0]].map(sum);
            return match access {
                AccessPattern::Sequential => {
                    CellOutcome { gain: bytes * width / service, cost, broken, next_age: next }
                }
                AccessPattern::Random => {
                    let [cost, broken] = [cost, broken].map(|of_all| of_all * service / width);
                    CellOutcome { gain: bytes, cost, broken, next_age }
                }
            };
        }
        // Where the cell is narrow relative to the request, its middle stands for all of it.
        let places = if service > NARROW * width { &MIDDLE[..] } else { &PLACES };
        let costs = places.iter().zip(&mut hints.ends).map(|(place, hints)| {
            let at = Spot { age: start + place * width, cell, offset: place * width };
            let [of_max, of_p99] = choice.broken(ages, at);
            [choice.lost(ages, at, hints) + of_max + of_p99, of_max]
        });
        let sums = costs.fold([0.0; 2], |sums, costs| [sums[0] + costs[0], sums[1] + costs[1]]);
        let [cost, broken] = sums.map(|sum| sum / places.len() as f64);
        // The next cell at least, because otherwise a request would follow itself for ever.
        let next_age = if next_age.cell > cell { next_age } else { next };
        CellOutcome { gain: bytes, cost, broken, next_age }
    }
}
